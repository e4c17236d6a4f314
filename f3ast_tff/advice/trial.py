"""A trial of methods under a log, over draws: what they score, and which to begin with."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.advice import trial_tasks
from f3ast_tff.advice.candidates import METHODS, Candidate, candidate
from f3ast_tff.advice.study import read_studies
from f3ast_tff.analysis.compare.judge import BETTER, Claim, Verdict, judge
from f3ast_tff.analysis.compare.pairs import Paired, mean_over, paired, ranked
from f3ast_tff.analysis.compare.scored import Kept, Pair
from f3ast_tff.analysis.compare.times import FINAL, Course, Time
from f3ast_tff.analysis.runs import DIRECTIONS, course_of
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF
from f3ast_tff.availability import Table
from f3ast_tff.availability.logs.availability_log import AvailabilityLog
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.counted_warnings import warnings_counted
from f3ast_tff.records.metrics import users_said
from f3ast_tff.records.outputs import read_client_scores
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.simulation import simulate

DRAWS = 8
ROUNDS = 500
# Limits of a run on generated data, for a trial within two minutes of a core: of larger logs each
# draw takes a part of the clients, and where K is still larger, or the log longer, other rounds.
MOST_CLIENTS, FEWEST_CLIENTS, MOST_K, FEWEST_ROUNDS = 400, 40, 8, 200
# Local steps of the kept study, whose learning rates are used.
LOCAL_STEPS = 5
_STUDY_TASK = "synthetic"
# Score of the fifth of the clients that is there least, of those that ever are.
RAREST, FIFTH = "rarest_accuracy", 5

Scores = Mapping[Pair, float]


@dataclass(frozen=True, eq=False)
class Trial:
    """Scores of methods under one log.

    Attributes:
        candidates: Methods, the simplest first.
        runs: Runs by task, then method's name.
        score: Name of the score.
        k: Clients per round.
        clients: Number of clients of a run; fewer than the log's if it is large.
        rounds: Rounds of a run.
        log_rounds: Rounds of the log; 0 if unknown.
        users: Clients of the user scores, see `users_said`.
    """

    candidates: Sequence[Candidate]
    runs: Mapping[str, Mapping[str, Kept]]
    score: str
    k: int
    clients: int
    rounds: int
    log_rounds: int = 0
    users: str = ""

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Scores]]:
        """Score by task, then method's name, then draw; see `pairs` for a run that diverged."""
        return {
            task: {name: ranked(runs, self.score, FINAL) for name, runs in of_task.items()}
            for task, of_task in self.runs.items()
        }

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

    def differences(self, names: Sequence[str], best: str, score: str = "") -> dict[str, Verdict]:
        """Returns the verdicts on a method against each other of some methods, one family.

        `score` is the trial's by default, or `RAREST`.
        """
        others = [name for name in names if name != best]
        claims = [Claim(self.paired(best, name, score or self.score)) for name in others]
        return dict(zip(others, judge(claims)))

    def paired(self, a: str, b: str, score: str, time: str | int | Time = FINAL) -> Paired:
        """Returns two methods in the mean of the tasks, at a time."""
        return mean_over([paired(runs[a], runs[b], score, time) for runs in self.runs.values()])

    @cached_property
    def knows_rarest(self) -> bool:
        """Whether the accuracy of the seldom available fifth is known."""
        every = [runs for of_task in self.runs.values() for runs in of_task.values()]
        return all(RAREST in course for runs in every for course in runs.courses.values())

    def rarest(self, name: str) -> float:
        """Returns a method's accuracy on the seldom available fifth, mean over draws and tasks."""
        found = [ranked(runs[name], RAREST, FINAL) for runs in self.runs.values()]
        return mean_of({pair: sum(s[pair] for s in found) / len(found) for pair in found[0]})

    @cached_property
    def rounds_seen(self) -> list[int]:
        """Evaluated rounds before the last."""
        runs = next(iter(next(iter(self.runs.values())).values()))
        return [int(number) for number in next(iter(runs.courses.values()))["round"][:-1]]

    def level(self, names: Sequence[str]) -> list[str]:
        """Returns the methods that are not shown to be worse than the best of some, in order.

        Neither for all clients nor, if it is known, for the fifth that is there least. If no method
        is level in both, all clients decide.
        """
        best = next(name for name in self.ranked if name in names)
        behind = _behind(self.differences(names, best))
        if self.knows_rarest:
            best_of_rare = max(names, key=self.rarest)
            too = behind | _behind(self.differences(names, best_of_rare, RAREST))
            behind = too if len(too) < len(names) else behind
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


