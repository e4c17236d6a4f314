"""A run stays on the engine that it began on, if none is asked for."""

from __future__ import annotations

import logging
from pathlib import Path

from f3ast_tff.records.run_folder import is_without_rounds, read_config
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

_LOG = logging.getLogger("f3ast_tff.run")


def as_begun(configuration: Configuration, folder: Path) -> Configuration:
    """Returns the configuration on the engine of the run in a folder, if it has done rounds.

    The default engine changes when JAX is installed or removed. If `engine` was given, the
    configuration stays as it is, and so it does if the folder's engine is unknown here.

    Raises:
        ParameterError: If a given setting does not apply to that engine.
        RunFolderError: If the folder's `config.json` cannot be read.
    """
    if "engine" in configuration.given or is_without_rounds(folder):
        return configuration
    begun = (read_config(folder) or {"settings": {}})["settings"].get("engine")
    known = configuration.registry.names("engine")
    if begun == configuration.settings.engine or begun not in known:
        return configuration
    settings = configuration.settings
    given = {name: settings[name] for name in configuration.given}
    where = {name: settings[name] for name in ("output_dir", "run_name")}
    return resolve({**given, **where, "engine": begun}, configuration.registry)


def say_engine(configuration: Configuration) -> None:
    """Logs the engine of a run, and whether it was chosen by default."""
    how = "as given" if "engine" in configuration.given else "by default (auto)"
    _LOG.info("engine %s, %s", configuration.settings.engine, how)
