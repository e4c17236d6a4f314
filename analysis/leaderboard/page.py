"""The leaderboard as a page: verdicts on the user's methods, then every board, rows in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, WORSE
from f3ast_tff.analysis.compare.methods import judged
from f3ast_tff.analysis.compare.paired_difference import difference_of_common
from f3ast_tff.analysis.compare.pairs import diverged, ranked
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.leaderboard.boards import Board, Method
from f3ast_tff.analysis.leaderboard.entry import Entered, Masks
from f3ast_tff.analysis.leaderboard.masks import Published
from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Section, Text
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.study_runs import RATES
from f3ast_tff.analysis.texts import NOTHING
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig

NO_CLOCK = "no clock"


@dataclass(frozen=True)
class Standing:
    """A row of a board: its cells by heading, as texts, and whether it is the user's method.

    A line break within a cell is a newline.
    """

    cells: dict[str, str]
    own: bool


def standings(board: Board, own: Sequence[Entered] = (), model_bytes: int = 0) -> list[Standing]:
    """Returns the methods of a board, by falling mean score.

    A method is level with the first (`1=`) if their difference is too close to call; the intervals
    of the differences are corrected for their number. Entries that lack draws come last.
    `model_bytes` is the size of a copy of the model, 0 if unknown.
    """
    mine = {each.method.group for each in own}
    ranked = board.ordered([each.method for each in own if each.complete])
    ranked += [each.method for each in own if not each.complete]
    whole = len(ranked) - sum(not each.complete for each in own)
    labels = {method.group: method.name for method in ranked}
    first = ranked[0]
    pairs = [(method.group, first.group) for method in ranked[1:]]
    table = judged(pairs, labels, (), board.score, board.study.period).to_dict("records")
    level = any(row["verdict"] == CLOSE for row in table[: whole - 1])
    target = target_of(board)
    found = []
    for number, method in enumerate(ranked, start=1):
        row: Mapping[Any, Any] = {"verdict": CLOSE if level else BETTER}
        if number > 1:
            row = table[number - 2]
        place = "1=" if row["verdict"] == CLOSE else str(number)
        cells = {
            "method": method.name,
            "place": place if number <= whole else NOTHING,
            board.score.replace("_", " "): score_text(board, method.group),
            "minus the first": minus_text(row) if number > 1 else NOTHING,
            # The target is a mean over all draws of the board.
            f"rounds (seconds) to {target:.2f}": to_target(board, method.group, target)
            if number <= whole
            else NOTHING,
            "bytes per round": _bytes(method, model_bytes),
            "client, server rate": ", ".join(f"{method.group.setting(r):g}" for r in RATES),
            "row": method.where.replace(",", ",\n") or NOTHING,
        }
        found.append(Standing(cells, method.group in mine))
    return found


def score_text(board: Board, group: RunGroup) -> str:
    """Returns a mean accuracy with the part in [0, 1] of its 95% interval over draws."""
    scores = ranked(group, board.score, board.study.period)
    lost = diverged(group, board.score, board.study.period)
    if lost:
        return f"diverged in {len(lost)} of {len(scores)}"
    found = difference_of_common(scores, dict.fromkeys(scores, 0.0))
    mean = f"{board.mean(group):.3f}"
    if found is None:
        return mean
    return f"{mean} [{max(found.low, 0.0):.3f}, {min(found.high, 1.0):.3f}]"


def minus_text(row: Mapping[Any, Any]) -> str:
    """Returns a row of `differences.judged` as difference, interval and verdict."""
    # Means that lie between two decimals round alike, however a processor adds up.
    mean, low, high = (round(float(row[name]), 12) for name in ("difference", "low", "high"))
    if math.isnan(mean):
        return str(row["verdict"])
    ends = "" if math.isnan(low) else f" [{low:+.3f}, {high:+.3f}]"
    return f"{mean:+.3f}{ends}\n{row['verdict']}"


def target_of(board: Board) -> float:
    """Returns the accuracy to reach: FedAvg's mean score, rounded down to two decimals."""
    # 100 * .29 is a little below 29.
    return math.floor(round(100 * board.mean(board.fedavg.group), 9)) / 100


