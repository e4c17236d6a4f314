"""A run whose folder has begun before: with which data, which versions, and what is added to it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from f3ast_tff.core.errors import RunFolderError
from f3ast_tff.records.metrics import USERS
from f3ast_tff.records.outputs import masks_file, not_added, record_masks
from f3ast_tff.records.provenance import cores, versions_of, versions_said
from f3ast_tff.records.results import read_summary, without_seal
from f3ast_tff.records.run_folder import ADVICE, RunFolder, is_without_rounds
from f3ast_tff.run.extension import extend_run
from f3ast_tff.settings.configuration import Configuration

_LOG = logging.getLogger(__name__)


def goes_on(
    folder: RunFolder,
    before: Mapping[str, Any],
    configuration: Configuration,
    *,
    origin: Mapping[str, Any],
    data_sha256: str | None,
) -> bool:
    """Checks a run that has begun, makes it longer if asked, and notes other versions and cores.

    Args:
        folder: The run's folder.
        before: Its `config.json`.
        configuration: The run as it is asked for now.
        origin: Versions and commit of this process.
        data_sha256: Digest of the data.

    Returns:
        Whether the run goes on; a run without a round begins anew if its data are others.

    Raises:
        CheckpointError: See `extend_run`.
        RunFolderError: If the run began with other data, or cannot be made longer.
    """
    other_data = before.get("data_sha256", data_sha256) != data_sha256
    if other_data and is_without_rounds(folder.path):
        return False
    refuse_other_data(folder, configuration, data_sha256)
    if before["identity"]["rounds"] != configuration.settings.training.rounds:
        extend_run(folder, configuration.identity)
    _note_changes(folder, origin)
    return True


def finished_again(
    folder: RunFolder, configuration: Configuration, summary: Mapping[str, Any]
) -> list[str]:
    """Checks a finished run that is asked for again, and adds what it lacks: see `add_outputs`.

    Raises:
        RunFolderError: If an older version has left small clients without a test example.
    """
    if USERS[0] not in summary and configuration.configs["task"].draws_test:
        from f3ast_tff.run.build import Builder

        refuse_other_data(folder, configuration, Builder(configuration).data.sha256())
    return add_outputs(folder, configuration)


def add_outputs(folder: RunFolder, configuration: Configuration) -> list[str]:
    """Adds missing masks to a finished run, and removes surplus checkpoints.

    Returns:
        The outputs that cannot be added, see `not_added`.

    Raises:
        DataError: If masks depend on the data, and a data file is missing or damaged.
        ParameterError: If the data contradicts a setting.
        RunFolderError: If the data have changed since the run.
    """
    config = folder.config() or {}
    masks = masks_file(folder.path, configuration.settings.run.write_masks)
    if masks is not None and not masks.exists():
        from f3ast_tff.run.build import Builder

        parts = Builder(configuration)
        refuse_other_data(folder, configuration, parts.data.sha256())
        world = parts.world
        record_masks(
            masks,
            availability=world.availability,
            rounds=configuration.settings.training.rounds,
            num_clients=world.num_clients,
        )
        folder.seal(without_seal(read_summary(folder.path) or {}))
    left_out = not_added(folder.path, configuration, config.get("settings", {}))
    folder.checkpoints.keep(configuration.settings.run.keep_checkpoints)
    return left_out


def refuse_other_data(
    folder: RunFolder, configuration: Configuration, data_sha256: str | None
) -> None:
    """Refuses a run in a folder that began with data of another digest.

    Raises:
        RunFolderError: If the digest is another one; says where the data are from.
    """
    before = folder.config() or {}
    if before.get("data_sha256", data_sha256) == data_sha256:
        return
    place = configuration.settings.data_dir
    where = f"the files in {place}" if place else f"task {configuration.settings.task}"
    drawn = ", or who has a test example" if configuration.configs["task"].draws_test else ""
    raise RunFolderError(
        f"{folder.path} holds a run on other data: the data of {where} have changed{drawn}"
        f"{versions_said(before)}. {ADVICE}"
    )


def _note_changes(folder: RunFolder, origin: Mapping[str, Any]) -> None:
    """Keeps, and says, other versions or another number of cores than a run began with."""
    before = folder.config() or {}
    content = {**before}
    here = cores()
    known = before.get("cores") or [here]
    if here not in known:
        _LOG.warning(
            "the number of cores was %s and is now %d: weights may differ in the last digits (some "
            "1e-6) from those of a run on one number of cores",
            known[0],
            here,
        )
        content["cores"] = [*known, here]
    earlier = [before, *before.get("continued_with", [])]
    now = {name: origin[name] for name in ("python", "packages", "git_commit") if name in origin}
    if versions_of(now) not in [versions_of(each) for each in earlier]:
        first, last = versions_of(before), versions_of(now)
        changed = [f"{n} {first.get(n)} to {v}" for n, v in last.items() if first.get(n) != v]
        _LOG.warning(
            "versions differ from those that the run began with (%s): its results need not be "
            "those of a run on one of them",
            ", ".join(changed),
        )
        content["continued_with"] = [*before.get("continued_with", []), now]
    if content != before:
        folder.write_json("config.json", content)
