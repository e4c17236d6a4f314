"""Figures of selections: who was picked how often, and F3AST's rates over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from f3ast_tff.analysis.curves import Trace, plain
from f3ast_tff.analysis.line_styles import literal, styles_of
from f3ast_tff.analysis.report.document import Block, Picture, Text
from f3ast_tff.analysis.report.figures import new_figure, to_show
from f3ast_tff.analysis.report.variants import Variant
from f3ast_tff.analysis.run_groups import RunGroup, in_order
from f3ast_tff.analysis.runs import Pair, Run, RunsError
from f3ast_tff.core.messages import one_line
from f3ast_tff.run.results import DamagedResult, read_selection

_TRACE = ("initial_rates", "rate_rounds", "rates")


@dataclass(frozen=True, eq=False)
class Rates:
    """Participation rates in one run.

    Attributes:
        rounds: Rounds t, `int64 [n]`, from 0.
        values: r(t), `float64 [n, N]`.
    """

    rounds: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Selections:
    """Selections of a group's runs on its lowest data draw: draws differ in p_k.

    Attributes:
        pair: Data draw and lowest seed there.
        picked: Share of the rounds in which a client was selected, mean over the seeds of that
            draw, `float64 [N]`.
        shares: p_k of that draw, `float64 [N]`.
        rates: Rates in the run of `pair`; `None` if it tracks none, or N is too large.
    """

    pair: Pair
    picked: np.ndarray
    shares: np.ndarray
    rates: Rates | None


def selections_of(group: RunGroup) -> Selections:
    """Reads the selections of a group's runs on its lowest data draw.

    Raises:
        RunsError: If the file of one is missing or damaged.
    """
    first = min(group.runs)
    picked = []
    for pair in sorted(pair for pair in group.runs if pair.draw == first.draw):
        arrays = _read(group.runs[pair])
        counts = np.bincount(_each_once(arrays["selected"]), minlength=len(arrays["p"]))
        picked.append(counts / max(len(arrays["selected"]), 1))
        if pair == first:
            shares, rates = arrays["p"], _rates(arrays)
    return Selections(first, np.mean(picked, axis=0), shares, rates)


def _read(run: Run) -> dict[str, np.ndarray]:
    try:
        return read_selection(run.path, run.summary)
    except DamagedResult as error:
        raise RunsError(f"damaged run: {one_line(error)}") from error


def _each_once(selected: np.ndarray) -> np.ndarray:
    """Clients of all rounds, each once per round: FedAvg may draw a client several times."""
    ordered = np.sort(selected, axis=1)
    again = np.zeros(ordered.shape, bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered[(ordered >= 0) & ~again]


def _rates(arrays: dict[str, np.ndarray]) -> Rates | None:
    if not arrays.keys() >= set(_TRACE):
        return None
    initial, rounds, values = (arrays[name] for name in _TRACE)
    return Rates(np.concatenate([[0], rounds]), np.vstack([initial, values]))


_ALGORITHM = "f3ast"
_CLIENTS = 5
_MAX_POINTS = 4000
# Lower ones are drawn here: a client never selected falls below any scale.
_LEAST_RATE = 1e-12
# Beyond this ratio rates are drawn on a log scale.
_WIDE = 10.0
_RANKS = ("largest", "upper quartile", "median", "lower quartile", "smallest")
# Darkest for the client with the most data.
_RATE_STYLES = (
    ("#000000", "-", "o"),
    ("#0072B2", "--", "s"),
    ("#D55E00", "-.", "^"),
    ("#009E73", ":", "D"),
    ("#CC79A7", (0, (7, 2, 1, 2)), "v"),
)


def picked(
    name: str, task: str, variant: Variant, found: Mapping[RunGroup, Selections]
) -> Picture | None:
    """Draws the share of rounds in which a client was picked, against its share of the data.

    A row for each availability model, a panel for each algorithm, each of one draw of the data.
    """
    groups = [g for g in variant.groups if g.settings["task"] == task and g in found]
    if not groups:
        return None
    rows = in_order(groups, "availability")
    names = {g.settings["availability"]: g.first.display("availability") for g in groups}
    displays = {g.algorithm: g.display for g in groups}
    figure, panels = new_figure(
        len(rows), len(displays), (1.8, 1.5), legend_rows=0, sharex=True, sharey=True
    )
    styles = styles_of(displays)
    # Thousands of separate marks would make a large file.
    many = sum(len(found[g].picked) for g in groups) > _MAX_POINTS
    at = {(g.settings["availability"], g.algorithm): g for g in groups}
    for i, availability in enumerate(rows):
        for j, (algorithm, display) in enumerate(displays.items()):
            panel = panels[i, j]
            group = at.get((availability, algorithm))
            plain(panel)
            if i == 0:
                panel.set_title(literal(display), fontsize="medium", y=1.0)
            if j == 0:
                panel.set_ylabel(
                    f"{literal(names[availability])}\nshare of rounds", fontsize="small"
                )
            if group is None:
                panel.text(0.5, 0.5, "not run", ha="center", transform=panel.transAxes)
                continue
            share = found[group].picked
            color, _, marker = styles[algorithm]
            p = found[group].shares
            style = {"marker": marker, "markersize": 3, "color": color, "rasterized": many}
            panel.plot(p, share, linestyle="none", **style)
            # Clients without training data have no place on a log scale.
            panel.set_xscale("log", nonpositive="mask")
            panel.xaxis.set_minor_locator(NullLocator())
            k = group.setting("clients_per_round")
            if k is not None:
                line = np.geomspace(float(p[p > 0].min()), float(p.max()), 50)
                panel.plot(line, np.minimum(1, k * line), color="0.35", linewidth=1)
    # The line may leave the panel.
    panels[0, 0].set_ylim(0, 1.15 * max(found[g].picked.max() for g in groups) or 1)
    for panel in panels[-1]:
        panel.set_xlabel(r"$p_k$")
    caption = (
        f"{groups[0].first.display('task')}, {variant.label}: share of rounds in which each "
        f"client was picked, on {_draws(groups, found)}; the line is min(1, K p_k)."
    )
    return Picture(name, caption, figure)


def _draws(groups: Sequence[RunGroup], found: Mapping[RunGroup, Selections]) -> str:
    """Names the draws that are drawn, and how many there are of which they are one."""
    shown = sorted({found[g].pair.draw for g in groups})
    text = f"data draw{'s' * (len(shown) > 1)} {', '.join(map(str, shown))}"
    most = max(len(g.draws) for g in groups)
    return f"{text} (of {most} draws)" if most > 1 else text


def rates(
    name: str, task: str, variant: Variant, found: Mapping[RunGroup, Selections]
) -> Block | None:
    """Draws F3AST's r_k(t) of five clients, from the largest to the smallest p_k.

    Returns:
        The figure; a line in its place if no run holds rates; `None` if there is no F3AST run.
    """
    groups = [
        g
        for g in variant.groups
        if g.settings["task"] == task and g.algorithm == _ALGORITHM and g in found
    ]
    if not groups:
        return None
    kept: dict[str, tuple[Rates, np.ndarray]] = {}
    paths: dict[str, str] = {}
    titles = {g.settings["availability"]: g.first.display("availability") for g in groups}
    for group in groups:
        traced = found[group].rates
        if traced is not None:
            paths[group.settings["availability"]] = group.runs[found[group].pair].path.name
            seen = replace(traced, values=np.maximum(traced.values, _LEAST_RATE))
            kept[group.settings["availability"]] = (seen, found[group].shares)
    without = [n for n in in_order(groups, "availability") if n not in kept]
    said = ", ".join(titles[name] for name in without)
    missing = f"no rates in the runs of {said} (more than 10,000 clients)" if without else ""
    if not kept:
        display = groups[0].first.display("task")
        return Text(f"{display}, {variant.label}: F3AST's rates are not drawn, {missing}.")
    names = [name for name in in_order(groups, "availability") if name in kept]
    columns = min(3, len(names))
    height = -(-len(names) // columns)
    legend_rows = 1 if columns == 3 else 3
    figure, panels = new_figure(
        height, columns, (3.1 if columns > 1 else 4.2, 2.1), legend_rows, sharey=True
    )
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    lines: dict[str, Line2D] = {}
    traces: dict[str, list[Trace]] = {}
    largest = max(each.values.max() / each.values.min() for each, _ in kept.values())
    for panel, availability in zip(panels.flat, names):
        each, shares = kept[availability]
        order = np.argsort(-shares, kind="stable")
        ranks = np.unique(np.linspace(0, len(order) - 1, _CLIENTS).round().astype(int))
        for number, (rank, style) in enumerate(zip(ranks, _RATE_STYLES)):
            client = order[rank]
            color, dashes, marker = style
            (line,) = panel.plot(
                each.rounds,
                each.values[:, client],
                color=color,
                linestyle=dashes,
                marker=marker,
                markersize=4,
                markevery=(number * 5, max(1, len(each.rounds) // 5)),
                linewidth=1.5,
            )
            full = len(ranks) == _CLIENTS
            lines.setdefault(rf"{_RANKS[number]} $p_k$" if full else str(number), line)
            said = f"client {client}, p_k = {shares[client]:.3g}"
            trace = Trace(said, paths[availability], each.rounds, each.values[:, client])
            traces.setdefault(availability, []).append(trace)
        if largest > _WIDE:
            panel.set_yscale("log")
            panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_title(literal(titles[availability]), fontsize="medium", y=1.0)
        panel.set_xlabel("round t")
        plain(panel)
    for row in panels:
        row[0].set_ylabel(r"$r_k(t)$")
    figure.legend(
        list(lines.values()),
        list(lines),
        loc="lower center",
        ncols=_CLIENTS if columns == 3 else 2,
        frameon=False,
        handlelength=4,
    )
    # Panels share their limits, which the last one changes.
    shown = [to_show(panel, "round", traces[name]) for panel, name in zip(panels.flat, names)]
    seeds = sorted({found[g].pair.seed for g in groups})
    caption = (
        f"{groups[0].first.display('task')}, {variant.label}: F3AST's rates r_k(t) of five "
        f"clients, from the largest to the smallest p_k, in the run with seed "
        f"{', '.join(map(str, seeds))} on {_draws(groups, found)}"
        f"{'; ' + missing if missing else ''}."
    )
    return Picture(name, caption, figure, tuple(shown))
