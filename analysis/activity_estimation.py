"""How fast estimates of availability and correlation converge (CA-Fed, Fig. 4a): table and figure.

python -m f3ast_tff.analysis.activity_estimation --out fig4a.png
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from f3ast_tff.analysis.command_line import fail, parse
from f3ast_tff.availability import FourClasses
from f3ast_tff.estimation import ActivityPrior, EstimatedActivity
from f3ast_tff.training.atomic import atomic_write

# The paper's: 10^1, 10^1.5, ..., 10^4.
OBSERVATIONS = (10, 32, 100, 316, 1000, 3162, 10_000)
DPI = 150
# Estimate -> heading in the table, label in the figure, colour, line, marker.
_STYLES = {
    "pi": ("pi counted", r"$\pi_k$, rounds counted", "#0072B2", "-", "o"),
    "pi_chain": ("pi of chain", r"$\pi_k$ of the estimated chain", "#56B4E9", ":", "s"),
    "lambda": ("lambda", r"$\lambda_k$", "#D55E00", "--", "^"),
}
ESTIMATES = tuple(_STYLES)
_HELP = {
    "out": "PNG file to write or replace; its folder must exist",
    "num_clients": "number of clients (100)",
    "num_seeds": "runs to average over (10)",
    "rounds": "most observations (10000)",
}


def main(argv: Sequence[str]) -> int:
    """Parses the command line, prints the table and draws the figure; returns the exit code."""
    values = flags.FlagValues()
    flags.DEFINE_string("out", None, _HELP["out"], flag_values=values)
    for name, default, least in (
        ("num_clients", 100, 1),
        ("num_seeds", 10, 1),
        ("rounds", None, 2),
    ):
        flags.DEFINE_integer(name, default, _HELP[name], lower_bound=least, flag_values=values)
    code = parse(argv, values, __doc__ or "", _HELP, ["out"])
    if code is not None:
        return code
    out = Path(values["out"].value)
    if out.suffix.lower() != ".png":
        return fail(f"--out={out}: must end in .png")
    most = values["rounds"].value or OBSERVATIONS[-1]
    observations = [t for t in OBSERVATIONS if t < most] + [most]
    errors = estimation_errors(observations, values["num_clients"].value, values["num_seeds"].value)
    print(render(observations, errors))
    try:
        draw(observations, errors, out)
    except OSError as error:
        return fail(f"--out={out}: cannot write: {error.strerror}")
    print(f"figure: {out}")
    return 0


def estimation_errors(
    observations: Sequence[int], num_clients: int, num_seeds: int
) -> dict[str, np.ndarray]:
    """Observes the four classes of Sec. V-A and compares the estimates with the truth.

    Estimates start from Beta(1, 1) priors.

    Args:
        observations: Increasing numbers of rounds t' after which to compare, each at least 1.
        num_clients: N.
        num_seeds: Independent runs, of seeds 0, 1, ...

    Returns:
        For each of `ESTIMATES`, the mean over clients of |estimate - truth|, `float64 [runs, n]`.
    """
    errors = {name: np.zeros((num_seeds, len(observations))) for name in ESTIMATES}
    for seed in range(num_seeds):
        process = FourClasses(num_clients, seed)
        truth = {"pi": process.pi, "pi_chain": process.pi, "lambda": process.eigenvalue}
        activity = EstimatedActivity(ActivityPrior.uniform(num_clients))
        chain = EstimatedActivity(ActivityPrior.uniform(num_clients), availability_from="chain")
        for t in range(1, observations[-1] + 1):
            activity.observe(t, process.mask(t))
            if t in observations:
                place = observations.index(t)
                chain.restore(activity.state())
                found = {"pi": activity.pi, "pi_chain": chain.pi, "lambda": activity.eigenvalue}
                for name in ESTIMATES:
                    errors[name][seed, place] = np.mean(np.abs(found[name] - truth[name]))
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
    # The last tenfold, where priors no longer matter.
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
    """Draws the errors against the number of observations.

    Args:
        observations: As given to `estimation_errors`.
        errors: What it returned.
        path: The PNG file to write or replace.

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
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=DPI)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
