"""Runs one experiment in a worker process; a failure of the run does not spread."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import platform
import sys
import time
import traceback
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.runs import FAILED, FINISHED, Outcome, now
from f3ast_tff.core.errors import (
    EXPECTED,
    ComponentError,
    Interrupted,
    ParameterError,
    RunFolderError,
)
from f3ast_tff.files.messages import one_line, one_line_of
from f3ast_tff.files.signals import Stop
from f3ast_tff.records.results import ERROR_FILE
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings import Registry
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve

COMPILED = ".compiled"
# Time to wait for a folder that a recently killed campaign may still hold.
_PATIENCE_S = 30.0
# Compositions whose programs a process keeps in JAX's caches before it empties them.
_MAX_COMPOSITIONS = 8


def keep_compiled_programs(campaign: Path, environment: MutableMapping[str, str]) -> None:
    """Makes JAX keep its programs on disk, as most runs of a campaign compile the same programs.

    Call it before importing JAX; existing entries of `environment` stay. The folder belongs to this
    process only: JAX writes entries in place, so another process could read half an entry, and
    programs are made for this machine's processor. The campaign removes `COMPILED` at its start and
    end.
    """
    own = campaign.absolute() / COMPILED / f"{platform.node()}-{os.getpid()}"
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(own))
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def run_order(
    order: Mapping[str, Any], provenance: Mapping[str, Any], worker: str, stop: Stop | None = None
) -> Outcome:
    """Resolves a `PlannedRun.order`, planned by another process, and runs it isolated.

    Raises:
        Interrupted: If `stop` was requested.
    """
    try:
        configuration = resolve_order(order)
    except (ComponentError, ParameterError) as error:
        return Outcome(FAILED, _in_one_line(error), now(), now(), 0.0, worker)
    load_framework(configuration)
    return run_isolated(configuration, provenance, worker, stop)


def resolve_order(order: Mapping[str, Any]) -> Configuration:
    """Resolves a `PlannedRun.order`, planned by another process.

    Raises:
        ComponentError: If a plug-in or an input file has changed since.
        ParameterError: If it can no longer be resolved.
    """
    configuration = resolve(order["settings"], _registry(tuple(order["plugins"])))
    if configuration.identity != order["identity"]:
        raise ComponentError("a plug-in or an input file has changed since the campaign began")
    return configuration


@lru_cache
def _registry(plugins: tuple[str, ...]) -> Registry:
    return registry_with(plugins)


def load_framework(configuration: Configuration) -> None:
    """Imports the modules of a run once per process."""
    engine = configuration.configs["engine"]
    engine.prepare_environment(os.environ)
    importlib.import_module("f3ast_tff.run.build")
    if engine.framework:
        importlib.import_module(engine.framework)


def run_isolated(
    configuration: Configuration,
    provenance: Mapping[str, Any],
    worker: str,
    stop: Stop | None = None,
) -> Outcome:
    """Runs or resumes one experiment; to a finished one only outputs are added (`add_outputs`).

    Returns:
        The outcome. Every exception is a failed run, with its traceback in the run's `error.txt`.

    Raises:
        Interrupted: If `stop`, polled between rounds, was requested; the run has a checkpoint.
    """
    started, clock = now(), time.monotonic()
    trace = configuration.folder / ERROR_FILE
    error = None
    try:
        # The campaign reads a run's progress from its checkpoints.
        run_experiment(
            configuration,
            configuration.folder,
            origin=provenance,
            stop=stop,
            patience_s=_PATIENCE_S,
        )
        trace.unlink(missing_ok=True)
    except Interrupted:
        raise
    except RunFolderError as caught:
        error = _in_one_line(caught)
    except Exception as caught:  # A failed run must not end other runs.
        error = _in_one_line(caught)
        with contextlib.suppress(OSError):
            trace.parent.mkdir(parents=True, exist_ok=True)
            trace.write_bytes(traceback.format_exc().encode("utf-8", "backslashreplace"))
    _forget_programs()
    seconds = time.monotonic() - clock
    return Outcome(FAILED if error else FINISHED, error, started, now(), seconds, worker)


def _forget_programs() -> None:
    """Frees leftovers of runs, so that the process does not grow."""
    # Engines hold data and programs in reference cycles.
    gc.collect()
    programs = sys.modules.get("f3ast_tff.engines.jax.programs")
    if programs is None:
        return
    made = programs.latest_programs.cache_info().misses
    if not 0 < made < _MAX_COMPOSITIONS:
        programs.latest_programs.cache_clear()
        sys.modules["jax"].clear_caches()


def _in_one_line(error: Exception) -> str:
    return one_line(error) if isinstance(error, EXPECTED) else one_line_of(error)
