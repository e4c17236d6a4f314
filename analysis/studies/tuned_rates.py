"""Chooses a client and a server rate for each method and objective, from runs on held-out draws.

python -m f3ast_tff.analysis.studies.tuned_rates --scores tuning.csv --out tuned_rates.csv

The rule: of the rate pairs of the grid, the one with the best mean score of the objective
at the last evaluation, over all held-out runs (regime, draw, seed). The score is over samples
with p_k = n_k / n, over users with p_k = 1 / N. A run whose score or loss of that kind is not
finite counts as the worst. Of equal means the smaller client rate wins, then the smaller server
rate. All methods begin with the same grid and have the same held-out runs. Where a choice lies on
the edge of the pairs that were run, `--edges` names the pairs beside it, to be run too. Methods
with other pairs are refused, or with `--unequal_grids` named in the first printed line. A method is
tuned to its pair if the second best is at least .005 worse. Otherwise the printed line gives the
plateau: the number of pairs less than .005 worse than the best.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.method_names import without_own_aggregation
from f3ast_tff.analysis.studies.rate_grids import Pair, best_of, edge_of, rates_said, unequal_grids
from f3ast_tff.analysis.study_runs import RATES, SHARE, StudyRuns, method_name, read_studies
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.campaigns.grid import setting_types
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, builtin_registry, parameter

# Synthetic's published rates, which all methods share where none is tuned.
DEFAULT_RATES = (0.01, 1.0)
# Pairs whose means differ by less are not told apart; a choice by less is no tuning.
PLATEAU = 0.005
# Columns that only this module reads.
NAME, BESIDE, MEANS = _NOT_WRITTEN = ("name", "beside", "means")
TASK = "task"
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?")
# Decimals of means of six-decimal scores; means that differ by less are equal.
_DECIMALS = 12


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores: the tuning campaign", is_path=True)
    out: str = out_flag("CSV")
    toml: str | None = parameter(
        None, "also write the choices as [[variants]] of a campaign's file", is_path=True
    )
    edges: str | None = parameter(
        None,
        "also write [[variants]] of the pairs beside choices on the edge of what was run",
        is_path=True,
    )
    unequal_grids: bool = parameter(
        False, "also compare methods whose grids of rates are unequal; the first line says so"
    )
    score: str = parameter("accuracy", "score to choose by, such as loss")
    regimes: str | None = parameter(
        None,
        "settings whose values are the regimes, separated by commas; default: the availability, "
        "where the file has it",
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the choices."""
    scores = Path(flags.scores)
    if flags.regimes is None:
        regimes = [name for name in ("availability",) if name in read_cells(scores)]
    else:
        regimes = list(filter(None, flags.regimes.split(",")))
    studies = read_studies(scores, regimes, score=flags.score)
    names = list(dict.fromkeys(name for study in studies.values() for name in study.method))
    chosen = pd.concat(map(tuned_rates, studies.values()), ignore_index=True)
    chosen[names] = chosen[names].fillna("")
    by_task = chosen.groupby(TASK, sort=False)
    unequal = [unequal_grids(dict(zip(part[NAME], part[MEANS]))) for _, part in by_task]
    unequal = list(filter(None, unequal))
    if unequal and not flags.unequal_grids:
        raise RunsError(
            f"unequal grids of rates: {unequal[0]}. Run all methods at the same pairs, further "
            "ones by --edges only; or give --unequal_grids"
        )
    if len(studies) > 1:
        names.insert(0, TASK)
    else:
        chosen = chosen.drop(columns=TASK)
    write_csv(chosen.drop(columns=[*_NOT_WRITTEN]), flags.out)
    said = [f"# Unequal grids of rates: {each}\n" for each in unequal]
    variants = "".join(said) + as_variants(chosen, names, remarks=True)
    for path, text in (
        (flags.toml, variants),
        (flags.edges, as_variants(_pairs_beside(chosen), names)),
    ):
        if path is not None:
            with atomic_write(Path(path), encoding="utf-8") as file:
                file.write(text)
    show(variants, end="")


def tuned_rates(study: StudyRuns) -> pd.DataFrame:
    """Chooses the rates of each method in each objective.

    Args:
        study: The tuning runs; a method has each of its pairs of rates in every held-out run.

    Returns:
        A row per method and objective: `name`, in words; `task`; its settings as texts;
        `client_share`; `client_lr` and `server_lr`, chosen; their `score`, a mean;
        `score_at_default`, that of `DEFAULT_RATES`, NaN where they were not run; `margin`, by how
        much the best mean is better than the second, NaN for one pair; `plateau`, the number of
        pairs less than `PLATEAU` worse than the best, itself included; `rate_pairs` that were run;
        `runs_per_pair`; `edge` and `beside`, see `Edge`; and `means`, the mean of each pair.

    Raises:
        RunsError: If a rate's column is missing, a rate is no number, or a method lacks a run.
    """
    runs = study.runs.copy()
    lacking = [rate for rate in RATES if rate not in runs]
    if len(lacking) == len(RATES):
        raise RunsError(f"the file has no column {' or '.join(RATES)}: no rate varies")
    # A rate that is one in all runs is not among their columns, and is not known.
    runs[lacking] = math.inf
    for rate in RATES:
        numbers = pd.to_numeric(runs[rate], errors="coerce")
        for _, run in runs[numbers.isna()].iterrows():
            name = method_name(run["task"], {each: str(run[each]) for each in study.method})
            raise RunsError(f"{name}: {rate} {run[rate]!r} is no number")
        runs[rate] = numbers
    names = [*study.method, SHARE]
    # A column per pair of rates, a row per method, objective and held-out run.
    wide = runs.pivot(index=[*names, *study.held_out], columns=list(RATES), values=study.score)
    wide = wide.sort_index(axis="columns")
    sign = 1 if study.higher_is_better else -1
    num_held_out = len(runs[study.held_out].drop_duplicates())
    task = str(runs[TASK].iloc[0])
    found = []
    for key, every_pair in wide.groupby(names, sort=False):
        labels = dict(zip(names, map(str, key)))
        table = every_pair.dropna(axis="columns", how="all")
        name = method_name(task, {each: labels[each] for each in study.method})
        named = f"{name} with {SHARE}={labels[SHARE]}"
        _require_all(table, num_held_out, named)
        name = named if runs[SHARE].nunique() > 1 else name
        found.append({NAME: name, TASK: task, **labels, **_choice(table, sign)})
    return pd.DataFrame(found).assign(**dict.fromkeys(lacking, ""))


