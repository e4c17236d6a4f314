"""From settings to the parts of an experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from f3ast_tff.aggregation.update_memory import LatestUpdates
from f3ast_tff.availability import (
    AvailabilityProcess,
    CommunicationConstraint,
    catalogue,
    constraint_from_text,
)
from f3ast_tff.availability.constraints.from_text import is_byte_budget
from f3ast_tff.configuration import fedlaavg
from f3ast_tff.configuration.registry import ALGORITHMS, SELECTIONS
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.configuration.tasks import MODELS, TASKS
from f3ast_tff.engines import Engine
from f3ast_tff.engines.distributed.ray_connection import LOCAL, connect
from f3ast_tff.engines.distributed.ray_workers import RayWorkers
from f3ast_tff.engines.distributed.workers import TrainerFactory
from f3ast_tff.errors import SettingError
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_training import LocalWork, client_share
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.randomness import generator
from f3ast_tff.selection import Strategy
from f3ast_tff.training.run import Experiment

# The released code seeds availability with the constant 1 (R13).
_RELEASED_AVAILABILITY_SEED = 1


def build_data(settings: Settings) -> FederatedData:
    """Returns the task's data: pooled, its test clients thinned out, if that is asked for.

    Raises:
        SettingError: If the data does not have that many clients.
        DataError: If a file is missing or damaged.
    """
    data = TASKS[settings.task].data(settings)
    found, wanted = data.train.num_clients, settings.num_clients
    if found != wanted:
        raise SettingError("num_clients", wanted, f"must be {found}, the number in these files")
    if ALGORITHMS[settings.algorithm].pooled:
        data = replace(data, train=data.train.pooled())
    if settings.test_clients is None:
        return data
    there = data.test.num_clients
    if settings.test_clients > there:
        allowed = f"must be at most {there}, the number of test clients"
        raise SettingError("test_clients", settings.test_clients, allowed)
    drawn = generator(settings.data_seed, "test clients").permutation(there)
    return replace(data, test=data.test.take(np.sort(drawn[: settings.test_clients])))


def build_model(settings: Settings, data: FederatedData) -> Model:
    """Returns the model."""
    return MODELS[settings.model](settings, data)


def build_local_work(settings: Settings) -> LocalWork:
    """Returns what a client does in a round."""
    return LocalWork(
        settings.batch_size,
        settings.local_epochs,
        settings.local_steps,
        drop_remainder=settings.last_batch == "drop",
        seed=settings.seed,
    )


def build_availability(settings: Settings, p: np.ndarray) -> AvailabilityProcess:
    """Returns who is reachable, given the client shares p_k."""
    seed = _availability_seed(settings)
    return catalogue.build(settings.availability, p, seed, settings.as_dict())


def build_constraint(settings: Settings, model: Model) -> CommunicationConstraint:
    """Returns how many may take part, given the model, whose size is what a client sends."""
    n, text = settings.num_clients, settings.communication or str(settings.clients_per_round)
    sizes = None
    if is_byte_budget(text):
        update = sum(weight.nbytes for weight in model.initial_weights(settings.seed))
        sizes = np.full(n, update)
    return constraint_from_text(text, n, _availability_seed(settings), sizes)


def _availability_seed(settings: Settings) -> int:
    released = settings.availability_draws == "by_round_only"
    return _RELEASED_AVAILABILITY_SEED if released else settings.seed


def build_strategy(
    settings: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess
) -> Strategy:
    """Returns the selection strategy.

    Args:
        settings: Resolved settings.
        p: Client shares p_k.
        sizes: Numbers of training examples.
        world: Who is reachable, for what knows that beforehand.
    """
    return SELECTIONS[ALGORITHMS[settings.algorithm].selection](settings, p, sizes, world)


def build_engine(settings: Settings, data: FederatedData, folder: Path) -> Engine:
    """Returns the engine; imports its framework.

    Raises:
        EngineError: If TFF's worker cannot be started.
        SettingError: If there is no such device.
    """
    algorithm = ALGORITHMS[settings.algorithm]
    clip = settings.poc_clip_norm if algorithm.selection == "power_of_choice" else 0.0
    client = Optimizer(
        settings.client_optimizer,
        settings.client_lr,
        settings.client_momentum,
        epsilon=settings.epsilon,
        clip_norm=clip or None,
        decay=settings.client_lr_decay,
    )
    server = Optimizer(
        settings.server_optimizer,
        settings.server_lr,
        settings.server_momentum,
        epsilon=settings.epsilon,
    )
    task = TASKS[settings.task]
    if settings.num_workers is not None:
        connect(settings.ray_address or LOCAL, settings.num_workers)
    model, inputs = build_model(settings, data), task.inputs(settings)
    parts = (data, model, build_local_work(settings), client, server)
    latest = _latest_updates(settings, data, model) if algorithm.aggregation == "latest" else None
    if settings.engine == "tff":
        from f3ast_tff.engines.tff.composition import TffComposition
        from f3ast_tff.engines.tff.engine import TffEngine
        from f3ast_tff.engines.tff.trainer import TffTrainerFactory

        composition = TffComposition(model, parts[2], inputs, client, server, algorithm.aggregation)
        trainers = TffTrainerFactory(composition, settings.device)
        return TffEngine(
            *parts,
            algorithm.aggregation,
            seed=settings.seed,
            inputs=inputs,
            client_loss=algorithm.client_loss or settings.poc_loss,
            clients_at_once=settings.tff_clients_at_once or task.tff_clients_at_once,
            latest=latest,
            runtime="worker" if settings.tff_runtime == "worker" else "tf",
            device=settings.device,
            workers=_workers(settings, data, trainers),
            round_timeout_s=settings.round_timeout,
            worker_log=folder / "tff_worker.log",
        )
    from f3ast_tff.engines.jax.engine import FusedEngine
    from f3ast_tff.engines.jax.trainer import FusedTrainerFactory

    fused_trainers = FusedTrainerFactory(
        model, parts[2], client, inputs, settings.device, settings.clients_per_round
    )
    return FusedEngine(
        *parts,
        algorithm.aggregation,
        seed=settings.seed,
        inputs=inputs,
        client_loss=algorithm.client_loss or settings.poc_loss,
        latest=latest,
        workers=_workers(settings, data, fused_trainers),
        device=settings.device,
        cohort_size=settings.clients_per_round,
    )


def _workers(
    settings: Settings, data: FederatedData, make_trainer: TrainerFactory
) -> RayWorkers | None:
    if settings.num_workers is None:
        return None
    return RayWorkers(
        make_trainer,
        data.train,
        settings.num_workers,
        settings.ray_address or LOCAL,
        num_gpus=int(settings.device == "gpu"),
        timeout_s=settings.round_timeout,
    )


def _latest_updates(settings: Settings, data: FederatedData, model: Model) -> LatestUpdates:
    num_weights = sum(weight.size for weight in model.initial_weights(settings.seed))
    p = _client_share(settings, data)
    return LatestUpdates(p, num_weights, fedlaavg.first_round(settings))


def _client_share(settings: Settings, data: FederatedData) -> np.ndarray:
    return client_share(data.train.sizes, build_local_work(settings), settings.client_share)


def build_experiment(settings: Settings, folder: Path) -> Experiment:
    """Returns all parts of the experiment that the settings describe.

    Args:
        settings: Resolved settings.
        folder: The run's folder, for the engine's own files.
    """
    data = build_data(settings)
    p = _client_share(settings, data)
    world = build_availability(settings, p)
    return Experiment(
        world,
        build_constraint(settings, build_model(settings, data)),
        build_strategy(settings, p, data.train.sizes, world),
        build_engine(settings, data, folder),
        settings.rounds,
        settings.eval_every,
        settings.checkpoint_every,
    )
