"""A method on the user's server: no run, no data, no availability law; `AlgorithmConfig.start`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from f3ast_tff.availability.constraints.counts import FixedK
from f3ast_tff.core.errors import ComponentError, ParameterError, whole_number
from f3ast_tff.core.local_training import check_client_shares, vector_of
from f3ast_tff.methods.parts.strategy import StrategyContext
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Derived, Parameter, Reading


@dataclass(frozen=True)
class UnknownAvailability:
    """Availability that becomes known round by round: no law, no mask beforehand.

    Attributes:
        num_clients: Number of clients N.
    """

    num_clients: int

    positively_correlated = False
    periodic = False
    stationary = None

    def mask(self, round_number: int) -> np.ndarray:
        """Raises `ParameterError`: there is no mask before the round."""
        allowed = "must be given: the method looks at who is available before the first round"
        raise ParameterError("availability", "", allowed)


def constraint_from(name: str, k: Any) -> Any:
    """Returns the constraint for a number of clients; returns a constraint unchanged.

    Raises:
        ParameterError: If `k` is neither, or the number is below 1; `name` is the parameter's.
    """
    if isinstance(k, (int, np.integer)) and not isinstance(k, bool):
        return FixedK(clients_per_round=whole_number(name, k, least=1))
    try:
        KINDS["constraint"].check_object(k)
    except ComponentError as error:
        raise ParameterError(name, k, "must be an integer or a constraint") from error
    return k


def process_from(availability: Any) -> Any:
    """Returns an availability process unchanged.

    Raises:
        ParameterError: If it is none.
    """
    try:
        KINDS["availability"].check_object(availability)
    except ComponentError as error:
        allowed = "must be an availability process"
        raise ParameterError("availability", availability, allowed) from error
    return availability


class OwnServer(dict[str, Any]):
    """Settings from which defaults follow, by name; stands for `ResolvedSettings`."""

    def __init__(self, availability: Any, rounds: int | None) -> None:
        """Takes the availability process and T (`None`: no end)."""
        super().__init__({} if rounds is None else {"rounds": rounds})
        self._availability = availability

    def __missing__(self, name: str) -> Any:
        raise ParameterError(name, "", "must be given for this method")

    def config_class(self, kind: str) -> Any:
        """Stands for a network that is not convex."""
        return SimpleNamespace(convex=False)

    def config_classes(self, kind: str) -> list[Any]:
        """Returns what a `Config` class would say of the process."""
        declared = self._availability.positively_correlated
        return [SimpleNamespace(positively_correlated=declared, measured=lambda known: None)]

    def settings(self, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the parameters of a method that differ from its defaults in a run.

        Raises:
            ParameterError: If the method has no such parameter.
        """
        names = [parameter.name for parameter in parameters]
        for name, value in given.items():
            if name not in names:
                raise ParameterError(name, value, f"must be one of {', '.join(names) or 'none'}")
        found: dict[str, Any] = {}
        known: Any = self
        for parameter in parameters:
            default: Any = parameter.default
            default = default.paper if isinstance(default, Reading) else default
            if isinstance(default, Derived) and parameter.name not in given:
                found[parameter.name] = default.compute(known)
        unknown = isinstance(self._availability, UnknownAvailability)
        if unknown and "availability_knowledge" in names:
            found["availability_knowledge"] = "estimated"
        return {**found, **given}


def own_world(
    p: Any,
    k: Any,
    *,
    seed: int = 0,
    sizes: Any = None,
    rounds: int | None = None,
    availability: Any = None,
) -> StrategyContext:
    """Returns the world of a strategy without a run around it.

    The arguments are those of `AlgorithmConfig.start`, which says what is refused.
    """
    p = vector_of("p", p)
    check_client_shares(p)
    constraint = constraint_from("k", k)
    if constraint.largest_k > len(p):
        raise ParameterError("k", k, f"must be at most {len(p)}, the number of clients")
    seed = whole_number("seed", seed, least=0)
    rounds = 0 if rounds is None else whole_number("rounds", rounds, least=1)
    sizes = p if sizes is None else vector_of("sizes", sizes)
    if sizes.shape != p.shape or not (np.isfinite(sizes) & (sizes >= 0)).all():
        given = f"shape {list(sizes.shape)}"
        allowed = f"must be [{len(p)}], numbers of at least 0, one per client"
        raise ParameterError("sizes", given, allowed)
    process: Any = UnknownAvailability(len(p))
    if availability is not None:
        process = process_from(availability)
    absent: Any = None  # Data and model exist only on the user's server.
    return StrategyContext(
        p=p,
        sizes=sizes,
        availability=process,
        constraint=constraint,
        rounds=rounds,
        seed=seed,
        train=absent,
        model=absent,
        preprocessing=absent,
        server_lr=None,
    )


def own_settings(
    world: StrategyContext, parameters: Sequence[Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the parameters of a method that differ from its defaults in a run.

    Raises:
        ParameterError: If the method has no such parameter.
    """
    return OwnServer(world.availability, world.rounds or None).settings(parameters, given)
