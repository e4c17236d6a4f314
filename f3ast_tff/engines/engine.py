"""What an engine is: it executes rounds and evaluates the model, and owns no randomness."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.settings.component import component_of

if TYPE_CHECKING:
    from f3ast_tff.core.preprocessing import Preprocessing
    from f3ast_tff.methods.parts.aggregation import Aggregation
    from f3ast_tff.models import Model
    from f3ast_tff.optimizers.optimizer import Optimizer


# What a client may report as its loss, see `client_loss`.
LOSS_REDUCTIONS = ("mean", "mean_squares", "one_batch", "met_in_training")


@dataclass(frozen=True)
class RoundOutcome:
    """What a round did.

    Attributes:
        train_loss: Mean loss of the batches that the cohort trained on, as it trained, each
            weighted by its examples; NaN if nobody did.
        update_norm: L2 norm of the aggregate Delta, before the server optimizer; 0 if the model
            was left alone.
        num_dropped: Clients whose update was not finite and was dropped.
        rejected: Whether the model was left alone: no update was finite, or their aggregate
            was not. Without clients a memory may still move it, and with clients leave it alone to
            note their updates, which is no rejection; see `Memory.steps`. What a memory does at the
            end of a round (`Memory.end_round`) does not count.
        client_losses: Mean loss of the batches that each client of the cohort trained on, weighted
            by their examples, in the order of the cohort, `float64 [m]`; NaN for a client without
            any step, or whose update was not finite. `None` unless asked for.
        received: Whether each client's update was finite, and so entered the aggregate,
            `bool [m]`; `None` unless asked for.
    """

    train_loss: float
    update_norm: float
    num_dropped: int = 0
    rejected: bool = False
    client_losses: np.ndarray | None = None
    received: np.ndarray | None = None


EMPTY_ROUND = RoundOutcome(train_loss=float("nan"), update_norm=0.0, rejected=True)


def empty_round(by_client: bool) -> RoundOutcome:
    """Returns the outcome of a round without clients, where there is no memory."""
    if not by_client:
        return EMPTY_ROUND
    return replace(EMPTY_ROUND, client_losses=np.zeros(0), received=np.zeros(0, bool))


@dataclass(frozen=True)
class ExampleScores:
    """Sums over the labels of each example that count, each `float64 [n]`.

    Attributes:
        loss: Loss.
        correct: Labels predicted right.
        count: Labels: 1, or fewer than its length in a padded sequence.
    """

    loss: np.ndarray
    correct: np.ndarray
    count: np.ndarray


@dataclass(frozen=True)
class ClientScores:
    """Sums over the labels of each client, from which all averages follow.

    Attributes:
        loss: Summed loss, `float64 [C]`.
        correct: Summed correct predictions, `float64 [C]`.
        count: Number of labels (examples; in sequences, characters), `float64 [C]`; clients
            without any do not count.
    """

    loss: np.ndarray
    correct: np.ndarray
    count: np.ndarray

    @classmethod
    def of_examples(cls, scores: ExampleScores, sizes: np.ndarray) -> ClientScores:
        """Sums scores of examples, one client after the other, by client."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return cls(
            loss=np.bincount(owner, scores.loss, len(sizes)),
            correct=np.bincount(owner, scores.correct, len(sizes)),
            count=np.bincount(owner, scores.count, len(sizes)),
        )

    def sample_mean(self, sums: np.ndarray) -> float:
        """Returns the average over labels of one of the sums above."""
        return float(sums.sum() / self.count.sum())

    def user_mean(self, sums: np.ndarray) -> float:
        """Returns the average over clients of the client's own average (App. D.7, arXiv)."""
        has = self.count > 0
        return float(np.mean(sums[has] / self.count[has]))


