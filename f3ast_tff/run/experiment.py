"""All parts of an experiment, as the round loop takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.availability.round_clients import Availability
from f3ast_tff.delivery import Certain, Delivery
from f3ast_tff.engines.engine import Engine
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.models import Model
from f3ast_tff.records.metrics import SCORES
from f3ast_tff.run.delivering import Payload
from f3ast_tff.run.selecting import Constraint
from f3ast_tff.settings.groups import RunConfig, TrainingConfig

if TYPE_CHECKING:
    from f3ast_tff.run.trained_model import TrainedModel


@dataclass(frozen=True)
class Experiment:
    """All parts of an experiment.

    Attributes:
        availability: Process of the available clients.
        constraint: Constraint on the clients that may take part.
        strategy: Selects clients and weighs their updates.
        engine: Executes the rounds.
        training: Settings of local training, with the number of rounds T.
        run: Settings of evaluations, checkpoints and files. The last round is always evaluated and
            always gets a checkpoint.
        num_clients: Number of clients N.
        trained: Function from weights to the model for use.
        model: The network that the engine trains.
        delivery: Decides which updates arrive.
        payload: Bytes that a client receives and sends.
        p: Client shares p_k, `float64 [N]`, for the run's files; `None` leaves them out.
        client_names: Name of each client, for the run's files; `None` if clients are numbers.
        test_client_names: Name of each test client, for the files of `client_scores`.
        data_sha256: `FederatedData.sha256` of the data, for the run's files; `None` for no files.
        score_names: Names of the scores, see `ClientScores.sums`.
        staleness_weight: Factor of late updates' weights, see `staleness_weight`; `None` if no
            update is late.
    """

    availability: Availability
    constraint: Constraint
    strategy: Strategy
    engine: Engine
    training: TrainingConfig
    run: RunConfig
    num_clients: int
    trained: Callable[[Sequence[np.ndarray]], TrainedModel]
    model: Model | None = None
    delivery: Delivery = field(default_factory=Certain)
    payload: Payload = Payload()
    p: np.ndarray | None = None
    client_names: np.ndarray | None = None
    test_client_names: np.ndarray | None = None
    data_sha256: str | None = None
    score_names: tuple[str, ...] = SCORES
    staleness_weight: str | None = None
