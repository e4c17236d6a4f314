"""A method on the user's server: no run, no data, no availability law; `BaseStrategy.start`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from f3ast_tff.availability.constraints.counts import FixedK
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Derived, Parameter, Reading

# Settings that replace defaults which need an availability process.
_WITHOUT_PROCESS = {"availability_knowledge": "estimated"}


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
    if not isinstance(k, (int, np.integer)):
        try:
            KINDS["constraint"].check_object(k)
        except ComponentError as error:
            raise ParameterError(name, k, "must be an integer or a constraint") from error
        return k
    if k < 1:
        raise ParameterError(name, k, "must be at least 1")
    return FixedK(clients_per_round=int(k))


class OwnServer:
    """Resolves defaults that follow from other settings; a `settings.parameter.Known`."""

    def __init__(self, availability: Any, rounds: int | None) -> None:
        """Takes the availability process (`None`: unknown) and T (`None`: no end)."""
        self._availability = availability
        self._settings: dict[str, Any] = {"rounds": rounds}

    def __getitem__(self, name: str) -> Any:
        value = self._settings.get(name)
        if value is None:
            raise ParameterError(name, "", "must be given for this method")
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """See `Known.get`."""
        return self._settings.get(name, default)

    def config_class(self, kind: str) -> Any:
        """See `Known.config_class`: stands for a network that is not convex."""
        return SimpleNamespace(convex=False)

    def config_classes(self, kind: str) -> list[Any]:
        """Returns the process, which has the attributes of a `Config` class."""
        return [self._availability]

    def run_name(self) -> str:
        """Returns an empty name: there is no run."""
        return ""

    def settings(self, known: tuple[Parameter, ...], given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the parameters of a method, with the defaults of this server.

        Raises:
            ParameterError: If the method has no such parameter.
        """
        names = [parameter.name for parameter in known]
        for name, value in given.items():
            if name not in names:
                raise ParameterError(name, value, f"must be one of {', '.join(names) or 'none'}")
        unknown = isinstance(self._availability, UnknownAvailability)
        found = dict(_WITHOUT_PROCESS) if unknown else {}
        for parameter in known:
            default = parameter.default
            default = default.paper if isinstance(default, Reading) else default
            if isinstance(default, Derived) and parameter.name not in given:
                found[parameter.name] = default.compute(self)
        return {**{n: value for n, value in found.items() if n in names}, **given}
