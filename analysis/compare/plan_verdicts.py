"""The verdicts on the questions of a plan, which were asked before the scores were there."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.cells import chosen, only_group, ordered_keys
from f3ast_tff.analysis.compare.judge import (
    BETTER,
    CLOSE,
    HOLM,
    NOT_JUDGED,
    OF_MEAN,
    OF_SIGNS,
    UNCORRECTED,
    WORDS,
    WORSE,
    Claim,
    Verdict,
    judge,
)
from f3ast_tff.analysis.compare.leads import log_times, over_time
from f3ast_tff.analysis.compare.methods import said_at
from f3ast_tff.analysis.compare.null_families import LARGE, null_rejections
from f3ast_tff.analysis.compare.pairs import Paired, mean_over
from f3ast_tff.analysis.compare.plan import EACH, PLANNED, ROUNDS_SAVED, PlannedQuestion
from f3ast_tff.analysis.compare.plan_picture import draw_verdicts
from f3ast_tff.analysis.compare.scored import Kept, RunsError
from f3ast_tff.analysis.compare.times import FINAL, Time
from f3ast_tff.analysis.texts import markdown_table, p_value_text, write_csv
from f3ast_tff.analysis.tidy_scores import Key, kept_groups, label, require_setting, runs_where
from f3ast_tff.files.messages import show
from f3ast_tff.settings.text_values import conditions, integer_range

_EARLIER = "earlier"
_CLAIM = ("difference", "score", "at")
_NUMBERS = ("mean", "interval", "median", "above 0", "p", "verdict", _EARLIER)


@dataclass(frozen=True)
class PlannedClaim:
    """A difference that a question asks for, in one cell.

    Attributes:
        question: The question.
        names: The two rows in words.
        of: Runs that count, if another question asks the same of others; else `""`.
        pair: The pair as the plan has it, `A:B`.
        cell: Values of `question.columns` in words, `""` without such settings.
        paired: Both rows over their common draws, at least 2 runs.
        at: Time of the verdict in words.
        when: The same in a sentence, such as `at round 200`.
        earlier: Means of the difference at earlier times in words; `""` if none was kept.
    """

    question: PlannedQuestion
    names: tuple[str, str]
    of: str
    pair: str
    cell: str
    paired: Paired
    at: str
    when: str
    earlier: str

    @property
    def name(self) -> str:
        """The difference in words."""
        return " − ".join(self.names) + (f" ({self.of})" if self.of else "")


def write_verdicts(table: pd.DataFrame, path: str) -> None:
    """Writes `verdicts_of_plan` as CSV."""
    write_csv(table.drop(columns=["said", "diverged", "units", "sentence"]).round(6), path)
    show(f"written: {path}")


def draw_first_family(table: pd.DataFrame, path: str) -> None:
    """Draws the first family of `verdicts_of_plan`."""
    draw_verdicts(table[table["family"] == table["family"].iloc[0]], Path(path))
    show(f"written: {path}")


def verdicts_of_plan(plan: Sequence[PlannedQuestion], scores: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per claim of a plan.

    The columns: `family`; `status`, see `PlannedQuestion.status`; `said`; `score`; `at`, the time;
    `difference` and `cell` in words; `mean`, `low` and `high`, whose interval is corrected within
    the family, nominal without one; `median`, `above`, `below`, `draws`,
    `sign_p`; `outliers`, the outlying draws with their differences; `p`, corrected likewise;
    `verdict` on the first row, of `judge.WORDS`, and `reason` if no test decided; `signs`, the
    verdict of the sign test, corrected likewise; `family_errs`, how often a large family of such
    differences without effect has some direction, see `null_families`; NaN for a small one;
    `sentence`.

    Raises:
        RunsError: If runs of a claim are missing or differ in a further setting, or no claim has
            two runs.
    """
    claims = [
        replace(claim, of=question.where or "") if _has_twin(question, plan) else claim
        for question in plan
        for claim in _claims(question, scores)
    ]
    if not claims:
        raise RunsError("no pair of the plan has two runs in common, which a difference needs")
    families: dict[str, list[PlannedClaim]] = {}
    planned = {each.question.family for each in claims if each.question.status == PLANNED}
    for claim in claims:
        own = claim.question.status == PLANNED or claim.question.family not in planned
        families.setdefault(claim.question.family if own else "", []).append(claim)
    rows: dict[int, dict[str, object]] = {}
    for name, members in families.items():
        correction = HOLM if name else UNCORRECTED
        asked = [Claim(claim.paired) for claim in members]
        verdicts, by_signs = (judge(asked, correction, test) for test in (OF_MEAN, OF_SIGNS))
        errs = null_rejections(asked) if name and len(asked) >= LARGE else math.nan
        for claim, verdict, signs in zip(members, verdicts, by_signs):
            rows[id(claim)] = {
                "family": name,
                **_row(claim, verdict),
                "signs": signs.word,
                "family_errs": errs,
            }
    return pd.DataFrame([rows[id(claim)] for claim in claims])


