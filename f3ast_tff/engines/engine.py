"""The protocol of engines: they execute rounds and evaluate the model; they make no draws."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models.leaves import BUFFER, HELD, LeafKinds, kinds_of
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

if TYPE_CHECKING:
    from f3ast_tff.core.preprocessing import Preprocessing
    from f3ast_tff.methods.parts.aggregation import Aggregation
    from f3ast_tff.models import Model
    from f3ast_tff.models.scores import Scoring
    from f3ast_tff.optimizers.optimizer import Optimizer

# Losses that a client can report, see `client_loss`.
LOSS_REDUCTIONS = ("mean", "mean_squares", "one_batch", "training_loss")


@dataclass(frozen=True)
class ExampleScores:
    """Sums over the labels of each example, padding excluded, each `float64 [n]`.

    Attributes:
        loss: Summed loss.
        correct: Number of correct predictions; `None` if labels are values, not classes.
        count: Number of labels: 1, or the characters of a sequence.
        more: Sums of a model's own scores, by name.
    """

    loss: np.ndarray
    correct: np.ndarray | None
    count: np.ndarray
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> ExampleScores:
        """Takes arrays by name: those of the attributes, all others are `more`."""
        more = {n: each for n, each in arrays.items() if n not in ("loss", "correct", "count")}
        return cls(arrays["loss"], arrays.get("correct"), arrays["count"], more)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, see `of`."""
        correct = {} if self.correct is None else {"correct": self.correct}
        return {"loss": self.loss, **correct, "count": self.count, **self.more}


@dataclass(frozen=True)
class ClientScores:
    """Sums over the labels of each client.

    Attributes:
        loss: Summed loss, `float64 [C]`.
        correct: Summed correct predictions, `float64 [C]`; `None` if labels are values.
        count: Number of labels (examples; in sequences, characters), `float64 [C]`; a client
            without labels does not count.
        more: Sums of a model's own scores by name, each `float64 [C]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.engines import ClientScores
        >>> loss, correct, count = np.array([[3.0, 4.0], [9.0, 1.0], [10.0, 2.0]])
        >>> scores = ClientScores(loss, correct, count)  # 9 of 10 right, and 1 of 2.
        >>> round(scores.sample_mean(scores.correct), 3), scores.user_mean(scores.correct)
        (0.833, 0.7)
    """

    loss: np.ndarray
    correct: np.ndarray | None
    count: np.ndarray
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of_examples(cls, scores: ExampleScores, sizes: np.ndarray) -> ClientScores:
        """Sums the scores of examples, stored client by client, per client."""
        owner = np.repeat(np.arange(len(sizes)), sizes)

        def summed(values: np.ndarray) -> np.ndarray:
            return np.bincount(owner, values, len(sizes))

        return cls(
            loss=summed(scores.loss),
            correct=None if scores.correct is None else summed(scores.correct),
            count=summed(scores.count),
            more={name: summed(values) for name, values in scores.more.items()},
        )

    @property
    def sums(self) -> dict[str, np.ndarray]:
        """The sums by the score's name: `accuracy` if labels are classes, `loss`, own scores."""
        right = {} if self.correct is None else {"accuracy": self.correct}
        return {**right, "loss": self.loss, **self.more}

    def sample_mean(self, sums: np.ndarray) -> float:
        """Returns the average over labels of one of `sums`."""
        return float(sums.sum() / self.count.sum())

    def user_mean(self, sums: np.ndarray) -> float:
        """Returns the average over clients of each client's average (App. D.7, arXiv)."""
        has = self.count > 0
        return float(np.mean(sums[has] / self.count[has]))


@dataclass(frozen=True)
class RoundOutcome:
    """Outcome of a round.

    Attributes:
        train_loss: Mean loss of the cohort's training batches, weighted by examples; NaN if no
            client trained.
        update_norm: L2 norm of the aggregate Delta before the server optimizer; 0 if the model
            stayed.
        num_dropped: Number of clients whose update was not finite and was dropped.
        rejected: Whether the model stayed because no update, or not their aggregate, was finite. A
            memory that only remembers updates (`Memory.steps`) rejects nothing, and
            `Memory.end_round` does not count.
        client_losses: Mean loss of each client's training batches, weighted by examples, in the
            order of the cohort, `float64 [m]`; NaN without a step or with a dropped update. `None`
            unless asked for.
        delivered: Whether each client's update was finite and entered the aggregate, `bool [m]`;
            `None` unless asked for.

    Examples:
        >>> from f3ast_tff import simulate
        >>> outcomes = []
        >>> result = simulate(rounds=2, on_round=lambda t, cohort, found: outcomes.append(found))
        >>> [(outcome.num_dropped, outcome.rejected) for outcome in outcomes]
        [(0, False), (0, False)]
    """

    train_loss: float
    update_norm: float
    num_dropped: int = 0
    rejected: bool = False
    client_losses: np.ndarray | None = None
    delivered: np.ndarray | None = None

    def closed(self, moves: bool, keeps: bool, rejected: bool) -> RoundOutcome:
        """Returns the same of a round whose step counts if `moves`, and its losses if `keeps`."""
        return replace(
            self,
            train_loss=self.train_loss if keeps else float("nan"),
            update_norm=self.update_norm if moves else 0.0,
            rejected=rejected,
        )


