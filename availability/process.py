"""The protocol of an availability process, and the two laws with independent clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.availability.draws import bernoulli, byte_levels, lean
from f3ast_tff.availability.joint_availability import JointAvailability
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.text_values import number_in


class AvailabilityProcess(Protocol):
    """The available clients of each round: A_t of Sec. III-A, which depends only on (seed, round).

    A process whose clients join and leave is also a `availability.round_clients.Population`.

    Attributes:
        num_clients: Number of clients N.
        positively_correlated: Whether the availability of a client makes another client more likely
            to be available, over the rounds; decides the case of eq. (3). True also if unknown,
            because the paper's p / r bounds the variance in all cases (below eq. (3)).
        periodic: Whether the law changes with the round, as over a day.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability.preview import preview
        >>> class EvenRounds:  # A process of one's own: everybody, in even rounds.
        ...     num_clients, positively_correlated, periodic = 4, True, True
        ...     stationary = np.full(4, 0.5)
        ...     def mask(self, round_number):
        ...         return np.full(4, round_number % 2 == 0)
        >>> preview(EvenRounds(), rounds=6).num_available.tolist()
        [0, 4, 0, 4, 0, 4]
    """

    num_clients: int
    positively_correlated: bool
    periodic: bool

    @property
    def stationary(self) -> np.ndarray | None:
        """Long-run fraction of rounds in which each client is available, `float [N]`, if known."""
        ...

    def mask(self, round_number: int) -> np.ndarray:
        """Returns the available clients of round t (from 1), `bool [N]`; callers may change it."""
        ...


def stationary_of(process: AvailabilityProcess) -> np.ndarray | None:
    """Returns the `stationary` of a process; `None` for an object that lacks the attribute.

    Raises:
        ComponentError: If it is no array of probabilities, `[N]`.
    """
    found = getattr(process, "stationary", None)
    if found is not None:
        found = np.asarray(found)
        shape = found.shape
        if shape != (process.num_clients,) or not ((found >= 0) & (found <= 1)).all():
            given = f"has shape {shape}" if shape != (process.num_clients,) else "has others"
            allowed = f"must be probabilities [{process.num_clients}], {given}"
            raise ComponentError(f"availability {type(process).__name__}: stationary {allowed}")
    return found


def eigenvalue_of(process: AvailabilityProcess) -> np.ndarray | None:
    """Returns lambda_k, `float64 [N]`, the second eigenvalue of each client's chain, if known."""
    return getattr(process, "eigenvalue", None)