@dataclass(frozen=True)
class EngineParts:
    """What an engine is made of.

    Attributes:
        data: Of all clients.
        model: The network; its initial weights come from `seed`.
        preprocessing: From stored features to what the model reads.
        work: Local training of a client.
        client_optimizer: Of the local steps.
        server_optimizer: Of the step along the aggregate.
        aggregation: From the cohort's weighted updates to that aggregate.
        p: Client shares p_k, `float64 [N]`; for an aggregation with a memory.
        client_loss: What a client reports as its loss, one of `LOSS_REDUCTIONS`: the mean
            over its examples, that of their squares, the mean over one batch (`scored_rows`), or
            `losses_met`.
        cohort_size: Most clients of a round.
        seed: Of the initial weights.
        tff_clients_at_once: Clients that TFF's worker trains at the same time by default; -1: all.
        folder: For the engine's own files; `None` for none.
    """

    data: FederatedData
    model: Model
    preprocessing: Preprocessing
    work: LocalTraining
    client_optimizer: Optimizer
    server_optimizer: Optimizer
    aggregation: Aggregation
    p: np.ndarray | None = None
    client_loss: str = "mean"
    cohort_size: int = 1
    seed: int = 0
    tff_clients_at_once: int = -1
    folder: Path | None = None

    def __post_init__(self) -> None:
        memory = self.aggregation.memory
        if self.p is None and memory is not None:
            name = type(self.aggregation).__name__
            raise ParameterError("p", None, f"must be given: {name} has a memory")
        if self.client_loss not in LOSS_REDUCTIONS:
            allowed = f"must be one of {', '.join(LOSS_REDUCTIONS)}"
            raise ParameterError("client_loss", self.client_loss, allowed)
        if memory is not None and self.client_loss == "met_in_training":
            allowed = "must not be met_in_training with a memory, which would learn of it"
            raise ParameterError("client_loss", self.client_loss, allowed)


class EngineConfig:
    """Base of an engine's `Config`, a frozen dataclass; its module imports no framework.

    Attributes:
        framework: Top-level module that it needs; empty for none.
    """

    framework: ClassVar[str] = ""

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""

    def check_installed(self) -> None:
        """Checks that the framework is installed, without importing it.

        Raises:
            ParameterError: If it is not.
        """
        if self.framework and importlib.util.find_spec(self.framework) is None:
            name = component_of(self).name
            advice = f"not installed here: pip install 'f3ast-tff[{name}]'"
            raise ParameterError("engine", name, f"needs {self.framework}, {advice}")

    def prepare_environment(self, environment: MutableMapping[str, str]) -> None:
        """Sets what the framework reads when it is imported, unless it is set.

        Args:
            environment: `os.environ`.
        """

    def connect(self) -> None:
        """Prepares what must be there before a framework is imported, such as a cluster.

        Raises:
            ParameterError: If it cannot be had.
        """

    def build(self, parts: EngineParts) -> Engine:
        """Returns the engine; imports its framework.

        Raises:
            EngineError: If what it runs on cannot be started.
            ParameterError: If there is no such device.
        """
        raise TypeError(f"{type(self).__name__} does not say how its engine is built")


class Engine(Protocol):
    """Executes rounds of one experiment; batches, weights and ids come from outside.

    Attributes:
        block_rounds: The most rounds that are worth giving to `run_rounds` at once.
    """

    block_rounds: int

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        """Executes rounds one after the other, from the current model.

        Args:
            first_round: Number of the first of them.
            cohorts: A cohort a round; an empty one leaves the model alone (`EMPTY_ROUND`), unless
                a memory `steps`.
            by_client: Whether outcomes say what came back from each client.

        Returns:
            What each round did.
        """
        ...

    def evaluate(self) -> ClientScores:
        """Scores the model that the method evaluates on the test examples of every client."""
        ...

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """Returns these clients' current `Losses` on their training data, `float64 [m]`.

        Args:
            ids: Clients, `int [m]`.
            round_number: Round t, which matters where the loss is that on one batch.
        """
        ...

    def statistics(self) -> dict[str, Any]:
        """Returns what the engine says of itself in `summary.json`."""
        ...

    def weights(self) -> list[np.ndarray]:
        """Returns the current model's weights."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns all that a checkpoint must hold."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        ...

    def close(self) -> None:
        """Lets go of processes and devices."""
        ...


def refuse_foreign_state(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raises `ValueError` if a saved state does not have the names and shapes of one's own."""
    if {k: np.shape(v) for k, v in saved.items()} != {k: np.shape(v) for k, v in own.items()}:
        raise ValueError("the saved state is that of another model or server optimizer")
