"""The parts of an experiment, by its configuration: calls `build` of each component's `Config`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining, check_steps, client_share
from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.datasets.task import TaskConfig
from f3ast_tff.delivery import Delivery, DeliveryConfig, DeliveryWorld
from f3ast_tff.delivery.delivery import RememberedMasks
from f3ast_tff.engines.engine import Engine, EngineParts
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.models import Model
from f3ast_tff.models.leaves import PRIVATE, LeafKinds, kinds_of
from f3ast_tff.optimizers.optimizer import Optimizer, for_clients
from f3ast_tff.records.metrics import SCORES
from f3ast_tff.run.delivering import Payload, arrivals_of
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.selecting import constraint_of
from f3ast_tff.settings.component import component_of, parts_of
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry

if TYPE_CHECKING:
    from f3ast_tff.attacks.attack import Attack
    from f3ast_tff.models.scores import Scoring
    from f3ast_tff.run.further_score import FurtherScore
    from f3ast_tff.run.trained_model import TrainedModel

# The released code seeds availability with the constant 1 (R13).
_RELEASED_AVAILABILITY_SEED = 1


class Builder:
    """The parts of one experiment, each built once, on first use."""

    def __init__(
        self,
        configuration: Configuration,
        folder: Path | None = None,
        start: Sequence[np.ndarray] | None = None,
    ) -> None:
        """Builds nothing yet; `folder` is for the engine's files, `start` the given weights."""
        self._configuration, self._start = configuration, start
        self._configs = configuration.configs
        self._settings = settings = configuration.settings
        self._training, self._run = settings.training, settings.run
        self._folder = folder

    def _build(self, kind: str, *arguments: Any) -> Any:
        """Builds a component and checks that the object is of its kind."""
        made = self._configs[kind].build(*arguments)
        KINDS[kind].check_object(made)
        return made

    def _is_own(self, kind: str) -> bool:
        """Whether a component, or a part of it, is a user's."""
        config, known = self._configs[kind], builtin_registry()
        return not all(known.has(component_of(part)) for part in (config, *parts_of(config)))

    def _check_repeats(self, kind: str, made: Any, ask: Callable[[int], Any]) -> None:
        """Checks a user's component; the tests check those of this library."""
        if self._is_own(kind):
            from f3ast_tff.run.given_objects import check_repeats

            check_repeats(kind, made, ask)

    @cached_property
    def data(self) -> FederatedData:
        """The task's data, with clients held out, pooled and subsampled by the settings.

        Raises:
            ParameterError: If the data contradicts itself, or has too few clients.
            DataError: If a file is missing or damaged.
        """
        self._configs["task"].check_size()
        try:
            data = self._build("task")
        except ParameterError:
            raise
        except ValueError as error:
            # `FederatedData` raises it: a label out of range, for example.
            raise ParameterError("task", self._settings.task, str(error)) from error
        task: TaskConfig = self._configs["task"]
        return task.drawn(data, pooled=self._configs["algorithm"].pooled)

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """Turns stored features into model inputs."""
        return self._configs["task"].preprocessing(self._run.seed)

    @cached_property
    def model(self) -> Model:
        """The network.

        Raises:
            ParameterError: If it does not fit the data.
        """
        config, name = self._configs["model"], self._settings.model
        train, outputs = self.data.train, self._num_outputs
        shape = self.preprocessing.output_shape(train.features.shape[1:])
        try:
            for part in (train, self.data.test):
                config.check_inputs(part.features, outputs)
            model: Any = self._build("model", shape, outputs)
        except ParameterError:
            raise
        except ValueError as error:
            refused = str(error) if self._has_classes else config.unfit_labels(self.data)
            raise ParameterError("model", name, refused) from error
        if config.lora is not None:
            from f3ast_tff.models.low_rank import with_lora

            model = with_lora(model, config)
        # A model need not bring a loss, see `Model`.
        if not self._has_classes and getattr(model, "loss", None) is None:
            raise ParameterError("model", name, config.unfit_labels(self.data))
        if self._training.train is not None:
            from f3ast_tff.run.trained_part import trained_part

            model = trained_part(model, self._settings, self._given_start)
        return model

    @property
    def _has_classes(self) -> bool:
        return bool(self._configs["model"].has_classes(self.data))

    @property
    def _num_outputs(self) -> int:
        shape = self.data.train.labels.shape
        return self.data.num_classes if self._has_classes else int(np.prod(shape[1:]))

    @cached_property
    def scoring(self) -> Scoring | None:
        """The model's own loss and scores, if it brings any; see `scoring_of`."""
        loss, scores = (getattr(self.model, part, None) for part in ("loss", "scores"))
        if loss is None and not scores:
            return None
        from f3ast_tff.models.scores import scoring_of

        outputs = None if self._has_classes else self._num_outputs
        return scoring_of(self._settings.model, loss, scores, outputs)

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of the scores of an evaluation."""
        return SCORES if self.scoring is None else tuple(self.scoring.describe()["scores"])

    @cached_property
    def further_score(self) -> FurtherScore | None:
        """The further scores, if the run has any; see `run.further_score` for errors."""
        if "score_of" not in self._configs:
            return None
        from f3ast_tff.run.further_score import further_score

        made = self._build("score_of", self.world)
        return further_score(made, self._configs, data=self.data, scoring=self.scoring)

    @cached_property
    def work(self) -> LocalTraining:
        """Local training of a client.

        Raises:
            ParameterError: If no client takes a step, or a client takes far too many.
        """
        training = self._training
        work = LocalTraining(
            training.batch_size,
            training.local_epochs,
            training.local_steps,
            drop_remainder=training.last_batch == "drop",
            seed=self._run.seed,
        )
        check_steps(self.data.train, work)
        return work

    @cached_property
    def availability_seed(self) -> int:
        """Seed of availability and of random K_t (reading R13)."""
        released = self._settings.readings.availability_draws == "by_round_only"
        return _RELEASED_AVAILABILITY_SEED if released else self._run.seed

    @cached_property
    def aggregation(self) -> Aggregation:
        """The rule from the cohort's updates to the server's step."""
        aggregation: Aggregation = self._build("aggregation")
        if self._training.factors is not None:
            from f3ast_tff.run.trained_part import around_factors

            aggregation = around_factors(aggregation, self.model, self._settings)
        if self._training.private is None:
            return aggregation
        from f3ast_tff.run.private_leaves import around_private_leaves

        return around_private_leaves(
            aggregation, self.kinds, model=self.model, num_clients=self.data.train.num_clients
        )

    @cached_property
    def attack(self) -> Attack | None:
        """The attack of some clients, if any.

        Raises:
            ParameterError: If no client would attack, or it is not known which.
        """
        return self._build("attack", self.world) if "attack" in self._configs else None

    @cached_property
    def kinds(self) -> LeafKinds:
        """Kinds of the model's leaves."""
        weights = self.model.initial_weights(self._run.seed)
        return kinds_of(self.model, weights, self._training.private)

    @property
    def _test_owners(self) -> np.ndarray | None:
        """Training client of each test client, if clients are scored under models of their own."""
        memory = self.aggregation.memory
        if memory is None or not memory.has_own_models:
            return None
        from f3ast_tff.run.private_leaves import test_owners

        return test_owners(self._settings, self._configs["task"], self.data)

    @cached_property
    def start(self) -> list[np.ndarray] | None:
        """Weights of round 1 by the setting `initial_weights`, if given; see `fitting`."""
        # A model of trained leaves starts from them by itself.
        if self._given_start is None or self._training.train is not None:
            return None
        from f3ast_tff.run.initial_weights import fitting

        return fitting(self._given_start, self.model, self._run.seed)

    @cached_property
    def _given_start(self) -> list[np.ndarray] | None:
        """Weights by the setting `initial_weights`, if given, before they are fitted."""
        if self._training.initial_weights is None:
            return None
        from f3ast_tff.run.initial_weights import given_weights

        return given_weights(self._settings, self._start)

    @cached_property
    def model_bytes(self) -> int:
        """Bytes of one copy of the model, without leaves that stay with the clients."""
        weights, kinds = self.model.initial_weights(self._run.seed), self.kinds.kinds
        return sum(weight.nbytes for weight, kind in zip(weights, kinds) if kind != PRIVATE)

    @cached_property
    def payload(self) -> Payload:
        """Bytes that one client receives and sends per round."""
        memory = self.aggregation.memory
        size = self.model_bytes
        down, up = (size, size) if memory is None else memory.payload(size)
        return Payload(bytes_down=down, bytes_up=up)

    @cached_property
    def world(self) -> StrategyContext:
        """Shares, availability, constraint, data and model, with the constraint on updates."""
        sizes, work, share = self.data.train.sizes, self.work, self._settings.readings.client_share
        p = client_share(sizes, work, share)
        # Scores and summaries are by it.
        p.flags.writeable = False
        config, train = self._configs["availability"], self.data.train
        if train.names is not None:
            config = config.for_clients(train.names.tolist())
        labels = []
        if config.needs_labels:
            from f3ast_tff.availability.labelled import distribution_of

            labels = [distribution_of(self.data, self._has_classes, self._settings.availability)]
        # An objective of equal shares does not change who is there.
        unit = "examples" if share == "equal" else share
        process = config.build(client_share(sizes, work, unit), self.availability_seed, *labels)
        KINDS["availability"].check_object(process)
        self._check_repeats(
            "availability", process, lambda t: available_clients(process, len(p), t)
        )
        bytes_up = self.payload.bytes_up
        constraint = self._build("constraint", len(p), self.availability_seed, bytes_up)
        self._check_repeats("constraint", constraint, lambda t: constraint_of(constraint, t))
        return StrategyContext(
            p=p,
            sizes=sizes,
            availability=process,
            constraint=constraint,
            rounds=self._training.rounds,
            seed=self._run.seed,
            train=self.data.train,
            model=self.model,
            preprocessing=self.preprocessing,
            server_lr=self.server_optimizer.learning_rate,
        )

    @cached_property
    def server_optimizer(self) -> Optimizer:
        """The server's optimizer.

        Raises:
            ParameterError: If it has a schedule.
        """
        server: Optimizer = self._build("server_optimizer")
        if not server.is_constant:
            allowed = "has a schedule, which only a client optimizer can"
            raise ParameterError("server_optimizer", self._settings.server_optimizer, allowed)
        return server

    @cached_property
    def asked_world(self) -> StrategyContext:
        """The `world` of the strategy: the constraint is on the clients that are asked."""
        world = self.world
        constraint = self._configs["delivery"].asking(world.constraint, world.num_clients)
        return replace(world, constraint=constraint)

    @cached_property
    def strategy(self) -> Strategy:
        """The algorithm's strategy, wrapped for `client_share_of` and separation if set.

        Raises:
            ParameterError: If the population changes and a component cannot handle that.
        """
        limits, world = self._settings.selection, self.asked_world
        strategy: Strategy = self._build("algorithm", world)
        if self._is_own("algorithm"):
            from f3ast_tff.run.given_objects import check_strategy

            check_strategy(strategy, self._configuration)
        if limits.client_share_of != "present" and not limits.selection_separation:
            return strategy
        from f3ast_tff.run.special_strategies import wrapped

        return wrapped(strategy, limits, world, self.aggregation, self._settings)

    @cached_property
    def masks(self) -> RememberedMasks:
        """Availability with remembered masks, for a delivery that reads other rounds."""
        return RememberedMasks(self.world.availability)

    @cached_property
    def delivery(self) -> Delivery:
        """Tells which updates arrive.

        Raises:
            ParameterError: If a parameter does not fit.
            DataError: If a file is missing or damaged.
        """
        world = self.world
        of_delivery = DeliveryWorld(
            sizes=world.sizes,
            examples=self.work.num_visits(world.sizes),
            bytes_down=self.payload.bytes_down,
            bytes_up=self.payload.bytes_up,
            availability=world.availability,
            masks=self.masks,
            constraint=world.constraint,
            seed=self.availability_seed,
        )
        delivery = self._build("delivery", of_delivery)
        ids = np.arange(min(world.constraint.largest_k, world.num_clients))
        late = self._configs["delivery"].is_late
        self._check_repeats(
            "delivery", delivery, lambda t: arrivals_of(delivery, t, ids, late=late)
        )
        return delivery

    @cached_property
    def engine(self) -> Engine:
        """The engine; imports its framework.

        Raises:
            EngineError: If its worker or cluster cannot be started.
            ParameterError: If there is no such device or cluster.
        """
        settings, world = self._settings, self.world
        algorithm, engine = self._configs["algorithm"], self._configs["engine"]
        late = self._configs["delivery"].is_late
        if late and not engine.keeps_late:
            allowed = f"must be in time with engine {settings.engine}, which keeps no updates"
            raise ParameterError("delivery", settings.delivery, allowed)
        if self.scoring is not None and not engine.takes_scoring:
            allowed = f"must be another: model {settings.model} brings a loss or scores"
            raise ParameterError("engine", settings.engine, allowed)
        client = self._build("client_optimizer")
        schedule = self._training.client_schedule
        data, aggregation = self.data, self.aggregation
        if self.attack is not None:
            data, aggregation = self.attack.poisoned(data), self.attack.around(aggregation)
        parts = EngineParts(
            data=data,
            model=self.model,
            preprocessing=self.preprocessing,
            work=self.work,
            client_optimizer=for_clients(client, schedule, algorithm.client_clip_norm),
            server_optimizer=self.server_optimizer,
            aggregation=aggregation,
            p=world.p,
            client_loss=algorithm.client_loss,
            cohort_size=min(world.constraint.largest_k, world.num_clients),
            seed=self._run.seed,
            tff_clients_at_once=self._configs["task"].tff_clients_at_once,
            folder=self._folder,
            late=late,
            test_owners=self._test_owners,
            scoring=self.scoring,
            start=self.start,
            kinds=self.kinds,
        )
        return engine.build(parts)

    def trained(self, engine: Engine) -> TrainedModel:
        """Returns the engine's scored model, for use."""
        from f3ast_tff.run.trained_model import PrivateLeaves, TrainedModel

        weights, ranges = self._whole(engine.scored_weights()), self.kinds.ranges(PRIVATE)
        private = None
        if self._training.train is not None:
            ranges = self._trained_part.all_kinds(self.kinds).ranges(PRIVATE)
        if ranges:
            names = self.data.train.names
            private = PrivateLeaves.of_state(engine.state(), ranges, names)

        return TrainedModel(
            self._configs["model"],
            self.preprocessing,
            self._num_outputs,
            weights,
            private=private,
            values=not self._has_classes,
            features=self.data.feature_names,
            labels=self.data.label_names,
        )

    @property
    def _trained_part(self) -> Any:
        """The model, of the trained leaves alone."""
        return self.model

    def _whole(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        """The weights with the leaves that are not trained."""
        whole: list[np.ndarray] = weights
        return whole if self._training.train is None else self._trained_part.whole(whole)

    def experiment(self) -> Experiment:
        """Returns all parts that the round loop needs."""
        # Before any framework with threads, as a local cluster is forked from this process.
        self._configs["engine"].connect()
        world, config = self.world, self._configs["delivery"]
        # A refused setting ends the run before the engine starts.
        delivery, strategy = self.delivery, self.strategy
        names = self.data.train.names
        # Generated data have no names; their client k is the log's client k.
        in_log = self._configs["availability"].client_names(world.availability)
        if names is None and in_log:
            names = np.array(in_log, str)
        return Experiment(
            availability=self.masks if config.looks_ahead else world.availability,
            constraint=self.asked_world.constraint,
            strategy=strategy,
            engine=self.engine,
            training=self._training,
            run=self._run,
            num_clients=world.num_clients,
            trained=self.trained,
            model=world.model if self._training.train is None else self._trained_part.model,
            whole=self._whole,
            delivery=delivery,
            payload=self.payload,
            p=world.p,
            client_names=names,
            of_clients={
                **(delivery.of_clients() if isinstance(delivery, DeliveryConfig) else {}),
                **({} if self.attack is None else self.attack.of_clients(self.world.num_clients)),
            },
            test_client_names=self.data.test.names,
            data_sha256=None if self._folder is None else self.data.sha256(),
            score_names=self.score_names,
            further_score=self.further_score,
            scored_clients=self.data.scored_clients(),
            data=self.data,
            staleness_weight=self._settings.staleness_weight if config.is_late else None,
            is_asynchronous=config.is_asynchronous,
        )
