"""Mix: each client follows one of several processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.combined import CombinatorConfig, common_size, stationary_of
from f3ast_tff.availability.draws import smallest_integers
from f3ast_tff.availability.process import AvailabilityProcess, numbers
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import generator
from f3ast_tff.selection.population import Population


def draw_members(shares: Sequence[float], num_clients: int, seed: int) -> np.ndarray:
    """Draws which process each client follows, with group sizes as near the shares as can be.

    Args:
        shares: Share of each process, at least 0; only their proportions count.
        num_clients: Number of clients N.
        seed: Seed of who is in which group.

    Returns:
        `int64 [N]`, in 0..len(shares)-1.

    Raises:
        ParameterError: If a share is negative or not finite, or all are 0.
    """
    weights = np.asarray(shares, float)
    if not (np.all(np.isfinite(weights)) and np.all(weights >= 0) and weights.sum() > 0):
        text = ",".join(f"{share:g}" for share in shares)
        raise ParameterError("mix_shares", text, "must be finite, at least 0, and not all 0")
    ends = np.rint(np.cumsum(weights) / weights.sum() * num_clients).astype(np.int64)
    members = np.repeat(np.arange(len(weights)), np.diff(ends, prepend=0))
    return generator(seed, "mix").permutation(members)


class Mix:
    """For example a third of the clients on home devices, the rest on smartphones.

    Attributes:
        members: Number of the process that each client follows, unsigned `int [N]`.
    """

    # Not known for every choice of parts; see `AvailabilityProcess`.
    positively_correlated = True

    def __init__(self, parts: Sequence[AvailabilityProcess], members: np.ndarray) -> None:
        """Takes the parts and who follows which.

        Args:
            parts: Processes over the same clients, each made with a seed of its own: see
                `combined.part_seed`.
            members: Number of the part that each client follows, `int [N]`.

        Raises:
            ValueError: If there is no part, sizes differ, or a member has no part.
        """
        self.num_clients = common_size(parts)
        members = np.asarray(members)
        if members.shape != (self.num_clients,) or not np.all(
            (members >= 0) & (members < len(parts))
        ):
            raise ValueError(f"members must be {self.num_clients} integers in 0..{len(parts) - 1}")
        self.parts = tuple(parts)
        self.members = smallest_integers(members)
        self.periodic = any(part.periodic for part in parts)

    @property
    def stationary(self) -> np.ndarray | None:
        """That of each client's process, `float [N]`; `None` if a part has none."""
        known = stationary_of(self.parts)
        if known is None:
            return None
        chosen = known[0].astype(np.result_type(*known))
        for number, values in enumerate(known[1:], 1):
            np.copyto(chosen, values, where=self.members == number)
        return chosen

    def present(self, round_number: int) -> np.ndarray:
        """See `Population.present`: what each client's process says, else always."""
        present = np.ones(self.num_clients, bool)
        for number, part in enumerate(self.parts):
            if isinstance(part, Population):
                present &= part.present(round_number) | (self.members != number)
        return present

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        mask = np.zeros(self.num_clients, bool)
        for number, part in enumerate(self.parts):
            mask |= part.mask(round_number) & (self.members == number)
        return mask


@register(
    "availability", "mix", "Mix", about="each client follows one of its parts, drawn once", order=12
)
@dataclass(frozen=True)
class MixConfig(CombinatorConfig):
    """Configuration of `Mix`."""

    mix_shares: str = parameter("", "share of each part, separated by commas; equal if empty")

    def build(self, p: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Mix:
        """See `AvailabilityConfig.build`."""
        return Mix(self.build_parts(p, seed, labels), draw_members(self._shares(), len(p), seed))

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        super().check(settings)
        draw_members(self._shares(), num_clients=1, seed=0)

    def _shares(self) -> tuple[float, ...]:
        num_parts = len(self.parts)
        shares = numbers("mix_shares", self.mix_shares) if self.mix_shares else (1.0,) * num_parts
        if len(shares) != num_parts:
            allowed = f"must be one number for each of the {num_parts} availability_parts"
            raise ParameterError("mix_shares", self.mix_shares, allowed)
        return shares
