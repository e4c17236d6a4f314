"""How fast estimates of availability and correlation converge (CA-Fed, Fig. 4a): table and figure.

python -m f3ast_tff.analysis.studies.cafed_fig4a --out fig4a.png
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.curves import plain, save
from f3ast_tff.availability import FourClassesConfig
from f3ast_tff.files.messages import show
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability
from f3ast_tff.settings import parameter

# Numbers of observations in the paper: 10^1, 10^1.5, ..., 10^4.
OBSERVATIONS = (10, 32, 100, 316, 1000, 3162, 10_000)
# By estimate: heading in the table, label in the figure, colour, line, marker.
_STYLES = {
    "pi": ("pi counted", r"$\pi_k$, rounds counted", "#0072B2", "-", "o"),
    "pi_chain": ("pi of chain", r"$\pi_k$ of the estimated chain", "#56B4E9", ":", "s"),
    "lambda": ("lambda", r"$\lambda_k$", "#D55E00", "--", "^"),
}
ESTIMATES = tuple(_STYLES)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag()
    num_clients: int = parameter(100, "number of clients", minimum=1)
    num_seeds: int = parameter(10, "runs to average over", minimum=1)
    rounds: int = parameter(OBSERVATIONS[-1], "most observations", minimum=2)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table and draws the figure."""
    require_ending("out", flags.out, ".png")
    observations = [t for t in OBSERVATIONS if t < flags.rounds] + [flags.rounds]
    errors = estimation_errors(observations, flags.num_clients, flags.num_seeds)
    show(render(observations, errors))
    draw(observations, errors, Path(flags.out))
    show(f"figure: {flags.out}")


def estimation_errors(
    observations: Sequence[int], num_clients: int, num_seeds: int
) -> dict[str, np.ndarray]:
    """Observes the four classes of Sec. V-A and compares the estimates with the truth.

    Estimates start from Beta(1, 1) priors; `observations` are increasing numbers of rounds after
    which to compare, each at least 1; seeds are 0, 1, ...

    Returns:
        For each of `ESTIMATES`, the mean over clients of |estimate - truth|, `float64 [runs, n]`.
    """
    errors = {name: np.zeros((num_seeds, len(observations))) for name in ESTIMATES}
    for seed in range(num_seeds):
        process = FourClassesConfig().build(np.ones(num_clients), seed)
        truth = {"pi": process.pi, "pi_chain": process.pi, "lambda": process.eigenvalue}
        activity = EstimatedAvailability(num_clients)
        for t in range(1, observations[-1] + 1):
            activity = activity.after(t, process.mask(t))
            if t in observations:
                place = observations.index(t)
                found = (activity.pi, activity.pi_of_chain, activity.eigenvalue)
                for name, estimate in zip(ESTIMATES, found):
                    errors[name][seed, place] = np.mean(np.abs(estimate - truth[name]))
    return errors


def render(observations: Sequence[int], errors: dict[str, np.ndarray]) -> str:
    """Returns the errors as a table: mean and standard deviation over runs, and their slopes."""
    num_runs = len(errors["pi"])
    lines = [f"{'observations':>12}" + "".join(f"{_STYLES[n][0]:>19}" for n in ESTIMATES)]
    for place, t in enumerate(observations):
        cells = []
        for name in ESTIMATES:
            values = errors[name][:, place]
            spread = f" ± {values.std(ddof=1):.4f}" if num_runs > 1 else ""
            cells.append(f"{values.mean():.4f}{spread}")
        lines.append(f"{t:>12}" + "".join(f"{cell:>19}" for cell in cells))
    lines.append(f"mean over clients of |estimate - truth|, Beta(1, 1) priors, runs: {num_runs}")
    # The last factor of ten, where priors no longer matter.
    start = next(place for place, t in enumerate(observations) if 10 * t >= observations[-1])
    if start < len(observations) - 1:
        steps = np.log(observations[-1] / observations[start])
        falls = {n: np.log(errors[n][:, -1].mean() / errors[n][:, start].mean()) for n in ESTIMATES}
        said = ", ".join(f"{_STYLES[n][0]} {fall / steps:.2f}" for n, fall in falls.items())
        lines.append(
            f"slope of log error over log observations from {observations[start]} on: {said} "
            "(1 / sqrt(t): -0.50)"
        )
    return "\n".join(lines)


def draw(observations: Sequence[int], errors: dict[str, np.ndarray], path: Path) -> None:
    """Draws the result of `estimation_errors` against the number of observations, as PNG.

    Raises:
        OSError: If the file cannot be written.
    """
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    for name, (_, label, color, line, marker) in _STYLES.items():
        mean = errors[name].mean(axis=0)
        panel.plot(
            observations,
            mean,
            color=color,
            linestyle=line,
            marker=marker,
            linewidth=1.8,
            markersize=5,
            label=label,
        )
        if len(errors[name]) > 1:
            spread = errors[name].std(axis=0, ddof=1)
            low, high = mean - spread, mean + spread
            panel.fill_between(observations, low, high, color=color, alpha=0.13, linewidth=0)
    rate = errors["lambda"].mean(axis=0)[-1] * np.sqrt(observations[-1] / np.array(observations))
    panel.plot(observations, rate, color="0.6", linewidth=1.0, label=r"$1 / \sqrt{t}$")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("observations")
    panel.set_ylabel("mean over clients of |estimate - truth|")
    plain(panel)
    panel.legend(frameon=False)
    save(figure, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
