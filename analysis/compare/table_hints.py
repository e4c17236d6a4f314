"""Missing parts of a table of scores, and how to give them: a seed, a round, a row per run."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number, as_text, is_text
from f3ast_tff.analysis.compare.table_directions import is_measure, is_of_splits, words_of
from f3ast_tff.analysis.compare.table_roles import Columns, plain_name

# The range that W&B exports beside each curve.
RANGES = ("__MIN", "__MAX")
_SITE = r"site|silo|hospital|clinic|center|centre|institution"
_OF_CLIENTS = re.compile(rf"(client|user|device|node|participant|worker|partition|{_SITE})(s|id)?")
# Columns of single clients; a number of clients is a condition.
_CLIENT = re.compile(
    rf"(client|user|device|participant|party|{_SITE})(_?(id|idx|index|name|no|number))?|[cu]id"
)
# Values such as FLamby's client_test_0.
_CLIENT_VALUE = rf"((?:client|{_SITE})[\w ]*?)[-_ ]?\d+"
_PROCESSORS = r"(?i)(cuda|cpu|gpu|tpu|mps)"
_COUNTS = frozenset({"samples", "examples", "size", "count"})
_ROUNDS = re.compile(r"\w*(round|epoch|step|iter(ation)?|rnd)s?")
# Fewest rows of a method in which a rising number is a clock; fewer rise by chance.
_FEWEST_RISING = 3


def may_be_seed(name: str) -> bool:
    """Returns whether a column may be a seed: its name has no client, count or round."""
    words = words_of(name)
    return not any(_OF_CLIENTS.fullmatch(w) or w in _COUNTS or _ROUNDS.fullmatch(w) for w in words)


def is_round(name: str) -> bool:
    """Returns whether a number is a round by its name; an epoch may be a setting."""
    return any(re.fullmatch(r"\w*rounds?|rnd", word) for word in words_of(name))


def refuse_unknown(table: pd.DataFrame, found: Columns, may_differ: Sequence[str]) -> None:
    """Refuses a column that tells rows apart: it may be a seed, a round or a condition.

    Raises:
        RunsError: Names the column, and the flags that give its role.
    """
    roles = (found.method, found.score, found.loss, found.step, found.draw, *found.conditions)
    if found.step is not None:
        # Rows of several runs at one round are refused as such.
        return
    for name in (str(n) for n in table if str(n) not in (*roles, *may_differ)):
        if _is_shared(table, name, found.method):
            raise RunsError(f"no column is known as the seed: {_cures(table, name)}")
        if _rises(table, name, found.method):
            raise RunsError(
                f"no column is known as the seed, and {name} rises from row to row of a method as "
                f"in one run: --seed= names the seed, --may_differ={name} if a row is a run"
            )


def refuse_clients(table: pd.DataFrame, found: Columns, allowed: Sequence[str]) -> None:
    """Refuses rows of single clients: these are neither draws nor conditions of a comparison.

    Raises:
        RunsError: Says how to take the mean over the clients of each run.
    """
    keys = [n for n in (found.method, *found.conditions, found.draw, found.unit, found.step) if n]
    roles = {found.method, found.score, found.draw, found.unit, found.step, *allowed}
    rounds = [str(n) for n in table if str(n) not in (*roles, *keys) and is_round(str(n))]
    for name in (str(n) for n in table if str(n) not in roles):
        by = [key for key in (*keys, *rounds) if key != name]
        if not _is_of_clients(table, name) or not _is_shared(table, name, found.method):
            continue
        if as_text(table[name]).str.match(_PROCESSORS).any():
            continue
        if (table.groupby(by)[name].nunique() > 1).all():
            # The file's rows of trainings are left out later.
            by += [str(n) for n in table if str(n) not in by and is_of_splits(table[n])]
            own, rest = _rows_of_clients(table, name)
            if table[found.score].dtype.kind == "O":  # A file's column.
                own += f".assign(**{{{found.score!r}: pd.to_numeric(table[{found.score!r}])}})"
            mean = f"{own}.groupby({by}, as_index=False)[{found.score!r}].mean()"
            what = (
                "sites" if re.search(_SITE, f"{name} {table[name].iloc[0]}".lower()) else "clients"
            )
            raise RunsError(
                f"{name} is of {what}, and rows of one run are no draws. Compare means over its "
                f"{what}, in pandas: {mean}{rest}; --within={name} if each is a question of its own"
            )


def _is_of_clients(table: pd.DataFrame, name: str) -> bool:
    """Whether a column tells clients or sites apart, by its name or by most of its values."""
    values = as_text(table[name]).drop_duplicates()
    named = _CLIENT.fullmatch(plain_name(name)) is not None
    return named or 2 * values.str.fullmatch(_CLIENT_VALUE, case=False).sum() > len(values)


def _rows_of_clients(table: pd.DataFrame, name: str) -> tuple[str, str]:
    """The rows of clients as a call, and what to do with others, such as FLamby's Pooled Test."""
    values = as_text(table[name]).drop_duplicates()
    parts = values.str.extract(f"(?i)^{_CLIENT_VALUE}$")[0]
    if not (parts.isna().any() and parts.notna().any()):
        return "table", ""
    begins = parts.dropna().iloc[0]
    other = values[parts.isna()].iloc[0]
    own = f"table[table[{name!r}].str.startswith({begins!r})]"
    return own, f", or {other} alone: table[table[{name!r}] == {other!r}]"


def _cures(table: pd.DataFrame, name: str) -> str:
    flags = ["within"] if is_text(table[name]) else ["step", "within"]
    if not may_be_seed(name) or _is_of_clients(table, name):
        # Rounds or clients of one run, taken as seeds, would pass for runs.
        flags = ["step"] if any(_ROUNDS.fullmatch(word) for word in words_of(name)) else ["within"]
    else:
        flags = ["seed", *flags]
    said = [f"--{flag}={name}" for flag in flags]
    cures = ", ".join(said[:-1]) + (" or " if said[1:] else "") + said[-1]
    return f"{cures} says what {name} is; --may_differ={name} if it is none"


def _is_shared(table: pd.DataFrame, name: str, method: str) -> bool:
    """Whether methods share all values of a column, or half of one method's values."""
    shared = table.groupby(name)[method].nunique() > 1
    if len(shared) < 2 or shared.sum() < 2:
        return False
    if shared.all():
        return True
    fewest = int(table.groupby(method)[name].nunique().min())
    # Two accuracies are alike at times; a method that ran longer has more rounds.
    return not is_measure(name) and 2 * int(shared.sum()) >= fewest


def _rises(table: pd.DataFrame, name: str, method: str) -> bool:
    """Whether a number rises from row to row of each method like a clock, not a row number."""
    if is_measure(name) or is_text(table[name]) or plain_name(name) == "number":
        return False
    values = pd.Series([as_number(value) for value in table[name]], table.index, dtype=float)
    if values.isna().any() or (values.diff().dropna() == 1).all():
        return False
    groups = values.groupby(table[method])
    if groups.size().min() < _FEWEST_RISING:
        return False
    return all((each.diff().dropna() > 0).all() for _, each in groups)
