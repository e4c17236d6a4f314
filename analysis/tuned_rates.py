"""Chooses a client and a server rate for each method and objective, from runs on held-out draws.

python -m f3ast_tff.analysis.tuned_rates --scores tuning.csv --out analysis/results/tuned.csv

The rule: of the rate pairs of the grid, the one with the highest mean accuracy of the objective
at the last evaluation, over all held-out runs (regime, draw, seed). The accuracy is over samples
with p_k = n_k / n, over users with p_k = 1 / N. A run whose accuracy or loss of that kind is not
finite counts as accuracy 0. Of equal means the smaller client rate wins, then the smaller server
rate. All methods begin with the same grid and have the same held-out runs. Where a choice lies on
the edge of the pairs that were run, `--edges` names the pairs beside it, to be run too.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.runs import RunsError, without_own_aggregation
from f3ast_tff.analysis.studies import RATES, SHARE, StudyRuns, method_name, read_studies
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.campaigns.grid import setting_types
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.settings import REQUIRED, builtin_registry, parameter

# Synthetic's published rates, which all methods share where none is tuned.
DEFAULT_RATES = (0.01, 1.0)
BESIDE = "beside"
TASK = "task"
# Rates that differ by a smaller factor count as equal: 0.0316 is 0.03.
_ABOUT = 1.1
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
    studies = read_studies(scores, regimes)
    names = list(dict.fromkeys(name for study in studies.values() for name in study.method))
    chosen = pd.concat(map(tuned_rates, studies.values()), ignore_index=True)
    chosen[names] = chosen[names].fillna("")
    if len(studies) > 1:
        names.insert(0, TASK)
    else:
        chosen = chosen.drop(columns=TASK)
    write_csv(chosen.drop(columns=BESIDE), flags.out)
    variants = as_variants(chosen, names)
    for path, text in (
        (flags.toml, variants),
        (flags.edges, as_variants(_pairs_beside(chosen), names)),
    ):
        if path is not None:
            with atomic_write(Path(path), encoding="utf-8") as file:
                file.write(text)
    print(variants, end="")


def tuned_rates(study: StudyRuns) -> pd.DataFrame:
    """Chooses the rates of each method in each objective.

    Args:
        study: The tuning runs; a method has each of its pairs of rates in every held-out run.

    Returns:
        A row per method and objective: `task`, its settings as texts, `client_share`; `client_lr`
        and `server_lr`, chosen; their `score`, a mean accuracy; `score_at_default`, that of
        `DEFAULT_RATES`, NaN where they were not run; `rate_pairs` that were run; `runs_per_pair`;
        `edge`, the rates whose next step up or down was not run: `client`, `server`, `both` or
        `""`; and `beside`, the pairs one step from the choice that were not run.

    Raises:
        RunsError: If a rate's column is missing, a rate is no number, or a method lacks a run.
    """
    runs = study.runs.copy()
    for rate in RATES:
        if rate not in runs:
            raise RunsError(f"the file has no column {rate}: it holds one rate only")
        numbers = pd.to_numeric(runs[rate], errors="coerce")
        for _, run in runs[numbers.isna()].iterrows():
            name = method_name(run["task"], {each: str(run[each]) for each in study.method})
            raise RunsError(f"{name}: {rate} {run[rate]!r} is no number")
        runs[rate] = numbers
    names = [*study.method, SHARE]
    # A column per pair of rates, a row per method, objective and held-out run.
    wide = runs.pivot(index=[*names, *study.held_out], columns=list(RATES), values="accuracy")
    wide = wide.sort_index(axis="columns")
    num_held_out = len(runs[study.held_out].drop_duplicates())
    task = str(runs[TASK].iloc[0])
    found = []
    for key, every_pair in wide.groupby(names, sort=False):
        labels = dict(zip(names, map(str, key)))
        table = every_pair.dropna(axis="columns", how="all")
        _require_all(table, num_held_out, task, labels)
        found.append({TASK: task, **labels, **_choice(table)})
    return pd.DataFrame(found)


def _require_all(
    table: pd.DataFrame, num_held_out: int, task: str, labels: Mapping[str, str]
) -> None:
    missing = num_held_out - table.notna().sum()
    for pair, number in missing[missing > 0].items():
        method = {name: value for name, value in labels.items() if name != SHARE}
        rates = ", ".join(f"{name} {value:g}" for name, value in zip(RATES, _pair(pair)))
        raise RunsError(
            f"{method_name(task, method)} with {SHARE}={labels[SHARE]} lacks {number} of "
            f"{num_held_out} held-out runs at {rates}"
        )


def _choice(table: pd.DataFrame) -> dict[str, Any]:
    """The best pair: `idxmax` takes the first of equal means, and rates rise along the columns."""
    means = table.mean().round(_DECIMALS)
    client, server = best = _pair(means.idxmax())
    ran = {_pair(pair) for pair in table.columns}
    tried = [{each[place] for each in ran} for place in (0, 1)]
    # A rate that has one value only is not tuned.
    steps = [
        _steps(rate, values) if len(values) > 1 else (rate,) for rate, values in zip(best, tried)
    ]
    at_edge = [
        name
        for name, pairs in (
            ("client", [(each, server) for each in steps[0]]),
            ("server", [(client, each) for each in steps[1]]),
        )
        if not ran.issuperset(pairs)
    ]
    return {
        **dict(zip(RATES, best)),
        "score": round(float(means.max()), 6),
        "score_at_default": round(float(means.get(DEFAULT_RATES, math.nan)), 6),
        "rate_pairs": table.shape[1],
        "runs_per_pair": table.shape[0],
        "edge": "both" if len(at_edge) > 1 else "".join(at_edge),
        BESIDE: sorted({*itertools.product(*steps)} - ran) if at_edge else [],
    }


def _pair(label: Any) -> tuple[float, float]:
    client, server = label
    return float(client), float(server)


def _steps(rate: float, tried: set[float]) -> tuple[float, float, float]:
    """A rate with its neighbours in ..., 0.1, 0.3, 1, 3, 10, ..., or tried ones that are near."""
    power = int(f"{rate:e}".split("e")[1])
    ladder = [float(f"{step}e{power + up}") for up in (-1, 0, 1) for step in (1, 3)]
    # A ladder's rate that is about the given one is not its neighbour.
    below = max(each for each in ladder if each * _ABOUT < rate)
    above = min(each for each in ladder if each > rate * _ABOUT)
    near = [
        next((other for other in sorted(tried) if 1 / _ABOUT < other / each < _ABOUT), each)
        for each in (below, above)
    ]
    return near[0], rate, near[1]


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


def as_variants(chosen: pd.DataFrame, method: Sequence[str]) -> str:
    """Returns the choices of `tuned_rates` as `[[variants]]` tables of a campaign's file.

    `method` are the settings that identify methods; an aggregation that is its algorithm's default
    is left out.
    """
    types = setting_types(builtin_registry())
    tables = []
    for row in chosen.to_dict("records"):
        given = {name: str(row[name]) for name in (*method, SHARE, *RATES) if row[name] != ""}
        given = without_own_aggregation(given, given["algorithm"])
        lines = [f"{name} = {_toml(value, types.get(name, str))}" for name, value in given.items()]
        tables.append("\n".join(["[[variants]]", *lines, ""]))
    return "\n".join(tables)


def _toml(value: str, kind: type) -> str:
    if kind is bool:
        return value.lower()
    return value if kind in (int, float) else f'"{value}"'


if __name__ == "__main__":
    sys.exit(main(sys.argv))
