"""The cells of a table of kept scores: which runs, in which order, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from f3ast_tff.analysis.coverage import of_intervals
from f3ast_tff.analysis.kept_scores import KeptRun, When
from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import describe, summarised
from f3ast_tff.analysis.runs import Pair, RunsError, display_of
from f3ast_tff.components import builtin_registry
from f3ast_tff.components.component import KINDS
from f3ast_tff.components.defaults import PRESETS

# Values of settings, in the order of the settings' names.
Key = tuple[str, ...]
Scores = Mapping[Pair, float]
NOTHING = "–"
# Beyond this a number has two digits, as in `f3ast_tff.analysis.table`.
_LARGE = 100.0
_LAST = 1000


@dataclass(frozen=True)
class Block:
    """The runs of one value of the settings that have tables of their own.

    Attributes:
        condition: That value in words, after a comma; "" if there are no such settings.
        rows: Keys of the rows, in their order.
        columns: Keys of the columns, in their order.
        cells: Runs by row and column.
    """

    condition: str
    rows: Sequence[Key]
    columns: Sequence[Key]
    cells: Mapping[tuple[Key, Key], Sequence[KeptRun]]

    @property
    def runs(self) -> list[KeptRun]:
        """All its runs."""
        return [run for runs in self.cells.values() for run in runs]

    def scores(self, row: Key, column: Key, score: str, when: When) -> dict[Pair, float]:
        """Returns a score by pair, empty where nothing was run."""
        return {run.pair: run.at(when)[score] for run in self.cells.get((row, column), ())}

    def population(self, found: Iterable[PairedDifference | None]) -> str:
        """Returns a line on what ± is taken over and what the intervals cover."""
        text = f"± over {_population(self.cells.values())}"
        intervals = of_intervals(found, ())
        text += f"; 95% {intervals}" if intervals else ""
        if any(_one_availability(run.settings) for run in self.runs):
            text += "; runs under R13's by_round_only share one draw of the availability, which is"
            text += " not covered"
        return f"{text}."


def blocks(
    runs: Sequence[KeptRun], rows: Sequence[str], columns: Sequence[str], by: Sequence[str]
) -> list[Block]:
    """Sorts runs into cells.

    Args:
        runs: At least one.
        rows: Settings whose values are the rows.
        columns: Settings whose values are the columns.
        by: Settings whose values are blocks.

    Returns:
        The blocks. Components are in the order of their kind, numbers rise, other values are in
        the order of the runs.

    Raises:
        RunsError: If the runs of a cell differ in another setting.
    """
    places = {name: _places(name, runs) for name in (*rows, *columns, *by)}

    def ordered(names: Sequence[str], those: Sequence[KeptRun]) -> list[Key]:
        keys = {_key(run, names) for run in those}
        return sorted(keys, key=lambda key: [places[n][v] for n, v in zip(names, key)])

    found = []
    for value in ordered(by, runs):
        inside = [run for run in runs if _key(run, by) == value]
        cells: dict[tuple[Key, Key], list[KeptRun]] = {}
        for run in inside:
            cells.setdefault((_key(run, rows), _key(run, columns)), []).append(run)
        for members in cells.values():
            _refuse_mixture(members)
        shown = {name: _shown(name, text) for name, text in zip(by, value) if text}
        condition = f", {describe(shown, shown)}" if shown else ""
        found.append(Block(condition, ordered(rows, inside), ordered(columns, inside), cells))
    return found


def key_text(key: Key) -> str:
    """Returns how a command line names a row: its values, `/` between them."""
    return "/".join(value for value in key if value)


def label(names: Sequence[str], key: Key) -> str:
    """Returns a row or column in words.

    A setting that its runs do not have is left out, and the aggregation of an algorithm that is
    its own.
    """
    values = {name: value for name, value in zip(names, key) if value}
    algorithm = builtin_registry().components["algorithm"].get(values.get("algorithm", ""))
    if algorithm is not None and values.get("aggregation") == algorithm.config.aggregation:
        del values["aggregation"]
    parts = [_shown(n, v) if n in KINDS else f"{n} {v}" for n, v in values.items()]
    return ", ".join(parts) or NOTHING


def spread(scores: Scores) -> str:
    """Returns mean ± standard deviation, or how many runs have no finite score."""
    if not scores:
        return NOTHING
    if diverged := _diverged(scores.values()):
        return diverged
    found = summarised(scores)
    mean = _number(found.mean)
    return mean if math.isnan(found.deviation) else f"{mean} ± {_number(found.deviation)}"


def minus_text(a: Scores, b: Scores) -> tuple[str, PairedDifference | None]:
    """Returns a minus b over common pairs with its 95% interval, and the difference behind it."""
    common = sorted(a.keys() & b.keys())
    if len(common) < 2:
        return NOTHING, None
    if diverged := _diverged(a[pair] - b[pair] for pair in common):
        return diverged, None
    found = paired_difference(a, b)
    text = f"{_signed(found.mean)} [{_signed(found.low)}, {_signed(found.high)}]"
    if len(common) < max(len(a), len(b)):
        text += f" ({len(common)} common pairs)"
    return text, found


def unstable_text(losses: Scores, above: float) -> str:
    """Returns how many runs have a loss above a bound, or one that is not finite."""
    if not losses:
        return NOTHING
    unstable = sum(not loss <= above for loss in losses.values())
    return f"{unstable} of {len(losses)}"


def _diverged(values: Iterable[float]) -> str:
    finite = [math.isfinite(value) for value in values]
    return "" if all(finite) else f"diverged {finite.count(False)} of {len(finite)}"


def _key(run: KeptRun, names: Sequence[str]) -> Key:
    return tuple(run.settings[name] for name in names)


def _places(name: str, runs: Sequence[KeptRun]) -> dict[str, float]:
    """The place of each value of a setting among the others."""
    values = list(dict.fromkeys(run.settings[name] for run in runs))
    if name in KINDS:
        components = builtin_registry().components[name]
        values.sort(key=lambda value: components[value].order if value in components else _LAST)
    else:
        # Texts stay in the order of the runs.
        with suppress(ValueError):
            values.sort(key=lambda value: float(value) if value else -math.inf)
    return {value: place for place, value in enumerate(values)}


def _shown(name: str, value: str) -> str:
    return display_of(name, value) if name in KINDS else value


def _refuse_mixture(members: Sequence[KeptRun]) -> None:
    first = members[0].settings
    differing = [n for n in first if any(run.settings[n] != first[n] for run in members)]
    if differing:
        raise RunsError(
            f"runs of one cell differ in {', '.join(differing)}; name it in --rows, --columns, "
            "--by or --where"
        )


def _population(cells: Iterable[Sequence[KeptRun]]) -> str:
    """What the means of some cells are taken over, such as `12 draws of the data`."""
    draws: list[int] = []
    seeds: list[int] = []
    own_seeds = True
    for runs in cells:
        pairs = [run.pair for run in runs]
        num_draws = len({pair.draw for pair in pairs})
        if num_draws > 1:
            draws.append(num_draws)
            own_seeds &= len({pair.seed for pair in pairs}) == len(pairs) == num_draws
        else:
            seeds.append(len(pairs))
    parts = []
    if draws:
        own = ", each with its own seed" if own_seeds else ""
        parts.append(f"{_range(draws)} draws of the data{own}")
    if seeds:
        parts.append(f"{_range(seeds)} seed{'s' * (max(seeds) > 1)} of one draw of the data")
    return " or ".join(parts)


def _range(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most}" if fewest < most else f"{most}"


def _one_availability(settings: Mapping[str, str]) -> bool:
    """Whether runs of all seeds share one draw of the availability (R13)."""
    name = "availability_draws"
    value = settings.get(name)
    if not value and settings.get("reading") in PRESETS:
        value = readings()[name].reading.value(settings["reading"])
    return value == "by_round_only"


def _number(value: float) -> str:
    return f"{value:.1e}" if abs(value) >= _LARGE else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{value:+.1e}" if abs(value) >= _LARGE else f"{value:+.3f}"
