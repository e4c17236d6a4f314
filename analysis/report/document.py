"""The report as a value: sections of text, tables and pictures, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.curves import Trace


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Listing:
    """A list of lines under a title; if folded, a reader must open it."""

    title: str
    lines: tuple[str, ...]
    folded: bool = True


@dataclass(frozen=True, eq=False)
class Grid:
    """A table.

    Attributes:
        name: Unique name of the LaTeX file, without `.tex`, and of the rows' anchors.
        caption: Caption.
        head: Heads of the columns.
        rows: Cells of each row, the first being the row's heading; a line break is a newline.
        folded: Whether a reader must open it.
        groups: Group heading of each row, shown where it changes; empty for none.
        links: Target of each row's heading, `NAME-NUMBER` for a row of a grid, from 0; empty for
            no links.
        marked: Rows to highlight, from 0.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False
    groups: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of a figure, with the values that the page shows under the pointer.

    Attributes:
        box: Left, top, right and bottom, as shares of the figure's width and height from its upper
            left corner.
        x: Limits of the horizontal axis, which is linear.
        y: Limits of the vertical axis.
        log: Whether the vertical axis is logarithmic.
        over: Quantity on the x axis, in a word.
        traces: The lines.
    """

    box: tuple[float, float, float, float]
    x: tuple[float, float]
    y: tuple[float, float]
    log: bool
    over: str
    traces: tuple[Trace, ...]


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its caption and the panels that show values.

    Attributes:
        name: Name of the files, without `.svg`.
        caption: Caption.
        figure: The figure.
        panels: Panels whose values the page shows.
        wide: Whether it takes the width of the page.
    """

    name: str
    caption: str
    figure: Figure
    panels: tuple[Panel, ...] = ()
    wide: bool = False


Block = Text | Listing | Grid | Picture


@dataclass(frozen=True, eq=False)
class Section:
    """A heading and its blocks."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, eq=False)
class Document:
    """The report.

    The first section stands above the table of contents. `tables` are CSV files to write beside it,
    by name without `.csv`; `date` stands under the title.
    """

    title: str
    sections: Sequence[Section]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    date: str = ""

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [b for s in self.sections for b in s.blocks if isinstance(b, Picture)]

    @property
    def grids(self) -> list[Grid]:
        """All tables, in order."""
        return [b for s in self.sections for b in s.blocks if isinstance(b, Grid)]
