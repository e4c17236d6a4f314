"""Files that a run writes on request: masks and client scores."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.availability.round_clients import Availability, available_clients
from f3ast_tff.delivery.delivery import RememberedMasks
from f3ast_tff.engines.engine import ClientScores
from f3ast_tff.files.array_files import load_npz, write_npz
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.records.results import CLIENT_SCORES, read_metrics
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.groups import RunConfig
from f3ast_tff.settings.logger_names import listed

_LOG = logging.getLogger(__name__)
_ROUND = re.compile("[0-9]{8,18}")


def masks_file(run_folder: Path, form: str) -> Path | None:
    """Returns the file that `--write_masks` asks for; `None` for the form `"none"`."""
    return None if form == "none" else run_folder / f"masks.{form}"


def record_masks(path: Path, availability: Availability, rounds: int, num_clients: int) -> None:
    """Writes the available clients of rounds 1 .. T to a path of `masks_file`."""
    from f3ast_tff.availability.logs.mask_files import write_masks

    write_masks(path, _masks(availability, rounds, num_clients), (rounds, num_clients))


def masks_there(run_folder: Path) -> list[Path]:
    """Returns the files of masks that a run has, of any form."""
    return [
        path for form in ("csv", "npy", "npz") if (path := run_folder / f"masks.{form}").exists()
    ]


def complete_masks(
    run_folder: Path,
    form: str,
    *,
    only_missing: bool,
    availability: Availability,
    rounds: int,
    num_clients: int,
) -> bool:
    """Writes the masks of a finished run: of the form asked for, and of any form that is there.

    Returns:
        Whether any were written; with `only_missing` only those that are not there.
    """
    there = masks_there(run_folder)
    asked = masks_file(run_folder, form)
    missing = [asked] if asked is not None and asked not in there else []
    for path in (wanted := missing if only_missing else [*there, *missing]):
        record_masks(path, availability, rounds, num_clients)
    return bool(wanted)


def _masks(availability: Availability, rounds: int, num_clients: int) -> Iterator[np.ndarray]:
    """Yields the masks without keeping them."""
    for t in range(1, rounds + 1):
        yield available_clients(availability, num_clients, t)
        if isinstance(availability, RememberedMasks):
            availability.forget_before(t + 1)


def write_client_scores(run_folder: Path, round_number: int, scores: ClientScores) -> Path:
    """Writes `client_scores/round_<t>.npz`, the scores of all C test clients.

    The file holds `accuracy` (if labels are classes), `loss` and a model's own scores, means over a
    client's labels, `float64 [C]`, NaN for a client without any, and `count`, `int64 [C]`.
    """
    path = scores_file(run_folder, round_number)
    path.parent.mkdir(exist_ok=True)
    has = scores.count > 0
    means = {}
    for name, sums in scores.sums.items():
        means[name] = np.divide(sums, scores.count, out=np.full(len(sums), np.nan), where=has)
    with atomic_write(path, "wb") as file:
        write_npz(file, {"count": scores.count.astype(np.int64), **means}, compressed=True)
    return path


def scores_file(run_folder: Path, round_number: int) -> Path:
    """Returns the file of an evaluated round."""
    return run_folder / CLIENT_SCORES / f"round_{round_number:08d}.npz"


def read_client_scores(run_folder: Path) -> dict[int, dict[str, np.ndarray]]:
    """Returns the arrays of `write_client_scores` by round; empty without any.

    A file of a round that `metrics.csv` does not have, which no run writes, is left out with a
    warning.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If a file is damaged; names it.
    """
    found: dict[int, dict[str, np.ndarray]] = {}
    paths = sorted((run_folder / CLIENT_SCORES).glob("round_*.npz"))
    metrics = run_folder / "metrics.csv"
    # A killed run may have scores, and no metrics yet.
    evaluated = {*read_metrics(metrics)["round"].tolist()} if metrics.exists() else set()
    for path in paths:
        number = path.stem.partition("_")[2]
        name = path.relative_to(run_folder)
        if not _ROUND.fullmatch(number) or int(number) not in evaluated:
            _LOG.warning("%s: %s is left out: the round was not evaluated", run_folder, name)
            continue
        try:
            found[int(number)] = load_npz(path)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def lacks_outputs(path: Path, run: RunConfig) -> bool:
    """Returns whether `add_outputs` changes the finished run in a folder."""
    masks = masks_file(path, run.write_masks)
    surplus = _num_checkpoints(path) > run.keep_checkpoints
    return surplus or (masks is not None and not masks.exists())


def not_added(path: Path, configuration: Configuration, recorded: Mapping[str, Any]) -> list[str]:
    """Returns the outputs that are asked for but cannot be added to a finished run.

    `recorded` are the settings in its `config.json`, from its first start. The outputs are flags
    without dashes, such as `"logger=tensorboard"`.
    """
    before, run = {**configuration.settings, **recorded}, configuration.settings.run
    found = []
    if run.client_scores and not scores_file(path, configuration.settings.training.rounds).exists():
        found.append("client_scores")
    known = ("csv", *listed(before["logger"]))
    found += [f"logger={name}" for name in listed(run.logger) if name not in known]
    wanted = run.keep_checkpoints
    if wanted > max(_num_checkpoints(path), before["keep_checkpoints"]):
        found.append(f"keep_checkpoints={wanted}")
    return found


def _num_checkpoints(path: Path) -> int:
    return len(list((path / "checkpoints").glob("round_*.npz")))
