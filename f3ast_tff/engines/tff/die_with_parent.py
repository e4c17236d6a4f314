"""Runs a command that the kernel kills when its parent dies in any way (Linux).

    python die_with_parent.py PARENT_PID COMMAND [ARGUMENT ...]

The process asks the kernel for the signal, then becomes the command, which keeps the request.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Asks for SIGKILL on the parent's death, then becomes the command."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    # The parent may have died before the request took effect.
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent is gone")
    # Ctrl-C in a terminal reaches all processes; the parent ends its children after its round.
    for signum in (signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
