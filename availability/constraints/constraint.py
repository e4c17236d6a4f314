"""What a communication constraint is, and how one is configured by a text such as `cycle:5,10`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.settings import Registry
from f3ast_tff.settings.component import component_of


class CommunicationConstraint(Protocol):
    """Which sets of available clients may take part (C_t of Sec. III-A); by (seed, round) alone."""

    @property
    def largest_k(self) -> int:
        """The most clients of any round, for buffers of a fixed size."""
        ...

    @property
    def mean_k(self) -> float:
        """Long-run mean of K_t, in the first rates that depend on K."""
        ...

    def limit(self, round_number: int) -> Feasible:
        """Returns the constraint of round t (from 1); its `k` is K_t."""
        ...


@dataclass(frozen=True)
class ConstraintConfig:
    """Base of a constraint's `Config`; a subclass overrides `constraint`.

    The setting `communication` is the component's name, a colon and the arguments.

    Attributes:
        form: The text in general, such as `"cycle:K,K,..."`.
        arguments: What stands behind the first colon.
    """

    form: ClassVar[str] = ""

    arguments: str = ""

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> CommunicationConstraint:
        """Returns the constraint of these arguments.

        Args:
            num_clients: Number of clients N.
            seed: Seed of random K_t.
            update_bytes: Bytes of a client's update, 0 where it is not known.

        Raises:
            ValueError: If the arguments do not have the form, or a value is not allowed.
        """
        raise TypeError(f"{type(self).__name__} does not say how its constraint is built")

    def build(self, num_clients: int, seed: int, update_bytes: int) -> CommunicationConstraint:
        """As `constraint`, checked.

        Raises:
            ParameterError: If the arguments are not allowed, or a K_t exceeds N.
        """
        built = self._parsed(num_clients, seed, update_bytes)
        if built.largest_k > num_clients:
            raise self._refused(f"K must be at most num_clients, {num_clients}")
        return built

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`; a budget may still turn out too small for an update."""
        num_clients = settings.get("num_clients")
        if num_clients is None:
            self._parsed(1, 0, 1)
        else:
            self.build(num_clients, 0, 1)

    def _parsed(self, num_clients: int, seed: int, update_bytes: int) -> CommunicationConstraint:
        try:
            return self.constraint(num_clients, seed, update_bytes)
        except ParameterError as error:
            raise self._refused(error.allowed) from error
        except (ValueError, OverflowError) as error:
            raise self._refused(f"must be {self.form}") from error

    def _refused(self, allowed: str) -> ParameterError:
        text = f"{component_of(self).name}:{self.arguments}"
        return ParameterError("communication", text, allowed)


def constraint_from_text(
    text: str, num_clients: int, seed: int, registry: Registry, update_bytes: int = 0
) -> CommunicationConstraint:
    """Returns the constraint that a text such as `10` or `cycle:5,10` describes.

    Args:
        text: K, or the name of a constraint, a colon and its arguments.
        num_clients: Number of clients N; no K_t may exceed it.
        seed: Seed of random K_t.
        registry: The constraints at hand.
        update_bytes: Bytes of a client's update; 0 where it is not known.

    Raises:
        ParameterError: If there is no such constraint, or its arguments are not allowed.
    """
    name, _, arguments = text.partition(":")
    if is_count(text):
        fixed = registry.find("communication", "fixed").config
        try:
            return fixed(clients_per_round=int(text)).build(num_clients, seed, update_bytes)
        except ParameterError as error:
            raise ParameterError("communication", text, error.allowed) from error
    config = registry.find("communication", name).config()
    return replace(config, arguments=arguments).build(num_clients, seed, update_bytes)


def is_count(text: str) -> bool:
    """Returns whether a text is a number K, of at most 18 digits."""
    return re.fullmatch("[0-9]{1,18}", text) is not None


def integers(text: str) -> tuple[int, ...]:
    """Returns the integers of a list such as `5,10`; `ValueError` if it is none."""
    return tuple(int(entry) for entry in text.split(","))
