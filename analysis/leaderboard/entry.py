"""A user's runs on the boards: the board of each run, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from f3ast_tff.analysis.compare.methods import methods_of, with_what_is_theirs
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.leaderboard.boards import Board, Method
from f3ast_tff.analysis.leaderboard.masks import Published, masks_of_run
from f3ast_tff.analysis.run_groups import RunGroup, group_runs
from f3ast_tff.analysis.runs import Run
from f3ast_tff.analysis.study_runs import RATES
from f3ast_tff.availability.logs.mask_files import masks_digest, read_masks
from f3ast_tff.core.errors import DataError
from f3ast_tff.records.outputs import masks_there
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.configuration import Configuration

Masks = Mapping[tuple[str, str], Mapping[Pair, Published]]
# Settings that affect only the last digits.
_IGNORED = {"device"}
_TABLE = "table"
_OPTIMIZERS = ("client_optimizer", "server_optimizer", *RATES)
_MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class Entered:
    """A user's method on a board, with its runs of the board's draws."""

    board: Board
    method: Method

    @property
    def complete(self) -> bool:
        """Whether it ran all draws of the board."""
        return self.method.group.runs.keys() == self.board.first.runs.keys()


def enter(
    boards: Sequence[Board], runs: Iterable[Run], masks: Masks
) -> tuple[list[Entered], list[str]]:
    """Finds the boards of finished runs: world, masks and common rates must match the board's.

    Returns:
        The entered methods, in the order of the boards, and a line per group or run left out.
    """
    said: list[str] = []
    groups, repeated = group_runs(_as_regimes(runs, boards, masks, said))
    said += repeated
    named = with_what_is_theirs(groups)
    told = methods_of(named).labels if groups else {}
    labels = {group: told[name] for group, name in zip(groups, named)}
    found = []
    for group in groups:
        board, differing = _nearest(group, boards)
        name = f"{labels[group]} ({group.first.path}{' ...' if len(group.runs) > 1 else ''})"
        if differing:
            more = len(differing) - _MOST_NAMED
            words = [*differing[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
            said.append(f"{name}: on no board. {_where(board)} has {', '.join(words)}")
        elif reason := _refused(group, board):
            said.append(f"{name}: {_where(board)}: {reason}")
        else:
            kept = _of_board(group, board, masks, said)
            if kept.runs:
                found.append(Entered(board, Method(f"{labels[group]} (yours)", kept)))
    found = _with_one_pair_of_rates(found, said)
    return sorted(found, key=lambda each: boards.index(each.board)), said


def _where(board: Board) -> str:
    return f"{board.study.name}, {board.title}"


def _nearest(group: RunGroup, boards: Sequence[Board]) -> tuple[Board, list[str]]:
    """The board with the fewest differing settings, and these with both values."""

    def differing(board: Board) -> list[str]:
        ours, theirs = group.world, board.first.world
        # A score at the end does not depend on the evaluations before it.
        ignored = _IGNORED | ({"eval_every"} if board.study.period == PERIODS[0] else set())
        names = [n for n in {**theirs, **ours} if n not in ignored]
        different = [n for n in names if ours.get(n) != theirs.get(n)]
        # Task, regime and rounds first: they explain more than settings that follow from them.
        different.sort(key=lambda name: name not in ("task", "availability", "rounds"))
        return [f"{n} {theirs.get(n, 'not set')}, not {ours.get(n, 'set')}" for n in different]

    found = [(board, differing(board)) for board in boards]
    same_task = [each for each in found if not each[1] or not each[1][0].startswith("task ")]
    return min(same_task or found, key=lambda each: len(each[1]))


def _refused(group: RunGroup, board: Board) -> str:
    """The reason why runs of a board's world cannot enter; `""` if they can."""
    for method in board.methods:
        if method.group.own == group.own:
            return f"these settings are those of its row {method.name}"
    if board.study.tuned:
        return ""
    rates = [tuple(map(each.group.setting, _OPTIMIZERS)) for each in board.methods]
    own = tuple(map(group.setting, _OPTIMIZERS))
    if own in rates:
        return ""
    allowed = [f"{c} {a}, {s} {b}" for c, s, a, b in dict.fromkeys(rates)]
    said = f"{own[0]} {own[2]}, {own[1]} {own[3]}"
    return f"rates of client and server are {said}; this board has {' or '.join(allowed)} for all"


