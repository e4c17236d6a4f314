"""A trial of methods on a task under a log, over draws: ranked, or too close to call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from f3ast_tff.advice.study import read_studies
from f3ast_tff.analysis.method_differences import corrected_intervals
from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF, method_name
from f3ast_tff.analysis.verdicts import FEWEST_DRAWS
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.simulation import simulate

# FedAvg, F3AST, the best of the kept study, and two methods of other papers.
METHODS = ("fedavg", "f3ast", "f3ast+scaffold", "fedau", "mifa")
DRAWS = 5
ROUNDS = 500
# Local steps of the kept study, whose learning rates are used.
_LOCAL_STEPS = 5
_TASK = "synthetic"


@dataclass(frozen=True, eq=False)
class Trial:
    """Scores of methods under one log, and their differences to the best.

    Attributes:
        scores: Score by method, then draw; 0 for a run that diverged.
        score: Name of the score, a column of `metrics.csv`.
        differences: Best method minus each other method, with intervals corrected over the methods
            (Holm).
    """

    scores: Mapping[str, Mapping[Pair, float]]
    score: str
    differences: Mapping[str, tuple[PairedDifference, tuple[float, float]]]

    @property
    def ranked(self) -> list[str]:
        """Methods by mean score, best first."""
        return sorted(self.scores, key=lambda name: _mean(self.scores[name]), reverse=True)

    @property
    def level(self) -> list[str]:
        """The best method, and each method whose interval of the difference contains 0."""
        best, *others = self.ranked
        return [best, *(name for name in others if not self.differences[name][1][0] > 0)]

    def __str__(self) -> str:
        """Returns the ranking as text."""
        best, *others = self.ranked
        draws = len(self.scores[best])
        name = self.score.removeprefix("test_").replace("_", " ")
        width = max(map(len, self.scores))
        lines = [f"  {best:<{width}} {_mean(self.scores[best]):.3f}"]
        for other in others:
            found, (low, high) = self.differences[other]
            lines.append(
                f"  {other:<{width}} {_mean(self.scores[other]):.3f}  {-found.mean:+.3f} "
                f"[{-high:+.3f}, {-low:+.3f}]"
            )
        level = self.level
        verdict = f"{best} is the best"
        if draws < FEWEST_DRAWS:
            verdict = f"no verdict: {FEWEST_DRAWS} draws are needed"
        elif len(level) > 1:
            verdict = f"too close to call: {', '.join(level)}"
        return "\n".join([f"Trial: {name}, mean of {draws} draws", *lines, f"  {verdict}"])


def _mean(scores: Mapping[Pair, float]) -> float:
    return sum(scores.values()) / len(scores)


def settings_of(method: str, task: str, share: str) -> dict[str, Any]:
    """Returns the settings of a candidate.

    Args:
        method: An algorithm, or an algorithm and an aggregation such as `f3ast+scaffold`.
        task: Name of the task. On Synthetic the methods of the kept study have their tuned learning
            rates; on other tasks, and for a share that the study lacks, all methods have the task's
            rates.
        share: Client share, of `SCORES_OF`.
    """
    algorithm, _, aggregation = method.partition("+")
    settings: dict[str, Any] = {"algorithm": algorithm}
    if aggregation:
        settings["aggregation"] = aggregation
    study, name = read_studies().get(share), method_name(task, settings)
    if task == _TASK and study is not None and name in study.settings.index:
        settings.update({rate: float(study.settings[rate][name]) for rate in RATES})
    return settings


def trial(
    availability: Any,
    k: int,
    methods: Sequence[str] = METHODS,
    *,
    draws: int = DRAWS,
    share: str = "equal",
    on_run: Callable[[str, int], None] | None = None,
    **settings: Any,
) -> Trial:
    """Runs methods under one log, over draws of data and seed, and compares them.

    Args:
        availability: Masks, a process or a name, see `simulate`.
        k: Clients per round.
        methods: Candidates, at least 2, as `f3ast` or `f3ast+scaffold`.
        draws: Number of draws, at least 2; draw d is data seed and seed d.
        share: Objective, of `SCORES_OF`, which decides the score.
        on_run: Called with method and draw before each run.
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
        >>> masks = np.random.default_rng(0).random((50, 100)) < np.linspace(0.05, 0.6, 100)
        >>> found = trial(masks, k=10, methods=["fedavg", "f3ast"], draws=2, rounds=2)
        >>> print(str(found).splitlines()[-1].strip())
        no verdict: 5 draws are needed
    """
    said = ",".join(methods)
    if draws < 2:
        raise ParameterError("draws", draws, "must be at least 2")
    registry = registry_with(settings.get("plugins", ()))
    for method in methods:
        for kind, name in zip(("algorithm", "aggregation"), filter(None, method.split("+"))):
            try:
                registry.find(kind, name)
            except ParameterError as error:
                raise ParameterError("methods", said, f"{kind} {name} {error.allowed}") from error
    if len(set(methods)) < 2:
        raise ParameterError("methods", said, "must be two or more")
    task = settings.get("task", _TASK)
    common = {"rounds": ROUNDS, "client_share": share, "clients_per_round": k, **settings}
    if task == _TASK:
        common = {"local_steps": _LOCAL_STEPS, **common}
    kind = SCORES_OF[share][0]
    score = f"test_{kind}_accuracy"
    scores: dict[str, dict[Pair, float]] = {method: {} for method in methods}
    for draw in range(draws):
        for method in methods:
            if on_run is not None:
                on_run(method, draw)
            own = {**settings_of(method, task, share), **common}
            own.setdefault("eval_every", max(own["rounds"], 1))
            found = simulate(availability=availability, data_seed=draw, seed=draw, **own)
            last = found.metrics.iloc[-1]
            # The accuracy of a model that diverged is that of a guess.
            lost = not math.isfinite(last[score] + last[f"test_{kind}_loss"])
            scores[method][Pair(draw, draw)] = 0.0 if lost else float(last[score])
    best = max(scores, key=lambda name: _mean(scores[name]))
    others = [name for name in scores if name != best]
    differences = [paired_difference(scores[best], scores[name]) for name in others]
    ends = corrected_intervals(differences)
    return Trial(scores, score, dict(zip(others, zip(differences, ends))))
