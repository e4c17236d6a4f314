"""The command lines of the analysis commands: flags, `--help`, and one line for what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from absl import flags

BAD_INPUT = 2
_HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")


def parse(
    argv: Sequence[str],
    values: flags.FlagValues,
    about: str,
    texts: Mapping[str, str],
    required: Sequence[str],
) -> int | None:
    """Parses a command line.

    Args:
        argv: The program's name and what follows.
        values: Where the flags are defined; gets their values.
        about: The first lines of `--help`.
        texts: What `--help` says of each flag.
        required: Flags that must be given.

    Returns:
        `None` to go on, or the exit code: 0 after `--help`, `BAD_INPUT` after one line on stderr.
    """
    if any(arg in _HELP for arg in argv[1:]):
        lines = [about.strip(), ""]
        for name, text in texts.items():
            lines += [f"  --{name}", f"      {text}"]
        print("\n".join(lines))
        return 0
    try:
        rest = values(list(argv))[1:]
    except flags.Error as error:
        return fail(str(error))
    if rest:
        return fail(f"{rest[0]!r} is not a flag; see --help")
    missing = [f"--{name}" for name in required if not values[name].value]
    if missing:
        return fail(f"{' and '.join(missing)} must be given; see --help")
    return None


def fail(message: str) -> int:
    """Says in one line what is wrong; returns `BAD_INPUT`."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT
