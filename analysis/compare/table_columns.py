"""Columns of anybody's table of scores: a row per run, or per run and round.

Columns are given, or recognised by their names: the method, the score and its direction, the seed
(or an id of the run), the draw of the data, the round. Columns of text in which a method has
several values are conditions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from reprlib import repr

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number, is_measured, is_text, rows_said
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError

# Names of columns, the likeliest first; compared in lower case, without a service's prefix.
_NAMES = {
    "method": "method algorithm algo alg strategy approach aggregator aggregation baseline "
    "framework optimizer model",
    "seed": "seed random_seed rng_seed trial repeat repetition rep replicate",
    "run": "run run_id run_name id",
    "draw": "data_seed draw fold split_seed",
    "step": "round rounds server_round server-round comm_round global_round step "
    "communication_round epoch iteration training_iteration _step",
}
_PREFIX = re.compile(r"^(config|params|metrics|summary|hparams)[./]")
# Words in the name of a score, by the direction that is better.
_HIGHER = (
    "accuracy acc top1 top5 f1 auc auroc precision recall dice iou bleu rouge map r2 reward return "
    "score psnr ssim"
)
_LOWER = "loss error err mae mse rmse perplexity ppl nll wer cer bpc fid"
_UP, _DOWN = _HIGHER.split(" "), _LOWER.split(" ")
_TIMES = ("time", "seconds", "rounds")
_SPLITS = ("test", "eval", "evaluation", "val", "valid", "validation", "", "train", "training")
# Numbers in which tuned methods may differ.
_TUNED = re.compile(r"(^|_)(lr|learning_rate|momentum|mu|beta_?\d?|tau|weight_decay|param\w*)$")
# Columns by which W&B and MLflow keep runs; no conditions.
_KEPT_BY = re.compile(
    r"(name|state|notes|user|tags|created|updated|end time|runtime|hostname|sweep|id|status|"
    r"artifact_uri|start_time|end_time|experiment_id|run_name|run_id|_\w+|tags\..+)"
)
_MEANS = re.compile(r"(^|_)(mean|avg|average|std|sd|stdev|stderr|ci)($|_)")
# Values of a text that tells the runs of a method apart, not conditions.
_MANY = 5
# Most values of a number that is a condition.
_FEW = 12


@dataclass(frozen=True)
class Columns:
    """Columns of a table, by name.

    Attributes:
        method: The method.
        score: The score.
        higher: Whether a higher score is better.
        step: The round; `None` for a row per run.
        seed: The seed; `None` if each row, or each `run`, is a run of its own.
        run: An id of the run, in place of a seed; `None` without one.
        draw: The draw of the data; `None` without one.
        conditions: Columns that two methods must share to be compared.
        loss: A loss beside the score: where it is not finite, the run diverged.
        own: Numbers in which methods differ, such as a learning rate.
    """

    method: str
    score: str
    higher: bool
    step: str | None
    seed: str | None
    run: str | None
    draw: str | None
    conditions: tuple[str, ...]
    loss: str | None = None
    own: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Name of the score in `Scored`."""
        return f"sample_{self._name}"

    @property
    def _name(self) -> str:
        # Accuracies have a worst value, see `pairs`.
        words = _words(self.score)
        return "accuracy" if self.higher and {"acc", "accuracy"} & set(words) else self.score

    @property
    def directions(self) -> dict[str, bool]:
        """Whether a higher value is better, by the names of `Scored`."""
        found = {self._name: self.higher}
        return {**found, "loss": False} if self.loss is not None else found

    @property
    def unit(self) -> str | None:
        """Column that tells the runs of a method apart."""
        return self.seed or self.run


