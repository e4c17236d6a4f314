"""What the kept studies know of two methods, A against B: nothing is run.

f3ast-tff compare --kept f3ast scaffold
f3ast-tff compare --kept f3ast fedavg+baseline_sampling=without_replacement --availability=sine

A method is an algorithm; an aggregation and settings may follow, each after a `+`.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from f3ast_tff.advice.candidates import Candidate, candidate
from f3ast_tff.advice.trial import LOCAL_STEPS, study_rates
from f3ast_tff.analysis.command_line import command, say_left_out
from f3ast_tff.analysis.compare.judge import NOT_JUDGED, WORDS
from f3ast_tff.analysis.leaderboard.kept_pairs import kept_pairs
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.counted_warnings import warnings_counted
from f3ast_tff.files.messages import show
from f3ast_tff.settings import builtin_registry, parameter
from f3ast_tff.simulation import simulate

_WIDTH = 100
_SHARES = {"equal": "p_k = 1 / N", "examples": "p_k = n_k / n", "batches": "p_k by batches"}
# Runs that would answer a pair that was not run, and rounds that are timed for their cost.
_DRAWS, _ROUNDS, _TIMED = 8, 1000, (10, 40)


@dataclass(frozen=True)
class Flags:
    """Flags of this command, besides the methods."""

    kept: str = parameter("", "method A; method B follows")
    against: str = parameter("", "method B, as `--kept A B` gives it")
    availability: str | None = parameter(None, "kinds of availability, with commas between")
    task: str | None = parameter(None, "tasks, with commas between")
    client_share: str | None = parameter(None, "objective: equal (1 / N) or examples (n_k / n)")
    csv: str | None = parameter(None, "CSV file to write the table into", is_path=True)


def main(argv: Sequence[str]) -> int:
    """Takes the command line `--kept A B ...`, and prints what is known."""
    words = list(argv[1:])
    if words[:1] == ["--kept"] and len(words) > 2 and not words[2].startswith("-"):
        words[:3] = [f"--kept={words[1]}", f"--against={words[2]}"]
    return _main([argv[0], *words])


@command(Flags, __doc__)
def _main(flags: Flags) -> None:
    registry = builtin_registry()
    if not flags.against:
        raise ParameterError("kept", flags.kept, "the other method must follow: --kept A B")
    a = candidate(flags.kept, registry, "kept")
    b = candidate(flags.against, registry, "against")
    chosen = {name: getattr(flags, name) for name in ("availability", "task", "client_share")}
    where = [
        f"{name}={value.strip()}"
        for name, text in chosen.items()
        if text
        for value in text.split(",")
    ]
    table, left_out = kept_pairs(a, b, ",".join(where))
    say_left_out(left_out)
    if table.empty:
        show("\n".join(_not_run(a, b, where)))
        return
    show(f"{a.name} minus {b.name}, in the kept studies")
    show("\n".join(_counts(a.name, table)))
    for (study, asked), part in table.groupby(["study", "asked"], sort=False):
        plan = f"plan of {asked}" if asked else "no plan"
        show(f"\n{study} ({plan}; page: analysis/studies/{study}/page.md)")
        show("\n".join(f"  {line}" for line in map(_line, part.to_dict("records"))))
    tested = int(table["p"].notna().sum())
    note = (
        f"Brackets hold 95% intervals over draws of the data, corrected by Holm's rule for the "
        f"{tested} differences here. A question that you chose among many answers is a reader's "
        "own: the study's page has the verdicts of its plan."
    )
    show(f"\n{textwrap.fill(note, _WIDTH)}")
    if flags.csv is not None:
        write_csv(table, flags.csv)
        show(f"table: {flags.csv}")


def _counts(name: str, table: pd.DataFrame) -> list[str]:
    """How often each verdict is there: over all, then by objective and score."""
    parts = [(f"{name} is ", table)]
    by_score = list(table.groupby(["client_share", "score"], sort=False))
    if len(by_score) > 1:
        parts += [
            (f"  {_share(share)}, {_words(score)}: ", each) for (share, score), each in by_score
        ]
    lines = []
    for begin, part in parts:
        number = part["verdict"].value_counts()
        said = (f"{verdict} in {number[verdict]}" for verdict in WORDS if verdict in number)
        lines.append(f"{begin}{', '.join(said)} of {len(part)} comparisons")
    return lines


def _share(client_share: object) -> str:
    return _SHARES.get(str(client_share), str(client_share))


def _words(score: object) -> str:
    return str(score).replace("_", " ")


def _line(row: Mapping[Any, Any]) -> str:
    score, share = _words(row["score"]), _share(row["client_share"])
    earlier = f" (before: {row['earlier']})" if row["earlier"] else ""
    low, high = row["low"], row["high"]
    ends = "" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]"
    word = f"{row['verdict']}, {row['draws']} draws"
    if row["verdict"] == NOT_JUDGED:
        word = f"{NOT_JUDGED}: {row['draws']} draws"
    difference = f"{row['difference']:+.3f}{ends}"
    where = str(row["where"])
    place = where if share in where else ", ".join(filter(None, [where, share]))
    return f"{place}: {score} {difference} at round {row['round']}{earlier}; {word}"


def _not_run(a: Candidate, b: Candidate, where: Sequence[str]) -> list[str]:
    """What to run, and what it costs, measured in a few rounds."""
    given = {"client_share": "equal", **dict(each.split("=", 1) for each in where)}
    lines = [f"not run: no kept study has {a.name} and {b.name} under equal conditions there"]
    seconds = 0.0
    for each in (a, b):
        settings = {**given, **_rates(given, each), **each.settings}
        flags = " ".join(f"--{name}={value}" for name, value in settings.items())
        lines.append(
            f"  f3ast-tff run {flags} --rounds={_ROUNDS} --data_seed=0-{_DRAWS - 1} "
            f"--output_dir=runs/pair"
        )
        if given.get("task", "synthetic") == "synthetic":
            seconds += _DRAWS * _ROUNDS * _seconds_per_round(settings)
    lines.append("  f3ast-tff compare runs/pair")
    if seconds:
        lines.append(f"  some {max(seconds / 60, 0.1):.1f} minutes of a core")
    return lines


def _rates(given: Mapping[str, str], method: Candidate) -> dict[str, object]:
    """The rates that the kept study tuned, where its task is run."""
    if given.get("task", "synthetic") != "synthetic":
        return {}
    return {"local_steps": LOCAL_STEPS, **study_rates(method, given["client_share"])}


@warnings_counted()
def _seconds_per_round(settings: Mapping[str, Any]) -> float:
    spent = []
    for rounds in _TIMED:
        begun = time.process_time()
        simulate(**{**settings, "engine": "host"}, rounds=rounds, eval_every=rounds)
        spent.append(time.process_time() - begun)
    return max(spent[1] - spent[0], 0.0) / (_TIMED[1] - _TIMED[0])