def _require_all(table: pd.DataFrame, num_held_out: int, name: str) -> None:
    missing = num_held_out - table.notna().sum()
    for pair, number in missing[missing > 0].items():
        raise RunsError(
            f"{name} lacks {number} of {num_held_out} held-out runs at {rates_said(_pair(pair))}"
        )


def _choice(table: pd.DataFrame, sign: int) -> dict[str, Any]:
    """The best pair; `sign` is -1 where a lower score is better."""
    means = {
        _pair(pair): sign * float(mean) for pair, mean in table.mean().round(_DECIMALS).items()
    }
    best = best_of(means)
    below = sorted(round(means[best] - mean, _DECIMALS) for mean in means.values())
    edge = edge_of(best, means)
    return {
        **dict(zip(RATES, best)),
        "score": round(sign * means[best], 6),
        "score_at_default": round(sign * means.get(DEFAULT_RATES, math.nan), 6),
        "margin": round(below[1], 6) if len(below) > 1 else math.nan,
        "plateau": sum(each < PLATEAU for each in below),
        "rate_pairs": table.shape[1],
        "runs_per_pair": table.shape[0],
        "edge": edge.rates,
        BESIDE: edge.beside,
        MEANS: means,
    }


def _pair(label: Any) -> Pair:
    client, server = label
    return float(client), float(server)


def _pairs_beside(chosen: pd.DataFrame) -> pd.DataFrame:
    """The choices with the pairs of `beside` instead of their rates.

    A row holds a list of each rate, and stands for all their pairs.
    """
    rows = []
    for row in chosen.to_dict("records"):
        servers: dict[float, list[float]] = {}
        for client, server in row[BESIDE]:
            servers.setdefault(client, []).append(server)
        clients: dict[tuple[float, ...], list[float]] = {}
        for client, with_it in servers.items():
            clients.setdefault(tuple(with_it), []).append(client)
        for with_them, of_clients in clients.items():
            of_servers = list(with_them)
            rows.append({**row, RATES[0]: of_clients, RATES[1]: of_servers})
    return pd.DataFrame(rows, columns=chosen.columns)


def _remark(row: Mapping[Any, Any]) -> str:
    """Whether a method is tuned to its pair, or on which plateau the pair lies."""
    rates = rates_said(_pair([math.inf if row[rate] == "" else row[rate] for rate in RATES]))
    pairs = f"{row['plateau']} of {row['rate_pairs']} pairs"
    if row["rate_pairs"] == 1:
        said = f"ran {rates} alone"
    elif row["margin"] >= PLATEAU:
        said = (
            f"is tuned to {rates}: {row['margin']:g} better than the second of {row['rate_pairs']}"
        )
    else:
        said = f"has a plateau: {pairs} lie within {PLATEAU:g} of {rates}"
    return f"# {row[NAME]} {said}"


def as_variants(chosen: pd.DataFrame, method: Sequence[str], *, remarks: bool = False) -> str:
    """Returns the choices of `tuned_rates` as `[[variants]]` tables of a campaign's file.

    `method` are the settings that identify methods; an aggregation that is its algorithm's default
    is left out. With `remarks` a comment above each table says whether the method is tuned to it.
    """
    types = setting_types(builtin_registry())
    tables = []
    for row in chosen.to_dict("records"):
        given = {name: str(row[name]) for name in (*method, SHARE, *RATES) if row[name] != ""}
        given = without_own_aggregation(given, given["algorithm"])
        lines = [f"{name} = {_toml(value, types.get(name))}" for name, value in given.items()]
        above = [_remark(row)] if remarks else []
        tables.append("\n".join([*above, "[[variants]]", *lines, ""]))
    return "\n".join(tables)


def _toml(value: str, kind: type | None) -> str:
    """A value in TOML; the parameter of a plug-in, of unknown kind, is what its text looks like."""
    if kind is bool or (kind is None and value in ("True", "False")):
        return value.lower()
    number = kind in (int, float) or (kind is None and _NUMBER.fullmatch(value))
    return value if number else f'"{value}"'


if __name__ == "__main__":
    sys.exit(main(sys.argv))
