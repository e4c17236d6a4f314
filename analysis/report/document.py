"""The report as a value: sections of text, tables and pictures, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union

import pandas as pd


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Listing:
    """A list of lines under a title; long ones may be folded away."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """A table as it is read.

    Attributes:
        caption: What it shows.
        head: Heads of the columns.
        rows: Cells; a line break within a cell is a newline.
        folded: Whether a reader must open it.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure.

    Attributes:
        name: Of its PNG file, without `.png`.
        caption: What it shows.
        png: The picture.
    """

    name: str
    caption: str
    png: bytes


Block = Union[Text, Listing, Grid, Picture]


@dataclass(frozen=True, eq=False)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, eq=False)
class Document:
    """The report.

    Attributes:
        title: Its title.
        sections: In order.
        tables: CSV files to write beside it, by name without `.csv`.
    """

    title: str
    sections: Sequence[Section]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [b for s in self.sections for b in s.blocks if isinstance(b, Picture)]
