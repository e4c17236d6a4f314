"""A verdict as a sentence, a row of a frame, a cell of a table, a point of a picture, or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, NOT_JUDGED, WORSE, Verdict
from f3ast_tff.analysis.compare.leads import Saved
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.times import Time
from f3ast_tff.analysis.texts import NOTHING, median_and_signs, over

# Okabe and Ito's colours, by verdict, and their names.
COLOURS = {BETTER: "#0072B2", WORSE: "#D55E00", CLOSE: "#777777", NOT_JUDGED: "#CC79A7"}
COLOUR_NAMES = {
    BETTER: "better in blue",
    WORSE: "worse in red",
    CLOSE: "too close to call in grey",
    NOT_JUDGED: "not judged, for lack of draws or another reason in the table, in pink",
}
# Columns of `row`.
COLUMNS = ("difference", "low", "high", "p", "draws", "pairs", "verdict")


@dataclass(frozen=True)
class Point:
    """A difference and its interval in a picture; the ends are NaN without an interval."""

    mean: float
    low: float
    high: float
    colour: str


def sentence(verdict: Verdict, a: str, b: str, at: str) -> str:
    """Returns a verdict in words: by how much A is better or worse, else the number A - B.

    Args:
        verdict: The verdict.
        a: Name of method A.
        b: Name of method B.
        at: Time of the score in words, such as `at round 200`; `""` for a table without times.
    """
    paired, found = verdict.claim.paired, verdict.claim.found
    if paired is None or not paired.num_pairs:
        return f"{a} and {b} have no run in common."
    when = f" {at}" if at else ""
    diverged = paired.divergence.said(a, b)
    between = f"[{signed(verdict.low)}, {signed(verdict.high)}]"
    no_interval = math.isnan(verdict.low)
    if verdict.word == NOT_JUDGED:
        if diverged:
            return f"{diverged}; not judged: {verdict.reason}."
        number = f"{a} minus {b}: {signed(verdict.mean)}"
        ends = "" if no_interval else f" {between}"
        return f"{number}{ends}{when}; not judged: {verdict.reason}."
    if no_interval:
        words = {BETTER: f"{a} is better than {b}", WORSE: f"{a} is worse than {b}"}
        said = words.get(str(verdict.word), f"{a} and {b}: {CLOSE}")
        return f"{said}{when}; {diverged}."
    taken = f"over {over(found)}" + (f"; {diverged}" if diverged else "")
    if verdict.mean == verdict.low == verdict.high == 0:
        return f"{a} and {b} are equal in every run{when}, {taken}."
    if verdict.word in (CLOSE, None):
        return f"{a} and {b}: {CLOSE}, {signed(verdict.mean)} {between}{when} {taken}."
    turn = paired.sign if verdict.word == BETTER else -paired.sign
    low, high = sorted(turn * end for end in (verdict.low, verdict.high))
    size = f"{short(turn * verdict.mean)} [{short(low)}, {short(high)}]"
    return f"{a} is {verdict.word} than {b} by {size}{when} {taken}."


def earlier(leads: Sequence[tuple[Time, Paired]]) -> str:
    """Returns A - B at several times, such as `+.102 at round 50, +.093 at round 100`."""
    shown = [(time, both.mean) for time, both in leads if math.isfinite(both.mean)]
    return ", ".join(f"{signed(mean)} at {time.said}" for time, mean in shown)


def saved_sentence(saved: Saved, ahead: str, behind: str) -> str:
    """Returns how much longer the method that is behind trains, in words."""
    unit = saved.unit if saved.unit == "rounds" else "s"
    times = _ratio(saved.ratio)
    if not math.isnan(saved.low):
        times += f" [{_ratio(saved.low)}, {_ratio(saved.high)}]"
    some = "" if saved.arrived == saved.runs else f"; {saved.arrived} of {saved.runs} runs have it"
    return (
        f"{ahead} has after {_whole(saved.ahead)} {unit} what {behind} has after "
        f"{_whole(saved.behind)} ({times} times as long{some})."
    )


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.3g}"


def _whole(value: float) -> str:
    return f"{value:.0f}" if value < 10_000 else f"{value:.3g}"


def row(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict as numbers (NaN for none) and a word, by `COLUMNS`."""
    paired = verdict.claim.paired
    return {
        "difference": verdict.mean,
        "low": verdict.low,
        "high": verdict.high,
        "p": verdict.p,
        "draws": 0 if paired is None else paired.num_draws,
        "pairs": 0 if paired is None else paired.num_pairs,
        "verdict": verdict.word,
    }


def cell(verdict: Verdict, decimals: int = 3) -> str:
    """Returns mean [low, high] of A - B; how many runs diverged if there is no mean."""
    paired = verdict.claim.paired
    if math.isnan(verdict.mean):
        return NOTHING if paired is None else (paired.divergence.said() or NOTHING)
    ends = f" [{verdict.low:+.{decimals}f}, {verdict.high:+.{decimals}f}]"
    return f"{verdict.mean:+.{decimals}f}{'' if math.isnan(verdict.low) else ends}"


def latex(verdict: Verdict, decimals: int = 3) -> str:
    """Returns `cell` in LaTeX, with minus signs."""
    text = cell(verdict, decimals)
    return text if math.isnan(verdict.mean) else f"${text}$".replace(" [", r"\ [")


def point(verdict: Verdict) -> Point:
    """Returns a verdict as a point, with the colour of its word."""
    return Point(verdict.mean, verdict.low, verdict.high, COLOURS[verdict.word or CLOSE])


def grounds(verdict: Verdict) -> str:
    """Returns the grounds of a verdict on a paper's claim, in a few words.

    The share of the paper's difference has its uncorrected interval.
    """
    claim, found = verdict.claim, verdict.claim.found
    if verdict.reason or found is None or claim.paired is None:
        return verdict.reason
    diverged = claim.paired.divergence.said()
    if found.num_diverged:
        best, worst = found.num_above, found.num_below
        if not claim.paired.higher_is_better:
            best, worst = worst, best
        what = "draws" if found.num_draws > 1 else "seeds"
        signs = f"better in {best} and worse in {worst} of {found.num_units} {what} (sign test)"
        return f"{signs}; {diverged or 'a run diverged'}"
    said = [verdict.word] if verdict.word else []
    if verdict.word == CLOSE:
        said = ["; ".join(filter(None, ["the interval contains 0", median_and_signs(found)]))]
    if claim.printed:
        low, high = sorted((found.low / claim.printed, found.high / claim.printed))
        said.append(f"{found.mean / claim.printed:.2f} [{low:.2f}, {high:.2f}] of the paper's")
    text = ", ".join(said) or "the paper prints both equal"
    return "; ".join(filter(None, [text, diverged]))


def short(value: float) -> str:
    """Returns a number with three decimals and no 0 before the point; of four digits from 100."""
    text = f"{value:.4g}" if abs(value) >= 100 else f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def signed(value: float) -> str:
    """Returns `short` with a sign."""
    return f"{'-' if value < 0 else '+'}{short(abs(value))}"
