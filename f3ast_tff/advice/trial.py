"""A trial of methods under a log, over draws: what they score, and which to begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.advice import trial_tasks
from f3ast_tff.advice.candidates import METHODS, Candidate, candidate
from f3ast_tff.advice.study import read_studies
from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF
from f3ast_tff.analysis.verdicts import corrected_intervals
from f3ast_tff.availability import Table
from f3ast_tff.availability.logs.availability_log import AvailabilityLog
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.counted_warnings import warnings_counted
from f3ast_tff.records.metrics import users_said
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.simulation import simulate

DRAWS = 8
ROUNDS = 500
# Most clients of a run on generated data; of larger logs each draw takes a part.
MOST_CLIENTS = 1000
# Local steps of the kept study, whose learning rates are used.
LOCAL_STEPS = 5
_STUDY_TASK = "synthetic"

Scores = Mapping[Pair, float]


@dataclass(frozen=True, eq=False)
class Trial:
    """Scores of methods under one log.

    Attributes:
        candidates: Methods, the simplest first.
        scores: Score by task, then method's name, then draw; 0 for a run that diverged.
        score: Name of the score, a column of `metrics.csv`.
        k: Clients per round.
        clients: Number of clients of a run; fewer than the log's if it is large.
        rounds: Rounds of a run.
        users: Clients of the user scores, see `users_said`.
    """

    candidates: Sequence[Candidate]
    scores: Mapping[str, Mapping[str, Scores]]
    score: str
    k: int
    clients: int
    rounds: int
    users: str = ""

    @cached_property
    def means(self) -> Mapping[str, Scores]:
        """Mean over tasks, by method's name, then draw."""
        by_task = list(self.scores.values())
        return {
            name: {draw: sum(t[name][draw] for t in by_task) / len(by_task) for draw in found}
            for name, found in by_task[0].items()
        }

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.means[self.candidates[0].name])

    @property
    def ranked(self) -> list[str]:
        """Methods' names by mean score, best first."""
        return sorted(self.means, key=lambda name: mean_of(self.means[name]), reverse=True)

    def differences(
        self, names: Sequence[str], best: str
    ) -> dict[str, tuple[PairedDifference, tuple[float, float]]]:
        """Returns a method minus each other of some methods, with intervals of 95% (Holm)."""
        others = [name for name in names if name != best]
        found = [paired_difference(self.means[best], self.means[name]) for name in others]
        return dict(zip(others, zip(found, corrected_intervals(found))))

    def level(self, names: Sequence[str]) -> list[str]:
        """Returns the best of some methods, and those that are not shown to be worse, in order."""
        best = next(name for name in self.ranked if name in names)
        behind = {n for n, (_, (low, _)) in self.differences(names, best).items() if low > 0}
        return [name for name in names if name not in behind]

    @cached_property
    def deployable(self) -> list[str]:
        """Names of the methods that a server can run, the simplest first."""
        return [each.name for each in self.candidates if each.start(self.k, "p") is not None]

    @property
    def advised(self) -> Candidate:
        """The simplest method that is not shown to be worse than the best that a server can run.

        If a server can run none of them, it is the simplest of all that are not shown to be worse.
        """
        names = self.deployable or [each.name for each in self.candidates]
        first = self.level(names)[0]
        return next(each for each in self.candidates if each.name == first)


def mean_of(scores: Scores) -> float:
    """Returns the mean over draws."""
    return sum(scores.values()) / len(scores)


def candidates_of(methods: Sequence[str], plugins: Sequence[str] = ()) -> list[Candidate]:
    """Returns the methods of a trial.

    Raises:
        ParameterError: If a name is unknown, or there are fewer than two methods.
    """
    registry = registry_with(plugins)
    found = [candidate(text, registry) for text in methods]
    if len({each.name for each in found}) < max(len(found), 2):
        raise ParameterError("methods", ",".join(methods), "must be two or more, each once")
    return found


def study_rates(method: Candidate, share: str) -> dict[str, float]:
    """Returns the tuned learning rates of the kept study; none of a method that it lacks."""
    study = read_studies().get(share)
    if study is None or method.name not in study.settings.index:
        return {}
    return {rate: float(study.settings[rate][method.name]) for rate in RATES}


