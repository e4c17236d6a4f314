"""A run read back from its folder: `load_run`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.core.errors import CheckpointError, RunFolderError
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.records.metrics import shown_scores
from f3ast_tff.records.outputs import read_client_scores
from f3ast_tff.records.results import (
    DamagedResult,
    check_results,
    read_metrics,
    read_selection,
    read_summary,
    without_seal,
)
from f3ast_tff.records.run_folder import read_config, run_id_of

if TYPE_CHECKING:
    import pandas as pd

    from f3ast_tff.run.trained_model import TrainedModel


@dataclass(frozen=True, eq=False, repr=False)
class SavedRun:
    """A run, finished or not, read from its folder.

    Attributes:
        folder: Folder of the run.
        settings: Every resolved setting by name.
        metrics: Metrics with a row per evaluation and the columns of `metrics.csv`.
        selection: The content of `selection.npz`. For an unfinished run, the part in its last
            checkpoint, without `p` and `final_*`; empty without a checkpoint.
        weights: Weights of the scored model at the last checkpoint, in the order of
            `simulate(...).weights`; `None` without a checkpoint.
        weights_round: Round of that checkpoint; 0 without one.
        summary: Content of `summary.json` without its checksums; `None` when the run is
            unfinished.
        config: Content of `config.json`.
        client_scores: Scores of all C test clients by evaluated round: `accuracy` and `loss`,
            `float64 [C]`, and `count`, `int64 [C]`; empty without `--client_scores`.

    Examples:
        >>> import tempfile
        >>> from f3ast_tff import load_run, simulate
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = simulate(algorithm="f3ast", rounds=2, folder=folder)
        ...     run = load_run(folder)
        >>> run.weights_round, [weight.shape for weight in run.weights]
        (2, [(60, 10), (10,)])
    """

    folder: Path
    settings: Mapping[str, Any]
    metrics: pd.DataFrame
    selection: Mapping[str, np.ndarray]
    weights: list[np.ndarray] | None
    weights_round: int
    summary: Mapping[str, Any] | None
    client_scores: Mapping[int, Mapping[str, np.ndarray]]
    config: Mapping[str, Any]

    def __repr__(self) -> str:
        """The run in a line: folder, task, method, rounds and last scores."""
        names = ("task", "algorithm", "availability")
        said = [str(self.folder), *(f"{name} {self.settings.get(name)}" for name in names)]
        done, rounds = 0, self.settings.get("rounds")
        if len(self.metrics):
            last = self.metrics.iloc[-1]
            done = int(last["round"])
            scores = shown_scores(dict(last))
            said += [f"{n.replace('_', ' ')} {last[f'test_{n}']:.4f}" for n in scores]
        state = f"rounds {rounds}" if self.summary else f"rounds {done} of {rounds}, unfinished"
        return f"<SavedRun: {', '.join([*said, state])}>"

    @property
    def trained(self) -> TrainedModel:
        """The model with `weights`.

        Raises:
            RunFolderError: If there is no checkpoint, the model was given as an object, or clients
                keep private leaves.
        """
        from f3ast_tff.run.trained_model import saved_model

        if self.weights is None:
            raise RunFolderError(f"{self.folder} has no checkpoint, hence no weights")
        return saved_model(self.folder, self.config, self.weights)


def load_run(folder: str | os.PathLike[str]) -> SavedRun:
    """Reads a run's folder.

    Args:
        folder: Folder of `f3ast-tff run` or `simulate(folder=...)`.

    Raises:
        RunFolderError: If the folder holds no run, or a damaged file; names the file.

    Examples:
        >>> import tempfile
        >>> from f3ast_tff import load_run, simulate
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = simulate(algorithm="f3ast", rounds=2, folder=folder)
        ...     run = load_run(folder)
        >>> run.settings["clients_per_round"], run.selection["selected"].shape
        (10, (2, 10))
    """
    path = Path(os.path.expanduser(folder))
    config = read_config(path)
    if config is None:
        raise RunFolderError(f"{path} holds no run: it has no config.json")
    settings, identity = config["settings"], config.get("identity")
    if not isinstance(identity, dict):
        raise RunFolderError(f"{path / 'config.json'} is not of a run: it has no identity")
    try:
        summary = read_summary(path)
        if summary is not None:
            check_results(path, summary)
        checkpoint = _newest(path, identity)
        selection = _selection(path, summary, checkpoint)
        metrics = _metrics(path / "metrics.csv", summary is not None)
        scores = read_client_scores(path)
    except (CheckpointError, DamagedResult, OSError, ValueError) as error:
        raise RunFolderError(f"{path}: {' '.join(str(error).split())}") from error
    weights, number = (
        (None, 0) if checkpoint is None else (_weights(checkpoint), checkpoint.round_number)
    )
    known = None if summary is None else without_seal(summary)
    return SavedRun(
        folder=path,
        settings=settings,
        metrics=metrics,
        selection=selection,
        weights=weights,
        weights_round=number,
        summary=known,
        client_scores=scores,
        config=config,
    )


def saved_weights(path: Path) -> list[np.ndarray] | None:
    """Returns the scored model at a run's last checkpoint; `None` without a checkpoint.

    Raises:
        RunFolderError: If the folder holds no run, or no sound checkpoint.
    """
    config = read_config(path)
    identity = None if config is None else config.get("identity")
    if not isinstance(identity, dict):
        raise RunFolderError(f"{path} holds no run: it has no config.json of a run")
    try:
        checkpoint = _newest(path, identity)
    except CheckpointError as error:
        raise RunFolderError(f"{path}: {' '.join(str(error).split())}") from error
    return None if checkpoint is None else _weights(checkpoint)


def _newest(path: Path, identity: Mapping[str, Any]) -> Checkpoint | None:
    checkpoints = path / "checkpoints"
    if not checkpoints.is_dir():
        return None
    return CheckpointStore(checkpoints, run_id_of(json.loads(json.dumps(identity)))).load_newest()


def _metrics(table: Path, finished: bool) -> pd.DataFrame:
    if not finished and not table.exists():
        import pandas as pd

        return pd.DataFrame()
    return read_metrics(table)


def _selection(
    path: Path, summary: Mapping[str, Any] | None, checkpoint: Checkpoint | None
) -> dict[str, np.ndarray]:
    if summary is not None:
        return read_selection(path, summary)
    return {} if checkpoint is None else {**checkpoint.part("history"), **checkpoint.part("rates")}


def _weights(checkpoint: Checkpoint) -> list[np.ndarray] | None:
    """The scored model: the part `scored`, or the first arrays of every engine's state, w."""
    scored = checkpoint.part("scored")
    if scored:
        return [scored[name] for name in sorted(scored)]
    state, number = checkpoint.part("engine"), checkpoint.meta.get("num_weights")
    names = sorted(state)
    return None if number is None else [state[name] for name in names[:number]]
