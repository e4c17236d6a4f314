"""Judges the questions of a study's plan: what was asked before the scores were there.

python -m f3ast_tff.analysis.studies.plan_verdicts --plan table3_cifar100
    --scores analysis/studies/table3_cifar100/scores.csv

Score, time, pairs, draws and family are the plan's: no flag changes them. Claims of one family are
corrected together by Holm's rule. With --added the questions that were not planned are shown, with
uncorrected intervals. With --counts a row stands for all cells of a difference. A run whose
accuracy, or loss of that kind, is not finite has accuracy 0.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.runs import Pair, RunsError
from f3ast_tff.analysis.studies.cells import chosen, only_group, ordered_keys, scores_at
from f3ast_tff.analysis.studies.plan import PLANNED, PlannedQuestion, read_plan
from f3ast_tff.analysis.studies.score_tables import EACH
from f3ast_tff.analysis.texts import markdown_table, p_value_text, write_csv
from f3ast_tff.analysis.tidy_scores import (
    Key,
    kept_groups,
    label,
    read_scores,
    require_setting,
    runs_where,
)
from f3ast_tff.analysis.verdicts import ERROR, adjusted, holm
from f3ast_tff.campaigns.study_folders import name_of
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter
from f3ast_tff.settings.text_values import integer_range

_HEADINGS = ("difference", "score", "at", "mean", "interval", "median", "above 0", "p", "shown")
_SHOWN = ("above", "open", "below")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    plan: str = parameter(REQUIRED, "campaign with the plan")
    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    added: bool = parameter(False, "show the questions that were not planned, uncorrected")
    counts: bool = parameter(
        False, "a row per difference: its mean over cells, and in how many cells it is shown"
    )
    out: str | None = parameter(
        None, "CSV file to write or replace, a row per claim, in place of tables", is_path=True
    )


@dataclass(frozen=True)
class PlannedClaim:
    """A difference that a question asks for, in one cell.

    Attributes:
        question: The question.
        name: The difference in words.
        pair: The pair as the plan has it, `A:B`.
        cell: Values of `question.columns` in words, `""` without such settings.
        found: The difference over draws.
    """

    question: PlannedQuestion
    name: str
    pair: str
    cell: str
    found: PairedDifference


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the verdicts, or writes them with `--out`."""
    path = Path(flags.scores)
    plan = [each for each in read_plan(flags.plan) if each.scores == name_of(path)]
    if not plan:
        raise RunsError(f"the plan of {flags.plan} asks nothing of {name_of(path)}")
    table = verdicts_of_plan(plan, read_scores(path))
    if flags.out is not None:
        write_csv(table.drop(columns="said").round(6), flags.out)
        show(f"written: {flags.out}")
        return
    shown = table[(table["status"] != PLANNED) == flags.added]
    if shown.empty:
        which = "no question that was added later" if flags.added else "no planned question"
        raise RunsError(f"the plan of {flags.plan} has {which} on {name_of(path)}")
    show("\n\n".join(_tables(shown, flags.counts)))