def _of_board(group: RunGroup, board: Board, masks: Masks, said: list[str]) -> RunGroup:
    """The group without runs whose draws or masks differ from the board's."""
    there = masks.get((board.study.name, board.where), {})
    configuration = board.methods[0].configuration
    assert configuration is not None
    kept = {}
    for pair, run in group.runs.items():
        if pair not in board.first.runs:
            draws = ", ".join(str(each.draw) for each in sorted(board.first.runs))
            said.append(
                f"{run.path}: data_seed {pair.draw} with seed {pair.seed} is no draw of "
                f"{_where(board)}, which has {draws} (both seeds the same)"
            )
            continue
        expected = there[pair].digest if pair in there else None
        digest = _digest(run, configuration)
        if expected is not None and digest is not None and digest != expected:
            said.append(
                f"{run.path}: its masks have SHA-256 {digest[:12]}..., those published for "
                f"{_where(board)}, draw {pair.draw}, {expected[:12]}..."
            )
            continue
        kept[pair] = run
    return replace(group, runs=kept)


def _digest(run: Run, configuration: Configuration) -> str | None:
    """SHA-256 of a run's masks, from its file or, without a file, from its settings."""
    try:
        for path in masks_there(run.path):
            return masks_digest(read_masks(path))
        return masks_of_run(configuration, run.pair, run.settings.get("data_dir"))[0]
    except DataError:
        # The task's data are not here; its settings are the board's.
        return None


def _as_regimes(
    runs: Iterable[Run], boards: Sequence[Board], masks: Masks, said: list[str]
) -> list[Run]:
    """The runs; runs on a table of published masks become runs of that regime."""
    components = builtin_registry().components["availability"]
    places = {
        (of_run.digest, pair, board.first.settings["task"]): board
        for board in boards
        for pair, of_run in masks.get((board.study.name, board.where), {}).items()
    }
    found = []
    for run in runs:
        if run.settings["availability"] != _TABLE:
            found.append(run)
            continue
        file = run.settings.get("table_file")
        if not isinstance(file, str):
            said.append(f"{run.path}: its settings name no table_file")
            continue
        try:
            digest = masks_digest(read_masks(Path(file)))
        except DataError as error:
            said.append(f"{run.path}: its table cannot be read: {error}")
            continue
        board = places.get((digest, run.pair, run.settings["task"]))
        if board is None:
            said.append(
                f"{run.path}: the masks of its table, SHA-256 {digest[:12]}..., are not published "
                f"for {run.pair} of {run.settings['task']}"
            )
            continue
        regime = board.first.settings
        own = {p.name for p in components[_TABLE].parameters}
        theirs = {p.name for p in components[regime["availability"]].parameters}
        settings = {n: v for n, v in run.settings.items() if n not in own}
        settings.update({n: regime.get(n) for n in ("availability", *theirs)})
        files = {n: v for n, v in run.input_files.items() if n not in own}
        found.append(replace(run, settings=settings, input_files=files))
    return found


def _with_one_pair_of_rates(found: Sequence[Entered], said: list[str]) -> list[Entered]:
    """Entries of methods with one pair of rates in all regimes of a study and objective."""
    rates: dict[tuple[str, ...], set[tuple[float, ...]]] = {}

    def key(each: Entered) -> tuple[str, ...]:
        own = {n: v for n, v in each.method.group.own.items() if n not in RATES}
        return (each.board.study.name, each.board.score, str(sorted(own.items())))

    for each in found:
        pair = tuple(float(each.method.group.setting(rate)) for rate in RATES)
        rates.setdefault(key(each), set()).add(pair)
    for (study, score, _), pairs in rates.items():
        if len(pairs) > 1:
            listed = ", ".join(f"{a:g} and {b:g}" for a, b in sorted(pairs))
            said.append(
                f"{study}, {score}: {len(pairs)} pairs of client and server rate ({listed}). A "
                "method enters with one for all regimes of an objective, chosen on draws that the "
                "board does not have"
            )
    return [each for each in found if len(rates[key(each)]) == 1]
