"""Clients and groups of clients that take turns: regular cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import gather, smallest_integers
from f3ast_tff.availability.process import AvailabilityConfig, AvailabilityProcess, eigenvalue_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings


class Turns:
    """Client k is available in round t if (t - 1 - start_k) mod cycle is below turn_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Turns
        >>> process = Turns(start=np.array([0, 2]), turn=np.array([2, 1]), cycle=4)
        >>> [process.mask(t).astype(int).tolist() for t in (1, 2, 3, 4, 5)]
        [[1, 0], [1, 0], [0, 1], [0, 0], [1, 0]]
    """

    # Given the starts, clients whose turns overlap are positively correlated.
    positively_correlated = True
    periodic = True

    def __init__(self, start: np.ndarray, turn: np.ndarray, cycle: int) -> None:
        """Makes the process.

        Args:
            start: Rounds before the first turn, `int [N]`.
            turn: Rounds of a turn, `int [N]`.
            cycle: Rounds of a cycle, at least 1.
        """
        self.num_clients = len(turn)
        self.start, self.turn, self.cycle = start, turn, cycle

    @property
    def stationary(self) -> np.ndarray:
        """turn_k / cycle, `float64 [N]`."""
        return self.turn / self.cycle

    def mask(self, round_number: int) -> np.ndarray:
        return (round_number - 1 - self.start) % self.cycle < self.turn


class Grouped:
    """All clients of a group are available together, so they are positively correlated.

    Attributes:
        groups: A process over the groups.
        group: Group of each client, unsigned `int [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Grouped, IndependentAvailability
        >>> groups = IndependentAvailability(np.array([0.5, 0.5]), seed=0)
        >>> process = Grouped(groups, group=np.array([0, 0, 0, 1]))
        >>> [process.mask(t).astype(int).tolist() for t in (1, 2, 3)]
        [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    """

    positively_correlated = True

    def __init__(self, groups: AvailabilityProcess, group: np.ndarray) -> None:
        """Makes the process.

        Args:
            groups: A process over G groups.
            group: Group of each client, `int [N]` in 0..G-1.
        """
        self.groups = groups
        self.group = smallest_integers(group)
        self.num_clients = len(group)
        self.periodic = groups.periodic

    @property
    def stationary(self) -> np.ndarray | None:
        """The value of each client's group, `float64 [N]`."""
        found = self.groups.stationary
        return None if found is None else found[self.group]

    @property
    def eigenvalue(self) -> np.ndarray | None:
        """The lambda of each client's group, `float64 [N]`, if the groups follow `Markov`."""
        found = eigenvalue_of(self.groups)
        return None if found is None else found[self.group]

    def mask(self, round_number: int) -> np.ndarray:
        return gather(self.groups.mask(round_number), self.group)


def blocks(num_clients: int, num_groups: int) -> np.ndarray:
    """Returns the group of each client, in blocks of ids as equal as possible, `int64 [N]`."""
    return np.arange(num_clients) * num_groups // max(num_clients, 1)


def blocks_by_label(labels: np.ndarray, num_groups: int) -> np.ndarray:
    """Returns the group of each client, blocks in the order of their main labels, `int64 [N]`.

    A client's main label is its most frequent label; ties go to the smallest. Clients with the same
    main label are in the order of their ids.

    Args:
        labels: Label distribution of each client, `float64 [N, C]`.
        num_groups: Number of groups, at least 1.
    """
    group = np.empty(len(labels), np.int64)
    group[np.argsort(labels.argmax(axis=1), kind="stable")] = blocks(len(labels), num_groups)
    return group


@register("availability", "alternating", "Alternating", about="two groups take turns", order=6)
@dataclass(frozen=True)
class AlternatingConfig(AvailabilityConfig):
    """Alternates: the first half of the ids (rounded up) for E rounds, the second for ratio E.

    This is a regular day and night for clients of two regions (FedLaAvg, Sec. 5.1 and Example 1).
    In the paper's experiment one group has the clients of the first five classes, and the second
    group all other clients; Table 3 takes E from 1 to 15. The text available to us lacks the
    formulas of Sec. 5.1. In the authors' code (`diurnal_available`) the first group has E rounds
    and the second alpha E rounded down, here ratio E; the defaults are E = 10 and alpha = 0.5.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import AlternatingConfig
        >>> config = AlternatingConfig(alternating_period=2)
        >>> process = config.build(np.ones(4) / 4, seed=0)
        >>> [np.flatnonzero(process.mask(t)).tolist() for t in (1, 2, 3, 4, 5)]
        [[0, 1], [0, 1], [2, 3], [2, 3], [0, 1]]
    """

    positively_correlated: ClassVar[bool] = Grouped.positively_correlated

    alternating_period: int = parameter(
        10, "E, length of the first group's turn", minimum=1, units="rounds"
    )
    alternating_ratio: float = parameter(
        1.0, "rounds of the second group over E", above=0, maximum=10**6
    )

    def build(self, p: np.ndarray, seed: int) -> Grouped:
        first, second = self.alternating_period, self._second_turn()
        turns = Turns(np.array([0, first]), np.array([first, second]), first + second)
        return Grouped(turns, np.arange(len(p)) >= (len(p) + 1) // 2)

    def check(self, settings: Settings) -> None:
        if self._second_turn() < 1:
            allowed = f"must, times alternating_period, {self.alternating_period}, be 1 or more"
            raise ParameterError("alternating_ratio", self.alternating_ratio, allowed)

    def _second_turn(self) -> int:
        # Whole rounds, as in the authors' code; 0.29 * 100 is 29 nonetheless.
        return int(round(self.alternating_ratio * self.alternating_period, 9))


@register(
    "availability",
    "periodic_groups",
    "Periodic groups",
    about="groups of clients on and off in turn (amplified FedAvg)",
    order=22,
)
@dataclass(frozen=True)
class PeriodicGroupsConfig(AvailabilityConfig):
    """Group g is available in round t if (t - 1 + o - g on) mod (on + off) is below `on`.

    Wang and Ji, "A Unified Analysis of Federated Learning with Arbitrary Client Participation",
    NeurIPS 2022, arXiv 2205.13648: five groups, each 100 rounds on and 400 off, so that always one
    group is available. The common offset o is drawn from 0 .. on - 1, as in the public code.

    In that code, and in the public code of Amplified SCAFFOLD, clients are numbered by the most
    frequent label of their examples, so that a group holds two of ten classes. `groups_by` labels
    gives such groups on any data.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import PeriodicGroupsConfig
        >>> config = PeriodicGroupsConfig(groups_number=3, groups_on=1, groups_off=2)
        >>> process = config.build(np.ones(6) / 6, seed=0)
        >>> [np.flatnonzero(process.mask(t)).tolist() for t in (1, 2, 3, 4)]
        [[0, 1], [2, 3], [4, 5], [0, 1]]
    """

    positively_correlated: ClassVar[bool] = Grouped.positively_correlated

    groups_number: int = parameter(
        5, "number of groups, blocks of clients in their order", minimum=1, maximum=10**6
    )
    groups_on: int = parameter(100, "time a group is available", minimum=1, units="rounds")
    groups_off: int = parameter(400, "time it is then away", minimum=0, units="rounds")
    groups_by: str = parameter(
        "ids",
        "order of the clients that is cut into groups: ids, or each client's main label",
        choices=("ids", "labels"),
    )

    @property
    def needs_labels(self) -> bool:
        """Whether groups follow labels."""
        return self.groups_by == "labels"

    def build(self, p: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Grouped:
        """Returns the process; groups may follow labels.

        Raises:
            ParameterError: If groups follow labels and there are no labels.
        """
        number, on = self.groups_number, self.groups_on
        group = blocks(len(p), number)
        if self.groups_by == "labels":
            if labels is None:
                raise ParameterError("groups_by", "labels", "needs data with labels")
            group = blocks_by_label(labels, number)
        offset = int(generator(seed, "periodic groups").integers(on))
        turns = Turns(np.arange(number) * on - offset, np.full(number, on), on + self.groups_off)
        return Grouped(turns, group)


def cyclic(pi: np.ndarray, seed: int, cycle: int) -> Turns:
    """Returns one turn of a_k = max(1, round(c pi_k)) rounds per client and cycle (FedAU).

    The first turn starts s_k rounds after round 1, with s_k uniform on 0 .. c - a_k - 1 (0 if the
    turn fills the cycle). So every turn lies within a cycle, as in the public code. The middle
    rounds of a cycle have more available clients than the rounds at its ends.

    Args:
        pi: Share of the cycle in which each client is available, `float [N]`, in [0, 1].
        seed: Seed of the starts.
        cycle: c, rounds of a cycle, at least 1.
    """
    turn = np.maximum(np.rint(cycle * pi), 1).astype(np.int64)
    return Turns(generator(seed, "cyclic").integers(0, np.maximum(cycle - turn, 1)), turn, cycle)
