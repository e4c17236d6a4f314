"""Makes a run longer, if no setting depends on the number of rounds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.core.errors import CheckpointError, RunFolderError
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.records.history import traced_rounds
from f3ast_tff.records.outputs import scores_file
from f3ast_tff.records.results import CLIENT_SCORES, SUMMARY, first_lost_scores
from f3ast_tff.records.run_folder import (
    ADVICE,
    RunFolder,
    has_checkpoint,
    is_without_rounds,
    read_config,
    run_id_of,
)

if TYPE_CHECKING:
    from f3ast_tff.settings.configuration import Configuration


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
