"""Where the paper, its released code and CA-Fed's authors differ: one setting each, three presets.

Numbers are those of the README's table of readings. R6 is two tasks; R7 and R8 exist in one form
here; an empty round (R15) leaves the model alone in all presets, the released code crashing there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PRESETS = ("paper", "released", "ca_fed")


@dataclass(frozen=True)
class Reading:
    """One difference.

    Attributes:
        number: Its number.
        paper: What the paper says.
        released: What the released code does.
        ca_fed: What the released code of CA-Fed's authors does; `None` where they say nothing of
            it, and the paper stands.
    """

    number: str
    paper: Any
    released: Any
    ca_fed: Any | None = None


# By setting. `None` for R9's paper value: eq. (3) makes it depend on the availability process.
READINGS: dict[str, Reading] = {
    "rate_init": Reading("R1", "k_over_n", "p"),
    "aggregate": Reading("R2", "sum", "sum_over_k"),
    "baseline_sampling": Reading("R3", "without_replacement", "with_replacement"),
    "baseline_average": Reading("R3", "plain", "examples"),
    "lognormal_spread": Reading("R4", "variance", "sigma"),
    "smartphones_grid": Reading("R5", "hourly", "endpoints"),
    "availability_objective": Reading("R9", None, "p_squared"),
    "poc_loss": Reading("R10", "mean", "sum_of_batches"),
    "resnet_variant": Reading("R12", "strided", "released"),
    "ties": Reading("R11", "random", "lowest_id"),
    "availability_draws": Reading("R13", "by_seed", "by_round_only"),
    "client_share": Reading("R16", "examples", "batches"),
    "short_rounds": Reading("R17", "available_only", "fill_unavailable"),
    "poc_clip_norm": Reading("R18", 0.0, 1.0),
    # CA-Fed: the rule that its authors ran under F3AST's name, and the form of its own eq. (16).
    "f3ast_rule": Reading("R19", "f3ast", "f3ast", "ca_fed"),
    "ca_fed_bias": Reading("R20", "paper", "paper", "released"),
}


def value_of(name: str, preset: str) -> Any | None:
    """Returns what a preset (one of `PRESETS`) sets a reading to."""
    reading = READINGS[name]
    if preset == "ca_fed" and reading.ca_fed is None:
        return reading.paper
    return getattr(reading, preset)
