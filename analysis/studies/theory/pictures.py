"""A picture of each part of the theory bench, from its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator

from f3ast_tff.analysis.curves import plain, save

# Okabe and Ito's colours, dashes and markers in their order.
_LOOKS = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#000000", (0, (5, 1, 1, 1)), "v"),
    ("#E69F00", (0, (1, 1)), "P"),
)
_BOUND = {"color": "#777777", "lw": 1.5}


def lines(panel: Axes, rows: pd.DataFrame, by: str = "case") -> None:
    """Draws measured values with their intervals over x, a line for each value of a column.

    Exact values are crosses.
    """
    for place, (name, part) in enumerate(rows.groupby(by, sort=False)):
        color, dashes, marker = _LOOKS[place % len(_LOOKS)]
        label = str(name)
        if part["measured"].notna().any():
            style: dict[str, Any] = {"color": color, "ls": dashes, "marker": marker, "ms": 4}
            panel.plot(part["x"], part["measured"], label=label, **style)
            panel.fill_between(part["x"], part["low"], part["high"], color=color, alpha=0.15, lw=0)
            label = "_"
        if part["exact"].notna().any():
            exact_label = "exact" if label == "_" and place == 0 else label
            panel.plot(part["x"], part["exact"], "x", color=color, ms=8, mew=1.5, label=exact_label)
    plain(panel)


def of(rows: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Returns the rows of a claim."""
    return rows[rows["claim"] == claim]


def log_decades(panel: Axes, values: pd.Series) -> None:
    """Makes the y axis logarithmic and holds it to the positive values, not to their intervals."""
    found = values[values > 0]
    panel.set(yscale="log", ylim=(found.min() / 2, found.max() * 2))