def recognised(
    table: pd.DataFrame,
    given: Mapping[str, str],
    higher: bool | None,
    within: Sequence[str] = (),
    may_differ: Sequence[str] = (),
) -> Columns:
    """Finds the columns of a table.

    Args:
        table: The table; `table.index` names its rows in messages.
        given: Columns by role: `method`, `score`, `seed`, `run`, `draw`, `step`.
        higher: Whether a higher score is better; `None` to tell by its name.
        within: Further conditions.
        may_differ: Columns that are no conditions.

    Raises:
        ParameterError: If there is no such column.
        RunsError: If a column is not recognised, or the score is no number; names the rows.
    """
    all_ = listed(table.columns)
    for role, name in given.items():
        if name not in table:
            raise ParameterError(role, name, f"must be a column: {all_}")
    plain = {_plain(str(name)): str(name) for name in table}

    def known_as(role: str) -> list[str]:
        return [plain[name] for name in _NAMES[role].split(" ") if name in plain]

    def first(role: str) -> str | None:
        found = known_as(role)
        return given.get(role) or next((n for n in found if n not in given.values()), None)

    several = [name for name in known_as("method") if table[name].nunique() > 1]
    method = given.get("method") or next(iter(several), None)
    roles_by_name = {n for role in _NAMES for n in known_as(role)}
    if method is None:
        hint = _of_columns(table, roles_by_name, "method")
        raise RunsError(f"no column is known as the method: --method= names one of {all_}{hint}")
    score = given.get("score") or _score_in(table, [str(name) for name in table])
    if score is None:
        hint = _of_columns(table, {*roles_by_name, method}, "seed")
        raise RunsError(f"no column is known as the score: --score= names one of {all_}{hint}")
    known = _direction(score)
    if higher is None and known is None:
        raise ParameterError("score", score, "give --higher or --lower, which is better")
    step, seed, draw = first("step"), first("seed"), first("draw")
    table = measured(table, score, step)
    texts = [row for row, value in zip(table.index, table[score]) if as_number(value) is None]
    if texts:
        said = (
            f"column {score} holds text in {rows_said(texts)}: {repr(table.loc[texts[0], score])}"
        )
        raise RunsError(said)
    if table.empty:
        raise RunsError(f"column {score} is empty in every row")
    run = None if seed else first("run")
    if seed is None and run is None and draw is not None:
        # Folds alone are what methods share.
        seed, draw = draw, None
    for name in (n for n in (method, seed, run, draw) if n):
        if empty := [r for r, v in zip(table.index, table[name]) if not is_measured(v) or v != v]:
            raise RunsError(f"column {name} is empty in {rows_said(empty)}")
    losses = [n for n in map(str, table) if n != score and _is_loss_beside(n, score)]
    roles = {method, score, step, seed, run, draw}
    found = Columns(
        method=method,
        score=score,
        higher=bool(known if higher is None else higher),
        step=step,
        seed=seed,
        run=run,
        draw=draw,
        conditions=_conditions(table, {*roles, *may_differ}, method, seed or run, within),
        loss=next(iter(losses), None),
        own=tuple(n for n, told in differing(table, roles, method).items() if told == "tuned"),
    )
    if found.unit is None:
        _refuse_unknown(table, found)
        return found
    return replace(found, conditions=(*found.conditions, *_numbers_apart(table, found)))


def measured(table: pd.DataFrame, score: str, step: str | None) -> pd.DataFrame:
    """Returns the rows in which a score was measured.

    In a column of floats NaN stands for a gap too, as in the history of a service that logs the
    score at some steps: a step at which no run has a finite score is no evaluation.
    """
    table = table[table[score].map(is_measured)]
    if step is None or table[score].dtype.kind != "f":
        return table
    finite = pd.Series(np.isfinite(table[score]), index=table.index)
    return table[finite.groupby(table[step]).transform("any")]


def _plain(name: str) -> str:
    return _PREFIX.sub("", name).lower().replace(" ", "_")


def _of_columns(table: pd.DataFrame, roles: set[str], role: str) -> str:
    """How to read a table with a column per method or seed; `""` for another table."""
    numbers = [str(n) for n in table if str(n) not in roles and not is_text(table[n])]
    if any(_MEANS.search(_plain(name)) for name in numbers):
        return "; means of runs are not judged, a row per run is needed"
    # A number with repeated values, such as alpha, tells rows apart.
    values = [name for name in numbers if 2 * table[name].nunique() > len(table)]
    if len(values) < 2:
        return ""
    ids = [str(name) for name in table if str(name) not in values]
    melted = f"table.melt({ids}, var_name={role!r}, value_name='score')"
    return f"; if there is one per {role}, in pandas: {melted}"


