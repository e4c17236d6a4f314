"""What several runs warn of, said once."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

# Logger of this package.
_OWN = "f3ast_tff"
_NUMBERS = re.compile(r"[-+.\d]*\d")


class _Counted(logging.Handler):
    """Hands new records on to the root logger, and counts those that only differ in numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno > logging.INFO:
            text = record.getMessage()
            said = self.found.setdefault(_NUMBERS.sub("", text), [])
            said.append(text)
            if len(said) > 1:
                return
        logging.getLogger().handle(record)


@contextmanager
def warnings_counted() -> Iterator[None]:
    """Logs what several runs warn of once, and at the end in how many they do, numbers aside."""
    logger = logging.getLogger(_OWN)
    if any(isinstance(handler, _Counted) for handler in logger.handlers):
        # Runs within runs are counted once.
        yield
        return
    counted, before = _Counted(), logger.propagate
    logger.addHandler(counted)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(counted)
        logger.propagate = before
        for said in counted.found.values():
            if len(said) > 1:
                logger.warning("in %d runs, each: %s", len(said), said[0])
