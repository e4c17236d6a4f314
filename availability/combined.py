"""Processes made of other processes: `Product` and `Mix`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, cast

import numpy as np

from f3ast_tff.availability.draws import smallest_integers
from f3ast_tff.availability.process import (
    AvailabilityConfig,
    AvailabilityProcess,
    numbers,
    speeds_of,
    stationary_of,
)
from f3ast_tff.availability.round_clients import Population
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import REQUIRED, parameter, register
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.parameter import one_of

_PARTS = "availability_parts"
_COMBINATORS = ("product", "mix")


def part_seed(seed: int, part: int) -> int:
    """Returns the seed of one part.

    Parts with the same seed would share their draws: two parts of probability 1/2 would be
    available together half of the time, not a quarter.

    Args:
        seed: Seed of the combined process.
        part: Number of the part, from 0.
    """
    return int(generator(seed, "availability part", part).integers(2**32))


def build_process(
    config: AvailabilityConfig, p: np.ndarray, seed: int, labels: np.ndarray | None
) -> AvailabilityProcess:
    """Returns the process of a `Config`, built with the label distribution if it needs it.

    Args:
        config: The `Config`.
        p: Client shares, `float64 [N]`.
        seed: Seed of all draws.
        labels: Label distribution of each client, `float64 [N, C]`; `None` without data.

    Raises:
        ParameterError: If the process needs a label distribution and there is none.
    """
    if config.needs_labels:
        return cast(Any, config).build(p, seed, labels)
    return config.build(p, seed)


@dataclass(frozen=True)
class CombinatorConfig(AvailabilityConfig):
    """Base of the `Config` of a process made of other processes.

    Attributes:
        parts: `Config` of each part, in the order of `availability_parts`.
    """

    # Rule R9 reads `positively_correlated` of the combinator and of its parts. It stays False here,
    # so that the parts decide. The processes themselves have True: not known in general.

    availability_parts: str = parameter(REQUIRED, "names of the parts, separated by commas")
    parts: tuple[AvailabilityConfig, ...] = ()

    @classmethod
    def part_names(cls, given: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Raises `ParameterError` if none is given, or a part is unknown or itself combined."""
        text = given.get(_PARTS)
        if not isinstance(text, str):
            value = "" if text is None else text
            raise ParameterError(_PARTS, value, "must be given: names separated by commas")
        allowed = [name for name in names if name not in _COMBINATORS]
        return [one_of(_PARTS, name, allowed) for name in text.split(",")]

    @property
    def needs_labels(self) -> bool:
        """Whether a part needs labels."""
        return any(part.needs_labels for part in self.parts)

    def for_clients(self, names: Sequence[str]) -> CombinatorConfig:
        return replace(self, parts=tuple(part.for_clients(names) for part in self.parts))

    def build_parts(
        self, p: np.ndarray, seed: int, labels: np.ndarray | None
    ) -> list[AvailabilityProcess]:
        """Returns the parts' processes, each with a different seed; see `build_process`."""
        return [
            build_process(part, p, part_seed(seed, i), labels) for i, part in enumerate(self.parts)
        ]

    def check(self, settings: Settings) -> None:
        if any(isinstance(part, CombinatorConfig) for part in self.parts):
            allowed = "a part must not be made of others itself"
            raise ParameterError(_PARTS, self.availability_parts, allowed)


def _stationary_of(parts: Sequence[AvailabilityProcess]) -> list[np.ndarray] | None:
    """Returns the stationary availability of every part, `None` if a part has none."""
    found = [stationary_of(part) for part in parts]
    known = [values for values in found if values is not None]
    return known if len(known) == len(found) else None