@dataclass(frozen=True, kw_only=True)
class LateCohort(Cohort):
    """The cohort of a round whose updates may be late: clients train, and updates enter.

    Its `ids` are the clients whose updates enter, from this round or earlier rounds.

    Attributes:
        asked: Distinct clients that train in this round, from its model, `int64 [a]`.
        slots: Distinct places in the engine's memory for their updates, `int64 [a]`, from 0.
        entering: Places of the updates that enter, `int64 [m]`; both draws of a client drawn twice
            have the same place.
        asked_in: Round in which each entering client was asked, `int64 [m]`.
    """

    asked: np.ndarray
    slots: np.ndarray
    entering: np.ndarray
    asked_in: np.ndarray

    @classmethod
    def of(
        cls,
        cohort: Cohort,
        factor: np.ndarray,
        *,
        asked: np.ndarray,
        slots: np.ndarray,
        entering: np.ndarray,
        asked_in: np.ndarray,
    ) -> LateCohort:
        """Takes a cohort, the factors of its weights, `float64 [m]`, and the arrays above."""
        return cls(
            cohort.ids,
            cohort.weights * factor,
            cohort.step,
            cohort.forgets,
            asked=asked,
            slots=slots,
            entering=entering,
            asked_in=asked_in,
        )


EMPTY_ROUND = RoundOutcome(train_loss=float("nan"), update_norm=0.0, rejected=True)


def empty_round(by_client: bool) -> RoundOutcome:
    """Returns the outcome of a round without clients and without a memory."""
    if not by_client:
        return EMPTY_ROUND
    return replace(EMPTY_ROUND, client_losses=np.zeros(0), delivered=np.zeros(0, bool))


@dataclass(frozen=True)
class EngineParts:
    """Parts of an engine.

    Attributes:
        data: Data of all clients.
        model: The network; its initial weights come from `seed`.
        preprocessing: Function from stored features to model input.
        work: Local training of a client.
        client_optimizer: Optimizer of the local steps.
        server_optimizer: Optimizer of the step along the aggregate.
        aggregation: Rule from the cohort's weighted updates to the aggregate.
        p: Client shares p_k, `float64 [N]`; needed by an aggregation with a memory.
        client_loss: Loss that a client reports, one of `LOSS_REDUCTIONS`: the mean over its
            examples, over their squares, over one batch (`scored_rows`), or `training_loss`.
        cohort_size: Largest number of clients per round.
        seed: Seed of the initial weights.
        tff_clients_at_once: Clients that TFF's worker trains in parallel by default; -1 for all.
        folder: Folder for the engine's files, if any.
        late: Whether updates may be late; if so, each cohort is a `LateCohort`.
        test_owners: Training client of each test client, `int [C]`, for `own_model`s; default k.
        scoring: The model's own loss and scores, if any.
        start: Weights of round 1 in place of the model's initial weights, if any.
        kinds: Kinds of the model's leaves, by default `kinds_of` the model.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.engines.components import FusedConfig
        >>> from f3ast_tff.engines.engine import EngineParts
        >>> from f3ast_tff.methods.sum_and_mean import WeightedMean
        >>> from f3ast_tff.optimizers import Sgd
        >>> from f3ast_tff.run.build import Builder
        >>> from f3ast_tff.settings.resolve import resolve
        >>> of = Builder(resolve({"task": "synthetic"}))
        >>> world = of.data, of.model, of.preprocessing, of.work
        >>> parts = EngineParts(*world, Sgd(0.1), Sgd(1.0), WeightedMean())
        >>> FusedConfig().build(parts).client_losses(np.array([3, 7])).round(2).tolist()  # ln 10.
        [2.3, 2.3]
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
    late: bool = False
    test_owners: np.ndarray | None = None
    scoring: Scoring | None = None
    start: Sequence[np.ndarray] | None = None
    kinds: LeafKinds | None = None

    @cached_property
    def buffer_leaves(self) -> tuple[int, ...]:
        """Places of the leaves that are buffers: no engine steps them, no rule moves them."""
        return self._kinds.leaves(BUFFER)

    @cached_property
    def held_leaves(self) -> tuple[int, ...]:
        """Places of the leaves that are the server's: no client steps them."""
        return self._kinds.leaves(HELD)

    @cached_property
    def buffer_places(self) -> np.ndarray:
        """Coordinates of the buffers in the model as one vector, `int64 [num_buffers]`."""
        ranges = self._kinds.ranges(BUFFER)
        return np.concatenate([np.arange(0), *(np.arange(*places) for places in ranges)])

    @cached_property
    def _kinds(self) -> LeafKinds:
        return kinds_of(self.model, self.initial_weights()) if self.kinds is None else self.kinds

    def initial_weights(self) -> list[np.ndarray]:
        """Returns the weights of round 1."""
        if self.start is not None:
            return [weight.copy() for weight in self.start]
        return self.model.initial_weights(self.seed)

    def __post_init__(self) -> None:
        if ranges := self._kinds.ranges(BUFFER):
            # Few models have buffers.
            from f3ast_tff.methods.parts.buffers import with_buffers

            object.__setattr__(self, "aggregation", with_buffers(self.aggregation, ranges))
        memory = self.aggregation.memory
        if self.p is None and memory is not None:
            name = self.aggregation.own_name
            raise ParameterError("p", None, f"must be given: {name} has a memory")
        if self.client_loss not in LOSS_REDUCTIONS:
            allowed = f"must be one of {', '.join(LOSS_REDUCTIONS)}"
            raise ParameterError("client_loss", self.client_loss, allowed)
        if self.client_loss == "training_loss" and (memory is not None or self.late):
            allowed = "must not be training_loss with a memory, which sets clients' starts, or late"
            raise ParameterError("client_loss", self.client_loss, allowed)


