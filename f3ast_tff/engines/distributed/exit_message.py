"""A line on stderr for a process that a library ends on the spot, past all of Python."""

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


class LastWords:
    """What is to be said if this process ends before it has taken it back."""

    def __init__(self) -> None:
        """Starts a small process that survives this one; Ctrl-C does not reach it."""
        self._heir = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HEIR],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def leave(self, words: str) -> None:
        """Replaces what is to be said by this line."""
        assert self._heir.stdin is not None
        self._heir.stdin.write(f"{words}\n".encode())
        self._heir.stdin.flush()

    def take_back(self) -> None:
        """Leaves nothing to be said, and ends the process."""
        self._heir.communicate(b"\n")
