"""Scores from anybody's table: a row per run, or per run and round, as runs to compare.

Columns are given, or recognised by their names: the method, the score and its direction, the seed
(or an id of the run), the draw of the data, the round. Columns of text in which a method has
several values are conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import Kept, Pair, RunsError
from f3ast_tff.analysis.compare.times import Course
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError

# Names of columns, the likeliest first; compared in lower case, without a service's prefix.
_NAMES = {
    "method": "method algorithm algo strategy approach aggregator aggregation baseline optimizer "
    "model",
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
_SHOWN = 5
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
    table: pd.DataFrame, given: Mapping[str, str], higher: bool | None, within: Sequence[str] = ()
) -> Columns:
    """Finds the columns of a table.

    Args:
        table: The table; `table.index` names its rows in messages.
        given: Columns by role: `method`, `score`, `seed`, `run`, `draw`, `step`.
        higher: Whether a higher score is better; `None` to tell by its name.
        within: Further conditions.

    Raises:
        ParameterError: If there is no such column.
        RunsError: If a column is not recognised, or the score is no number; names the rows.
    """
    all_ = listed(table.columns)
    for role, name in given.items():
        if name not in table:
            raise ParameterError(role, name, f"must be a column: {all_}")
    plain = {_PREFIX.sub("", str(name)).lower().replace(" ", "_"): str(name) for name in table}

    def known_as(role: str) -> list[str]:
        return [plain[name] for name in _NAMES[role].split(" ") if name in plain]

    def first(role: str) -> str | None:
        found = known_as(role)
        return given.get(role) or next((n for n in found if n not in given.values()), None)

    several = [name for name in known_as("method") if table[name].nunique() > 1]
    method = given.get("method") or next(iter(several), None)
    if method is None:
        raise RunsError(f"no column is known as the method: --method= names one of {all_}")
    score = given.get("score") or _score_in(table, [str(name) for name in table])
    if score is None:
        raise RunsError(f"no column is known as the score: --score= names one of {all_}")
    known = _direction(score)
    if higher is None and known is None:
        raise ParameterError("score", score, "give --higher or --lower, which is better")
    table = table[table[score].map(_is_measured)]
    texts = [row for row, value in zip(table.index, table[score]) if _as_number(value) is None]
    if texts:
        raise RunsError(
            f"column {score} holds text in {_rows(texts)}: {table.loc[texts[0], score]!r}"
        )
    step, seed, draw = first("step"), first("seed"), first("draw")
    run = None if seed else first("run")
    if seed is None and run is None and draw is not None:
        # Folds alone are what methods share.
        seed, draw = draw, None
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
        conditions=_conditions(table, roles, method, seed or run, within),
        loss=next(iter(losses), None),
        own=tuple(n for n, told in _of_methods(table, roles, method).items() if told == "tuned"),
    )
    if found.unit is None:
        return found
    return replace(found, conditions=(*found.conditions, *_numbers_apart(table, found)))


def refuse_unequal(table: pd.DataFrame, columns: Columns, may_differ: Sequence[str]) -> None:
    """Refuses methods that were run under unequal conditions.

    Raises:
        RunsError: Names the column, two methods with their values, and rows.
    """
    roles = {columns.method, columns.score, columns.step, columns.seed, columns.run, columns.draw}
    found = _of_methods(table, {*roles, *may_differ}, columns.method)
    for name in (name for name, told in found.items() if told == "unequal"):
        first = table.drop_duplicates(columns.method)
        one = first.iloc[0]
        other = first[first[name] != one[name]].iloc[0]
        said = [
            f"{row[columns.method]} has {name} {row[name]} "
            f"({_rows(table.index[table[columns.method] == row[columns.method]])})"
            for row in (one, other)
        ]
        cure = f"--may_differ={name} if it is the methods' own"
        raise RunsError(f"unequal conditions: {', '.join(said)}; {cure}")


def runs_in(table: pd.DataFrame, columns: Columns) -> list[Kept]:
    """Returns the runs by method and conditions, in the table's order.

    Raises:
        RunsError: If a run has two scores at one round; names the rows, and columns that differ.
    """
    table = table[table[columns.score].map(_is_measured)]
    keys = [columns.method, *columns.conditions]
    units = _units(table, columns)
    steps = _steps(table, columns)
    scores = table[columns.score].map(_as_number).to_numpy(float)
    frame = table[keys].astype(str).assign(_draw=units[0], _unit=units[1], _step=steps)
    measured = {columns.metric: scores}
    if columns.loss is not None:
        losses = [_as_number(v) if _is_measured(v) else 0.0 for v in table[columns.loss]]
        measured["sample_loss"] = np.array(losses, float)
    _refuse_twice(table, frame, columns)
    found = []
    for values, rows in _places(frame, keys):
        courses: dict[Pair, Course] = {}
        part = frame.iloc[rows]
        for pair, places in _places(part, ["_draw", "_unit"]):
            own = rows[places]
            own = own[np.argsort(steps[own], kind="stable")]
            course = {"round": steps[own], **{n: each[own] for n, each in measured.items()}}
            courses[Pair(int(pair[0]), int(pair[1]))] = course
        settings = {"algorithm": values[0], **dict(zip(columns.conditions, values[1:]))}
        generated = columns.draw is not None and len({pair.draw for pair in courses}) > 1
        found.append(Kept(settings, courses, columns.directions, generates_data=generated))
    return found


def _places(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each combination of values, and the places of its rows, `int64 [n]`."""
    found: Mapping[Any, Any] = frame.groupby(list(keys), sort=False).indices
    for values, rows in found.items():
        yield values if isinstance(values, tuple) else (values,), rows


