"""One run of a campaign, in a process that runs many: whatever happens to it stays with it."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.outcome import FAILED, FINISHED, Outcome, now
from f3ast_tff.configuration.execute import execute
from f3ast_tff.configuration.framework_environment import prepare_environment
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.errors import (
    CheckpointError,
    DataError,
    EngineError,
    RunFolderError,
    SettingError,
)
from f3ast_tff.training.metrics import Row
from f3ast_tff.training.run_folder import RunFolder

# What says all there is to say in one line.
_EXPECTED = (CheckpointError, DataError, EngineError, RunFolderError, SettingError)
_ENGINE_MODULES = {
    "fused": "f3ast_tff.engines.jax.engine",
    "tff": "f3ast_tff.engines.tff.engine",
}
# A campaign killed a moment ago may still be letting go of the folder.
_PATIENCE_S = 30.0


class _NoProgress:
    """The campaign reads how far a run is from its checkpoints."""

    def start(self, first_round: int) -> None:
        """See `f3ast_tff.training.run.Progress`."""

    def advance(self, rounds: int, row: Row | None) -> None:
        """See `f3ast_tff.training.run.Progress`."""


def load_framework(settings: Settings) -> None:
    """Imports what a run needs; the second run in a process finds it there."""
    prepare_environment(settings, os.environ)
    importlib.import_module("f3ast_tff.configuration.build")
    importlib.import_module(_ENGINE_MODULES[settings.engine])


def run_isolated(settings: Settings, provenance: Mapping[str, Any], worker: str) -> Outcome:
    """Runs one experiment, or goes on with it; a finished one is left alone.

    Args:
        settings: Resolved settings.
        provenance: See `f3ast_tff.configuration.execute.execute`.
        worker: Name of this process, for the outcome.

    Returns:
        How it ended: every exception is a failed run, its traceback in the run's `error.txt`.
    """
    started, clock = now(), time.monotonic()
    path = Path(settings.output_dir) / settings.run_name
    error = None
    try:
        with closing(_open(path, settings)) as folder, _warnings_into(folder.file("run.log")):
            folder.file("error.txt").unlink(missing_ok=True)
            try:
                if folder.read_json("summary.json") is None:
                    execute(settings, folder, _NoProgress(), provenance)
            except Exception as caught:  # One run's failure, whatever it is, must not end others.
                error = _in_one_line(caught)
                folder.file("error.txt").write_text(traceback.format_exc())
    except (RunFolderError, OSError) as caught:  # No folder, or no more room in it.
        error = error or _in_one_line(caught)
    _forget_programs()
    seconds = time.monotonic() - clock
    return Outcome(FAILED if error else FINISHED, error, started, now(), seconds, worker)


def _open(path: Path, settings: Settings) -> RunFolder:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return RunFolder(path, settings.identity)
        except RunFolderError as error:
            in_use = isinstance(error.__cause__, BlockingIOError)
            if not in_use or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def _forget_programs() -> None:
    """Lets go of what a run leaves behind, so that a process does not grow from run to run."""
    # Engines hold data and programs in cycles of references.
    gc.collect()
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@contextmanager
def _warnings_into(path: Path) -> Iterator[None]:
    handler = logging.FileHandler(path, delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s: %(message)s"))
    logger = logging.getLogger()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, _EXPECTED):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
