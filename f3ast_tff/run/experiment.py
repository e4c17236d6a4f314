"""All parts of an experiment, as the round loop takes them, and how they play a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from f3ast_tff.availability.round_clients import Availability, available_clients
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.delivery import Certain, Delivery
from f3ast_tff.engines.engine import Engine
from f3ast_tff.methods.parts.strategy import Losses, Round, Strategy
from f3ast_tff.models import Model
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.metrics import SCORES
from f3ast_tff.run.delivering import Payload, deliver
from f3ast_tff.run.selecting import Constraint, constraint_of, select_clients
from f3ast_tff.settings.groups import RunConfig, TrainingConfig

if TYPE_CHECKING:
    from f3ast_tff.run.further_score import FurtherScore
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
        trained: Function from the engine to its model for use.
        model: The network of which the engine trains all leaves, or some.
        whole: Function from the engine's weights to those of all leaves.
        delivery: Decides which updates arrive.
        payload: Bytes that a client receives and sends.
        p: Client shares p_k, `float64 [N]`, for the run's files; `None` leaves them out.
        client_names: Name of each client, for the run's files; `None` if clients are numbers.
        of_clients: Facts about the clients, each `[N]`, for the run's files.
        test_client_names: Name of each test client, for the files of `client_scores`.
        data_sha256: `FederatedData.sha256` of the data, for the run's files; `None` for no files.
        score_names: Names of the scores, see `ClientScores.sums`.
        further_score: Further scores, if the run has any.
        scored_clients: Number of clients that user scores are over, and that they should cover, see
            `FederatedData.scored_clients`; `None` leaves both out of the run's files.
        data: The data, for what clients hold whose updates are left out; `None` leaves it out.
        staleness_weight: Factor of late updates' weights, see `staleness_weight`; `None` if no
            update is late.
        is_asynchronous: Whether rounds end when updates arrive, see `Asynchronous`.
    """

    availability: Availability
    constraint: Constraint
    strategy: Strategy
    engine: Engine
    training: TrainingConfig
    run: RunConfig
    num_clients: int
    trained: Callable[[Engine], TrainedModel]
    model: Model | None = None
    whole: Callable[[list[np.ndarray]], list[np.ndarray]] = list
    delivery: Delivery = field(default_factory=Certain)
    payload: Payload = Payload()
    p: np.ndarray | None = None
    client_names: np.ndarray | None = None
    of_clients: Mapping[str, np.ndarray] = field(default_factory=dict)
    test_client_names: np.ndarray | None = None
    data_sha256: str | None = None
    score_names: tuple[str, ...] = SCORES
    further_score: FurtherScore | None = None
    scored_clients: tuple[int, int] | None = None
    data: FederatedData | None = None
    staleness_weight: str | None = None
    is_asynchronous: bool = False


# Losses in round t, which adds the ids of the clients asked to a list.
AskLosses = Callable[[int, list[np.ndarray]], Losses]


class ByRound(ABC):
    """Updates between rounds, if a round selects clients once."""

    is_late: ClassVar[bool]

    def plan(self, parts: Experiment, t: int, losses: AskLosses) -> RoundDelivery:
        """Selects the clients of round t and determines which updates arrive."""
        mask = available_clients(parts.availability, parts.num_clients, t)
        scored: list[np.ndarray] = []
        constraint = constraint_of(parts.constraint, t)
        now = Round(t, self.free(mask, t), constraint, losses(t, scored))
        ids = select_clients(parts.strategy, now)
        return self.deliver(
            parts.delivery,
            parts.strategy,
            parts.payload,
            now=now,
            ids=ids,
            scored=scored,
            num_available=int(np.count_nonzero(mask)),
        )

    @abstractmethod
    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients that may be asked, `bool [N]`."""

    @abstractmethod
    def deliver(
        self,
        delivery: Delivery,
        strategy: Strategy,
        payload: Payload,
        now: Round,
        ids: np.ndarray,
        scored: Sequence[np.ndarray],
        num_available: int,
    ) -> RoundDelivery:
        """See the function `deliver`."""


class InTime(ByRound):
    """Delivery within the round: nothing is on its way between rounds."""

    is_late: ClassVar[bool] = False
    deliver = staticmethod(deliver)

    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients, `bool [N]`."""
        return available

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint: none."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