def _refuse_twice(table: pd.DataFrame, frame: pd.DataFrame, columns: Columns) -> None:
    twice = frame[frame.duplicated(keep=False)]
    if twice.empty:
        return
    same = twice[(twice == twice.iloc[0]).all(axis=1)].index
    row = table.loc[same[0]]
    place = "" if columns.step is None else f" at {columns.step} {row[columns.step]}"
    rows = _rows(same)
    roles = {columns.score, columns.loss}
    others = table.loc[list(same)].astype(str).nunique()
    apart = [str(name) for name, number in others.items() if number > 1 and name not in roles]
    if columns.unit is None:
        cure = f"--seed= names the column of the seed, of {listed(apart)}" if apart else "no seed"
        raise RunsError(f"{row[columns.method]} has several scores{place}: {rows}; {cure}")
    cure = f"; they differ in {apart[0]}: --within={apart[0]} if it is a condition" if apart else ""
    what = f"{columns.unit} {row[columns.unit]}"
    raise RunsError(f"{what} is there twice for {row[columns.method]}{place}: {rows}{cure}")


def _units(table: pd.DataFrame, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Draw and seed of each row, as integers; methods share a seed by its value."""
    numbers = []
    for name in (columns.draw, columns.unit):
        if name is not None:
            numbers.append(_integers(table[name]))
        elif name is columns.unit and columns.step is None:
            numbers.append(np.arange(len(table)))
        else:
            numbers.append(np.zeros(len(table), np.int64))
    return numbers[0], numbers[1]


def _steps(table: pd.DataFrame, columns: Columns) -> np.ndarray:
    if columns.step is None:
        return np.ones(len(table), np.int64)
    found = [_as_number(value) for value in table[columns.step]]
    wrong = [row for row, n in zip(table.index, found) if n is None or n != n or n % 1]
    if wrong:
        value = table[columns.step][wrong[0]]
        raise RunsError(f"column {columns.step} is no whole number in {_rows(wrong)}: {value!r}")
    return np.array(found, np.int64)


def _integers(values: pd.Series[Any]) -> np.ndarray:
    """The integers of a column, else the places of its values in their order."""
    found = [_as_number(value) for value in values]
    if all(n is not None and n == n and n % 1 == 0 for n in found):
        return np.array(found, np.int64)
    return pd.factorize(values.astype(str), sort=True)[0]


def _is_measured(value: Any) -> bool:
    """Whether a cell of a score is not empty."""
    return not (isinstance(value, str) and not value.strip())


def _as_number(value: Any) -> float | None:
    """A number, NaN for a missing one; `None` for a text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan") if value is None or value is pd.NA else None


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
        if words and table[name].map(_as_number).notna().any():
            found.append((order.index(words[-1]) > 1, _split(name), order.index(words[-1]), place))
    return names[min(found)[-1]] if found else None


def _is_loss_beside(name: str, score: str) -> bool:
    return _words(name)[-1:] == ["loss"] and _split(name) == _split(score)


def _is_text(values: pd.Series[Any]) -> bool:
    there = [value for value in values if _is_measured(value)]
    return any(_as_number(value) is None or isinstance(value, bool) for value in there)


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
        of_a_run = values.nunique() > runs.nunique() / 2 and values.nunique() > _SHOWN
        if name in roles or name in within or of_a_run or not _is_text(table[name]):
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


def _of_methods(table: pd.DataFrame, roles: set[str | None], method: str) -> dict[str, str]:
    """Columns with one value per method that differs between methods: `tuned` or `unequal`."""
    found: dict[str, str] = {}
    groups = table.groupby(method, sort=False)
    if groups.size().min() < 2:
        # Of a single row nothing tells a condition from a result.
        return found
    for name in map(str, table):
        if name in roles or table[name].astype(str).nunique() < 2:
            continue
        if groups[name].nunique(dropna=False).max() == 1:
            plain = _PREFIX.sub("", name).lower()
            tuned = _TUNED.search(plain) is not None
            found[name] = "tuned" if tuned else "unequal"
    return found


def _rows(labels: Sequence[Any] | pd.Index[Any]) -> str:
    shown = [str(label) for label in list(labels)[:_SHOWN]]
    more = len(labels) - len(shown)
    words = "row" if len(labels) == 1 else "rows"
    return f"{words} {', '.join(shown)}{f' and {more} more' if more else ''}"
