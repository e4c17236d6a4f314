"""`f3ast-tff example`: writes a file of `examples/` into the current folder.

The files are a folder of the checkout, and in an installed package lie beside its code.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from pathlib import Path

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.exit_codes import BAD_INPUT, fail
from f3ast_tff.files.messages import show
from f3ast_tff.settings.flags import UsageError, wants_help

_FOLDER = Path(__file__).resolve().parents[1] / "examples"
_USAGE = "Writes an example into the current folder: f3ast-tff example NAME"
_COMMANDS = ("f3ast-tff ", "python ", "pip ", "sbatch ")
# Tables cannot say themselves what they are and how they are used.
_TABLES = {
    "online.csv": (
        "A log: when 40 devices were online, in 10 days.",
        "f3ast-tff advise online.csv --clients_per_round=3,6",
    ),
    "carbon_day.csv": (
        "A signal: hourly carbon intensities of a day.",
        "f3ast-tff availability --availability=always --rounds=24 --constraint=signal "
        "--signal_file=carbon_day.csv --signal_rule=budget --signal_budget=2500",
    ),
}


def examples() -> dict[str, Path]:
    """Returns the files by name, plug-ins last."""
    kinds = ("*.toml", "*.sh", "*.csv", "*.py", "plugins/*.py")
    return {path.name: path for kind in kinds for path in sorted(_FOLDER.glob(kind))}


def said_of(path: Path) -> tuple[str, list[str]]:
    """Returns what an example is, in a sentence, and the commands that use it."""
    if path.name in _TABLES:
        about, command = _TABLES[path.name]
        return about, [command]
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".toml", ".sh"):
        head = [line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")]
    else:
        head = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    commands = [
        line for line in head if line.startswith(("f3ast-tff ", "python ", "pip ", "sbatch "))
    ]
    return head[0], commands


def main(argv: Sequence[str]) -> int:
    """Lists the examples, or writes one; returns the exit code."""
    words = argv[1:]
    if not words or wants_help(words):
        show(_list())
        return 0
    try:
        show(_write(words))
    except (ParameterError, UsageError) as error:
        return fail(error, BAD_INPUT)
    return 0


def _list() -> str:
    found = examples()
    width = max(map(len, found)) + 2
    lines = [f"  {name:<{width}}{said_of(path)[0]}" for name, path in found.items()]
    return "\n".join([_USAGE, "", *lines])


def _write(words: Sequence[str]) -> str:
    """Writes one example.

    Raises:
        UsageError: If not one name is given.
        ParameterError: If there is no such example, or another file of this name.
    """
    if len(words) > 1 or words[0].startswith("-"):
        raise UsageError("give one name: f3ast-tff example NAME; without a name it lists them")
    found = examples()
    (name,) = words
    if name not in found:
        near = difflib.get_close_matches(name, found, 1)
        hint = f"did you mean {near[0]}? It " if near else ""
        raise ParameterError("example", name, f"{hint}must be one of {', '.join(found)}")
    content, to = found[name].read_bytes(), Path(name)
    # A pipe is not read: it may never end.
    if to.exists() and not (to.is_file() and to.read_bytes() == content):
        raise ParameterError("example", name, "a file of this name, but not this one, is here")
    with atomic_write(to, "wb") as file:
        file.write(content)
    about, commands = said_of(found[name])
    return "\n".join([f"{name}: {about}", *(f"  {each}" for each in commands)])
