"""Conditions of anybody's table of scores: what two methods must share to be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import INDEX, as_text, as_texts, is_text
from f3ast_tff.analysis.compare.table_directions import higher_is_better, is_generic, is_result
from f3ast_tff.analysis.compare.table_hints import is_round
from f3ast_tff.analysis.compare.table_roles import KEPT_BY, METRICS, Columns, plain_name
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError

# Numbers in which tuned methods may differ.
_TUNED = re.compile(r"(^|_)(lr|learning_rate|momentum|mu|beta_?\d?|tau|weight_decay|param\w*)$")
# Values of a text that tells the runs of a method apart, not conditions.
_MANY = 5
# Dates and times, as runs are stamped with: 2026-01-31, 31.1.2026, 12:30.
_DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?\b.*|\d{4}-\d\d-\d\d_.*|\d\d?[-/.]\d\d?[-/.]\d{2,4}.*|\d\d:\d\d.*"
)
# Most values of a number that is a condition.
_FEW = 12


def text_conditions(
    table: pd.DataFrame, found: Columns, within: Sequence[str], may_differ: Sequence[str]
) -> tuple[str, ...]:
    """Returns columns of text in which a method has several values, and those asked for.

    Raises:
        ParameterError: If there is no column that was asked for.
        RunsError: If a text may be a condition or not; asks.
    """
    for name in within:
        if name not in table:
            raise ParameterError("within", name, f"must be a column: {listed(table.columns)}")
    roles = {*_roles(found), *may_differ, *within, INDEX}
    method, unit = found.method, found.unit
    runs = table.groupby([method, unit] if unit else [method], sort=False).ngroup()
    several = []
    for name in map(str, table):
        values = as_text(table[name])
        # A name or a date of each run is no condition.
        of_a_run = values.nunique() > runs.nunique() / 2 and values.nunique() > _MANY
        of_a_run |= KEPT_BY.fullmatch(name.lower()) is not None
        of_a_run |= bool(values[values != ""].map(lambda v: _DATE.fullmatch(v) is not None).all())
        if name in roles or of_a_run or not is_text(table[name]):
            continue
        if values.groupby(table[method]).nunique().max() > 1:
            several.append(name)
    for name in tuple(several):
        others = [each for each in (*within, *several) if each != name]
        if found.step is not None and _changes_in_a_run(table, found, others, name):
            several.remove(name)
        elif _names_the_seed(table, found, others, name) or _is_of_single_runs(
            table, found, others, name
        ):
            raise _asks(table, found, name)
    return (*within, *several)


def _is_of_single_runs(
    table: pd.DataFrame, found: Columns, others: Sequence[str], name: str
) -> bool:
    """Whether each method has a seed once, and of a seed methods differ in a text: `gpu`."""
    if found.seed is None:
        return False
    seeds = [n for n in (found.seed, found.draw, found.step, *others) if n]
    if table.duplicated([found.method, *seeds]).any():
        return False
    if table.groupby(name)[found.method].nunique().max() < 2:
        return False  # Methods that share no value have no condition in common, and are refused.
    of_seed = table.assign(_value=as_text(table[name])).groupby(seeds)
    paired = of_seed[found.method].nunique() > 1
    return bool((of_seed["_value"].nunique()[paired] > 1).any())


def _names_the_seed(table: pd.DataFrame, found: Columns, others: Sequence[str], name: str) -> bool:
    """Whether a text is another name of the seed, so that within each value is one run."""
    if found.seed is None or table[name].nunique() < 2:
        return False
    if found.draw is not None or others:
        return False
    pairs = as_texts(table[[found.seed, name]]).drop_duplicates()
    return bool(pairs[found.seed].is_unique and pairs[name].is_unique)


def _asks(table: pd.DataFrame, found: Columns, name: str, cures: str = "") -> RunsError:
    """What to give for a column that may be a condition or not."""
    most = as_text(table[name]).groupby(table[found.method]).nunique().idxmax()
    values = listed(as_text(table.loc[table[found.method] == most, name].drop_duplicates()))
    either = f"--within={name} if it is a condition, --may_differ={name} if not"
    return RunsError(f"{most} has {name} {values}: {cures}{either}")


def _changes_in_a_run(
    table: pd.DataFrame, found: Columns, others: Sequence[str], name: str
) -> bool:
    """Whether a text, such as `done`, has several values in the rounds of one run."""
    keys = [n for n in (found.method, found.unit, found.draw) if n] + list(others)
    values = as_text(table[name])
    groups = values.groupby([table[key] for key in keys])
    # Two conditions of one seed have the same rounds.
    if groups.nunique().max() < 2 or table.duplicated([*keys, str(found.step)]).any():
        return False
    if {value.lower() for value in values.unique()} <= {"true", "false", "0", "1", ""}:
        return True
    # Phases follow each other; conditions that are evaluated at other rounds lie side by side.
    rounds = pd.to_numeric(table[found.step], errors="coerce")
    ordered = table.assign(_value=values, _round=rounds).sort_values("_round", kind="stable")
    turns = ordered.groupby(keys)["_value"].agg(lambda each: (each != each.shift()).sum())
    return bool((turns == groups.nunique()).all())


def number_conditions(
    table: pd.DataFrame, found: Columns, may_differ: Sequence[str]
) -> tuple[str, ...]:
    """Returns numbers that are conditions, such as alpha; of few values each.

    They are those without which a seed would be there twice, and those in which the runs of a
    method differ while methods share the values.

    Raises:
        RunsError: If a number may be a condition or not; asks.
    """
    keys = [n for n in (found.method, found.step, found.unit, found.draw) if n]
    keys += found.conditions
    no = {*_roles(found), *may_differ, INDEX}
    # Rounds of a name that is not known are no conditions: it is asked.
    names = [name for name in map(str, table) if name not in no and not is_round(name)]
    numbers = [name for name in names if not is_text(table[name])]
    # No value is a value, as of a noise that some runs lack.
    gaps = [name for name in names if table[name].isna().any()]
    table = table.assign(**{name: as_text(table[name]) for name in gaps})
    apart: list[str] = []
    for name in names:
        twice = table.duplicated(keys, keep=False)
        if not twice.any():
            break
        shared = table.groupby(name)[found.method].nunique()
        few = name not in keys and 1 < len(shared) <= _FEW
        if few and shared.min() > 1 and table[twice].groupby(keys)[name].nunique().min() > 1:
            keys.append(name)
            apart.append(name)
    if table.duplicated(keys).any():
        return ()
    run_keys = [key for key in keys if key != found.step]
    runs = table.drop_duplicates(run_keys)
    for name in numbers:
        if name not in keys and _may_be_setting(table, runs, run_keys, found, name):
            apart += [name] if _is_condition(runs, found, (*found.conditions, *apart), name) else []
    return tuple(apart)


def _may_be_setting(
    table: pd.DataFrame, runs: pd.DataFrame, run_keys: Sequence[str], found: Columns, name: str
) -> bool:
    """Whether a column is a number, one per run, of which a method has several."""
    if is_result(plain_name(name)) or KEPT_BY.fullmatch(name.lower()):
        return False
    several = runs.groupby(found.method)[name].nunique().max() > 1
    return bool(several and table.groupby(list(run_keys))[name].nunique().max() == 1)


def _is_condition(runs: pd.DataFrame, found: Columns, conditions: Sequence[str], name: str) -> bool:
    """Whether a setting is a condition; asks if methods share some of its values only."""
    shared = runs.groupby(name)[found.method].nunique().min() > 1
    repeated = 2 * runs.groupby([found.method, name]).ngroups <= len(runs)
    if shared and repeated:
        return True
    if not shared and (not repeated or runs[name].nunique() > _FEW):
        # A result: hardly any two runs have the same.
        return False
    if found.seed is not None:
        of_seed = runs.groupby([found.seed, *conditions])
        paired = (of_seed[found.method].nunique() > 1).mean() > 0.5
        if paired and of_seed[name].nunique().max() == 1:
            # Pairs by seed have the same value.
            return False
    is_seed = found.seed is None and not repeated
    raise _asks(runs, found, name, f"--seed={name} if it is the seed, " if is_seed else "")


def refuse_mixed(table: pd.DataFrame, found: Columns, higher: bool | None) -> None:
    """Refuses a score called score of which a column says that it is a loss, or is one at times.

    Raises:
        ParameterError: If the direction must be given.
        RunsError: If higher is better in some rows only.
    """
    for name in map(str, table) if is_generic(found.score) else ():
        if name not in found.conditions and plain_name(name) not in METRICS:
            continue
        values = as_text(table[name]).drop_duplicates()
        directions = {value: higher_is_better(str(value)) for value in values}
        if {True, False} <= set(directions.values()):
            said = f"in column {name} are {listed(values)}, of which higher or lower is better"
            raise RunsError(f"{said}: a table for each is judged")
        if higher is None and False in directions.values():
            lower = next(value for value, told in directions.items() if told is False)
            allowed = f"give --higher or --lower, which is better: {name} is {lower}"
            raise ParameterError("score", found.score, allowed)


def _roles(found: Columns) -> set[str]:
    columns = (found.method, found.score, found.step, found.seed, found.run, found.draw, found.loss)
    return {name for name in columns if name}


def differing(table: pd.DataFrame, roles: set[str | None], method: str) -> dict[str, str]:
    """Returns columns of one value per method that differs: `tuned` or `unequal`, by name."""
    found: dict[str, str] = {}
    groups = table.groupby(method, sort=False)
    if groups.size().min() < 2:
        # Of a single row nothing tells a condition from a result.
        return found
    for name in map(str, table):
        if name in roles or name == INDEX or as_text(table[name]).nunique() < 2:
            continue
        if groups[name].nunique(dropna=False).max() == 1:
            tuned = _TUNED.search(plain_name(name)) is not None
            found[name] = "tuned" if tuned else "unequal"
    return found
