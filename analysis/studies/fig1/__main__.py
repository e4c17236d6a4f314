"""Fig. 1: the achievable rates of two clients, and F3AST's way to the best rates.

python -m f3ast_tff.analysis.studies.fig1 --out fig1.png
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.curves import plain, save
from f3ast_tff.availability import IndependentAvailability
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.files.messages import show
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.rate_region import (
    StatesOracle,
    configurations,
    independent_states,
    optimal_rates,
    reach,
)
from f3ast_tff.settings import parameter

# Table I: independent over rounds and clients; Sec. I: one client per round, equal shares.
AVAILABILITY = np.array([0.375, 0.8])
P = np.array([0.5, 0.5])
K = 1
# The "ideal" rate of Sec. I, which is not achievable.
IDEAL = np.array([0.5, 0.5])
START = np.array([0.06, 0.12])
_MARKED = {
    "r^a: client 1 alone": ("$r^a$", "s", (8, 6)),
    "r^b: client 1 first": ("$r^b$", "^", (12, 8)),
    "r^c: proportional": ("$r^c$", "D", (4, 10)),
    "r*: optimum of H": ("$r^*$", "o", (14, -30)),
    "ideal rate": ("ideal rate", "X", (-20, 10)),
}


@dataclass(frozen=True)
class RegionFigure:
    """The content of Fig. 1.

    Attributes:
        corners: Corners of the region, in order, `float64 [n, 2]`.
        points: Rates of note by name, `float64 [2]` each.
        gap: Duality gap of r*.
        trajectory: F3AST's tracked rates r(t), t = 0 .. rounds, `float64 [rounds + 1, 2]`.
        participation: Share of the rounds after the first half in which each client took part.
    """

    corners: np.ndarray
    points: dict[str, np.ndarray]
    gap: float
    trajectory: np.ndarray
    participation: np.ndarray


def region_figure(rounds: int, beta: float, seed: int) -> RegionFigure:
    """Computes the region of Table I, the points of Sec. I and a trajectory of F3AST."""
    states = independent_states(AVAILABILITY, K)
    oracle = StatesOracle(states)
    directions = [(1.0, 0.0), (2.0, 1.0), (1.0, 2.0), (0.0, 1.0)]
    outer = [oracle.best(np.array(d)) for d in directions]
    corners = np.array([np.zeros(2), *outer])
    optimum = optimal_rates(P, "p_squared", oracle)
    by_chance = states.masks * P / np.maximum(states.masks @ P, 1e-300)[:, None]
    points = {
        "r^a: client 1 alone": outer[0],
        "r^b: client 1 first": outer[1],
        "r^c: proportional": states.chances @ by_chance,
        "r*: optimum of H": optimum.rates,
        "ideal rate": IDEAL,
    }
    world = IndependentAvailability(AVAILABILITY, seed)
    strategy = F3AST.tracking(P, ParticipationRates(START, beta), seed=seed)
    trajectory, took_part = [strategy.rates.values], np.zeros((rounds, 2))
    for t in range(1, rounds + 1):
        took_part[t - 1, cohort_of(strategy, Round(t, world.mask(t), RoundConstraint(K))).ids] = 1
        trajectory.append(strategy.rates.values)
    share = took_part[rounds // 2 :].mean(axis=0)
    return RegionFigure(
        corners, points, optimum.gap, trajectory=np.array(trajectory), participation=share
    )


def proportional_rates(rounds: int, seed: int) -> np.ndarray:
    """Returns the rates of proportional sampling, by simulation, `float64 [2]`."""
    world = IndependentAvailability(AVAILABILITY, seed)
    strategy, took_part = (
        FedAvg.start(P, 1, baseline_sampling="without_replacement", seed=seed),
        np.zeros(2),
    )
    for t in range(1, rounds + 1):
        took_part[cohort_of(strategy, Round(t, world.mask(t), RoundConstraint(K))).ids] += 1
    return took_part / rounds


def table(found: RegionFigure, simulated: np.ndarray) -> pd.DataFrame:
    """Returns a row per point: its rates, the reach of the region in its direction, and H."""
    system = configurations(independent_states(AVAILABILITY, K))
    rows = {
        **found.points,
        "r^c simulated": simulated,
        "F3AST r(t), last": found.trajectory[-1],
        "F3AST participation": found.participation,
    }
    records = []
    for name, r in rows.items():
        with np.errstate(divide="ignore"):
            bound = float(np.sum(P**2 / r))
        # In a short run no client may have taken part: the region holds any multiple of 0.
        within = reach(r, system) if np.any(r) else np.inf
        records.append({"rates": name, "r1": r[0], "r2": r[1], "reach": within, "H": bound})
    return pd.DataFrame(records).set_index("rates")


def draw(found: RegionFigure, beta: float, path: Path) -> None:
    """Draws the region, the points and the trajectory into a PNG file."""
    figure = Figure(figsize=(6.8, 6.0), layout="constrained")
    axes = figure.add_subplot()
    axes.fill(*found.corners.T, facecolor="#DDDDDD", edgecolor="black", linewidth=1.2, zorder=1)
    axes.text(0.03, 0.45, "achievable region R", fontsize="medium")
    axes.plot(
        *found.trajectory.T,
        color="#0072B2",
        linewidth=0.8,
        zorder=2,
        label=f"F3AST, r(t), {len(found.trajectory) - 1} rounds, beta = {beta:g}",
    )
    axes.plot(*found.trajectory[0], marker="P", color="#0072B2", markersize=8, linestyle="none")
    axes.annotate("$r(0)$", (START[0], START[1]), (8, -10), textcoords="offset points")
    for name, (short, marker, offset) in _MARKED.items():
        # r* coincides with r^b here, so it is an open ring.
        ring = marker == "o"
        axes.plot(
            *found.points[name],
            marker=marker,
            color="#D55E00" if ring else "black",
            fillstyle="none" if ring else "full",
            markersize=14 if ring else 7,
            markeredgewidth=1.6 if ring else 1.0,
            linestyle="none",
            label=name,
            zorder=3,
        )
        axes.annotate(short, tuple(found.points[name].tolist()), offset, textcoords="offset points")
    axes.set(
        xlim=(0, 0.62),
        ylim=(0, 1.0),
        xlabel="participation rate of client 1 (share of rounds)",
        ylabel="participation rate of client 2 (share of rounds)",
        title="Achievable participation rates, Table I: P(A1) = 0.375, P(A2) = 0.8, K = 1",
    )
    axes.title.set_fontsize("medium")
    plain(axes)
    axes.legend(loc="upper right", fontsize="small", framealpha=0.95)
    save(figure, path)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag()
    rounds: int = parameter(20_000, "rounds of F3AST", minimum=1)
    beta: float = parameter(0.001, "step size of F3AST", above=0, below=1)
    seed: int = parameter(0, "seed of availability and selection", minimum=0)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table and draws."""
    require_ending("out", flags.out, ".png")
    found = region_figure(flags.rounds, flags.beta, flags.seed)
    corners = ", ".join(f"({x:g}, {y:g})" for x, y in np.round(found.corners, 6))
    show(f"corners of the region: {corners}")
    show(table(found, proportional_rates(flags.rounds, flags.seed)).round(4).to_string())
    show("reach: the region holds r times this and no more; r is achievable if it is at least 1")
    show(f"duality gap of r*: {found.gap:.1e}")
    draw(found, flags.beta, Path(flags.out))
    show(f"figure: {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
