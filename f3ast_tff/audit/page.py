"""An audit as a page: weight by presence in one picture, and the findings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from f3ast_tff.analysis.curves import literal, plain
from f3ast_tff.analysis.report.document import Block, Document, Grid, Picture, Section, Text
from f3ast_tff.analysis.report.render import drawn, to_html
from f3ast_tff.audit.findings import Audit
from f3ast_tff.audit.report import shares_in
from f3ast_tff.files.atomic import atomic_write

_SHOWN = ("independent", "daily wave", "heavy tails", "groups", "lost replies", "log")
_BARS = "by the share of the rounds in which it is there; bars are two standard errors. "
_WEIGHT = (
    f"Weight of each client over its share of the examples, {_BARS}On the line at 1 a client has "
    "the weight of its examples."
)
_INFLUENCE = (
    f"Influence of each client on a step over that of an equal mean of all clients, {_BARS}There "
    "are no linear weights."
)


def write_page(audit: Audit, path: Path) -> None:
    """Writes the HTML page.

    Raises:
        OSError: If it cannot be written.
    """
    blocks: list[Block] = [Text(audit.sentence), Text(f"{audit.target.kind}; {_versions(audit)}.")]
    if audit.influence or any(each.named for each in audit.weights):
        blocks.append(
            Picture("weights", _INFLUENCE if audit.influence else _WEIGHT, weight_figure(audit))
        )
    rows = [(each.check, each.verdict, each.found, each.advice) for each in audit.findings]
    head = ("check", "verdict", "found", "what to do")
    grid = Grid("findings", "All findings.", head, tuple(rows))
    title = f"Audit of {audit.target.name}"
    document = Document(title, [Section("Whom the model is of", blocks), Section("Checks", [grid])])
    svgs = {each.name: drawn(each, "svg") for each in document.pictures}
    with atomic_write(path, encoding="utf-8") as file:
        file.write(to_html(document, svgs))


def weight_figure(audit: Audit) -> Figure:
    """Returns the picture of weight, or of influence, by presence: a line per schedule."""
    if audit.influence:
        found = audit.influence[-1]
        order = found.presence.argsort(kind="stable")
        bars = 2 * (found.errors * len(found.mean))[order]
        return by_presence({"influence": (found.presence[order], found.shares[order], bars)})
    lines = {}
    for each in audit.weights:
        if each.named and each.schedule in _SHOWN:
            presence, share = map(np.array, shares_in(each))
            errors: np.ndarray | None = None
            if len(presence) == len(each.p):
                order = each.presence.argsort(kind="stable")
                errors = 2 * each.errors[order] / each.p[order]
            lines[each.schedule] = (presence, share, errors)
    return by_presence(lines)


def by_presence(lines: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]]) -> Figure:
    """Returns the picture of shares by presence.

    Args:
        lines: Presence, weight over the share of the examples, and length of the bars or `None`,
            by name.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, (presence, share, errors) in lines.items():
        axes.errorbar(presence, share, errors, marker="o", label=literal(name))
    axes.axhline(1, color="#444444", linewidth=0.8)
    axes.set_xlabel("share of the rounds in which the client is there")
    axes.set_ylabel("weight / share of the examples")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    plain(axes)
    return figure


def _versions(audit: Audit) -> str:
    found = ", ".join(f"{name} {number}" for name, number in audit.target.versions.items())
    return found or "NumPy alone"