def _refuse_unknown(table: pd.DataFrame, found: Columns) -> None:
    """Refuses rows that a number tells apart which may be a seed, a round or a condition."""
    roles = (found.method, found.score, found.loss, found.step, found.draw, *found.conditions)
    if found.step is not None:
        # Rows of several runs at one round are refused as such.
        return
    for name in (str(n) for n in table if str(n) not in roles and not is_text(table[n])):
        shared = table.groupby(name)[found.method].nunique()
        if len(shared) > 1 and shared.min() > 1:
            cures = f"--seed={name}, --step={name} or --within={name}"
            raise RunsError(f"no column is known as the seed: {cures} says what {name} is")


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower().replace("top-", "top")) if word]


def _direction(name: str) -> bool | None:
    words = _words(name)
    # "accuracy loss", "error rate": the last known word decides.
    for word in reversed(words):
        if word in (*_UP, *_DOWN, *_TIMES):
            return word in _UP
    return None


def _split(name: str) -> int:
    words = _words(name)
    return next((n for n, word in enumerate(_SPLITS) if word in words), _SPLITS.index(""))


def _score_in(table: pd.DataFrame, names: Sequence[str]) -> str | None:
    order = (*_UP, *_DOWN)
    found = []
    for place, name in enumerate(names):
        words = [word for word in _words(name) if word in order]
        if words and table[name].map(_may_be_score).any():
            found.append((order.index(words[-1]) > 1, _split(name), order.index(words[-1]), place))
    return names[min(found)[-1]] if found else None


def _may_be_score(value: object) -> bool:
    """Whether a cell is a number or begins as one, such as `0.7 ± 0.1`, which is refused later."""
    return as_number(value) is not None or re.match(r"[-+]?\.?\d", str(value)) is not None


def _is_loss_beside(name: str, score: str) -> bool:
    return _words(name)[-1:] == ["loss"] and _split(name) == _split(score)


def _conditions(
    table: pd.DataFrame,
    roles: set[str | None],
    method: str,
    unit: str | None,
    within: Sequence[str],
) -> tuple[str, ...]:
    """Columns of text in which a method has several values, and those asked for."""
    for name in within:
        if name not in table:
            raise ParameterError("within", name, f"must be a column: {listed(table.columns)}")
    runs = table.groupby([method, unit] if unit else [method], sort=False).ngroup()
    several = []
    for name in map(str, table):
        values = table[name].astype(str)
        # A name or a date of each run is no condition.
        of_a_run = values.nunique() > runs.nunique() / 2 and values.nunique() > _MANY
        of_a_run |= _KEPT_BY.fullmatch(name.lower()) is not None
        if name in roles or name in within or of_a_run or not is_text(table[name]):
            continue
        if values.groupby(table[method]).nunique().max() > 1:
            several.append(name)
    return (*within, *several)


def _numbers_apart(table: pd.DataFrame, found: Columns) -> tuple[str, ...]:
    """Numbers without which a seed would be there twice, such as alpha; of few values each."""
    keys = [n for n in (found.method, found.step, found.unit, found.draw) if n]
    keys += found.conditions
    apart: list[str] = []
    for name in map(str, table):
        twice = table.duplicated(keys, keep=False)
        if not twice.any():
            return tuple(apart)
        shared = table.groupby(name)[found.method].nunique()
        few = name not in (*keys, found.score, found.loss) and 1 < len(shared) <= _FEW
        if few and shared.min() > 1 and table[twice].groupby(keys)[name].nunique().min() > 1:
            keys.append(name)
            apart.append(name)
    return () if table.duplicated(keys).any() else tuple(apart)


def differing(table: pd.DataFrame, roles: set[str | None], method: str) -> dict[str, str]:
    """Returns columns of one value per method that differs: `tuned` or `unequal`, by name."""
    found: dict[str, str] = {}
    groups = table.groupby(method, sort=False)
    if groups.size().min() < 2:
        # Of a single row nothing tells a condition from a result.
        return found
    for name in map(str, table):
        if name in roles or table[name].astype(str).nunique() < 2:
            continue
        if groups[name].nunique(dropna=False).max() == 1:
            tuned = _TUNED.search(_plain(name)) is not None
            found[name] = "tuned" if tuned else "unequal"
    return found