class Product:
    """A client is available where all parts say so: reachable and charging, for example.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import IndependentAvailability, Product
        >>> online = IndependentAvailability(np.array([0.5, 0.9]), seed=1)
        >>> charging = IndependentAvailability(np.array([0.5, 0.5]), seed=2)
        >>> Product([online, charging]).stationary.tolist()
        [0.25, 0.45]
    """

    # Not known for every choice of parts; see `AvailabilityProcess`.
    positively_correlated = True

    def __init__(self, parts: Sequence[AvailabilityProcess]) -> None:
        """Takes the parts.

        Args:
            parts: Processes over the same clients, each made with a seed of its own: see
                `part_seed`.
        """
        self.num_clients = parts[0].num_clients
        self.parts = tuple(parts)
        self.periodic = any(part.periodic for part in parts)

    @property
    def stationary(self) -> np.ndarray | None:
        """The parts' product; `None` for two periodic parts, which may be in or out of step."""
        known = _stationary_of(self.parts)
        if known is None or sum(part.periodic for part in self.parts) > 1:
            return None
        return reduce(np.multiply, known)

    @property
    def speeds(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Those of the first part that has any; see `speeds_of`."""
        found = [speeds_of(part) for part in self.parts]
        return next((each for each in found if any(part is not None for part in each)), found[0])

    def present(self, round_number: int) -> np.ndarray:
        """Present if all parts say so."""
        present = np.ones(self.num_clients, bool)
        for part in self.parts:
            if isinstance(part, Population):
                present &= part.present(round_number)
        return present

    def mask(self, round_number: int) -> np.ndarray:
        mask = self.parts[0].mask(round_number)
        for part in self.parts[1:]:
            mask &= part.mask(round_number)
        return mask


@register(
    "availability", "product", "Product", about="available where all of its parts say so", order=11
)
@dataclass(frozen=True)
class ProductConfig(CombinatorConfig):
    """Available where all parts say so.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import availability
        >>> often = availability.ScarceConfig(scarce_q=0.9)
        >>> in_turn = availability.AlternatingConfig(alternating_period=1)
        >>> config = availability.ProductConfig(parts=(often, in_turn))
        >>> process = config.build(np.ones(8) / 8, seed=0)
        >>> [np.flatnonzero(process.mask(t)).tolist() for t in (1, 2, 3, 4)]
        [[0, 1, 2, 3], [4, 5, 6], [0, 1, 2, 3], [4, 5, 6, 7]]
    """

    def build(self, p: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Product:
        return Product(self.build_parts(p, seed, labels))


def draw_members(shares: Sequence[float], num_clients: int, seed: int) -> np.ndarray:
    """Draws the process of each client, with group sizes as near the shares as possible.

    Args:
        shares: Share of each process, at least 0; only their proportions count.
        num_clients: Number of clients N.
        seed: Seed of the assignment.

    Returns:
        `int64 [N]`, in 0..len(shares)-1.

    Raises:
        ParameterError: If a share is negative or not finite, or all shares are 0.
    """
    weights = np.asarray(shares, float)
    if not (np.all(np.isfinite(weights)) and np.all(weights >= 0) and weights.sum() > 0):
        text = ",".join(f"{share:g}" for share in shares)
        raise ParameterError("mix_shares", text, "must be finite, at least 0, and not all 0")
    ends = np.rint(np.cumsum(weights) / weights.sum() * num_clients).astype(np.int64)
    members = np.repeat(np.arange(len(weights)), np.diff(ends, prepend=0))
    return generator(seed, "mix").permutation(members)


class Mix:
    """Each client follows one of several processes: home devices or smartphones, for example.

    Attributes:
        members: Number of the process that each client follows, unsigned `int [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import IndependentAvailability, Mix
        >>> rare = IndependentAvailability(np.full(3, 0.1), seed=1)
        >>> often = IndependentAvailability(np.full(3, 0.9), seed=2)
        >>> Mix([rare, often], members=np.array([0, 1, 1])).stationary.tolist()
        [0.1, 0.9, 0.9]
    """

    # Not known for every choice of parts; see `AvailabilityProcess`.
    positively_correlated = True

    def __init__(self, parts: Sequence[AvailabilityProcess], members: np.ndarray) -> None:
        """Takes the parts and their clients.

        Args:
            parts: Processes over the same clients, each made with a seed of its own: see
                `part_seed`.
            members: Number of the part that each client follows, `int [N]`.
        """
        self.num_clients = len(members)
        self.parts = tuple(parts)
        self.members = smallest_integers(members)
        self.periodic = any(part.periodic for part in parts)

    @property
    def stationary(self) -> np.ndarray | None:
        """The value of each client's process, `float [N]`; `None` if a part has none."""
        known = _stationary_of(self.parts)
        if known is None:
            return None
        chosen = known[0].astype(np.result_type(*known))
        for number, values in enumerate(known[1:], 1):
            np.copyto(chosen, values, where=self.members == number)
        return chosen

    def present(self, round_number: int) -> np.ndarray:
        """By each client's process; always present if it does not say."""
        present = np.ones(self.num_clients, bool)
        for number, part in enumerate(self.parts):
            if isinstance(part, Population):
                present &= part.present(round_number) | (self.members != number)
        return present

    def mask(self, round_number: int) -> np.ndarray:
        mask = np.zeros(self.num_clients, bool)
        for number, part in enumerate(self.parts):
            mask |= part.mask(round_number) & (self.members == number)
        return mask


@register(
    "availability", "mix", "Mix", about="each client follows one of its parts, drawn once", order=12
)
@dataclass(frozen=True)
class MixConfig(CombinatorConfig):
    """Each client follows one of the parts.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import AlwaysConfig, MixConfig, ScarceConfig
        >>> parts = AlwaysConfig(), ScarceConfig(scarce_q=0.1)
        >>> config = MixConfig(parts=parts, mix_shares="1,3")
        >>> config.build(np.ones(8) / 8, seed=0).stationary.tolist()
        [0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.1, 1.0]
    """

    mix_shares: str = parameter("", "share of each part, separated by commas; equal if empty")

    def build(self, p: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Mix:
        return Mix(self.build_parts(p, seed, labels), draw_members(self._shares(), len(p), seed))

    def check(self, settings: Settings) -> None:
        super().check(settings)
        draw_members(self._shares(), num_clients=1, seed=0)

    def _shares(self) -> tuple[float, ...]:
        num_parts = len(self.parts)
        shares = numbers("mix_shares", self.mix_shares) if self.mix_shares else (1.0,) * num_parts
        if len(shares) != num_parts:
            allowed = f"must be one number for each of the {num_parts} availability_parts"
            raise ParameterError("mix_shares", self.mix_shares, allowed)
        return shares
