"""The loss part of Oort (Lai et al., OSDI 2021): prefers high losses, explores new clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import draw_by_weight
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import RenewedMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round
from f3ast_tff.settings import parameter
from f3ast_tff.settings.configuration import Settings

# Utilities are clipped at this quantile, the default of the released code's function; its runs
# pass 0.98.
_CLIP = 0.95
_SMALLEST_SPREAD = 1e-4


@takes_old_arguments
@method(
    "oort_loss",
    "Oort (loss)",
    about="draws clients by n_k times the root mean square of their last losses, explores new ones",
    order=18,
    step_scale=1,
)
@dataclass(frozen=True)
class OortLoss(RenewedMethod):
    """Draws known clients, which have taken part before, by utility; explores new clients.

    In round t there are K places, and e_t = max(e decay^(t-1), least):

    - int((1 - e_t) K) places go to known clients, the rest to new clients, drawn uniformly. If one
      kind cannot fill its places, they go to the other kind.
    - The utility of a client is U_k = n_k sqrt(mean of the squared losses of its examples),
      Oort's eq. (1), from its last participation. The losses are taken over all of its examples
      at the model that it starts from; Oort takes the losses in the first pass of its training.
    - The score of a client is U_k, clipped at the 95% quantile and scaled to [0, 1] by the range
      among available known clients, plus sqrt(0.1 log t / L_k), with L_k the round of its last
      participation. The released code takes quantile and range over new clients too, whose utility
      is their size.
    - The bar is `oort_cutoff` times the score that would take the last place. Clients with a score
      of at least the bar are drawn with chances proportional to their scores, without replacement.

    The losses asked for must be mean squares, `mean_squares` of `LOSS_REDUCTIONS`. Left out are
    Oort's terms for the speed of clients, its pacer, and its list of clients taken too often. If
    the constraint is more than a number, K is the number of clients that it admits from the
    available clients in random order. Then it admits the drawn clients first, in random order, and
    other clients after them. A client without examples takes no part. The weights are meant for a
    plain mean.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint
        >>> from f3ast_tff.methods.oort_loss import OortLoss
        >>> greedy = {"oort_exploration": 0.0, "oort_exploration_min": 0.0}
        >>> strategy = OortLoss.start(np.full(3, 1 / 3), k=1, sizes=[50, 100, 80], **greedy)
        >>> utility = np.array([150.0, 100.0, 40.0])  # From round 1, in which all took part.
        >>> strategy.restore({"utility": utility, "last_participation": np.ones(3, int)})
        >>> strategy.select(Round(2, np.ones(3, bool), RoundConstraint(1))).tolist()
        [0]
    """

    needs_losses: ClassVar[bool] = True
    needs_outcome: ClassVar[bool] = True
    aggregation: ClassVar[str] = "mean"

    oort_exploration: float = parameter(
        0.9, "share of places for clients never tried, in round 1", minimum=0, maximum=1
    )
    oort_exploration_decay: float = parameter(
        0.98, "factor of that share from round to round", above=0, maximum=1
    )
    oort_exploration_min: float = parameter(0.2, "least such share", minimum=0, maximum=1)
    oort_cutoff: float = parameter(
        0.95,
        "draw clients whose score is at least this part of the last place's score",
        above=0,
        maximum=1,
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the utility and the round of the last participation of each client, 0 for never.

        `found` are the utilities of this round's cohort, from `weigh` to `observe`.
        """
        n = world.num_clients
        return {
            "utility": np.zeros(n),
            "last_participation": np.zeros(n, np.int64),
            "found": np.zeros(n),
        }

    def saved_arrays(self) -> dict[str, np.ndarray]:
        return {name: self.kept[name] for name in ("utility", "last_participation")}

    @property
    def sizes(self) -> np.ndarray:
        """Training examples n_k, `float64 [N]`."""
        return self.world.sizes.astype(np.float64)

    @property
    def client_loss(self) -> str:
        """Oort's eq. (1)."""
        return "mean_squares"

    def check(self, settings: Settings) -> None:
        if settings.is_late:
            allowed = (
                "must not be late with oort_loss, which asks a client for its losses when its "
                "update arrives"
            )
            raise ParameterError("delivery", settings.delivery, allowed)

    def select(self, now: Round) -> np.ndarray:
        rng = now.generator(self.seed)
        candidates = rng.permutation(np.flatnonzero(now.available & (self.sizes > 0)))
        places = len(now.constraint.admit(candidates))
        last = self.kept["last_participation"][candidates]
        known, new = candidates[last > 0], candidates[last == 0]
        # The small number makes 0.2 of 10 places two also in floating point.
        for_known = min(int((1 - self.explored_share(now.number)) * places + 1e-9), len(known))
        for_new = min(places - for_known, len(new))
        drawn = self._draw(known, places - for_new, now.number, rng)
        first = rng.permutation(np.concatenate([drawn, new[:for_new]]))
        others = candidates[~np.isin(candidates, first)]
        return now.constraint.admit(np.concatenate([first, others]))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Asks the selected clients for their losses."""
        if len(ids):
            squares = now.losses(ids)
            # A client may say anything; squares are not below 0.
            known_loss = np.where(np.isfinite(squares), np.maximum(squares, 0.0), 0.0)
            self.kept["found"][ids] = self.sizes[ids] * np.sqrt(known_loss)
        return super().weigh(now, ids, delivered)

    def explored_share(self, round_number: int) -> float:
        """Returns e_t."""
        share = self.oort_exploration * self.oort_exploration_decay ** (round_number - 1)
        return max(share, self.oort_exploration_min)

    def _draw(
        self, known: np.ndarray, number: int, round_number: int, rng: np.random.Generator
    ) -> np.ndarray:
        if number == 0:
            return np.zeros(0, np.int64)
        score = np.zeros(len(self.p))
        score[known] = self._scores(known, round_number)
        bar = self.oort_cutoff * np.sort(score[known])[-number]
        return draw_by_weight(known[score[known] >= bar], score, number, rng)

    def _scores(self, known: np.ndarray, round_number: int) -> np.ndarray:
        utility = self.kept["utility"][known]
        clip = np.sort(utility)[int(_CLIP * len(utility))]
        # The lowest utility keeps some chance of being drawn, as in the released code.
        low = 0.999 * utility.min()
        scaled = (np.minimum(utility, clip) - low) / max(utility.max() - low, _SMALLEST_SPREAD)
        return scaled + np.sqrt(0.1 * np.log(round_number) / self.kept["last_participation"][known])

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Stores the utilities of clients whose update arrived; 0 without a finite loss."""
        ids = outcome.ids[outcome.delivered]
        self.kept["last_participation"][ids] = round_number
        self.kept["utility"][ids] = self.kept["found"][ids]
