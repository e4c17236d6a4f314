"""How each algorithm's line looks: colour, dashes and marker, all three its own.

Okabe and Ito's colours, which the colour-blind tell apart; dashes and markers also in grey.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Style = tuple[str, Any, str]

# A selection rule and its Adam variant share a hue.
_STYLES: dict[str, Style] = {
    "fedavg": ("#0072B2", "--", "o"),
    "fedadam": ("#56B4E9", ":", "s"),
    "f3ast": ("#D55E00", "-", "^"),
    "f3ast_adam": ("#E69F00", "-.", "D"),
    "poc": ("#009E73", (0, (7, 2, 1, 2, 1, 2)), "v"),
    # Those of the other papers, compared among themselves: their colours come back.
    "ca_fed": ("#000000", (0, (12, 2)), "p"),
    "adafed": ("#0072B2", (0, (5, 1)), "h"),
    "unbiased": ("#009E73", (0, (2, 1)), "<"),
    "more_available": ("#E69F00", (0, (6, 2, 2, 2)), ">"),
    "f3ast_of_ca_fed": ("#CC79A7", (0, (3, 3)), "d"),
    "fedlaavg": ("#D55E00", (0, (9, 1, 1, 1)), "X"),
    "fedavg_then_fedlaavg": ("#CC79A7", (0, (9, 1, 4, 1)), "8"),
    "sequential_sgd": ("#000000", (0, (1, 3)), "1"),
    "uniform": ("#56B4E9", (0, (4, 2, 4, 6)), "2"),
    "f3ast_fixed": ("#E69F00", (0, (1, 2, 6, 2)), "3"),
}
_OTHER_STYLES: tuple[Style, ...] = (
    ("#000000", (0, (4, 1)), "x"),
    ("#CC79A7", (0, (1, 1)), "P"),
    ("#999999", (0, (8, 3)), "*"),
)


def styles_of(algorithms: Iterable[str]) -> dict[str, Style]:
    """Returns the style of every known algorithm, and of those given that are not."""
    others = sorted(set(algorithms) - set(_STYLES))
    extra = {name: _OTHER_STYLES[i % len(_OTHER_STYLES)] for i, name in enumerate(others)}
    return {**_STYLES, **extra}