def to_target(board: Board, group: RunGroup, target: float) -> str:
    """Returns the first kept round whose mean over draws reaches a target, and its seconds."""
    column = f"test_{board.score}"
    kept = board.first.first.metrics["round"].tolist()
    if len(kept) < 2:
        return f"only {kept[0]} kept"
    every = pd.concat([run.metrics for run in group.runs.values()])
    every = every[every["round"].isin(kept)]
    counts = every.groupby("round")[column].count()
    means = every.groupby("round")[column].mean()[counts == len(group.runs)]
    reached = means[means >= target]
    if len(means) < len(kept):
        return f"{len(means)} of {len(kept)} rounds evaluated"
    if reached.empty:
        return "not reached"
    number = int(reached.index[0])
    seconds = every[every["round"] == number].get("simulated_seconds")
    clock = 0.0 if seconds is None else float(seconds.mean())
    return f"by {number} ({f'{clock:.0f}' if clock > 0 else NO_CLOCK})"


def counted(verdicts: Sequence[str]) -> str:
    """Returns the counts of verdicts in words: better, worse, or neither."""
    words = (BETTER, WORSE, CLOSE)
    parts = [f"{word} in {verdicts.count(word)}" for word in words]
    others = sum(verdict not in words for verdict in verdicts)
    return ", ".join([*parts, *([f"not judged in {others}"] if others else [])])


def _bytes(method: Method, model_bytes: int) -> str:
    """Bytes of a round, both ways: at most for K clients, or the mean that was sent."""
    configuration = method.configuration
    if configuration is None:
        last = [run.metrics.iloc[-1] for run in method.group.runs.values()]
        if not all({"bytes_down", "bytes_up"} <= {*row.index} for row in last):
            return NOTHING
        sent = [(row["bytes_down"] + row["bytes_up"]) / row["round"] for row in last]
        return f"{sum(sent) / len(sent):,.0f}"
    config = type(configuration.configs["algorithm"])
    if not model_bytes or config.client_loss is not AlgorithmConfig.client_loss:
        # The method asks further clients for their losses.
        return "not kept"
    memory = configuration.configs["aggregation"].build().memory
    vectors = 2 if memory is None else memory.vectors_down + memory.vectors_up
    return f"≤ {configuration.settings['clients_per_round'] * vectors * model_bytes:,}"


HOW_TO_READ = (
    "A score is the mean over draws of the data with its 95% interval. Draws differ, so these are "
    "wide. Methods are compared over the same draws: their differences have shorter intervals, "
    "corrected by Holm's rule for the rows of a table. 1= is level with the first: too close to "
    "call. A wide interval can make a lower score level and leave a higher one apart. The first "
    "is the highest of several means over the same draws, which favours it.",
    "Rounds to an accuracy: the first kept round whose mean over draws reaches FedAvg's score, "
    "rounded down; nothing is interpolated. Kept files have no clock, so seconds are not known. "
    "Bytes per round count both ways: at most those of K clients. Of methods that ask further "
    "clients for losses they are not kept; of your own runs they are the mean that was sent.",
)
OF_A_ROW = (
    "with the conditions of the board and of the row in their places. It runs both forms of a "
    "method that no condition tells apart."
)
COMPARED = ("the best kept method", "FedAvg")


def document(
    boards: Sequence[Board], entered: Sequence[Entered], left_out: Sequence[str], masks: Masks
) -> Document:
    """Builds the page of all boards.

    `entered` are the user's methods, `left_out` lines on runs that are left out, `masks` the
    published masks of the boards.
    """
    verdicts = own_verdicts(entered)
    sections = [_verdict_section(verdicts, left_out, bool(entered))]
    frames = []
    for place, (study, members) in enumerate(groupby(boards, key=lambda board: board.study)):
        blocks: list[Block] = [Text(f"Command of a row: {command_of(study.name)}, {OF_A_ROW}")]
        mine = {each.board for each in entered}
        for number, board in enumerate(sorted(members, key=lambda each: each not in mine)):
            own = [each for each in entered if each.board is board]
            there = masks.get((study.name, board.where), {})
            rows = standings(board, own, model_bytes(there))
            head = tuple(rows[0].cells)
            cells = tuple(tuple(row.cells.values()) for row in rows)
            marked = tuple(n for n, row in enumerate(rows) if row.own)
            name, folded = f"board_{place}_{number}", bool(entered) and not own
            caption = f"{board.title}: {said_of(board)}; BOARD is {board.where}"
            blocks.append(Grid(name, caption, head, cells, folded, marked=marked))
            frames.append(frame_of(board, rows))
        sections.append(Section(study.title, blocks))
    tables = {"standings": pd.concat(frames, ignore_index=True)}
    if not verdicts.empty:
        tables["mine"] = verdicts
    return Document("Leaderboard", sections, tables)


