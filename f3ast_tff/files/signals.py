"""Ctrl-C, SIGTERM and SIGHUP: they ask a run to stop; outside of a run they end the process.

Imports little beside the standard library, so that handlers are installed before slow imports.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from f3ast_tff.files.atomic import remove_unfinished

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# One Ctrl-C may arrive twice, from the terminal and from a wrapper such as `make` or `uv run`.
_SAME_PRESS_S = 0.5
_SAY_AFTER_S = 1.0
_STOPPING = "stopping after this round; the same signal again ends at once"
_AT_ONCE = "ended at once: the same command goes on from the last checkpoint, if there is one"


class Stop(Protocol):
    """Tells the round loop whether to stop."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which a request waits until the loop checks `requested`."""
        ...

    def requested(self) -> bool:
        """Returns whether the run should stop at this round boundary."""
        ...


class NeverStop:
    """A `Stop` that is never requested."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context that does nothing."""
        return contextlib.nullcontext()

    def requested(self) -> bool:
        """Returns `False`."""
        return False


class Signals:
    """Turns signals into a request to stop; a `Stop`.

    Outside of `hold` a signal ends the process at once. Inside, the first signal is a request and
    the next ends the process. Handlers raise no exception, because it could be lost inside a
    compilation or an import.

    Attributes:
        message: Line to print when a signal ends the process before `hold`.
        say: Function that prints a line during a run.
    """

    def __init__(self) -> None:
        """Makes the object; `install` sets the handlers."""
        self.message = "interrupted"
        self.say: Callable[[str], None] = _print
        self._installed = False
        self._holding = False
        self._first: int | None = None
        self._first_at = 0.0
        self._said = False

    def install(self) -> None:
        """Handles the signals of this process from now on; ignored signals stay ignored."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        # The C handler writes to it, also while the main thread is inside a library.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._installed = True
        _handle()
        threading.Thread(target=self._watch, args=(reader,), name="signals", daemon=True).start()

    def ignore(self) -> None:
        """Ignores the signals from now on: the work is done and its exit code is final."""
        if self._installed:
            for signum in SIGNALS:
                signal.signal(signum, signal.SIG_IGN)

    @property
    def exit_code(self) -> int:
        """128 plus the number of the signal that requested the stop, as in a shell."""
        return 128 + (signal.SIGINT if self._first is None else self._first)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        if self._installed:
            # Importing Ray replaces the handler of SIGTERM.
            _handle()
        self._holding = True
        try:
            yield
        finally:
            self._holding, self.message = False, _AT_ONCE

    def requested(self) -> bool:
        return self._first is not None

    def _watch(self, reader: int) -> None:
        while True:
            unsaid = self._first is not None and not self._said
            if select.select([reader], [], [], _SAY_AFTER_S if unsaid else None)[0]:
                for signum in os.read(reader, 64):
                    if signum in SIGNALS:
                        self._received(signum)
            elif self._holding:
                # A round may take long, so confirm the signal now.
                self._said = True
                self.say(_STOPPING)

    def _received(self, signum: int) -> None:
        now = time.monotonic()
        if not self._holding:
            self._end(signum, self.message)
        elif self._first is None:
            self._first, self._first_at = signum, now
        elif now - self._first_at > _SAME_PRESS_S:
            self._end(signum, _AT_ONCE)

    def _end(self, signum: int, message: str) -> None:
        remove_unfinished()
        start = "\n" if os.isatty(2) else ""
        with contextlib.suppress(OSError):
            os.write(2, f"{start}{message}\n".encode())
        os._exit(128 + signum)


def _handle() -> None:
    for signum in SIGNALS:
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _noted)


def _noted(signum: int, frame: FrameType | None) -> None:
    """Does nothing; the thread that reads the wake-up pipe handles the signal."""


def _print(line: str) -> None:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)