def _row(claim: PlannedClaim, verdict: Verdict) -> dict[str, object]:
    """A claim's row."""
    question, found = claim.question, claim.paired.found
    a, b = claim.names
    assert found is not None
    return {
        "status": question.status,
        "said": question.said,
        "score": _asked(question),
        "at": claim.at,
        "difference": claim.name,
        "cell": claim.cell,
        "mean": verdict.mean,
        "low": verdict.low,
        "high": verdict.high,
        "median": found.median,
        "above": found.num_above,
        "below": found.num_below,
        "draws": found.num_draws,
        "sign_p": found.sign_p_value,
        "units": found.num_draws if found.num_draws > 1 else found.num_pairs,
        "diverged": claim.paired.divergence.said(),
        "outliers": ", ".join(f"{draw} ({value:+.3f})" for draw, value in found.outliers),
        "p": verdict.p,
        "verdict": verdict.word,
        _EARLIER: claim.earlier,
        "reason": verdict.reason,
        "sentence": render.sentence(verdict, a, b, claim.when),
    }


def _has_twin(question: PlannedQuestion, plan: Sequence[PlannedQuestion]) -> bool:
    """Whether the plan asks the same of other runs, so that its claims must say of which."""
    own = _unsaid(question)
    return any(
        replace(each, where=question.where, minus=question.minus) == question
        and _unsaid(each) != own
        for each in plan
    )


def _unsaid(question: PlannedQuestion) -> dict[str, list[str]]:
    """The conditions on settings that neither rows nor columns say."""
    said = {*question.rows, *question.columns}
    allowed = conditions(question.where) if question.where else {}
    return {name: values for name, values in allowed.items() if name not in said}


def _asked(question: PlannedQuestion) -> str:
    """The score, or the log of the rounds until it."""
    name = question.time.name_of(question.score)
    return f"log_rounds_to_{name}" if question.quantity == ROUNDS_SAVED else name


def _claims(question: PlannedQuestion, scores: pd.DataFrame) -> Iterator[PlannedClaim]:
    table = runs_where(scores, question.where)
    if question.draws is not None:
        table = table[table["draw"].isin(integer_range(question.draws))]
        if table.empty:
            raise RunsError(f"no run has a draw of {question.draws}")
    groups = kept_groups(table)
    settings = [*question.rows, *question.columns, *question.mean_over]
    for name in settings:
        require_setting("plan", name, table)
    cells: dict[Key, Kept] = {}
    for key in dict.fromkeys(tuple(group.settings[name] for name in settings) for group in groups):
        members = chosen(groups, dict(zip(settings, key)))
        advice = "the plan must name it in rows, columns or where"
        cells[key] = only_group(members, "claim", advice)
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
                keys = [[(*by_text[row], *column, *each) for each in over] for row in (a, b)]
                if not all(key in cells for of_row in keys for key in of_row):
                    continue
                conditions = [(cells[of_a], cells[of_b]) for of_a, of_b in zip(*keys)]
                if question.quantity == ROUNDS_SAVED:
                    logs = [log_times(*each, question.score, question.time) for each in conditions]
                    earlier, time, both = [], question.time, mean_over(logs)
                else:
                    *earlier, (time, both) = over_time(conditions, question.score, question.time)
                if both.found is None:
                    continue
                one, other = (label(question.rows, by_text[each]) for each in (a, b))
                yield PlannedClaim(
                    question=question,
                    names=(one, other),
                    of="",
                    pair=pair,
                    cell=label(question.columns, column) if column else "",
                    paired=both,
                    at=_said(time, [runs for each in conditions for runs in each]),
                    when=said_at(time, [runs for each in conditions for runs in each]),
                    earlier=render.earlier(earlier),
                )


def _said(time: Time, groups: Sequence[Kept]) -> str:
    """A time in words, a period with the rounds that it is of."""
    lengths = {int(course["round"][-1]) for group in groups for course in group.courses.values()}
    if time.period == FINAL or len(lengths) > 1:
        return time.said
    return f"{time.said} of {lengths.pop()} rounds"


def _pairs(pair: str, by_text: Mapping[str, Key]) -> list[tuple[str, str]]:
    a, _, b = pair.partition(":")
    for text in (a, b):
        if text not in by_text and text != EACH:
            raise RunsError(f"plan: {pair}: the scores have rows {', '.join(by_text)}")
    return [(each, b) for each in by_text if each != b] if a == EACH else [(a, b)]


def sentences(table: pd.DataFrame) -> str:
    """Returns `verdicts_of_plan` in words, a paragraph per family."""
    return "\n\n".join(
        "\n".join(filter(None, [f"{title}:", *_lines(rows), caveat]))
        for title, rows, caveat in _families(table)
    )


