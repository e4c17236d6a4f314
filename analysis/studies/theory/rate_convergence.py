"""Shows Theorem III.3 and Lemma III.4: |r(t) - r*| as beta falls, and the variance of the sum.

python -m f3ast_tff.analysis.studies.theory.rate_convergence --out DIR
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.curves import plain, save
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.availability import AvailabilityProcess, Grouped, IndependentAvailability, Markov
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.rates import ParticipationRates, variance_bound
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.files.messages import show
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from f3ast_tff.methods.parts.strategy import Round, Strategy, cohort_of
from f3ast_tff.rate_region import (
    IndependentOracle,
    RegionOracle,
    StatesOracle,
    cluster_states,
    greedy_policy,
    optimal_rates,
)
from f3ast_tff.settings import REQUIRED, parameter

BETAS = (1e-1, 1e-2, 1e-3, 1e-4)
VARIANCE_BETA = 1e-3
# Duality gap of r*, as a share of H.
TOLERANCE = 1e-6
N, K, CLUSTERS = 20, 4, 4
# Correlation of Markov clients from round to round; the clusters of the third world have none.
CORRELATION = 0.95
_STYLES = {
    1e-1: ("#E69F00", (0, (1, 1)), "o"),
    1e-2: ("#56B4E9", (0, (5, 2)), "s"),
    1e-3: ("#009E73", (0, (7, 2, 1, 2)), "^"),
    1e-4: ("#0072B2", "-", "D"),
}
_WORLD_STYLES = (("#000000", "-", "o"), ("#D55E00", "--", "s"), ("#0072B2", ":", "^"))


@dataclass(frozen=True)
class World:
    """An availability process with an exactly known rate region.

    Attributes:
        name: Name in titles and tables.
        objective: The case of eq. (3) for this process.
        oracle: The rate region.
        process: Function from a seed to the process.
    """

    name: str
    objective: str
    oracle: RegionOracle
    process: Callable[[int], AvailabilityProcess]

    def masks(self, rounds: int, seed: int) -> np.ndarray:
        """Returns the masks of the first `rounds` rounds, `bool [rounds, N]`."""
        process = self.process(seed)
        return np.array([process.mask(t) for t in range(1, rounds + 1)])


def shares() -> np.ndarray:
    """Returns p with very different shares, `float64 [N]`."""
    sizes = generator(0, "rate_convergence shares").lognormal(0, 1, N)
    return sizes / sizes.sum()


def worlds() -> list[World]:
    """Returns iid, Markov and clustered availability with the same stationary availability."""
    q = generator(0, "rate_convergence availability").uniform(0.2, 0.8, N)
    clusters = np.arange(N) % CLUSTERS
    by_cluster = np.linspace(0.3, 0.7, CLUSTERS)
    correlation = np.full(N, CORRELATION)
    independent = IndependentOracle(q, K)
    together = StatesOracle(cluster_states(by_cluster, clusters, K))
    return [
        World(
            "iid",
            objective="p_squared",
            oracle=independent,
            process=lambda seed: IndependentAvailability(q, seed),
        ),
        World(
            "Markov",
            objective="p_squared",
            oracle=independent,
            process=lambda seed: Markov(q, correlation, seed),
        ),
        World(
            "clustered",
            objective="p",
            oracle=together,
            process=lambda seed: Grouped(Markov(by_cluster, np.zeros(CLUSTERS), seed), clusters),
        ),
    ]


def track(
    world: World, best: np.ndarray, beta: float, horizon: float, points: int, seed: int
) -> np.ndarray:
    """Runs F3AST for horizon / beta rounds from r(0) = K / N.

    Returns:
        |r(t) - r*| (Euclidean) at `points` equally spaced rounds, including the last.
    """
    rounds = round(horizon / beta)
    looks = set(np.linspace(rounds / points, rounds, points).astype(int).tolist())
    strategy = F3AST.tracking(
        shares(),
        ParticipationRates(np.full(N, K / N), beta),
        seed=seed,
        availability_objective=world.objective,
    )
    distances = []
    for t, mask in enumerate(world.masks(rounds, seed), start=1):
        cohort_of(strategy, Round(t, mask, RoundConstraint(K)))
        if t in looks:
            distances.append(float(np.linalg.norm(strategy.rates.values - best)))
    return np.array(distances)


def convergence(horizon: float, seeds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tracks every world and beta.

    Returns:
        A row per world and beta: mean and largest |r(t) - r*| over t in [horizon / 2, horizon] /
        beta and seeds; and the curves, a row per world, beta and beta t, as means over seeds.
    """
    rows, curves = [], []
    for world in worlds():
        optimum = optimal_rates(shares(), world.objective, world.oracle, tolerance=TOLERANCE)
        for beta in BETAS:
            points = min(100, round(horizon / beta))
            found = np.array(
                [
                    track(
                        world, best=optimum.rates, beta=beta, horizon=horizon, points=points, seed=s
                    )
                    for s in range(seeds)
                ]
            )
            late = found[:, found.shape[1] // 2 :]
            rows.append(
                {
                    "availability": world.name,
                    "beta": beta,
                    "rounds": round(horizon / beta),
                    "mean_distance": late.mean(),
                    "max_distance": late.max(),
                    "distance_over_sqrt_beta": late.mean() / np.sqrt(beta),
                    "norm_of_optimum": np.linalg.norm(optimum.rates),
                    "H_optimum": optimum.value,
                    "duality_gap": optimum.gap,
                }
            )
            times = horizon * np.arange(1, points + 1) / points
            curves += [
                {"availability": world.name, "beta": beta, "beta_t": x, "distance": y}
                for x, y in zip(times, found.mean(axis=0))
            ]
    return pd.DataFrame(rows), pd.DataFrame(curves)


def updates() -> dict[str, np.ndarray]:
    """Returns clients' updates of norm 1 (4 E^2 G^2 eta^2 = 1), by kind of agreement, `[N, N]`."""
    first = np.eye(N)[0]
    signs = np.where(np.arange(N) // CLUSTERS % 2 == 0, 1.0, -1.0)
    return {
        "all equal": np.tile(first, (N, 1)),
        "orthogonal": np.eye(N),
        "opposed": signs[:, None] * first,
        "by cluster": np.eye(N)[np.arange(N) % CLUSTERS],
    }


def variances(rounds: int, beta: float, seed: int) -> pd.DataFrame:
    """Measures E |Delta - sum_k p_k v_k|^2, beside the bounds (6) and (7).

    Returns:
        A row per world and kind of updates: the variance over `rounds` rounds of fixed-policy F3AST
        at r* (Algorithm 2) and of F3AST after 10 / beta rounds (Algorithm 1), and the bounds at r*.
    """
    p, rows = shares(), []
    for world in worlds():
        optimum = optimal_rates(p, world.objective, world.oracle, tolerance=TOLERANCE)
        r, burn_in = optimum.rates, round(10 / beta)
        fixed = FixedPolicy.following(p, r, greedy_policy(optimum), seed)
        learning = F3AST.tracking(
            p, ParticipationRates(r, beta), seed=seed, availability_objective=world.objective
        )
        masks = world.masks(burn_in + rounds, seed + 1)
        by_policy = {
            "fixed_policy": _weights(fixed, masks[burn_in:], 1),
            "f3ast": _weights(learning, masks, 1)[burn_in:],
        }
        bound_6 = variance_bound(r, p, "p") - 1
        bound_7 = variance_bound(r, p, "p_squared") + float(np.sum(p**2))
        for kind, v in updates().items():
            measured = {
                name: float(np.mean(np.sum(np.square(weights @ v - p @ v), axis=1)))
                for name, weights in by_policy.items()
            }
            rows.append(
                {
                    "availability": world.name,
                    "updates": kind,
                    **measured,
                    "bound_6": bound_6,
                    "bound_7": bound_7,
                }
            )
    return pd.DataFrame(rows)


def _weights(strategy: Strategy, masks: np.ndarray, first: int) -> np.ndarray:
    weights = np.zeros(masks.shape)
    for t, mask in enumerate(masks):
        cohort = cohort_of(strategy, Round(first + t, mask, RoundConstraint(K)))
        weights[t, cohort.ids] = cohort.weights
    return weights


def draw_convergence(rows: pd.DataFrame, curves: pd.DataFrame, path: Path) -> None:
    """Draws |r(t) - r*| against beta t, a panel per world, and its late mean against beta."""
    names = list(dict.fromkeys(rows["availability"]))
    figure = Figure(figsize=(11, 7.4), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for panel, name in zip(panels, names):
        for beta, part in curves[curves["availability"] == name].groupby("beta", sort=False):
            color, line, marker = _STYLES[float(beta)]
            panel.plot(
                part["beta_t"],
                part["distance"],
                color=color,
                linestyle=line,
                marker=marker,
                markevery=max(len(part) // 6, 1),
                markersize=4,
                label=f"beta = {beta:g}",
            )
        panel.set(yscale="log", title=f"{name} availability", xlabel="beta t (t: rounds)")
        panel.set_ylabel("|r(t) - r*|, Euclidean")
    last = panels[-1]
    for name, (color, line, marker) in zip(names, _WORLD_STYLES):
        part = rows[rows["availability"] == name]
        last.plot(
            part["beta"], part["mean_distance"], color=color, ls=line, marker=marker, label=name
        )
    betas = np.array([min(BETAS), max(BETAS)])
    low = rows["distance_over_sqrt_beta"].min()
    last.plot(betas, 0.7 * low * np.sqrt(betas), color="#888888", lw=1, label="slope 1/2")
    last.set(xscale="log", yscale="log", xlabel="beta", ylabel="mean |r(t) - r*|, second half")
    last.set_title("distance that remains")
    last.legend(fontsize="small")
    for panel in panels:
        plain(panel)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle(f"Theorem III.3: F3AST's tracked rates, N = {N} clients, K = {K} a round")
    save(figure, path)


def draw_variances(table: pd.DataFrame, path: Path) -> None:
    """Draws the measured variances and the bounds, grouped by world and kind of updates."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.add_subplot()
    x = np.arange(len(table))
    fixed, learning = table["fixed_policy"], table["f3ast"]
    axes.plot(x - 0.12, fixed, "ko", fillstyle="none", markersize=8)
    axes.plot(x + 0.12, learning, "^", color="#D55E00", markersize=8)
    for column, line in (("bound_6", "-"), ("bound_7", "--")):
        axes.hlines(table[column], x - 0.42, x + 0.42, color="black", linestyle=line, lw=1.8)
    axes.set_yscale("log")
    labels = [f"{w}\n{u}" for w, u in zip(table["availability"], table["updates"])]
    axes.set_xticks(x, labels, fontsize="small")
    axes.set_ylabel("E |Delta - full update|^2\n(updates of norm 1)")
    axes.set_title("Sampling variance of the aggregate against the bounds of Lemma III.4")
    names = ["fixed policy at r* (Algorithm 2)", "F3AST (Algorithm 1)", "bound (6)", "bound (7)"]
    handles = [*axes.lines, *axes.collections]
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = parameter(REQUIRED, "folder to write into", is_path=True)
    horizon: float = parameter(10.0, "rounds of each run, times beta", minimum=1)
    seeds: int = parameter(2, "runs of each", minimum=1)
    rounds: int = parameter(20_000, "rounds of each variance", minimum=1)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints both tables and draws."""
    rows, curves = convergence(flags.horizon, flags.seeds)
    found = variances(flags.rounds, VARIANCE_BETA, 0)
    show(rows.to_string(index=False, float_format="{:.3g}".format))
    show(found.to_string(index=False, float_format="{:.4f}".format))
    out = Path(flags.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame in (("convergence", rows), ("curves", curves), ("variance", found)):
        write_csv(frame, out / f"{name}.csv")
    draw_convergence(rows, curves, out / "convergence.png")
    draw_variances(found, out / "variance.png")
    show(f"written: {out}/convergence.png, variance.png, and a .csv of each")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