def draw_f3ast(rows: pd.DataFrame, path: Path) -> None:
    """Draws III.5 against its bound, the counterexample, III.3, and Lemma B.1 with III.7."""
    figure = Figure(figsize=(12, 8), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    rate = of(rows, "III.5")
    for panel, (name, part) in zip(panels, rate.groupby("case", sort=False)):
        lines(panel, part, by="setting")
        for place, (setting, each) in enumerate(part.groupby("setting", sort=False)):
            if "Markov" not in str(setting):
                style = ("-", "--")[place % 2]
                label = f"bound, {str(setting).partition(', ')[2]}"
                panel.plot(each["x"], each["bound"], ls=style, label=label, **_BOUND)
        panel.set(title=f"III.5: {name!s}", xlabel="round T", ylabel="E F(w_T) - F*", xscale="log")
        log_decades(panel, pd.concat([part["measured"], part["bound"]]))
    panels[1].legend(fontsize="x-small", loc="lower left")
    two = of(rows, "III.5 two clients")
    share = two.assign(x=1 / (1 - two["x"]))
    lines(panels[2], share)
    panels[2].axhline(1, **_BOUND)
    panels[2].set(title="III.5 fails: two clients, Markov", xscale="log")
    panels[2].set(xlabel="1 / (1 - correlation)", ylabel="error / bound")
    log_decades(panels[2], two["exact"])
    panels[2].legend(fontsize="x-small")
    near = of(rows, "III.3")
    lines(panels[3], near)
    betas = np.sort(near["x"].unique())
    panels[3].plot(betas, np.sqrt(betas), label="slope 1/2", **_BOUND)
    panels[3].set(title="III.3: r(t) comes to r*", xlabel="beta", ylabel="mean |r(t) - r*|")
    panels[3].set(xscale="log", yscale="log")
    panels[3].legend(fontsize="x-small")
    lines(panels[4], of(rows, "B.1"))
    panels[4].axhline(1, **_BOUND)
    panels[4].set(title="B.1: weights of F3AST", xlabel="beta", ylabel="mean sum of weights")
    panels[4].set(xscale="log")
    panels[4].legend(fontsize="x-small")
    lines(panels[5], of(rows, "III.7"))
    panels[5].axhline(1, **_BOUND)
    panels[5].set(title="III.7: after log(eps) / log(alpha) rounds", xscale="log")
    panels[5].set(xlabel="number of clients N", ylabel="distance / eps")
    save(figure, path)


def draw_ca_fed(rows: pd.DataFrame, path: Path) -> None:
    """Draws the tightness of Theorems 1 and 3, where weights lead, and Theorem 2."""
    figure = Figure(figsize=(12, 8), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    lines(panels[0], of(rows, "bias by alpha"))
    panels[0].set(title="Theorems 1 and 3: two clients, p near alpha", xlabel="alpha of client 0")
    by_kappa = of(rows, "bias by kappa")
    lines(panels[1], by_kappa.assign(exact=np.nan))
    panels[1].set(title="Theorems 1 and 3: random clients, largest", xlabel="kappa")
    panels[1].plot(by_kappa["x"], by_kappa["exact"], label="1 / kappa", **_BOUND)
    panels[1].set(xscale="log", yscale="log")
    for panel in panels[:2]:
        panel.set(ylabel="bias / bound")
        panel.axhline(1, **_BOUND)
        panel.legend(fontsize="x-small")
    bias = of(rows, "eps_bias")
    for place, (setting, part) in enumerate(bias.groupby("setting", sort=False)):
        color, _, marker = _LOOKS[place]
        x = np.arange(len(part)) + 0.15 * (place - 0.5)
        ends = np.abs(part[["low", "high"]].to_numpy().T - part["measured"].to_numpy())
        panels[2].errorbar(
            x, part["measured"], yerr=ends, fmt=marker, color=color, capsize=3, label=str(setting)
        )
    cases = list(dict.fromkeys(bias["case"]))
    exact = bias.drop_duplicates("case")["exact"]
    panels[2].plot(range(len(cases)), exact, "_", color="k", ms=30, label="exact")
    panels[2].set_xticks(range(len(cases)), cases)
    panels[2].set(title="Theorem 1: weights q decide where it leads", ylabel="F - F* at the mean")
    panels[2].legend(fontsize="x-small", loc="upper center", markerscale=0.5)
    plain(panels[2])
    rate = of(rows, "Theorem 2")
    rate = rate[rate["case"].isin(["correlation 0", "correlation 0.5", "correlation 0.9"])]
    lines(panels[3], rate)
    for style, (name, part) in zip(("-", "--", ":"), rate.groupby("case", sort=False)):
        panels[3].plot(part["x"], part["bound"], ls=style, label=f"bound, {name!s}", **_BOUND)
    panels[3].set(title="Theorem 2", xlabel="round T", ylabel="E F_B - F_B* of the mean")
    panels[3].set(xscale="log")
    log_decades(panels[3], pd.concat([rate["measured"], rate["bound"]]))
    panels[3].legend(fontsize="x-small", ncols=2, loc="center", bbox_to_anchor=(0.4, 0.33))
    save(figure, path)


def draw_fedlaavg(rows: pd.DataFrame, path: Path) -> None:
    """Draws the longest absences against Lemma 1, and Corollary 1 by N and by T."""
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=[1.3, 1, 1])
    absences = of(rows, "Lemma 1")
    cases = list(dict.fromkeys(absences["case"]))
    for place, (setting, part) in enumerate(absences.groupby("setting", sort=False)):
        color, _, marker = _LOOKS[place]
        x = np.arange(len(part)) + 0.2 * (place - 1)
        panels[0].plot(x, part["measured"], marker, color=color, label=str(setting))
    most = absences.drop_duplicates("case")["bound"]
    panels[0].plot(range(len(cases)), most, "_", color="k", ms=24, label="E ceil(N / K)")
    panels[0].set_xticks(
        range(len(cases)), [c.replace(", ", "\n") for c in cases], fontsize="small"
    )
    panels[0].set(title="Lemma 1: longest absence", ylabel="rounds")
    plain(panels[0])
    for panel, name, power in zip(panels[1:], ("N", "T"), (4, 2)):
        part = of(rows, f"Corollary 1 by {name}")
        lines(panel, part)
        panel.set(title=f"Corollary 1 by {name}", xlabel=name, ylabel="mean |grad F|^2")
        first = part.iloc[0]
        decay = first["measured"] * (part["x"] / first["x"]) ** (-1 / power)
        panel.plot(part["x"], decay, label=f"slope -1/{power}", **_BOUND)
        panel.set(xscale="log", yscale="log")
        panel.set_xticks(part["x"], [f"{value:g}" for value in part["x"]])
        panel.minorticks_off()
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        panel.legend(fontsize="x-small")
    panels[0].legend(fontsize="x-small", markerscale=0.7)
    save(figure, path)


def draw_optima(rows: pd.DataFrame, path: Path) -> None:
    """Draws the distance to F's optimum as colour, its mean as number, by method and regime."""
    objectives = [name.partition(", ")[2] for name in dict.fromkeys(rows["claim"])][::2]
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    panels = figure.subplots(1, len(objectives), sharey=True)
    order = None
    for panel, objective in zip(np.atleast_1d(panels), objectives):
        tables = [
            of(rows, f"{what}, {objective}").pivot(
                index="case", columns="setting", values="measured"
            )
            for what in ("distance", "mean")
        ]
        settings = list(dict.fromkeys(rows["setting"]))
        if order is None:
            order = tables[0].mean(axis=1).sort_values().index
        distance, mean = (table.loc[order, settings] for table in tables)
        image = panel.imshow(distance, cmap="YlOrRd", vmin=0, vmax=0.25, aspect="auto")
        for (i, j), value in np.ndenumerate(mean.to_numpy()):
            dark = distance.to_numpy()[i, j] > 0.17
            text = f"{value:+.2f}" if abs(value) >= 0.005 else "0"
            panel.text(j, i, text, ha="center", va="center", fontsize=7, color="w" if dark else "k")
        panel.set_xticks(range(len(settings)), settings, rotation=35, ha="right", fontsize="small")
        panel.set_yticks(range(len(distance)), list(distance.index), fontsize="small")
        panel.set_title(f"objective p_k = {objective}")
    label = "root mean square distance to F's optimum (client optima span 1)"
    figure.colorbar(image, ax=panels, label=label, extend="max", shrink=0.8)
    figure.suptitle("Number: mean of the model minus F's optimum, second half of the rounds")
    save(figure, path)


PICTURES: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "f3ast": draw_f3ast,
    "ca_fed": draw_ca_fed,
    "fedlaavg": draw_fedlaavg,
    "optima": draw_optima,
}
