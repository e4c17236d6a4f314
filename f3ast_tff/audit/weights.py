"""Weights of the clients in the model, and the kind of rule.

**Kind.** One round of a new server, on dense updates u, v, u + v and 0. A rule is linear if the
steps add up. If equal updates of all clients give a step that is bounded in their length, but keeps
their direction, the rule clips; if the direction turns, it depends on the axes, as Adam does. A
rule that is none of these goes by losses if it takes another step once all losses are alike; else
it takes medians or selects.

**Weights.** Client k's optimum is b_k, the b_k are orthonormal in more dimensions than clients. The
mean model after a burn-in is fitted by least squares, sum_k omega_k b_k; R^2 is the share that
the fit explains. Errors come from means of blocks. Below `LEAST_R2` no weights are named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.audit.plays import NoStepError, played, step
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.world import DENSE, Clients, Schedule, Trace, fixed, optima, shares_of
from f3ast_tff.core.randomness import generator

LINEAR, BY_LOSS, CLIPS, ADAPTIVE, ROBUST, RANDOM, UNKNOWN = (
    "linear",
    "goes by losses",
    "clips",
    "depends on the axes",
    "selects or sorts",
    "random",
    "unknown",
)
LEAST_R2 = 0.95
RATE = 0.1
# Share of the rounds that are burn-in; number of blocks of the rest.
_BURN_IN, _BLOCKS = 0.25, 10
_FEWEST_ROUNDS = 40
_SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
_TINY = 1e-6
# A model whose moves are below this share of the largest one rests, up to rounding.
_REST = 1e-5
_EXACT, _TURNS = 1e-3, 0.99
_SCALES = np.logspace(-3, 4, 15)
_OVER_NOISE = 1e4
_RANDOM = "it draws by no seed of Python's or NumPy's global generators"


@dataclass(frozen=True)
class Rule:
    """The kind of a rule.

    Attributes:
        kind: `LINEAR`, `BY_LOSS`, `CLIPS`, `ADAPTIVE`, `ROBUST`, `RANDOM` or `UNKNOWN`.
        clip: Length to which updates are cut; infinite without.
        noise: Standard deviation of a coordinate of the step for updates of 0.
        error: Why the kind is unknown, or nothing can be judged.
    """

    kind: str
    clip: float = math.inf
    noise: float = 0.0
    error: str = ""

    @property
    def length(self) -> float:
        """Length of updates far above the noise, or, if it clips, below the clip."""
        return 0.1 * self.clip if math.isfinite(self.clip) else max(1.0, _OVER_NOISE * self.noise)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the clients in the model, over the rounds after the burn-in.

    Attributes:
        schedule: Name of the schedule.
        presence: Share of the rounds in which each client is present, `float64 [N]`.
        omega: Weights, `float64 [N]`; NaN if there are too few rounds.
        errors: Standard errors of `omega`.
        r2: Share of the mean model that the optima explain.
        p: Shares of the examples, `float64 [N]`.
        present: Weights of a mean of the present clients by examples, on the same replies.
        stated: Weights of the target's objective, on the same replies.
        away: Standard errors of `omega - stated`, `float64 [N]`.
        trace: Record of the rounds.
        skipped: Share of the rounds with replies that leave the model as it is.
    """

    schedule: str
    presence: np.ndarray
    omega: np.ndarray
    errors: np.ndarray
    r2: float
    p: np.ndarray
    present: np.ndarray
    stated: np.ndarray
    away: np.ndarray
    trace: Trace
    skipped: float = 0.0

    @property
    def named(self) -> bool:
        """Whether weights are named."""
        return bool(self.r2 >= LEAST_R2)

    @property
    def distance(self) -> float:
        """Half the sum of the absolute differences from the objective's weights."""
        return apart(self.omega, self.stated)

    @property
    def distance_error(self) -> float:
        """Bound of the error of `distance`, one standard error."""
        return float(np.sqrt((self.away**2).sum()) / 2)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Returns half the sum of the absolute differences."""
    return float(np.abs(a - b).sum() / 2)


def rule_of(target: Target, examples: np.ndarray) -> Rule:
    """Returns the kind of a target's rule."""
    n = len(examples)
    random = generator(0, "audit probes")
    u, v = random.standard_normal((2, n, DENSE * n))
    common = np.tile(random.standard_normal(DENSE * n), (n, 1))
    try:
        # Updates of 0 have no direction to clip.
        none = step(target, _TINY * u, examples)
        noise = _noise(target, _TINY * u, examples)

        def moved(updates: np.ndarray) -> np.ndarray:
            return step(target, updates, examples) - none

        one, other, both = moved(u), moved(v), moved(u + v)
        if not (one.any() or other.any()):
            return Rule(UNKNOWN, error="the model stays as it is")
        if not np.array_equal(one, moved(u), equal_nan=True):
            return Rule(RANDOM, error=_RANDOM)
        if _relative(one + other, both) < _EXACT:
            return Rule(LINEAR, noise=noise)
        ladder = [moved(scale * common) / scale for scale in _SCALES]
        # Noise is the same in each probe, but float32 loses a small step beside it.
        usable = [n for n, found in enumerate(ladder) if np.isfinite(found).all()]
        lengths = np.array([np.linalg.norm(ladder[n]) for n in usable])
        turned = _cosine(ladder[usable[-1]], common[0])
        if abs(turned) < _TURNS and lengths[-1] > 0:
            return Rule(ADAPTIVE, noise=noise)
        if lengths[-1] < 0.5 * lengths.max():
            # The step of equal updates far above the clip is as long as one of the clip's length.
            gain = lengths.max() / float(np.linalg.norm(common[0]))
            clip = float(lengths[-1] * _SCALES[usable[-1]] / gain)
            return Rule(CLIPS, clip=clip, noise=noise)
        if _relative(one, step(target, u, examples, same_loss=True) - none) > _EXACT:
            return Rule(BY_LOSS, noise=noise)
        return Rule(ROBUST, noise=noise)
    except NoStepError as error:
        return Rule(UNKNOWN, error=str(error))


def _noise(target: Target, tiny: np.ndarray, examples: np.ndarray) -> float:
    """Standard deviation of a coordinate of the step for updates of 0; by two seeds if it fails."""
    try:
        if np.isfinite(still := step(target, 0 * tiny, examples)).all():
            return float(np.std(still))
    except NoStepError:
        # The rule divides by their length: a part common to two seeds is no noise.
        pass
    one, other = (step(target, tiny, examples, seed=seed) for seed in (0, 1))
    return float(np.std(one - other) / math.sqrt(2))


def speeds_of(target: Target, rule: Rule, examples: np.ndarray, rounds: int) -> np.ndarray:
    """Returns how far each round moves the model along the mean update, `float64 [R]`.

    All clients are present and reply alike in each round, so that changes are the server's rate. A
    server that ends early has fewer rounds.
    """
    answer = fixed(examples, length=rule.length)
    models = played(target, answer, rounds).flat().reshape(-1, DENSE * len(examples))
    moves = np.diff(models, axis=0, prepend=0.0)
    return np.asarray((moves @ np.linalg.pinv(answer.updates)).sum(axis=1))


def weights_in(
    target: Target,
    schedule: Schedule,
    examples: np.ndarray,
    rounds: int,
    *,
    rotation: int | None = 0,
    scale: float = 1.0,
    speeds: np.ndarray | None = None,
) -> Weights:
    """Returns the weights of the clients in a schedule.

    Args:
        target: Audited server.
        schedule: Presence of the clients.
        examples: `num-examples` of each client, `float [N]`.
        rounds: Number of rounds.
        rotation: Seed of the optima's directions; `None` for the axes.
        scale: Length of the optima.
        speeds: Result of `speeds_of`; `None` for a server of one rate.
    """
    goals = optima(len(examples), scale, rotation)
    trace = played(target, Clients(goals, examples, rate=RATE), rounds, schedule)
    p, rounds = examples / examples.sum(), len(trace.models)
    presence = schedule.masks[: max(rounds, 1)].mean(axis=0)
    first, nothing = int(_BURN_IN * rounds), np.full(len(p), math.nan)
    if rounds - first < _FEWEST_ROUNDS:
        nan = math.nan
        return Weights(
            schedule.name, presence, nothing, nothing, nan, p, nothing, nothing, nothing, trace
        )
    models = trace.flat()[first:]
    with np.errstate(all="ignore"):
        mean, coordinates = models.mean(axis=0), models @ np.linalg.pinv(goals)
        omega = coordinates.mean(axis=0)
        residual = float(((mean - omega @ goals) ** 2).sum())
        r2 = 1 - residual / max(1e-30, float((mean**2).sum()))
    used = [each if moved else {} for each, moved in zip(trace.delivered, _uses(trace.flat()))]
    there = [{k: float(examples[k]) for k in each} for each in trace.there]
    # Momentum and rates of a server change no objective: of several rates the nearest counts.
    rates = [np.full(rounds, RATE * speed) for speed in _SPEEDS]
    if speeds is not None and len(speeds) >= rounds:
        rates.append(RATE * speeds[:rounds])
    counts = {
        "present": [trace.delivered, used],
        "equal": [[dict.fromkeys(e, 1.0) for e in each] for each in (trace.delivered, used)],
        "drawn": [there],
    }
    means = {
        name: min(
            (_means(one, len(p), rate)[first:] for one in each for rate in rates),
            key=lambda found: apart(omega, found.mean(axis=0)),
        )
        for name, each in counts.items()
    }
    stated = means.get(target.objective, np.tile(p, (len(models), 1)))
    return Weights(
        schedule.name,
        presence,
        omega=omega,
        errors=_error(coordinates),
        r2=r2,
        p=p,
        present=means["present"].mean(axis=0),
        stated=stated.mean(axis=0),
        away=_error(coordinates - stated),
        trace=trace,
        skipped=1 - sum(map(bool, used)) / max(sum(map(bool, trace.delivered)), 1),
    )


def _uses(models: np.ndarray) -> np.ndarray:
    """Whether each round uses its replies, `bool [R]`, by the models after the rounds.

    A round that leaves the model as it is skips its replies, or gathers them for a later one,
    unless the model has come to rest: its last move was as small as a rounding.
    """
    moves = np.abs(np.diff(models, axis=0, prepend=0.0)).max(axis=1)
    last = moves[np.maximum.accumulate(np.where(moves != 0, np.arange(len(moves)), 0))]
    return np.asarray((moves != 0) | (last > 0) & (last < _REST * moves.max()))


def _means(counts: Sequence[Mapping[int, float]], n: int, rates: np.ndarray) -> np.ndarray:
    """Weights after each round of a mean by these counts of the clients, `float64 [R, N]`."""
    found, now = np.zeros((len(rates), n)), np.zeros(n)
    for t, (rate, shares) in enumerate(zip(rates, map(shares_of, counts))):
        if shares:
            now *= 1 - rate
            now[list(shares)] += rate * np.array(list(shares.values()))
        found[t] = now
    return found


def _error(values: np.ndarray) -> np.ndarray:
    """Standard errors of the means of a series, by its blocks."""
    blocks = np.array([block.mean(axis=0) for block in np.array_split(values, _BLOCKS)])
    return np.asarray(blocks.std(axis=0, ddof=1) / math.sqrt(_BLOCKS))


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b) / max(float(np.linalg.norm(b)), 1e-12))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-30))