def own_verdicts(entered: Sequence[Entered]) -> pd.DataFrame:
    """Compares the user's methods with the best kept method and FedAvg of each board.

    Returns:
        A row per method, board and comparison: `study`, `board`, `score`, `against` of `COMPARED`,
        and the columns of `differences.judged`. A family is all regimes of a study and score.
    """
    found = []
    by_family: dict[tuple[str, str], list[Entered]] = {}
    for each in entered:
        by_family.setdefault((each.board.study.name, each.board.score), []).append(each)
    for (study, score), members in by_family.items():
        labels, pairs, known = {}, [], []
        for each in members:
            own, board = each.method, each.board
            for against, other in zip(COMPARED, (board.ordered()[0], board.fedavg)):
                if against == COMPARED[1] and other is board.ordered()[0]:
                    continue
                labels.update({own.group: own.name, other.group: other.name})
                pairs.append((own.group, other.group))
                known.append((study, board.title, score, own.name, against))
        period = members[0].board.study.period
        columns = ["study", "board", "score", "mine", "against"]
        rows = judged(pairs, labels, (), score, period)
        found.append(pd.concat([pd.DataFrame(known, columns=columns), rows], axis="columns"))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def summary_lines(verdicts: pd.DataFrame) -> list[str]:
    """Returns the answer in words, a line per method, study, score and comparison."""
    lines = []
    several = verdicts["study"].nunique() > 1
    for key, part in verdicts.groupby(["study", "mine", "score", "against"], sort=False):
        study, mine, score, against = map(str, key)
        said = counted(part["verdict"].tolist())
        regimes = f"{len(part)} regime{'s' * (len(part) > 1)}"
        where = f"{study}: " if several else ""
        lines.append(
            f"{where}{mine} against {against}, {score.replace('_', ' ')}, {regimes}: {said}."
        )
    return lines


def said_of(board: Board) -> str:
    """Returns the number of draws and rounds of a board, in words."""
    group = board.first
    rounds = group.setting("rounds")
    return f"{len(group.runs)} draws of the data, {rounds} rounds"


def command_of(study: str) -> str:
    """Returns the command of a board's row."""
    return f"f3ast-tff campaign {study} --where=BOARD,ROW"


def model_bytes(there: Mapping[Pair, Published]) -> int:
    """Returns the bytes of a board's model, 0 if not published."""
    return max((each.model_bytes for each in there.values()), default=0)


def frame_of(board: Board, rows: Sequence[Standing]) -> pd.DataFrame:
    """Returns the rows of a board as a frame, with the same columns for all boards."""
    frame = pd.DataFrame([[c.replace("\n", " ") for c in row.cells.values()] for row in rows])
    frame.columns = [
        "method", "place", "value", "minus_first", "rounds_to_target", "bytes_per_round", "rates",
        "row",
    ]  # fmt: skip
    frame.insert(0, "score", board.score)
    frame.insert(0, "board", board.where)
    frame.insert(0, "study", board.study.name)
    return frame.assign(own=[row.own for row in rows])


def _verdict_section(verdicts: pd.DataFrame, left_out: Sequence[str], any_own: bool) -> Section:
    blocks: list[Block] = []
    if any_own:
        blocks.append(Listing("In short", tuple(summary_lines(verdicts)), folded=False))
        rows = tuple(
            (row["board"], row["score"].replace("_", " "), row["b"], row["sentence"])
            for row in verdicts.to_dict("records")
        )
        head = ("regime", "score", "against", "in words")
        caption = (
            "Yours against the best kept method and FedAvg of each regime, over the common draws"
        )
        blocks.append(Grid("mine", caption, head, rows))
        blocks.append(
            Text(
                "Intervals are corrected for all comparisons of a study and score. Rates chosen on "
                "the board's own draws would make this optimistic; no file shows that they were "
                "not. Several draws decide: with too few there is no verdict."
            )
        )
    if left_out:
        blocks.append(Listing("Left out", tuple(left_out), folded=False))
    title = "Is mine better?" if any_own or left_out else "How to read"
    return Section(title, [*blocks, *map(Text, HOW_TO_READ)])
