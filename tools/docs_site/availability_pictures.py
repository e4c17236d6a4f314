"""Previews of the availability processes, as `f3ast-tff availability` draws them."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from f3ast_tff.cli import availability
from f3ast_tff.settings import builtin_registry

# Flags that a process needs, or that make its picture clearer.
_SETTINGS: dict[str, tuple[str, ...]] = {
    "arrival_departure": ("--presence_q=0.8",),
    "dirichlet_cyclic": ("--rounds=400",),
    "mix": ("--availability_parts=alternating,home_devices",),
    "periodic_groups": ("--rounds=1000",),
    "product": ("--availability_parts=alternating,home_devices",),
}
# Processes that read a file of the user's, and so have no picture.
_OF_FILES = ("sites", "stays", "table", "trace")


@dataclass(frozen=True)
class Picture:
    """A preview of an availability process.

    Attributes:
        command: The command that draws it, without `--plot`.
        report: Output of the command.
        png: The picture.
    """

    command: str
    report: str
    png: bytes


@cache
def pictures() -> Mapping[str, Picture]:
    """Returns the previews by name of the process."""
    names = (name for name in builtin_registry().names("availability") if name not in _OF_FILES)
    return {name: _picture(name) for name in names}


def _picture(name: str) -> Picture:
    words = [f"--availability={name}", *_SETTINGS.get(name, ())]
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        path = Path(folder) / "picture.png"
        code = availability.main(["f3ast-tff availability", *words, f"--plot={path}"])
        if code:
            raise RuntimeError(f"f3ast-tff availability {' '.join(words)}: exit code {code}")
        png = path.read_bytes()
    lines = printed.getvalue().splitlines()
    report = "\n".join(line for line in lines if not line.startswith("picture"))
    return Picture(" ".join(["f3ast-tff availability", *words]), report, png)


def markdown() -> str:
    """Returns a section for each preview."""
    lines: list[str] = []
    for name, picture in pictures().items():
        component = builtin_registry().find("availability", name)
        lines += [f"### {component.display}", "", f"`{name}`: {component.about}.", "", "```"]
        lines += [picture.command, picture.report, "```", ""]
        path = f"pictures/availability/{name}.png"
        lines += [f"![{component.display}: who is available when]({path}){{ loading=lazy }}", ""]
    return "\n".join(lines)


def thumbnails() -> str:
    """Returns a small picture of each preview that links to the preview's section."""
    lines = []
    for name in pictures():
        display = builtin_registry().find("availability", name).display
        anchor = re.sub(r"[^a-z0-9]+", "-", display.lower()).strip("-")
        picture = f"![{display}](pictures/availability/{name}.png){{ width=240 loading=lazy }}"
        lines.append(f"[{picture}](availability.md#{anchor})")
    return "\n".join(lines)
