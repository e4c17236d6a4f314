"""How the line of each method looks, alone and in a sweep of a setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from f3ast_tff.analysis.run_groups import RunGroup, describe, sortable

# Colour, dashes and marker, all three an algorithm's own. Okabe and Ito's colours, which the
# colour-blind tell apart; dashes and markers also in grey.
Style = tuple[str, Any, str]
# A selection rule and its Adam variant share a hue.
_STYLES: dict[str, Style] = {
    "fedavg": ("#0072B2", "--", "o"),
    "fedadam": ("#56B4E9", ":", "s"),
    "f3ast": ("#D55E00", "-", "^"),
    "f3ast_adam": ("#E69F00", "-.", "D"),
    "poc": ("#009E73", (0, (7, 2, 1, 2, 1, 2)), "v"),
    # Other papers' methods, compared among themselves: colours repeat.
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
    "fedavg_all": ("#56B4E9", (0, (3, 1, 3, 4)), "4"),
    "fedau": ("#009E73", (0, (6, 1, 1, 1, 1, 1)), "|"),
    "oort_loss": ("#CC79A7", (0, (2, 3)), "_"),
    "mifa": ("#0072B2", (0, (8, 1, 2, 1)), "$a$"),
    "fedvarp": ("#D55E00", (0, (6, 4)), "$f$"),
    "fedstale": ("#E69F00", (0, (5, 2, 1, 2, 1, 2)), "$s$"),
    "mimic": ("#000000", (0, (3, 2, 1, 2)), "$m$"),
    "fedawe": ("#56B4E9", (0, (2, 1, 5, 1)), "$w$"),
    "scaffold": ("#009E73", (0, (10, 1, 2, 1, 2, 1)), "$c$"),
    "amplified_fedavg": ("#0072B2", (0, (1, 1, 4, 1)), "$p$"),
    "amplified_scaffold": ("#D55E00", (0, (7, 3, 1, 3)), "$r$"),
}
_OTHER_COLOURS = ("#000000", "#CC79A7", "#999999")
_OTHER_DASHES = ((0, (4, 1)), (0, (1, 1)), (0, (8, 3)), (0, (10, 2, 2, 2)))
_OTHER_MARKERS = ("x", "P", "*", "H", "+")
# Colours of a sweep: dark blue to green; yellow is too light on white.
_SCALE, _BRIGHTEST = "viridis", 0.88
_MARKERS = ("o", "s", "^", "D", "v", "p", "h", "<", ">", "X")


@dataclass(frozen=True)
class Look:
    """How a line is drawn and called."""

    color: str
    dashes: Any
    marker: str
    label: str


def styles_of(algorithms: Iterable[str]) -> dict[str, Style]:
    """Returns the styles of the papers' algorithms and of further ones."""
    others = sorted(set(algorithms) - set(_STYLES))
    kinds = (_OTHER_COLOURS, _OTHER_DASHES, _OTHER_MARKERS)
    extra = {name: tuple(k[i % len(k)] for k in kinds) for i, name in enumerate(others)}
    return {**_STYLES, **extra}  # type: ignore[dict-item]


def looks_of(
    groups: Iterable[RunGroup],
    told: Mapping[RunGroup, Mapping[str, Any]] | None = None,
    always: bool = False,
) -> dict[RunGroup, Look]:
    """Returns how the lines of groups look, in the order of a legend.

    A method with one line has its own style. Lines of one method that differ in settings have
    colours by the values of these, over all methods, and the method's dashes.

    Args:
        groups: Groups of one picture.
        told: Settings by name that tell groups of one method apart.
        always: Whether a method with a single value has the colour of that value, too.
    """
    members = sorted(groups, key=lambda g: (g.first.order("algorithm"), g.algorithm))
    values = {group: tuple((told or {}).get(group, {}).items()) for group in members}
    several: dict[str, set[tuple[tuple[str, Any], ...]]] = {}
    for group in members:
        several.setdefault(group.algorithm, set()).add(values[group])
    swept = {
        group: values[group]
        for group in members
        if values[group] and (always or len(several[group.algorithm]) > 1)
    }
    order = sorted(set(swept.values()), key=_sortable)
    places = {value: place for place, value in enumerate(order)}
    styles = styles_of(group.algorithm for group in members)
    one_method = len({group.algorithm for group in swept}) == 1
    found = {}
    for group in members:
        color, dashes, marker = styles[group.algorithm]
        label, place = group.display, -1
        if group in swept:
            place = places[values[group]]
            color = _color(place, len(order))
            marker = _MARKERS[place % len(_MARKERS)] if one_method else marker
            label = labelled(group, dict(values[group]))
        found[group] = (group.first.order("algorithm"), place), Look(color, dashes, marker, label)
    return {group: found[group][1] for group in sorted(found, key=lambda g: found[g][0])}


def literal(text: str) -> str:
    r"""Returns a text as matplotlib shows it as it is: `$` would start a formula."""
    return text.replace("$", r"\$")


def labelled(group: RunGroup, told: Mapping[str, Any]) -> str:
    """Returns the name of a method with the settings that tell it apart."""
    return ", ".join(filter(None, (group.display, describe(told, told))))


def _sortable(value: tuple[tuple[str, Any], ...]) -> list[tuple[str, Any]]:
    return [(name, sortable(each)) for name, each in value]


def _color(place: int, of: int) -> str:
    return to_hex(colormaps[_SCALE](_BRIGHTEST * place / max(of - 1, 1)))