def speeds_of(process: AvailabilityProcess) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Returns seconds per example and kilobits per second of the clients, if a process has them.

    Each is `float64 [N]`, or `None` if not known.
    """
    found: tuple[np.ndarray | None, np.ndarray | None] = getattr(process, "speeds", (None, None))
    return found


@dataclass(frozen=True)
class AvailabilityConfig:
    """Base of an availability process's `Config`: parameters, and `build` for the process.

    `build` computes arrays from the parameters, N, p and the seed. It returns a process of this
    folder (`IndependentAvailability`, `Markov`, `Turns` ...), or any `AvailabilityProcess`.

    Attributes:
        positively_correlated: See `AvailabilityProcess`; known before the process is built.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff.availability import AvailabilityConfig, IndependentAvailability
        >>> from f3ast_tff.settings import register
        >>> @register("availability", "by_size", about="q_k proportional to p_k")
        ... @dataclass(frozen=True)
        ... class BySizeConfig(AvailabilityConfig):
        ...     def build(self, p, seed):
        ...         return IndependentAvailability(p / p.max(), seed)
        >>> BySizeConfig().build(np.array([0.5, 0.25, 0.25]), seed=0).stationary.tolist()
        [1.0, 0.5, 0.5]
    """

    positively_correlated: ClassVar[bool] = False

    @property
    def needs_labels(self) -> bool:
        """Whether `build` takes a third argument, the clients' label distribution.

        The label distributions nu, `float64 [N, C]`: see `labelled.label_distribution`.
        """
        return False

    def for_clients(self, names: Sequence[str]) -> AvailabilityConfig:
        """Returns the `Config` for data with named clients; a log is restricted to these clients.

        Args:
            names: Names of the N clients.
        """
        return self

    def client_names(self, process: Any) -> Sequence[str]:
        """Returns the names of a built process's clients 0 .. N - 1, if it is of a log with names.

        Args:
            process: What `build` returned.
        """
        return ()

    def build(self, p: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process.

        Args:
            p: Client shares p_k of the data, `float64 [N]`, of sum 1, also where the objective's
                are 1 / N; most processes use only N.
            seed: Seed of all draws.

        Raises:
            ParameterError: If a parameter does not fit these clients.
            DataError: If a file is missing or damaged.
        """
        raise ComponentError(f"{type(self).__name__} does not say what it builds")

    @classmethod
    def part_names(cls, given: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Returns the names of the processes that this one is made of, if any.

        Args:
            given: Given settings, by name.
            names: Names of all availability processes.
        """
        return []

    @classmethod
    def measured(cls, known: Any) -> JointAvailability | None:
        """Returns a measure of joint availability, if there is a log of the clients.

        Args:
            known: All settings, resolved when asked for (`settings.parameter.ResolvedSettings`).

        Returns:
            The measure; `None` if `positively_correlated` declares the case.
        """
        return None

    @classmethod
    def num_clients_of(cls, known: Any) -> int | None:
        """Returns N if a file of masks decides it, else `None`."""
        return None

    @classmethod
    def renews_shares(cls, known: Any) -> bool:
        """Returns whether, by default, p_k are shares among the present clients of a round.

        Args:
            known: All settings, resolved when asked for (`settings.parameter.ResolvedSettings`).
        """
        return False

    def check(self, settings: Settings) -> None:
        """Raises `ParameterError` if other settings contradict this one's parameters."""


def numbers(name: str, text: str) -> tuple[float, ...]:
    """Returns the numbers of a comma-separated list.

    Raises:
        ParameterError: If the text is no such list.
    """
    try:
        return tuple(number_in(entry) for entry in text.split(","))
    except ValueError as error:
        raise ParameterError(name, text, "must be numbers separated by commas") from error


def probabilities_checked(name: str, values: np.ndarray) -> np.ndarray:
    """Returns `lean(values)`, read-only, checked to be probabilities.

    Raises:
        ValueError: If `values` is not a vector, or an entry is not in [0, 1].
    """
    checked = lean(np.asarray(values))
    if checked.ndim != 1:
        raise ValueError(f"{name} has shape {checked.shape}: must be [N]")
    wrong = np.flatnonzero(~((checked >= 0) & (checked <= 1)))
    if len(wrong):
        raise ValueError(f"{name}[{wrong[0]}] = {checked[wrong[0]]}: must be in [0, 1]")
    checked.flags.writeable = False
    return checked


class IndependentAvailability:
    """Clients available independently, client k in every round with probability q_k.

    The draws of a round depend only on (seed, round), so every algorithm sees the same available
    sets (reading R13). From a million clients on, q is `float32`, and a client takes 5 bytes.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import IndependentAvailability
        >>> process = IndependentAvailability(np.array([0.2, 0.5, 0.8, 1.0]), seed=1)
        >>> [process.mask(t).astype(int).tolist() for t in (1, 2, 1)]  # Round 1 twice.
        [[0, 1, 0, 1], [1, 0, 1, 1], [0, 1, 0, 1]]
    """

    positively_correlated = False
    periodic = False

    def __init__(self, q: np.ndarray, seed: int) -> None:
        """Sets the probabilities.

        Args:
            q: q_k, `float [N]`, each in [0, 1].
            seed: Seed of the draws.

        Raises:
            ValueError: If a probability is not in [0, 1].
        """
        self.q = probabilities_checked("q", q)
        self.seed = seed
        self.num_clients = len(self.q)
        self._levels = byte_levels(self.q) if self.q.dtype == np.float32 else None

    def probabilities(self, round_number: int) -> np.ndarray:
        """Returns q_{k,t}, `float [N]`; a subclass may change it with the round."""
        return self.q

    @property
    def stationary(self) -> np.ndarray | None:
        """A subclass with another q_{k,t} overrides it."""
        return self.q

    def mask(self, round_number: int) -> np.ndarray:
        q = self.probabilities(round_number)
        return bernoulli(q, self._rng(round_number), self._levels if q is self.q else None)

    def _rng(self, round_number: int) -> np.random.Generator:
        return generator(self.seed, "availability", round_number)


class NonStationary(IndependentAvailability):
    """q_kt = f_t q_k, with periodic f; probabilities below the cut become 0.

    Clients are independent given the round. They share f_t, so over the rounds their availability
    is positively correlated.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import NonStationary
        >>> q, factors = np.array([0.4, 1.0]), np.array([1.0, 0.5])
        >>> process = NonStationary(q, seed=0, factors=factors, cut=0.3)
        >>> [process.probabilities(t).tolist() for t in (1, 2, 3)]
        [[0.4, 1.0], [0.0, 0.5], [0.4, 1.0]]
    """

    positively_correlated = True
    periodic = True

    def __init__(self, base: np.ndarray, seed: int, factors: np.ndarray, cut: float = 0.0) -> None:
        """Makes the process.

        Args:
            base: q_k, `float [N]`, in [0, 1].
            seed: Seed of the draws.
            factors: f_1 .. f_P, `float [P]`, in [0, 1]; round t takes f at (t - 1) mod P.
            cut: Probabilities below it become 0; in [0, 1].

        Raises:
            ValueError: If a probability is not in [0, 1].
        """
        super().__init__(base, seed)
        self._factors = np.array(factors, np.float64)
        self._cut = cut

    def probabilities(self, round_number: int) -> np.ndarray:
        """Returns q_kt, `float [N]`."""
        return self._at(self._factor(round_number))

    def mask(self, round_number: int) -> np.ndarray:
        """Without a cut, no array of probabilities is made."""
        factor, rng = self._factor(round_number), self._rng(round_number)
        if self._cut > 0:
            return bernoulli(self._at(factor), rng)
        return bernoulli(self.q, rng, factor=factor)

    @property
    def stationary(self) -> np.ndarray:
        """Mean of q_kt over a period, `float [N]`; q_k times the mean of f without a cut."""
        if not self._cut > 0:
            return self.q * float(self._factors.mean())
        total = np.zeros(self.num_clients)
        for factor in self._factors:
            total += self._at(float(factor))
        return total / len(self._factors)

    def _factor(self, round_number: int) -> float:
        return float(self._factors[(round_number - 1) % len(self._factors)])

    def _at(self, factor: float) -> np.ndarray:
        q = self.q * factor
        return q * (q >= self._cut)
