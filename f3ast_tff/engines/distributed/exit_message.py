"""A line on stderr if a library ends this process without running any more Python."""

from __future__ import annotations

import subprocess
import sys

# Outlives its parent: when the pipe closes, the last line read is printed, unless it is empty.
_HEIR = """
import sys
last = ""
for line in sys.stdin:
    last = line.strip()
if last:
    print(last, file=sys.stderr)
"""


class ExitMessage:
    """Message printed if this process dies."""

    def __init__(self) -> None:
        """Starts a small process that survives this one; Ctrl-C does not reach it."""
        self._heir = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HEIR],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def leave(self, message: str) -> None:
        """Sets the message."""
        assert self._heir.stdin is not None
        self._heir.stdin.write(f"{message}\n".encode())
        self._heir.stdin.flush()

    def take_back(self) -> None:
        """Prints nothing, and ends the small process."""
        self._heir.communicate(b"\n")