@warnings_counted()
def trial(
    masks: np.ndarray,
    k: int,
    methods: Sequence[str] = METHODS,
    *,
    p: np.ndarray | None = None,
    names: Sequence[str] = (),
    objective: str | None = None,
    draws: int = DRAWS,
    share: str = "equal",
    on_run: Callable[[str, str, int], None] | None = None,
    **settings: Any,
) -> Trial:
    """Runs methods under one log, over draws of data, clients' rounds and seed.

    Without a `task` the runs are on Synthetic(1, 1), with the learning rates of the kept study, and
    on a small network on MNIST-1D if that package is installed, with one pair of rates for all.

    Args:
        masks: Available clients by round, `bool [T, N]`. They repeat. If T is more than the number
            of rounds, each draw begins elsewhere.
        k: Clients per round.
        methods: Candidates, at least two, from the simplest on: an algorithm; an aggregation and
            settings may follow, each after a `+`.
        p: Client shares, `float [N]`: the sizes of clients' data; `None` for equal ones.
        names: Names of the clients, by which a task of named clients finds them; empty without.
        objective: `availability_objective` of methods that have it; `None` for their default.
        draws: Number of draws, at least 2; draw d is data seed and seed d.
        share: Objective of the runs, of `SCORES_OF`, which decides the score.
        on_run: Called with task, method and draw before each run.
        **settings: Further settings of all runs, such as `task`, `rounds`, `data_file` and
            `plugins`.

    Returns:
        The trial.

    Raises:
        ParameterError: If a setting is not allowed.
        ComponentError: See `simulate`.
        DataError: See `simulate`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.advice.trial import trial
        >>> masks = np.random.default_rng(0).random((50, 40)) < np.linspace(0.05, 0.6, 40)
        >>> found = trial(masks, k=5, methods=["fedavg", "f3ast"], draws=2, rounds=2)
        >>> found.advised.name
        'FedAvg'
    """
    if draws < 2:
        raise ParameterError("draws", draws, "must be at least 2")
    candidates = candidates_of(methods, settings.get("plugins", ()))
    common = {"rounds": ROUNDS, "client_share": share, **settings}
    common.setdefault("eval_every", max(common["rounds"], 1))
    n = masks.shape[1]
    tasks = tasks_of(settings)
    own = "task" in settings
    if not own:
        common = {"local_steps": LOCAL_STEPS, "engine": "host", **common}
    clients = n if own else min(n, MOST_CLIENTS)
    chosen_k = k if clients == n else max(round(k * clients / n), 2)
    kind = SCORES_OF[share][0]
    score = f"test_{kind}_accuracy"
    scores: dict[str, dict[str, dict[Pair, float]]] = {
        task: {each.name: {} for each in candidates} for task in tasks
    }
    summaries = []
    for draw in range(draws):
        ids = np.arange(n)
        if clients < n:
            ids = np.sort(generator(draw, "clients of a trial").permutation(n)[:clients])
        table = rounds_of_draw(masks, common["rounds"], draw, draws)[:, ids]
        sizes = trial_tasks.sizes_of(np.ones(clients) if p is None else p[ids])
        for task in tasks:
            drawn = {} if own else trial_tasks.data_and_model(task, sizes, draw)
            for each in candidates:
                if on_run is not None:
                    on_run(task, each.name, draw)
                given: dict[str, Any] = {**each.settings, "clients_per_round": chosen_k}
                if task in (trial_tasks.SYNTHETIC, _STUDY_TASK):
                    given |= study_rates(each, share)
                if objective is not None and each.takes_objective:
                    given["availability_objective"] = objective
                given |= {**drawn, **common}
                if own:
                    given["data_seed"] = draw
                    given["availability"] = _named(table, names)
                found = simulate(**{"availability": table, "seed": draw, **given})
                summaries.append(found.summary)
                last = found.metrics.iloc[-1]
                # The accuracy of a model that diverged is that of a guess.
                lost = not math.isfinite(last[score] + last[f"test_{kind}_loss"])
                scores[task][each.name][Pair(draw, draw)] = 0.0 if lost else float(last[score])
    users = users_said(summaries)
    return Trial(candidates, scores, score, chosen_k, clients, common["rounds"], users)


def tasks_of(settings: Mapping[str, Any]) -> list[str]:
    """Returns the names of a trial's tasks: that of the settings, else generated ones."""
    if "task" in settings:
        return [str(settings["task"])]
    network = trial_tasks.has_mnist1d() and "model" not in settings
    return [trial_tasks.SYNTHETIC, *([trial_tasks.MNIST1D] if network else [])]


def _named(table: np.ndarray, names: Sequence[str]) -> Any:
    return Table(AvailabilityLog(packed_masks(table, "masks"), tuple(names)))


def rounds_of_draw(masks: np.ndarray, rounds: int, draw: int, draws: int) -> np.ndarray:
    """Returns the masks of a draw: of a log that is longer than the runs, a part of it."""
    if len(masks) <= rounds:
        return masks
    return masks[(draw * len(masks) // draws + np.arange(rounds)) % len(masks)]
