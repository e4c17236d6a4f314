"""How a run is asked to stop: between two rounds, with a checkpoint."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Stop(Protocol):
    """Asked by the round loop whether to stop."""

    def hold(self) -> AbstractContextManager[None]:
        """Returns a context in which a request waits until the loop asks for it."""
        ...

    def requested(self) -> bool:
        """Returns whether the run should stop at this round boundary."""
        ...


class NeverStop:
    """A `Stop` that is never requested."""

    def hold(self) -> AbstractContextManager[None]:
        """See `Stop.hold`."""
        return nullcontext()

    def requested(self) -> bool:
        """See `Stop.requested`."""
        return False
