"""Participation rates: H(r), which F3AST minimises (eq. 3), and their tracking (eq. 5)."""

from __future__ import annotations

import copy
import math
from typing import ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.saved_state import SavedState

_LEAST = 1e-150
_LEAST_SCALE = 2.0**-64
OBJECTIVES = ("p_squared", "p")


def numerators(p: np.ndarray, objective: str) -> np.ndarray:
    """Returns c_k in H(r) = sum_k c_k / r_k.

    Args:
        p: Client shares p_k, `float [N]`.
        objective: `"p_squared"` for availability that is not positively correlated (c = p^2),
            `"p"` for positively correlated or unknown (c = p); eq. (3).
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"objective {objective!r}: must be one of {', '.join(OBJECTIVES)}")
    return p**2 if objective == "p_squared" else p


def root_numerators(p: np.ndarray, objective: str) -> np.ndarray:
    """Returns sqrt(c_k), `float [N]`: p_k itself for `"p_squared"`, sqrt(p_k) for `"p"`."""
    numerators(p[:0], objective)  # Refuses an unknown objective.
    return p if objective == "p_squared" else np.sqrt(p)


def variance_bound(r: np.ndarray, p: np.ndarray, objective: str) -> float:
    """Returns H(r), eq. (3); `r` and `p` are `float [N]`, r in (0, 1].

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import variance_bound
        >>> p = np.array([0.6, 0.3, 0.1])
        >>> [round(variance_bound(r, p, "p_squared"), 3) for r in (np.full(3, 1 / 3), p)]
        [1.38, 1.0]
    """
    return float(np.sum(numerators(p, objective) / r))


def best_if_all_available(p: np.ndarray, k: float, objective: str) -> tuple[np.ndarray, float]:
    """Returns the r of least H(r) if all clients are always available and K of them train.

    Then every r in (0, 1]^N of sum K is a possible rate. The least H is at
    r_k = min(1, s sqrt(c_k)), with s such that the sum is K: in proportion to p for
    `"p_squared"`, to sqrt(p) for `"p"`.

    Args:
        p: Client shares, `float [N]`, each above 0.
        k: K, above 0; with N or more every rate is 1.
        objective: See `numerators`.

    Returns:
        r / s, `float64 [N]`, in which equal clients are exactly equal, and s.
    """
    root = root_numerators(np.asarray(p, np.float64), objective)
    if k >= len(p):
        return np.ones(len(p)), 1.0
    # If the m largest rates are 1, the remaining rates sum to K - m. Take the least m with no rate
    # above 1.
    largest = np.sort(root)[::-1]
    scales = (k - np.arange(len(p))) / np.cumsum(largest[::-1])[::-1]
    scale = float(scales[np.argmax(scales * largest <= 1)])
    return np.minimum(root, 1 / scale), scale


def marginal_utility(r: np.ndarray, p: np.ndarray, objective: str) -> np.ndarray:
    """Returns -dH/dr_k = c_k / r_k^2, the utility of selecting client k (eq. 4); `float [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import marginal_utility
        >>> p, rates = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.1, 0.2])
        >>> marginal_utility(rates, p, "p_squared").round(3).tolist()
        [1.0, 9.0, 1.0]
    """
    return np.square(root_numerators(p, objective) / r)


class ParticipationRates(SavedState):
    """Exponentially smoothed participation rates r_k(t), one per client (or a cluster of clients).

    `r(t + 1) = (1 - beta) r(t) + beta 1_S`, eq. (5). All rates share the decay, which is kept as
    one number: r = scale * unscaled. So a round changes only the selected clients, and the state
    takes 8 bytes per client. Whenever the scale has fallen below 2^-64, a power of two moves from
    the scale into the unscaled rates, which is exact. Rates differ from the recursion client by
    client only by rounding (at most 1e-12 of a rate, see the tests).

    In exact arithmetic rates never reach 0. Here a rate is at least 1e-150, reached after some
    350 / beta rounds of absence, so that p^2 / r^2 stays finite.

    If the step is falling, round t moves the rates by max(1 / t, beta). While 1 / t is above beta,
    r_k(t) is the share of rounds 1 .. t in which client k was selected, and r(0) only decides the
    first selection. A client never selected is then at 1e-150, below every other client.

    Examples:
        >>> from f3ast_tff import ParticipationRates
        >>> rates = ParticipationRates([0.5, 0.5], beta=0.1)
        >>> rates.update([1])  # Client 1 took part.
        >>> rates.values.round(3).tolist()
        [0.45, 0.55]
    """

    saved_as: ClassVar[str] = "rates"

    def __init__(
        self, initial: np.ndarray, beta: float, *, falling: bool = False, scale: float = 1.0
    ) -> None:
        """Starts tracking.

        Args:
            initial: r(0) / scale, `float [N]`, such that r(0) is in (0, 1].
            beta: Step size, in (0, 1); the paper's O(1 / T).
            falling: Whether the step of round t is max(1 / t, beta).
            scale: Factor of all rates, above 0. Clients with `initial` in proportion to p tie
                exactly; with r(0) rounded one by one they would not.
        """
        if not 0 < beta < 1:
            raise ValueError(f"beta {beta}: must be in (0, 1)")
        values = np.array(initial, np.float64)
        # A product of 1 / K and K may exceed 1 by rounding.
        if not (np.all(values > 0) and np.all(values * scale <= 1 + 1e-15)):
            raise ValueError("initial rates must be in (0, 1]")
        self.beta = beta
        self.falling = falling
        self._rounds = np.array(0)
        self._unscaled = values
        self._scale = np.array(scale, np.float64)

    @property
    def values(self) -> np.ndarray:
        """r(t), `float64 [N]`, in (0, 1]; a new array, made in time linear in N."""
        return self._clipped(self._unscaled)

    @property
    def unscaled(self) -> np.ndarray:
        """Rates up to a factor common to all clients, `float64 [N]`; read-only view.

        These rates are enough to order clients by p / r.
        """
        view = self._unscaled.view()
        view.flags.writeable = False
        return view

    def at(self, clients: np.ndarray) -> np.ndarray:
        """Returns r(t) of some clients, `float64 [m]` for ids `int [m]`."""
        return self._clipped(self._unscaled[clients])

    def update(self, selected: np.ndarray, share: np.ndarray | float = 1.0) -> None:
        """Moves the rates by one round.

        Args:
            selected: Distinct ids of the clients in S, `int [m]`; empty for an empty round, which
                decays every rate.
            share: Values in [0, 1] that replace the 1 of 1_S, `float [m]` or one for all; for a
                cluster, the share of its clients that was selected.
        """
        if self.falling:
            self._rounds += 1
            if 1 / self._rounds > self.beta:
                self._count(selected, share)
                return
        self._scale *= 1 - self.beta
        if self._scale < _LEAST_SCALE:
            self._move_scale()
        self._unscaled[selected] += self.beta / self._scale * share

    def started(self, clients: np.ndarray, rate: float) -> ParticipationRates:
        """Returns rates in which joining clients have a first rate, as clients at t = 0 have r(0).

        Args:
            clients: Ids of the joining clients, `int [m]`.
            rate: First rate of these clients, in (0, 1].

        Raises:
            ParameterError: If the rate is out of range, or a client is none of them.
        """
        if not 0 < rate <= 1:
            raise ParameterError("initial_rate", rate, "must be in (0, 1]")
        n = len(self._unscaled)
        if len(clients) and not 0 <= np.min(clients) <= np.max(clients) < n:
            raise ParameterError("joined", clients, f"must be clients, 0 .. {n - 1}")
        renewed = copy.deepcopy(self)
        renewed._unscaled[clients] = rate / self._scale
        return renewed

    def _count(self, selected: np.ndarray, share: np.ndarray | float) -> None:
        # Whole numbers over t, so that clients selected equally often tie exactly.
        if self._rounds == 1:
            self._unscaled.fill(_LEAST)
        self._scale[...] = 1 / self._rounds
        self._unscaled[selected] += share

    def _move_scale(self) -> None:
        mantissa, exponent = math.frexp(float(self._scale))
        self._unscaled *= 2.0**exponent
        np.maximum(self._unscaled, _LEAST, out=self._unscaled)
        self._scale[...] = mantissa

    def _clipped(self, unscaled: np.ndarray) -> np.ndarray:
        rates = unscaled * self._scale
        return np.clip(rates, _LEAST, 1.0, out=rates)

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns `unscaled_rates` and `rate_scale`, whose product is r(t).

        With a falling step also `rate_updates`, the number of rounds so far.
        """
        kept = {"unscaled_rates": self._unscaled, "rate_scale": self._scale}
        return {**kept, "rate_updates": self._rounds} if self.falling else kept

    def state(self) -> dict[str, np.ndarray]:
        """Returns the `saved_arrays` arrays, and `rates`, r(t), for readers."""
        return {"rates": self.values, **super().state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """`rates` follow from the other arrays."""
        super().restore({name: array for name, array in state.items() if name != "rates"})


def bounded(weights: np.ndarray, bound: float | None) -> np.ndarray:
    """Returns weights p_k / r_k, `float64 [m]`, cut to the bound, if any."""
    return weights if bound is None else np.minimum(weights, bound)
