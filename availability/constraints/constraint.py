"""Communication constraints: the protocol, and the base of their `Config`s."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

_Config = TypeVar("_Config", bound="ConstraintConfig")


class CommunicationConstraint(Protocol):
    """The sets of available clients that may take part (C_t of Sec. III-A), by (seed, round).

    Examples:
        >>> from f3ast_tff.availability import HoldK
        >>> constraint = HoldK("1,2,4").build(num_clients=10)
        >>> constraint.limit(2).k, constraint.largest_k, constraint.mean_k
        (2, 4, 4.0)
    """

    @property
    def largest_k(self) -> int:
        """Largest K_t of all rounds, for buffers of a fixed size."""
        ...

    @property
    def mean_k(self) -> float:
        """Long-run mean of K_t, for first rates that depend on K."""
        ...

    def limit(self, round_number: int) -> RoundConstraint:
        """Returns the constraint of round t (from 1); its `k` is K_t."""
        ...


@dataclass(frozen=True)
class ConstraintConfig:
    """Base of a constraint's `Config`; once bound by `build`, it is the constraint.

    The setting `constraint` is the component's name, a colon and the arguments. A subclass parses
    the arguments in a `cached_property`, raises `ValueError` for another form, and overrides
    `require`. Its `about` begins with the general form of the text, such as `cycle:K,K,...`.

    Attributes:
        arguments: Text after the first colon.
        num_clients: Number of clients N, set by `build`.
        seed: Seed of random K_t, set by `build`.
        update_bytes: Bytes of a client's update, set by `build`; 0 if unknown.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff import RoundConstraint
        >>> from f3ast_tff.availability import ConstraintConfig
        >>> from f3ast_tff.settings import register
        >>> @register("constraint", "weekend", about="weekend: more on two days of seven")
        ... @dataclass(frozen=True)
        ... class WeekendK(ConstraintConfig):
        ...     largest_k, mean_k = 9, 4.0
        ...     def limit(self, round_number):
        ...         return RoundConstraint(9 if round_number % 7 in (6, 0) else 2)
        >>> [WeekendK().build(num_clients=10).limit(t).k for t in (5, 6, 7, 8)]
        [2, 9, 9, 2]
    """

    arguments: str = ""
    num_clients: int = 1
    seed: int = 0
    update_bytes: int = 1

    @property
    def largest_k(self) -> int:
        raise ComponentError(f"{type(self).__name__} does not say its largest K")

    @property
    def mean_k(self) -> float:
        raise ComponentError(f"{type(self).__name__} does not say its mean K")

    def limit(self, round_number: int) -> RoundConstraint:
        raise ComponentError(f"{type(self).__name__} does not say its K")

    def require(self) -> None:
        """Checks the arguments.

        Raises:
            ValueError: If they do not have the form.
            ParameterError: If a value is not allowed.
        """

    def build(self: _Config, num_clients: int, seed: int = 0, update_bytes: int = 1) -> _Config:
        """Returns the constraint, bound and checked.

        Args:
            num_clients: Number of clients N.
            seed: Seed of random K_t.
            update_bytes: Bytes of a client's update, 0 if unknown.

        Raises:
            ParameterError: If the arguments are not allowed, or a K_t exceeds N.
        """
        bound = replace(
            self, num_clients=num_clients, seed=seed, update_bytes=update_bytes
        )._required()
        if bound.largest_k > num_clients:
            raise self.refused(f"K must be at most num_clients, {num_clients}")
        return bound

    def check(self, settings: Settings) -> None:
        """`build` may still find a budget too small for an update."""
        if settings.num_clients is None:
            self._required()
        else:
            self.build(settings.num_clients, 0, 1)

    def refused(self, allowed: str) -> ParameterError:
        """Returns an error about the text; `allowed` describes the valid form."""
        text = f"{component_of(self).name}:{self.arguments}"
        return ParameterError("constraint", text, allowed)

    def _required(self: _Config) -> _Config:
        try:
            self.require()
        except ParameterError:
            raise
        except (ValueError, OverflowError) as error:
            form = component_of(self).about.partition(": ")[0]
            raise self.refused(f"must be {form}") from error
        return self
