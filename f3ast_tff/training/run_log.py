"""`run.log`: what happened to a run, over all its starts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from f3ast_tff.data_files import check_appendable
from f3ast_tff.messages import LineFormatter

NAME = "run.log"
# Of this package; of others, warnings alone.
_OWN = "f3ast_tff"


@contextmanager
def run_log(folder: Path) -> Iterator[None]:
    """Appends warnings, and what the package's own loggers say, to `run.log` in a run's folder.

    The file is made with its first line, so that a run that cannot start leaves none.

    Raises:
        OSError: If something else than a file is there.
    """
    check_appendable(folder / NAME)
    handler = logging.FileHandler(folder / NAME, delay=True, encoding="utf-8")
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or _is_own(record))
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s: %(message)s"))
    root, own = logging.getLogger(), logging.getLogger(_OWN)
    level = own.level
    root.addHandler(handler)
    own.setLevel(logging.INFO)
    try:
        yield
    finally:
        own.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == _OWN
