"""Look of each method's line, alone and in a sweep of a setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from f3ast_tff.analysis.method_names import FORMS, is_plain_mean, method_label, own_aggregation
from f3ast_tff.analysis.run_groups import RunGroup, describe, sortable

# Colour, dashes and marker. The colours are Okabe and Ito's, which the colour-blind can
# distinguish; dashes and markers differ also in grey.
Style = tuple[str, Any, str]
# A selection rule and its Adam variant share a hue. A form of a method is NAME/VALUE.
_STYLES: dict[str, Style] = {
    "fedavg": ("#0072B2", "--", "o"),
    "fedavg/without_replacement": ("#0072B2", "--", "o"),
    "fedavg/with_replacement": ("#CC79A7", "-.", "*"),
    "fedadam": ("#56B4E9", ":", "s"),
    "f3ast": ("#D55E00", "-", "^"),
    "f3ast_adam": ("#E69F00", "-.", "D"),
    "poc": ("#009E73", (0, (7, 2, 1, 2, 1, 2)), "v"),
    "fedavg_all/mean": ("#6E7781", (0, (4, 2)), "H"),
}
# Lighter forms, for dark pages.
_ON_DARK = {"#0072B2": "#56B4E9", "#D55E00": "#FF8A3D", "#6E7781": "#A9B1BA", "#009E73": "#2DC79B"}
# All other methods have, in turn, the first colour that the picture leaves free.
_COLOURS = tuple(
    dict.fromkeys(
        (
            "#CC79A7",
            "#000000",
            "#882255",
            "#44AA99",
            "#332288",
            "#999933",
            *(colour for colour, _, _ in _STYLES.values()),
        )
    )
)
_DASHES = ((0, (8, 2)), (0, (2, 1)), (0, (6, 2, 2, 2)), (0, (3, 3)), (0, (9, 1, 4, 1)))
_OTHER_MARKERS = ("p", "h", "X", "P", "*", "d", "<", ">", "8", "x", "+")
# Colours of a sweep: dark blue to green; yellow is too light on white.
_FORM = ("aggregation", *FORMS)
_SCALE, _BRIGHTEST = "viridis", 0.88
_MARKERS = ("o", "s", "^", "D", "v", "p", "h", "<", ">", "X")


@dataclass(frozen=True)
class Look:
    """Style and label of a line."""

    color: str
    dashes: Any
    marker: str
    label: str


def styles_of(algorithms: Iterable[str]) -> dict[str, Style]:
    """Returns the styles of the methods of one picture; up to 12 have different colours.

    A method is an algorithm, or NAME/VALUE for a form of it, such as `fedavg/without_replacement`.
    """
    names = list(dict.fromkeys(algorithms))
    found: dict[str, Style] = {}
    taken: set[str] = set()
    for name in names:
        style = _STYLES.get(_without_own_aggregation(name))
        if style is not None and style[0] not in taken:
            found[name] = style
            taken.add(style[0])
    free = [colour for colour in _COLOURS if colour not in taken]
    others = [name for name in names if name not in found]
    return {**found, **dict(zip(others, zip(cycle(free), cycle(_DASHES), cycle(_OTHER_MARKERS))))}


def _without_own_aggregation(name: str) -> str:
    algorithm, *form = name.split("/")
    return "/".join([algorithm, *(word for word in form if word != own_aggregation(algorithm))])


def on_dark(colour: str) -> str:
    """Returns the form of a style's colour for dark pages."""
    return _ON_DARK.get(colour, colour)


def form_of(group: RunGroup, told: Mapping[str, Any]) -> str:
    """Returns the name by which a group's method has its style: its algorithm, and which form."""
    values = {"aggregation": group.settings.get("aggregation"), **told}
    if is_plain_mean({"algorithm": group.algorithm, **values}):
        told = {"aggregation": "mean", **told}
    return "/".join([group.algorithm, *(str(told[n]) for n in _FORM if told.get(n) is not None)])


def looks_of(
    groups: Iterable[RunGroup],
    told: Mapping[RunGroup, Mapping[str, Any]] | None = None,
    always: bool = False,
) -> dict[RunGroup, Look]:
    """Returns the looks of the lines of groups, in the order of a legend.

    Forms of a method, such as FedAvg with and without replacement, are methods. A method with one
    line has the method's style. If lines of a method differ in further settings, by `told`, their
    colours follow from the values of these settings, over all methods, and their dashes from the
    method. With `always`, a method with a single value also has the colour of that value.
    """
    members = sorted(groups, key=lambda g: (g.first.order("algorithm"), g.algorithm))
    every = {group: dict((told or {}).get(group, {})) for group in members}
    forms = {group: form_of(group, every[group]) for group in members}
    values = {
        group: tuple((n, v) for n, v in every[group].items() if always or n not in _FORM)
        for group in members
    }
    several: dict[str, set[tuple[tuple[str, Any], ...]]] = {}
    for group in members:
        several.setdefault(forms[group], set()).add(values[group])
    swept = {
        group: values[group]
        for group in members
        if values[group] and (always or len(several[forms[group]]) > 1)
    }
    order = sorted({*swept.values()}, key=lambda told: [(n, sortable(v)) for n, v in told])
    places = {value: place for place, value in enumerate(order)}
    styles = styles_of(forms.values())
    one_method = len({forms[group] for group in swept}) == 1
    found = {}
    for group in members:
        color, dashes, marker = styles[forms[group]]
        said = {n: v for n, v in every[group].items() if n in _FORM}
        label, place = labelled(group, said), -1
        if group in swept:
            place = places[values[group]]
            color = to_hex(colormaps[_SCALE](_BRIGHTEST * place / max(len(order) - 1, 1)))
            marker = _MARKERS[place % len(_MARKERS)] if one_method else marker
            label = labelled(group, every[group])
        found[group] = (group.first.order("algorithm"), place), Look(color, dashes, marker, label)
    return {group: found[group][1] for group in sorted(found, key=lambda g: found[g][0])}


def literal(text: str) -> str:
    r"""Returns a text escaped so that matplotlib shows it literally: `$` would start a formula."""
    return text.replace("$", r"\$")


def labelled(group: RunGroup, told: Mapping[str, Any]) -> str:
    """Returns the name of a method with its distinguishing settings, its own first."""
    own = {name: value for name, value in told.items() if name in group.method_settings}
    world = [name for name in told if name not in own]
    return ", ".join(filter(None, (method_label(group.display, own), describe(told, world))))
