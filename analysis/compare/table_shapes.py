"""Tables of another shape than a row per run, and the call of pandas that reads them.

A column per method, seed, round or data set; a file of one run; means of runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import INDEX, as_number, as_text, is_measured, is_text
from f3ast_tff.analysis.compare.table_directions import (
    higher_is_better,
    is_bare_measure,
    is_measure,
    likeliest_scores,
    words_of,
)
from f3ast_tff.analysis.compare.table_hints import RANGES
from f3ast_tff.analysis.compare.table_roles import METRICS, VALUES, column_of, plain_name
from f3ast_tff.core.client_names import listed

NO_MEANS = "means of runs are not judged, a row per run is needed"
# A call may hold it for each file of one run.
ONE_RUN = ".assign(method='NAME', seed=0) for each run, then pd.concat of all"
_MEANS = frozenset({"mean", "avg", "average"})
_SPREADS = frozenset({"std", "sd", "stdev", "stddev", "stderr", "sem", "ci", "ci95"})
# A mean with its spread: 81.2 ± 0.3, 81.2 +- 0.3, 81.2 (0.3), 81.2_{0.3}.
_MEAN = re.compile(r"\s*\$?[-+]?[\d.]+\s*%?\s*(±|\+\s?/?\s?-|\\pm|\(\s*[\d.±]|_\{)")
# A number within a list; not that of np.float64(0.8).
_NUMBER = r"(?<![\w.])[-+]?(?:[.\d][\w.+-]*|nan|inf)"
# Columns of services that are neither methods nor seeds.
_OTHERS = frozenset(
    {"wall_time", "time", "timestamp", "relative_time", "number", "value", INDEX, "num_samples"}
)
# Names with numbers that are measures or data sets: top-5, F1, CIFAR-10.
_NUMBERED = re.compile(r"(top|(?<![a-z])[fr])[-_]?\d+|cifar[-_]?100?")
_ROUNDS = frozenset({"round", "rounds", "rnd", "r", "epoch", "ep", "step", "iter", "iteration"})
_SEEDS = frozenset({"seed", "run", "trial", "rep", "repeat", "replicate", "s", "fold"})


def no_method(table: pd.DataFrame, known: set[str]) -> str:
    """Returns how to read a table without a column of methods; `""` if nothing tells.

    Args:
        table: The table.
        known: Columns that are known as seeds, rounds and the like.
    """
    for name in map(str, table):
        if is_text(table[name]) and (said := split_names(table[name])):
            return f"; {said}"
    if INDEX in table and is_text(table[INDEX]):
        return f"; --method={INDEX} if the first column, which has no name, holds the methods"
    if {"wall_time", "value"} <= {plain_name(str(name)) for name in table}:
        return f"; it is TensorBoard's file of one run, in pandas: table{ONE_RUN}"
    if any(is_bare_measure(str(name)) for name in table) and not column_of(table, "seed", {}):
        return f"; if the file is of one run, in pandas: table{ONE_RUN}"
    return _melt(table, known, "method")


def no_score(table: pd.DataFrame, known: set[str]) -> str:
    """Returns how to read a table without a column of a score; `""` if nothing tells."""
    others = [str(name) for name in table if str(name) not in known]
    metrics = [name for name in others if plain_name(name) in METRICS and is_text(table[name])]
    values = [name for name in others if not is_text(table[name])]
    value = next((name for name in values if plain_name(name) in VALUES), None)
    if metrics and value is not None:
        index = [str(name) for name in table if str(name) not in (metrics[0], value)]
        call = f"table.pivot(index={index}, columns={metrics[0]!r}, values={value!r})"
        return f"; a column per {metrics[0]}, in pandas: {call}.reset_index()"
    if any(as_text(table[name]).str.match(_MEAN).any() for name in others):
        return f"; {NO_MEANS}"
    lists = [name for name in others if _holds_lists(table[name])]
    if lists:
        return _explode(table, likeliest_scores(lists, lambda _: True)[:1] or lists[:1])
    texts = [name for name in others if is_text(table[name]) and higher_is_better(name) is not None]
    if texts:
        text = next(str(v) for v in table[texts[0]] if is_measured(v) and as_number(v) is None)
        return f"; {texts[0]} holds text, such as {text[:40]!r}: give numbers, inf if never reached"
    return _melt(table, known, None)


def refuse_several(table: pd.DataFrame, score: str, known: set[str]) -> None:
    """Refuses a score that is one of several columns which differ in a number alone.

    Raises:
        RunsError: Names the columns, and the call of `melt` that makes rows of them.
    """
    names = [str(name) for name in table if not is_text(table[name])]
    groups = _numbered(names)
    alike = next((each for each in groups if score in each), [])
    if alike:
        others = {n for n in names if not set(words_of(n)) & (_MEANS | _SPREADS)}
        hint = _melt(table, known | others.difference(*groups), None)
        raise RunsError(f"{listed(alike)} differ in a number: --score= names one{hint}")


def refuse_means(table: pd.DataFrame, score: str, may_differ: Sequence[str]) -> None:
    """Refuses a score beside its spread, of a table without seeds: rows are means of runs.

    Raises:
        RunsError: Names both columns.
    """
    own = set(words_of(score))
    for name in map(str, table):
        words = set(words_of(name))
        spread = words & _SPREADS and name not in (score, *may_differ)
        if spread and words - _SPREADS <= own and not is_text(table[name]):
            raise RunsError(
                f"{score} has a spread, {name}, and no seed: {NO_MEANS}; "
                f"--may_differ={name} if a row is a run"
            )


def what_text(table: pd.DataFrame, name: str) -> str:
    """Returns how to read cells that are no numbers; `""` if nothing tells.

    Args:
        table: The rows with these cells.
        name: Their column.
    """
    texts = as_text(table[name]).str.strip()
    if _holds_lists(table[name]):
        return _explode(table, [name])
    if texts.str.match(_MEAN).any():
        return f"; {NO_MEANS}"
    if texts.str.fullmatch(r"[-+\d.]+\s*%").any():
        call = f"table[{name!r}].str.rstrip('% ').astype(float)"
        return f"; not all have %, if all are percentages, in pandas: table[{name!r}] = {call}"
    if texts.str.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?").any():
        call = f"table[{name!r}].str.replace(',', '').astype(float)"
        return f"; if commas mark thousands, in pandas: table[{name!r}] = {call}"
    return ""


def _holds_lists(values: pd.Series[Any]) -> bool:
    """Whether cells hold lists of numbers, as objects or as texts."""
    # NumPy writes long arrays with dots in place of numbers.
    return bool(as_text(values).str.fullmatch(rf"(?s)[\[(](?!.*\.\.\.).*?{_NUMBER}.*[\])]").any())


def _explode(table: pd.DataFrame, names: Sequence[str]) -> str:
    """How to make rows of the lists of a column: runs, or rounds of the run of each row."""
    (name,) = names
    others = [str(n) for n in table if str(n) != name and _holds_lists(table[n])]
    kept = f"table.drop(columns={others})" if others else "table"
    numbers = f"lambda t: t[{name!r}].map(str).str.findall(r'{_NUMBER}')"
    call = f"{kept}.assign(**{{{name!r}: {numbers}}}).explode({name!r})"
    what = "runs"
    if column_of(table, "seed", {}) or column_of(table, "run", {}):
        what = "rounds"
        call += ".assign(round=lambda t: t.groupby(level=0).cumcount() + 1)"
    then = "" if is_measure(name) else f", then --score={name} and --higher or --lower"
    return f"; if a list holds {what}, in pandas: {call}.reset_index(drop=True){then}"


def split_names(values: pd.Series[Any]) -> str:
    """Returns how to split names such as `fedavg_seed0`; `""` for other names."""
    names = as_text(values).drop_duplicates()
    # Names with the word seed; without it, each method has the same numbers, at least three.
    for pattern, fewest in (
        (r"(.+?)[-_ /.,(]*seed[-_ =]*(\d+)\)?(?:/\D*|\.[a-z]\w*)?", 2),
        (r"(.+?)[-_ /(]+(?:s|run|trial|rep)?(\d+)\)?(?:/\D*|\.[a-z]\w*)?", 3),
    ):
        parts = names.str.extract(rf"(?i)^{pattern}(?: - .*)?$")
        if parts.isna().any(axis=None):
            continue
        numbers = parts.groupby(0)[1].agg(frozenset)
        several = len(numbers) > 1 and numbers.map(len).min() >= fewest
        if several and (fewest == 2 or numbers.nunique() == 1):
            column = f"table[{str(values.name)!r}]"
            call = f"table[['method', 'seed']] = {column}.str.extract(r'(?i)^{pattern}')"
            return f"names such as {names.iloc[0]} hold the seed, in pandas: {call}"
    return ""


def _melt(table: pd.DataFrame, known: set[str], role: str | None) -> str:
    """How to make rows of columns; `role` is their role, `None` to tell by their names."""
    numbers = [str(n) for n in table if str(n) not in known and not is_text(table[n])]
    if {"count", "mean", "std", "50%"} <= {*numbers}:  # A table of describe.
        return f"; {NO_MEANS}"
    ranges = [name for name in numbers if name.endswith(RANGES)]
    means = [n for n in numbers if set(words_of(n)) & (_MEANS | _SPREADS)]
    means_words = {word for name in means for word in words_of(name)}
    numbered = _numbered([name for name in numbers if name not in (*ranges, *means)])
    # A number with repeated values, such as alpha, tells rows apart.
    values = [
        n
        for n in numbers
        if n not in (*ranges, *means)
        and plain_name(n) not in _OTHERS
        and (2 * table[n].nunique() > len(table) or any(n in each for each in numbered))
    ]
    # Accuracies are not compared with losses, nor tests with trainings.
    measures = [frozenset(w for w in words_of(name) if is_bare_measure(w)) for name in values]
    others = [name for name, of in zip(values, measures) if of != measures[0]]
    others = others if measures and measures[0] else []
    values = [name for name in values if name not in others]
    groups = _numbered(values)
    alike = max(groups, key=len, default=[])
    # Two data sets may have the same seeds: mnist_0, mnist_1, cifar_0, cifar_1.
    groups = [each for each in groups if role is None and len(each) == len(alike)]
    # A column Average beside the averaged columns is dropped.
    if means and not alike and not (len(values) > 1 and _MEANS.issuperset(means_words)):
        return f"; {NO_MEANS}"
    if role is None and len(alike) > 1:
        values = [name for each in groups for name in each]
    if len(values) < 2:
        return ""
    role = role or _role(table, alike if groups else values, alike)
    dropped = [name for name in (*ranges, *means, *others) if name not in values]
    ids = [str(name) for name in table if str(name) not in (*values, *dropped)]
    kept = "table"
    if ranges:
        kept = f"table[[n for n in table if not n.endswith({RANGES})]]"
        dropped = [name for name in dropped if name not in ranges]
    if dropped:
        kept += f".drop(columns={dropped})"
    # The name `value` tells no direction: the columns may hold losses.
    call = f"{kept}.melt({ids}, var_name={role!r}, value_name='value')"
    part = f"lambda t: t[{role!r}].str.extract(r'(.*?)[-_ ]*(\\d+)\\D*$')"
    if len(groups) > 1:
        call += f".assign({'task' if 'dataset' in ids else 'dataset'}={part}[0], {role}={part}[1])"
    elif role == "round" and not all(name.isdigit() for name in values):
        call += f".assign(round={part}[1].astype(int))"
    then = "--score=value and --higher or --lower"
    return f"; if there is one per {role}, in pandas: {call}, then {then}"


def _numbered(names: Sequence[str]) -> list[list[str]]:
    """Names that differ in one number alone, such as `acc_1` and `acc_2`; two or more."""
    found: dict[str, list[str]] = {}
    for name in names:
        rest = _NUMBERED.sub("", name.lower()) if not _is_round_name(name) else name.lower()
        if len(re.findall(r"\d+", rest)) == 1:
            found.setdefault(re.sub(r"\d+", "#", name.lower()), []).append(name)
    # Measures such as acc@5 and acc@10; acc@50 may be of a round.
    ranked = re.compile(r".*@(\d|10)")
    return [g for g in found.values() if len(g) > 1 and not all(map(ranked.fullmatch, g))]


def _is_round_name(name: str) -> bool:
    return re.search(r"(^|[^a-z])r[-_]?\d+$", name.lower()) is not None


def _role(table: pd.DataFrame, values: Sequence[str], alike: Sequence[str]) -> str:
    """Role of columns of one measure, by their common words: seed, round, or data set."""
    columns = {plain_name(str(name)) for name in table}
    if len(alike) < len(values):
        return "dataset" if "dataset" not in columns else "task"
    words = set(re.findall(r"[a-z]+", values[0].lower()))
    if words & _ROUNDS:
        return "round"
    if words & _SEEDS or "seed" not in columns:
        return "seed" if "seed" not in columns else "run"
    return "round"