def verdicts_of_plan(plan: Sequence[PlannedQuestion], scores: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per claim of a plan.

    The columns: `family`; `status`, see `PlannedQuestion.status`; `said`; `score`; `at`, the time;
    `difference` and `cell` in words; `mean`, `low` and `high`, whose interval is corrected within
    the family if the claim was planned, nominal otherwise; `median`, `above`, `below`, `draws`,
    `sign_p`; `outliers`, the outlying draws with their differences; `p`, corrected likewise;
    `shown`: `above`, `below` or `open`.

    Raises:
        RunsError: If runs of a claim are missing or differ in a further setting, or no claim has
            two runs.
    """
    claims = [claim for question in plan for claim in _claims(question, scores)]
    if not claims:
        raise RunsError("no pair of the plan has two runs in common, which a difference needs")
    families: dict[str, list[PlannedClaim]] = {}
    for claim in claims:
        if claim.question.status == PLANNED:
            families.setdefault(claim.question.family, []).append(claim)
    corrected: dict[int, tuple[float, float]] = {}
    for members in families.values():
        p_values = [claim.found.p_value for claim in members]
        errors = holm([*p_values])
        for claim, p, error in zip(members, adjusted(p_values), errors):
            corrected[id(claim)] = (p, error or ERROR)
    return pd.DataFrame([_row(claim, *corrected.get(id(claim), (None, None))) for claim in claims])


def _row(claim: PlannedClaim, corrected: float | None, error: float | None) -> dict[str, object]:
    """A claim's row; a claim that was not planned has no corrected p value and error."""
    question, found = claim.question, claim.found
    p = found.p_value if corrected is None else corrected
    low, high = found.interval(1 - (error or ERROR))
    return {
        "family": "" if corrected is None else question.family,
        "status": question.status,
        "said": question.said,
        "score": question.score if question.at is None else question.at.score_of(question.score),
        "at": _time(question),
        "difference": claim.name,
        "cell": claim.cell,
        "mean": found.mean,
        "low": low,
        "high": high,
        "median": found.median,
        "above": found.num_above,
        "below": found.num_below,
        "draws": found.num_draws,
        "sign_p": found.sign_p_value,
        "outliers": ", ".join(f"{draw} ({value:+.3f})" for draw, value in found.outliers),
        "p": p,
        "shown": ("above" if found.mean > 0 else "below") if p <= ERROR else "open",
    }


def _claims(question: PlannedQuestion, scores: pd.DataFrame) -> Iterator[PlannedClaim]:
    table = runs_where(scores, question.where)
    if question.draws is not None:
        table = table[table["draw"].isin(integer_range(question.draws))]
        if table.empty:
            raise RunsError(f"no run has a draw of {question.draws}")
    at, groups = question.at, kept_groups(table)
    asked = question.score if at is None else at.score_of(question.score)
    if at is not None:
        groups = at.cut(groups)
    settings = [*question.rows, *question.columns, *question.mean_over]
    for name in settings:
        require_setting("plan", name, table)
    cells: dict[Key, Mapping[Pair, float]] = {}
    for key in dict.fromkeys(tuple(group.settings[name] for name in settings) for group in groups):
        members = chosen(groups, dict(zip(settings, key)))
        advice = "the plan must name it in rows, columns or where"
        group = only_group(members, "claim", advice)
        found = scores_at(group, asked, question.when)
        if asked == question.score and question.score.endswith("accuracy"):
            kind = question.score.replace("accuracy", "loss")
            found = _lost_as_0(found, scores_at(group, kind, question.when))
        cells[key] = found
    num_rows, num_columns = len(question.rows), len(question.columns)
    rows = ordered_keys((key[:num_rows] for key in cells), question.rows)
    columns = ordered_keys(
        (key[num_rows : num_rows + num_columns] for key in cells), question.columns
    )
    over = ordered_keys((key[num_rows + num_columns :] for key in cells), question.mean_over)
    by_text = {"/".join(filter(None, key)): key for key in rows}
    for pair in question.minus:
        for a, b in _pairs(pair, by_text):
            for column in columns:
                of_a, of_b = (
                    _mean_over([cells.get((*row, *column, *each), {}) for each in over])
                    for row in (by_text[a], by_text[b])
                )
                if len(of_a.keys() & of_b.keys()) < 2:
                    continue
                names = [label(question.rows, by_text[each]) for each in (a, b)]
                yield PlannedClaim(
                    question=question,
                    name=" − ".join(names),
                    pair=pair,
                    cell=label(question.columns, column) if column else "",
                    found=paired_difference(of_a, of_b),
                )


def _pairs(pair: str, by_text: Mapping[str, Key]) -> list[tuple[str, str]]:
    a, _, b = pair.partition(":")
    for text in (a, b):
        if text not in by_text and text != EACH:
            raise RunsError(f"plan: {pair}: the scores have rows {', '.join(by_text)}")
    return [(each, b) for each in by_text if each != b] if a == EACH else [(a, b)]


def _lost_as_0(scores: Mapping[Pair, float], losses: Mapping[Pair, float]) -> dict[Pair, float]:
    lost = {p for p, value in scores.items() if not np.isfinite([value, losses[p]]).all()}
    return {pair: 0.0 if pair in lost else value for pair, value in scores.items()}


def _mean_over(parts: Sequence[Mapping[Pair, float]]) -> dict[Pair, float]:
    """Each pair's mean over parts; a pair that a part lacks is left out."""
    common = set.intersection(*(set(part) for part in parts))
    return {pair: float(np.mean([part[pair] for part in parts])) for pair in sorted(common)}


def _time(question: PlannedQuestion) -> str:
    when, at = question.when, question.at
    if at is not None:
        to = f"until {at.reach:g}, up to " if at.reach is not None else ""
        return f"{to}{at.seconds:g} s"
    return f"round {when}" if isinstance(when, int) else when.replace("_", " ")


def _tables(table: pd.DataFrame, counts: bool) -> Iterator[str]:
    """A table per family, and one per time of asking for what was not planned."""
    for key, rows in table.groupby(["family", "said"], sort=False):
        family, said = cast(tuple[str, str], key)
        number = int((table["family"] == family).sum()) if family else len(rows)
        title = f"{said[0].upper()}{said[1:]}"
        if family:
            title += f"; {number} claims in one family, intervals and p corrected by Holm's rule"
        else:
            title += "; intervals and p not corrected"
        parts = [_counts(rows)] if counts else [_table(rows), _outlying(rows)]
        yield "\n\n".join(filter(None, [f"{title}:", *parts]))


def _outlying(rows: pd.DataFrame) -> str:
    """Names the outlying draws of open claims, whose mean and median may disagree."""
    some = rows[(rows["shown"] == "open") & (rows["outliers"] != "")]
    said = [f"{_claim(row)}, {row['at']}: {row['outliers']}" for row in some.to_dict("records")]
    return f"Outlying draws of open claims: {'; '.join(said)}." if said else ""


def _claim(row: Mapping[Hashable, Any]) -> str:
    return str(row["difference"]) + (f", {row['cell']}" if row["cell"] else "")


def _counts(rows: pd.DataFrame) -> str:
    """Each difference in the mean over cells, and the cells in which it is above, open or below."""
    shown = []
    for key, same in rows.groupby(["difference", "score", "at"], sort=False):
        name, score, at = cast(tuple[str, str, str], key)
        of_cells = same[same["cell"] != ""]["shown"]
        counts = [str((of_cells == each).sum()) for each in _SHOWN]
        mean = _rows_shown(same[same["cell"] == ""])
        known = mean[0] if mean else (name, score.replace("_", " "), at, *[""] * len(_HEADINGS[3:]))
        shown.append((*known, *counts))
    headings = *_HEADINGS[:-1], "shown in the mean", *(f"cells {each}" for each in _SHOWN)
    return markdown_table(headings, shown)


def _table(rows: pd.DataFrame) -> str:
    return markdown_table(_HEADINGS, _rows_shown(rows))


def _rows_shown(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    shown: list[tuple[str, ...]] = []
    for row in rows.to_dict("records"):
        signs = f"{row['above']} of {row['draws']}"
        ends = f"[{row['low']:+.3f}, {row['high']:+.3f}]"
        numbers = (f"{row['mean']:+.3f}", ends, f"{row['median']:+.3f}", signs)
        score = row["score"].replace("_", " ")
        shown.append(
            (_claim(row), score, row["at"], *numbers, p_value_text(row["p"]), row["shown"])
        )
    return shown


if __name__ == "__main__":
    sys.exit(main(sys.argv))
