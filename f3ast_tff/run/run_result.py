"""Result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from f3ast_tff.models import Model
    from f3ast_tff.run.trained_model import TrainedModel


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Attributes:
        summary: Content of `summary.json` without its checksums.
        rows: Metrics of the evaluated rounds.
        selection: Content of `selection.npz`: `SelectionHistory.arrays`, `RateTrace.arrays`, `p`
            (client shares, `float64 [N]`), and the strategy's last state, names prefixed by
            `final_`.
        finished_before: Whether the run had finished before, so that no round was executed.
        not_added: Requested outputs that cannot be added to a finished run, see `add_outputs`.
        trained: The trained model, if asked for.
        model: The network, if asked for.
        scoring: `Scoring.describe()`, if asked for the model and it brings a loss or scores.
    """

    summary: Mapping[str, Any]
    rows: Sequence[Mapping[str, float]] = ()
    selection: Mapping[str, np.ndarray] = field(default_factory=dict)
    finished_before: bool = False
    not_added: Sequence[str] = ()
    trained: TrainedModel | None = None
    model: Model | None = None
    scoring: Mapping[str, Any] | None = None
