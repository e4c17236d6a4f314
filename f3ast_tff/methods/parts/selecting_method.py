"""A method in one class: parameters, and whom a round selects with what weight."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from f3ast_tff.core.local_training import check_client_shares, renewed_shares
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.strategy import BaseStrategy

_Class = TypeVar("_Class", bound=type)
# What only a constructor of release 0.2.0 took.
_NO_PARAMETER = (np.ndarray, BaseStrategy)
_Method = TypeVar("_Method", bound="SelectingMethod")
_Renewed = TypeVar("_Renewed", bound="RenewedMethod")


class SelectingMethod(AlgorithmConfig, BaseStrategy):
    """Base of a method that chooses clients and weighs updates: its fields are its parameters.

    The object with parameters alone is the `Config` of the algorithm. `build`, and `start` on a
    server of one's own, return a copy that plays: a `Strategy` with a world and a state.

    Attributes:
        world: World around a copy that plays.
        p: Client shares p_k of that world, `float64 [N]`.
        seed: Seed of the draws.
        kept: State that rounds change; see `first_state`.
        plays: Whether this is a copy that plays.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff.methods.parts.method import method
        >>> from f3ast_tff.methods.parts.selecting_method import SelectingMethod
        >>> from f3ast_tff.settings import parameter
        >>> @method("in_turn", about="takes the clients in turn")
        ... @dataclass(frozen=True)
        ... class InTurn(SelectingMethod):
        ...     turn_rest: int = parameter(0, "rounds without a client after each", minimum=0)
        ...     def select(self, now):
        ...         client, rests = divmod(now.number - 1, 1 + self.turn_rest)
        ...         chosen = np.arange(len(self.p)) == client % len(self.p)
        ...         return np.flatnonzero(now.available & chosen & (rests == 0))
        >>> InTurn(turn_rest=2).turn_rest, InTurn.start([0.5, 0.5], k=1).p.tolist()
        (2, [0.5, 0.5])
    """

    world: StrategyContext
    p: np.ndarray
    seed: int
    kept: dict[str, Any]
    plays: bool = False

    @classmethod
    def start(cls: type[_Method], p: Any, k: Any, **arguments: Any) -> _Method:
        """Returns a copy that plays on a user's server; see `AlgorithmConfig.start`."""
        started: Any = super().start(p, k, **arguments)
        playing: _Method = started
        return playing

    def build(self: _Method, world: StrategyContext) -> _Method:
        """Returns a copy that plays in a world; see `AlgorithmConfig.build`."""
        check_client_shares(world.p)
        return self._playing(world, self.first_state(world))

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the state before round 1.

        Returns:
            Arrays by their names in a checkpoint, and objects with a state of their own by the
            prefix of its names.
        """
        return {}

    def saved_arrays(self) -> dict[str, np.ndarray]:
        return {name: kept for name, kept in self.kept.items() if isinstance(kept, np.ndarray)}

    def saved_parts(self) -> dict[str, Any]:
        return {name: kept for name, kept in self.kept.items() if not isinstance(kept, np.ndarray)}

    def _playing(self: _Method, world: StrategyContext, kept: dict[str, Any]) -> _Method:
        playing = copy.copy(self)
        # Parameters are frozen; these are of the copy alone.
        given = {"world": world, "p": world.p, "seed": world.seed, "kept": kept}
        vars(playing).update(given, plays=True)
        return playing


class RenewedMethod(SelectingMethod):
    """Base of methods that follow clients that join and leave; their state is arrays `[N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods.fedau import FedAU
        >>> method = FedAU.start([0.5, 0.5], k=1)
        >>> again = method.renewed(np.full(2, 0.5), np.array([True, False]), 0.5)
        >>> sorted(again.kept) == sorted(method.kept), again.p.tolist()
        (True, [0.5, 0.5])
    """

    def renewed(self: _Renewed, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> _Renewed:
        """A client that joins has its first state again; see `Renewable.renewed`."""
        world = replace(self.world, p=renewed_shares(p, len(self.p)))
        kept = {name: array.copy() for name, array in self.kept.items()}
        for name, first in self.first_state(world).items():
            if first.ndim:
                kept[name][joined] = first[joined]
        return self._playing(world, kept)


def is_playing(value: Any) -> bool:
    """Returns whether an object is a copy that plays, not the declaration of a method."""
    return isinstance(value, SelectingMethod) and value.plays


def takes_old_arguments(method: _Class) -> _Class:
    """Decorates a method in one class whose constructor took arrays in release 0.2.0.

    With an array or a strategy as an argument that is no parameter, the constructor warns and makes
    a copy that plays.
    """
    made: Callable[..., None] = method.__init__  # type: ignore[misc]
    parameters = {each.name for each in fields(cast(Any, method))}

    @wraps(made)
    def init(self: Any, *values: Any, **given: Any) -> None:
        others = [each for name, each in given.items() if name not in parameters]
        if not any(isinstance(each, _NO_PARAMETER) for each in (*values, *others)):
            return made(self, *values, **given)
        from f3ast_tff.methods.parts.old_arguments import played_of_arrays

        plays = played_of_arrays(method, values, given)
        object.__setattr__(self, "__class__", type(plays))
        vars(self).update(vars(plays))

    method.__init__ = init  # type: ignore[misc]
    return method
