"""A run that has begun before: its engine and data, what is added to it, how it is made longer."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import CheckpointError, RunFolderError
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.records.history import traced_rounds
from f3ast_tff.records.metrics import USERS
from f3ast_tff.records.outputs import masks_file, not_added, record_masks, scores_file
from f3ast_tff.records.provenance import cores, versions_of, versions_said
from f3ast_tff.records.results import (
    CLIENT_SCORES,
    SUMMARY,
    first_lost_scores,
    read_summary,
    without_seal,
)
from f3ast_tff.records.run_folder import (
    ADVICE,
    RunFolder,
    has_checkpoint,
    is_without_rounds,
    read_config,
    run_id_of,
)
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

_LOG = logging.getLogger(__name__)


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


def shorter_run(
    path: Path, configuration: Configuration, advice: str = ADVICE
) -> dict[str, Any] | None:
    """Returns the identity of the run in a folder, if it is the given run with fewer rounds.

    Args:
        path: The run's folder, which need not exist.
        configuration: The run with its new number of rounds.
        advice: The end of an error.

    Raises:
        RunFolderError: If the folder holds the given run with more rounds, or the run cannot be
            made longer exactly; says why. `RunFolder` reports other differences.
    """
    now = json.loads(json.dumps(configuration.identity))
    # Without a round there is nothing to make longer.
    before = None if is_without_rounds(path) else (read_config(path) or {}).get("identity")
    if not isinstance(before, dict) or not isinstance(before.get("rounds"), int):
        return None
    rounds, wanted = before["rounds"], now["rounds"]
    if rounds == wanted or {**before, "rounds": wanted} != now:
        return None
    if rounds > wanted:
        raise _refused(path, rounds, wanted, "a run can only be made longer", advice)
    reason = _why_not(configuration)
    if reason:
        raise _refused(path, rounds, wanted, f"cannot be made longer, {reason}", advice)
    if not has_checkpoint(path):
        kept = "cannot be made longer, as it has kept no checkpoint (keep_checkpoints)"
        raise _refused(path, rounds, wanted, kept, advice)
    return before


def _refused(
    path: Path, rounds: int, wanted: int, reason: str, advice: str = ADVICE
) -> RunFolderError:
    holds = f"{path} holds a run of {rounds} rounds, now {wanted}"
    return RunFolderError(f"{holds}: {reason}. {advice}")


def _why_not(configuration: Configuration) -> str:
    if configuration.plugins:
        names = ", ".join(plugin.name for plugin in configuration.plugins)
        return f"as plug-in {names} may depend on the number of rounds"
    algorithm = configuration.configs["algorithm"]
    if algorithm.depends_on_rounds(configuration.settings):
        name = configuration.settings.algorithm
        return f"as algorithm {name} looks at the rounds that follow the last"
    return ""


def extend_run(folder: RunFolder, identity: Mapping[str, Any]) -> None:
    """Makes the run in an open folder, of `shorter_run`, longer; `identity` is the longer run's.

    The last checkpoint stays, under the new number of rounds. If the last round was evaluated only
    because it was last, that evaluation is removed. So the longer run ends as if it had been
    started with the new number of rounds.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        RunFolderError: If there is no checkpoint to go on from; the run stays as it is.
    """
    path, content = folder.path, folder.config() or {}
    now = json.loads(json.dumps(identity))
    longer = CheckpointStore(folder.file("checkpoints"), run_id_of(now))
    lost = first_lost_scores(path)
    try:
        checkpoint = folder.checkpoints.load_newest(lost)
    except CheckpointError:
        # A killed extension leaves a checkpoint of the longer run.
        checkpoint = longer.load_newest(lost)
    rounds, every = content["identity"]["rounds"], now["eval_every"]
    if checkpoint is None and (path / SUMMARY).exists():
        where = "" if lost == math.inf else f" before round {lost}, whose client scores are lost"
        reason = f"cannot be made longer, as it has kept no checkpoint{where} (keep_checkpoints)"
        raise _refused(path, rounds, now["rounds"], reason)
    if checkpoint is not None:
        longer.save(_of_longer(checkpoint, rounds, now["rounds"], every, path))
    # Until the settings are written, the run is unfinished, with the old or the new checkpoint.
    (path / SUMMARY).unlink(missing_ok=True)
    (path / "selection.npz").unlink(missing_ok=True)
    if rounds % every:
        scores_file(path, rounds).unlink(missing_ok=True)
    content["settings"]["rounds"] = content["identity"]["rounds"] = now["rounds"]
    content["extended_from"] = [*content.get("extended_from", []), rounds]
    folder.write_json("config.json", content)
    folder.run_id = run_id_of(now)


def _of_longer(
    checkpoint: Checkpoint, rounds: int, wanted: int, every: int, path: Path
) -> Checkpoint:
    """The checkpoint that a run of `wanted` rounds would have written."""
    kept = [row for row in checkpoint.meta["rows"] if row["round"] % every == 0]
    arrays = dict(checkpoint.arrays)
    if "rates/rates" in arrays:
        noted = arrays["rates/rate_rounds"]
        stays = [t for t in traced_rounds(wanted, every) if t <= checkpoint.round_number]
        if not set(stays) <= set(noted.tolist()):
            others = "as its record of the rates is at other rounds than the longer run's"
            raise _refused(path, rounds, wanted, f"cannot be made longer, {others}")
        here = np.isin(noted, stays)
        arrays.update({name: arrays[name][here] for name in ("rates/rate_rounds", "rates/rates")})
    meta = {**checkpoint.meta, "rows": kept}
    if rounds % every:
        removed = scores_file(path, rounds).name
        digests = meta.get(CLIENT_SCORES, {})
        meta[CLIENT_SCORES] = {name: each for name, each in digests.items() if name != removed}
    return replace(checkpoint, arrays=arrays, meta=meta)