def _lines(rows: pd.DataFrame) -> Iterator[str]:
    for row in rows.to_dict("records"):
        where = ", ".join(filter(None, [row["score"].replace("_", " "), row["cell"]]))
        yield f"- {where}: {row['sentence']}"


def tables_of(table: pd.DataFrame, counts: bool) -> Iterator[str]:
    """A table per family, and one per time of asking for what was not planned."""
    for title, rows, caveat in _families(table):
        parts = [_counts(rows)] if counts else [_table(rows), _outlying(rows)]
        yield "\n\n".join(filter(None, [f"{title}:", *parts, _not_judged(rows), caveat]))


def _families(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """What is said of each family, its rows, and how far it can be trusted."""
    for key, rows in table.groupby(["family", "said"], sort=False):
        family, said = cast(tuple[str, str], key)
        number = int((table["family"] == family).sum()) if family else len(rows)
        title = f"{said[0].upper()}{said[1:]}"
        if family:
            claims = f"{number} claim{'s' * (number > 1)}"
            title += f"; {claims} in one family, intervals and p corrected by Holm's rule"
        else:
            title += "; intervals and p not corrected"
        yield title, rows, _caveat(rows) if family else ""


def _outlying(rows: pd.DataFrame) -> str:
    """Names the outlying draws of claims too close to call, whose mean and median may disagree."""
    some = rows[(rows["verdict"] == CLOSE) & (rows["outliers"] != "")]
    said = [f"{_claim(row)}, {row['at']}: {row['outliers']}" for row in some.to_dict("records")]
    return f"Outlying draws of claims too close to call: {'; '.join(said)}." if said else ""


def _caveat(rows: pd.DataFrame) -> str:
    """How far a family can be trusted: its sign tests, and its error without effect."""
    shown = rows[rows["verdict"].isin([BETTER, WORSE])]
    if shown.empty:
        return ""
    same = int((shown["verdict"] == shown["signs"]).sum())
    said = f"Of {len(shown)} directions {same} are also shown by sign tests, corrected likewise."
    errs = float(rows["family_errs"].iloc[0])
    if not math.isnan(errs):
        said += (
            f" In a family like this one without any effect some direction comes out in {errs:.0%} "
            "(bootstrap of its draws)."
        )
    return said


def _not_judged(rows: pd.DataFrame) -> str:
    reasons = dict.fromkeys(rows[rows["verdict"] == NOT_JUDGED]["reason"])
    return f"Not judged: {'; '.join(reasons)}." if reasons else ""


def _claim(row: Mapping[Hashable, Any]) -> str:
    return str(row["difference"]) + (f", {row['cell']}" if row["cell"] else "")


def _counts(rows: pd.DataFrame) -> str:
    """Each difference in the mean over cells, and the number of cells by verdict."""
    words = [each for each in WORDS if each != NOT_JUDGED or (rows["verdict"] == each).any()]
    shown = []
    for key, same in rows.groupby(["difference", "score", "at"], sort=False):
        name, score, at = cast(tuple[str, str, str], key)
        of_cells = same[same["cell"] != ""]["verdict"]
        counts = [str((of_cells == each).sum()) for each in words]
        known = [_numbers(row) for row in same[same["cell"] == ""].to_dict("records")][:1]
        numbers = known[0] if known else ("",) * len(_NUMBERS)
        shown.append((name, score.replace("_", " "), at, *numbers, *counts))
    headings = *_CLAIM, *_NUMBERS[:-2], "verdict on the mean", _EARLIER
    return _without_empty((*headings, *(f"cells {each}" for each in words)), shown)


def _table(rows: pd.DataFrame) -> str:
    records = rows.to_dict("records")
    shown = [(_claim(r), r["score"].replace("_", " "), r["at"], *_numbers(r)) for r in records]
    return _without_empty((*_CLAIM, *_NUMBERS), shown)


def _numbers(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """The texts of `_NUMBERS`; where runs diverged there is no mean, and signs judge."""
    numbers = (
        (f"{row['mean']:+.3f}", f"[{row['low']:+.3f}, {row['high']:+.3f}]", f"{row['median']:+.3f}")
        if math.isfinite(row["mean"])
        else (row["diverged"], "", "")
    )
    return (
        *numbers,
        f"{row['above']} of {row['units']}",
        p_value_text(row["p"]),
        row["verdict"],
        row[_EARLIER],
    )


def _without_empty(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, without the column of earlier times if no row has any."""
    place = headings.index(_EARLIER)
    if any(row[place] for row in rows):
        return markdown_table(headings, rows)
    lines = [[*row[:place], *row[place + 1 :]] for row in (headings, *rows)]
    return markdown_table(lines[0], lines[1:])