def _behind(verdicts: Mapping[str, Verdict]) -> set[str]:
    return {name for name, verdict in verdicts.items() if verdict.word == BETTER}


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
            of rounds, each draw takes rounds at random from equal parts of the log, in order.
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
    n = masks.shape[1]
    tasks = tasks_of(settings)
    own = "task" in settings
    clients = n if own else clients_of(n, k)
    chosen_k = k if clients == n else max(round(k * clients / n), 2)
    common = {"rounds": usual_rounds(len(masks), chosen_k), "client_share": share, **settings}
    # Four points, so that a lead is known over time.
    common.setdefault("eval_every", max(common["rounds"] // 4, 1))
    if not own:
        common = {"local_steps": LOCAL_STEPS, "engine": "host", **common}
    kind = SCORES_OF[share][0]
    courses: dict[str, dict[str, dict[Pair, Course]]] = {
        task: {each.name: {} for each in candidates} for task in tasks
    }
    summaries = []
    for draw in range(draws):
        ids = np.arange(n)
        if clients < n:
            ids = np.sort(generator(draw, "clients of a trial").permutation(n)[:clients])
        table = rounds_of_draw(masks, common["rounds"], draw)[:, ids]
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
                given = {"availability": table, "seed": draw, **given}
                course, summary = _run(given, table.mean(axis=0))
                summaries.append(summary)
                courses[task][each.name][Pair(draw, draw)] = course
    runs = {
        task: {
            name: Kept({"task": task, "method": name}, of_name, DIRECTIONS, generates_data=True)
            for name, of_name in of_task.items()
        }
        for task, of_task in courses.items()
    }
    return Trial(
        candidates,
        runs,
        f"{kind}_accuracy",
        chosen_k,
        clients,
        rounds=common["rounds"],
        log_rounds=len(masks),
        users=users_said(summaries),
    )


def _run(given: Mapping[str, Any], presence: np.ndarray) -> tuple[Course, Mapping[str, Any]]:
    """A run's evaluations, with `RAREST` if test clients are the clients, and its summary."""
    with tempfile.TemporaryDirectory() as place:
        found = simulate(**given, folder=Path(place) / "run", client_scores=True)
        by_round = read_client_scores(Path(place) / "run")
    course = dict(course_of(found.metrics))
    accuracy = [each["accuracy"] for _, each in sorted(by_round.items())]
    if accuracy and len(accuracy[0]) == len(presence) and len(accuracy) == len(course["round"]):
        there = np.flatnonzero((presence > 0) & np.isfinite(accuracy[-1]))
        rare = there[np.argsort(presence[there], kind="stable")][: max(len(there) // FIFTH, 1)]
        course[RAREST] = np.array([float(each[rare].mean()) for each in accuracy])
    return course, found.summary


def tasks_of(settings: Mapping[str, Any]) -> list[str]:
    """Returns the names of a trial's tasks: that of the settings, else generated ones."""
    if "task" in settings:
        return [str(settings["task"])]
    network = trial_tasks.has_mnist1d() and "model" not in settings
    return [trial_tasks.SYNTHETIC, *([trial_tasks.MNIST1D] if network else [])]


def _named(table: np.ndarray, names: Sequence[str]) -> Any:
    return Table(AvailabilityLog(packed_masks(table, "masks"), tuple(names)))


def clients_of(num_clients: int, k: int) -> int:
    """Returns the number of clients of a run on generated data, by which K falls in proportion."""
    most = min(num_clients, MOST_CLIENTS)
    if k * most > MOST_K * num_clients:
        most = max(MOST_K * num_clients // k, min(FEWEST_CLIENTS, num_clients))
    return most


def usual_rounds(log_rounds: int, k: int) -> int:
    """Returns the rounds of a run by default: those of the log, if they are not too few or many."""
    affordable = max(ROUNDS * min(MOST_K, k) // k, FEWEST_ROUNDS)
    return log_rounds if affordable < log_rounds <= 2 * affordable else affordable


def rounds_of_draw(masks: np.ndarray, rounds: int, draw: int) -> np.ndarray:
    """Returns the masks of a draw: of a longer log one round at random from each equal part."""
    if len(masks) <= rounds:
        return masks
    places = np.arange(rounds) + generator(draw, "rounds of a trial").random(rounds)
    return masks[(places * len(masks) / max(rounds, 1)).astype(np.int64)]
