"""What a finished run is asked for beyond what it has, and can get without training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from f3ast_tff.errors import RunFolderError
from f3ast_tff.training.client_scores import scores_file
from f3ast_tff.training.masks import masks_file, record_masks
from f3ast_tff.training.run_files import RunFiles
from f3ast_tff.training.run_folder import RunFolder

if TYPE_CHECKING:
    from f3ast_tff.configuration.configuration import Configuration


def lacks_outputs(path: Path, settings: Mapping[str, Any]) -> bool:
    """Returns whether `add_outputs` has anything to do for the finished run in a folder."""
    masks = masks_file(path, settings["write_masks"])
    surplus = _num_checkpoints(path) > settings["keep_checkpoints"]
    return surplus or (masks is not None and not masks.exists())


def add_outputs(folder: RunFolder, configuration: Configuration) -> None:
    """Gives a finished run the masks that it lacks, and removes checkpoints that are too many.

    Args:
        folder: The run's folder.
        configuration: The run, with the outputs that are wanted now.

    Raises:
        DataError: If masks follow from data, and a data file is missing or damaged.
        ParameterError: If the data contradicts a setting.
        RunFolderError: If the data are no longer those of the run.
    """
    settings = configuration.settings
    masks = masks_file(folder.path, settings["write_masks"])
    if masks is not None and not masks.exists():
        # Here, as it imports all components.
        from f3ast_tff.configuration.build import build_data, build_model, build_world

        data = build_data(configuration)
        found = data.sha256()
        if (folder.config() or {}).get("data_sha256", found) != found:
            raise RunFolderError(
                f"{folder.path} holds a run on other data: the data of task {settings['task']} "
                f"have changed, and {masks.name} would not be who was available"
            )
        world = build_world(configuration, data, build_model(configuration, data))
        record_masks(masks, world.availability, settings["rounds"], world.num_clients)
    RunFiles(folder).keep(settings["keep_checkpoints"])


def not_added(path: Path, settings: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    """Returns the outputs that a finished run is asked for and does not get any more.

    Args:
        path: The run's folder.
        settings: The run's, with the outputs that are wanted now.
        recorded: Those of its `config.json`, from its first start.

    Returns:
        Each as its flag without dashes, such as `"logger=wandb"`.
    """
    before = {**settings, **recorded}
    found = []
    if settings["client_scores"] and not scores_file(path, settings["rounds"]).exists():
        found.append("client_scores")
    known = ("csv", *_loggers(before["logger"]))
    found += [f"logger={name}" for name in _loggers(settings["logger"]) if name not in known]
    wanted = settings["keep_checkpoints"]
    if wanted > max(_num_checkpoints(path), before["keep_checkpoints"]):
        found.append(f"keep_checkpoints={wanted}")
    return found


def _loggers(text: str) -> list[str]:
    """The names in a setting `logger`; unlike `logger_names`, whatever is installed here."""
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def _num_checkpoints(path: Path) -> int:
    return len(list((path / "checkpoints").glob("round_*.npz")))
