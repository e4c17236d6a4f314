"""Figures of selections: selection frequency of clients, and F3AST's rates over time."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.curves import Trace, plain
from f3ast_tff.analysis.line_styles import labelled, literal, looks_of
from f3ast_tff.analysis.report.document import Block, Picture, Text
from f3ast_tff.analysis.report.figures import new_figure, to_show
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import RunGroup

_TRACE = ("initial_rates", "rate_rounds", "rates")


@dataclass(frozen=True, eq=False)
class Selections:
    """Selections of a group's runs on its lowest data draw: draws differ in p_k.

    Attributes:
        pair: Lowest data draw and the lowest seed of that draw.
        picked: Share of the rounds in which a client was selected, mean over the seeds of that
            draw, `float64 [N]`.
        shares: p_k of that draw, `float64 [N]`.
        rates: r(t) in the run of `pair`, a row per round from 0, a column per client; `None` if the
            run tracks no rates, or N is too large.
    """

    pair: Pair
    picked: np.ndarray
    shares: np.ndarray
    rates: pd.DataFrame | None


def selections_of(group: RunGroup) -> Selections:
    """Reads the selections of a group's runs on its lowest data draw.

    Raises:
        RunsError: If a run's file is missing or damaged.
    """
    first = min(group.runs)
    picked = []
    for pair in sorted(pair for pair in group.runs if pair.draw == first.draw):
        arrays = group.runs[pair].selection()
        counts = np.bincount(_each_once(arrays["selected"]), minlength=len(arrays["p"]))
        picked.append(counts / max(len(arrays["selected"]), 1))
        if pair == first:
            shares, rates = arrays["p"], _rates(arrays)
    return Selections(first, picked=np.mean(picked, axis=0), shares=shares, rates=rates)


def _each_once(selected: np.ndarray) -> np.ndarray:
    """Distinct clients of each round, concatenated; FedAvg may draw a client several times."""
    ordered = np.sort(selected, axis=1)
    again = np.zeros(ordered.shape, bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered[(ordered >= 0) & ~again]


def _rates(arrays: dict[str, np.ndarray]) -> pd.DataFrame | None:
    if not arrays.keys() >= set(_TRACE):
        return None
    initial, rounds, values = (arrays[name] for name in _TRACE)
    return pd.DataFrame(np.vstack([initial, values]), [0, *rounds])


_TRACKS_RATES = "f3ast"
_CLIENTS = 5
_MAX_POINTS = 4000
_COLUMNS, _MAX_PANELS = 3, 60
_TITLE_WIDTH = 20
# Lower rates are drawn at this value; the rate of a client never selected is below any scale.
_LEAST_RATE = 1e-12
# Ratio of rates beyond which they are drawn on a log scale.
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


def picked(name: str, what: str, found: Mapping[RunGroup, Selections]) -> Picture:
    """Draws the share of rounds in which a client was picked, against its share of the data.

    If all clients have the same share, they are drawn by the share of rounds, from the lowest.
    There is a panel for each group of one task; `what` is the subject of the caption.
    """
    groups = list(found)[:_MAX_PANELS]
    rows = -(-len(groups) // _COLUMNS)
    told, equal = told_apart(groups), _equal(found[group] for group in groups)
    titles = {
        g: textwrap.fill(f"{labelled(g, told[g])}, {g.first.display('availability')}", _TITLE_WIDTH)
        for g in groups
    }
    lines = 1 + max(title.count("\n") for title in titles.values())
    figure, panels = new_figure(
        rows, columns=_COLUMNS, panel=(1.25, 1.35), legend_rows=0, sharey=True, title_lines=lines
    )
    looks = looks_of(groups, told)
    # Thousands of separate markers would make a large file.
    many = sum(len(found[g].picked) for g in groups) > _MAX_POINTS
    for panel in panels.flat[len(groups) :]:
        panel.set_visible(False)
    for panel, group in zip(panels.flat, groups):
        plain(panel)
        panel.set_title(literal(titles[group]), fontsize="x-small", y=1.0)
        look = looks[group]
        p, share = found[group].shares, found[group].picked
        x, y = (np.arange(len(p)) + 1, np.sort(share)) if equal else (p, share)
        style = {"marker": look.marker, "markersize": 3, "color": look.color, "rasterized": many}
        panel.plot(x, y, linestyle="none", **style)
        if not equal:
            # Clients without training data cannot be on a log scale.
            panel.set_xscale("log", nonpositive="mask")
            if p[p > 0].min() == p.max():
                panel.set_xlim(p.max() / 2, 2 * p.max())
            panel.xaxis.set_minor_locator(NullLocator())
        k = group.setting("clients_per_round")
        if k is not None:
            line = np.geomspace(float(p[p > 0].min()), float(p.max()), 50)
            at = np.linspace(1, len(p), 50) if equal else line
            panel.plot(at, np.minimum(1, k * line), color="0.35", linewidth=1)
    # The line may leave the panel.
    panels[0, 0].set_ylim(0, 1.15 * max(found[g].picked.max() for g in groups) or 1)
    for row in panels:
        row[0].set_ylabel("share of rounds", fontsize="small")
    for panel in panels[-1]:
        panel.set_xlabel("clients, sorted" if equal else r"$p_k$")
    against = "from the lowest, all p_k being equal" if equal else "against its share p_k"
    caption = (
        f"{what}: share of rounds in which each client was picked, {against}, on "
        f"{_draws(groups, found)}; the line is min(1, K p_k){_left_out(found)}."
    )
    return Picture(name, caption, figure)


def _equal(found: Iterable[Selections]) -> bool:
    """Whether clients all have the same share of the data, up to rounding."""
    return all(np.allclose(each.shares, each.shares[0]) for each in found)


def _left_out(found: Collection[RunGroup]) -> str:
    more = len(found) - _MAX_PANELS
    return f"; {more} more are not drawn" if more > 0 else ""


def _draws(groups: Sequence[RunGroup], found: Mapping[RunGroup, Selections]) -> str:
    """Names the data draws in the figure, and the number of all data draws."""
    shown = sorted({found[g].pair.draw for g in groups})
    text = f"data draw{'s' * (len(shown) > 1)} {', '.join(map(str, shown))}"
    most = max(len(g.draws) for g in groups)
    return f"{text} (of {most} draws)" if most > 1 else text


def rates(name: str, what: str, found: Mapping[RunGroup, Selections]) -> list[Block]:
    """Draws the rates r_k(t) of five clients, from the largest to the smallest p_k.

    If all p_k are equal, they are from the client picked most often to the one picked least.

    Returns:
        The figure, if any run has rates; and a line on the runs of F3AST without rates.
    """
    kept = {group: each.rates for group, each in found.items() if each.rates is not None}
    without = [g for g in found if g not in kept and g.algorithm == _TRACKS_RATES]
    blocks: list[Block] = []
    if without:
        said = ", ".join(dict.fromkeys(g.first.display("availability") for g in without))
        text = f"{what}: no rates in the runs of F3AST under {said} (more than 10,000 clients)."
        blocks.append(Text(text))
    groups = list(kept)[:_MAX_PANELS]
    if not groups:
        return blocks
    told, equal = told_apart(groups), _equal(found[group] for group in groups)
    by = "share of rounds" if equal else "p_k"
    figure, panels = new_figure(
        len(groups), columns=1, panel=(4.0, 2.1), legend_rows=4, sharex=True, sharey=True
    )
    lines: dict[str, Line2D] = {}
    drawn: list[tuple[Axes, list[Trace]]] = []
    shown = {group: np.maximum(kept[group].to_numpy(), _LEAST_RATE) for group in groups}
    largest = max(each.max() / each.min() for each in shown.values())
    for panel, group in zip(panels.flat, groups):
        shares, rounds = found[group].shares, kept[group].index.to_numpy()
        order = np.argsort(-(found[group].picked if equal else shares), kind="stable")
        ranks = np.unique(np.linspace(0, len(order) - 1, _CLIENTS).round().astype(int))
        traces = []
        for number, (rank, style) in enumerate(zip(ranks, _RATE_STYLES)):
            client = order[rank]
            color, dashes, marker = style
            (line,) = panel.plot(
                rounds,
                shown[group][:, client],
                color=color,
                linestyle=dashes,
                marker=marker,
                markersize=4,
                markevery=(number * 5, max(1, len(rounds) // 5)),
                linewidth=1.5,
            )
            full = len(ranks) == _CLIENTS
            lines.setdefault(_RANKS[number] if full else str(number), line)
            said = f"client {client}, p_k = {shares[client]:.3g}"
            path = group.runs[found[group].pair].path.name
            traces.append(Trace(said, path, rounds, shown[group][:, client]))
        if largest > _WIDE:
            panel.set_yscale("log")
            panel.yaxis.set_minor_formatter(NullFormatter())
        title = f"{labelled(group, told[group])}, {group.first.display('availability')}"
        panel.set_title(literal(title), fontsize="medium", y=1.0)
        panel.set_ylabel(r"$r_k(t)$")
        plain(panel)
        drawn.append((panel, traces))
    panels[-1, 0].set_xlabel("round t")
    legend = figure.legend([*lines.values()], [*lines], loc="lower center", ncols=2, frameon=False)
    legend.set_title(by if equal else "$p_k$")
    seeds = sorted({found[g].pair.seed for g in groups})
    caption = (
        f"{what}: rates r_k(t) of five clients, from the largest to the smallest {by}, in the run "
        f"with seed {', '.join(map(str, seeds))} on {_draws(groups, found)}{_left_out(kept)}."
    )
    # Panels share their limits, which are final only after the last panel.
    boxes = tuple(to_show(panel, "round", traces) for panel, traces in drawn)
    return [Picture(name, caption, figure, boxes), *blocks]