class EngineConfig:
    """Base of an engine's `Config`, a frozen dataclass; its module imports no framework.

    Attributes:
        framework: Top-level module to import, if any.
        keeps_late: Whether the engine keeps late updates, see `EngineParts.late`.
        takes_scoring: Whether the engine takes a model's own loss and scores.

    Examples:
        >>> from f3ast_tff.engines.components import FusedConfig
        >>> config, environment = FusedConfig(), {}
        >>> config.prepare_environment(environment)
        >>> config.framework, environment["TF_CPP_MIN_LOG_LEVEL"]
        ('jax', '3')
    """

    framework: ClassVar[str] = ""
    keeps_late: ClassVar[bool] = False
    takes_scoring: ClassVar[bool] = False

    def check(self, settings: Settings) -> None:
        """Raises `ParameterError` if other settings contradict this one's parameters."""

    def check_installed(self) -> None:
        """Checks that the framework is installed, without importing it.

        Raises:
            ParameterError: If the framework is not installed.
        """
        if self.framework and importlib.util.find_spec(self.framework) is None:
            name = component_of(self).name
            advice = f"not installed here: pip install 'f3ast-tff[{name}]'"
            raise ParameterError("engine", name, f"needs {self.framework}, {advice}")

    def prepare_environment(self, environment: MutableMapping[str, str]) -> None:
        """Sets environment variables that the framework reads at import, unless set.

        Args:
            environment: `os.environ`.
        """

    def connect(self) -> None:
        """Connects to a cluster, if any, before a framework is imported.

        Raises:
            ParameterError: If the cluster cannot be reached.
        """

    def build(self, parts: EngineParts) -> Engine:
        """Returns the engine; imports its framework.

        Raises:
            EngineError: If its runtime does not start.
            ParameterError: If the device does not exist.
        """
        raise ComponentError(f"{type(self).__name__} does not say how its engine is built")


class Engine(Protocol):
    """Executes rounds of one experiment; batches, weights and ids come from outside.

    Attributes:
        block_rounds: Largest useful number of rounds per call of `run_rounds`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Cohort
        >>> from f3ast_tff.run.build import Builder
        >>> from f3ast_tff.settings.resolve import resolve
        >>> engine = Builder(resolve({"task": "synthetic", "engine": "fused"})).engine
        >>> cohort = Cohort(np.array([3, 7]), weights=np.array([0.5, 0.5]))
        >>> first, second = engine.run_rounds(1, [cohort, cohort])
        >>> first.train_loss > second.train_loss, engine.evaluate().count.shape
        (True, (100,))
    """

    block_rounds: int

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        """Executes rounds in order, from the current model.

        Args:
            first_round: Number of the first round.
            cohorts: A cohort per round. If it is empty, the model stays (`EMPTY_ROUND`), unless a
                memory `steps`. If updates may be late (`EngineParts.late`) it is a `LateCohort`: a
                round trains the asked clients and keeps their updates, and its outcome is of the
                clients whose updates enter.
            by_client: Whether outcomes hold losses and arrivals per client.

        Returns:
            Outcome of each round.
        """
        ...

    def evaluate(self) -> ClientScores:
        """Scores the model that the method evaluates on the test examples of every client.

        With `Memory.own_model` each client's examples are scored under its own model.
        """
        ...

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """Returns the clients' current losses on their training data, `float64 [m]`.

        Args:
            ids: Clients, `int [m]`.
            round_number: Round t; chooses the batch of `one_batch`.
        """
        ...

    def statistics(self) -> dict[str, Any]:
        """Returns the engine's entries of `summary.json`."""
        ...

    def weights(self) -> list[np.ndarray]:
        """Returns the weights of the server's model w."""
        ...

    def scored_weights(self) -> list[np.ndarray]:
        """Returns the weights of the model that `evaluate` scores; see `Memory.evaluated`."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores a result of `state`."""
        ...

    def close(self) -> None:
        """Releases processes and devices."""
        ...


def refuse_foreign_state(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raises `ValueError` if a saved state has other names or shapes than `own`."""
    if {k: np.shape(v) for k, v in saved.items()} != {k: np.shape(v) for k, v in own.items()}:
        raise ValueError("the saved state is that of another model or server optimizer")
