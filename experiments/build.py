"""From settings to the parts of an experiment."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import availability
from experiments.registry import ALGORITHMS, AVAILABILITY, DATASETS, SELECTIONS
from experiments.settings import Settings
from f3ast_tff.engines import Engine
from f3ast_tff.experiment.run import Experiment
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_work import LocalWork, client_share
from f3ast_tff.models import Model, SoftmaxRegression
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.selection import Strategy

# The released code seeds availability with the constant 1 (R13).
_RELEASED_AVAILABILITY_SEED = 1


def build_data(settings: Settings) -> FederatedData:
    """Returns the task's data."""
    return DATASETS[settings.task](settings)


def build_model(data: FederatedData) -> Model:
    """Returns the task's model."""
    return SoftmaxRegression(data.train.features.shape[1], data.num_classes)


def build_local_work(settings: Settings) -> LocalWork:
    """Returns what a client does in a round."""
    return LocalWork(
        settings.batch_size, settings.local_epochs, settings.local_steps, seed=settings.seed
    )


def build_availability(settings: Settings, p: np.ndarray) -> availability.AvailabilityProcess:
    """Returns who is reachable, given the client shares p_k."""
    entry = AVAILABILITY[settings.availability]
    released = settings.availability_draws == "by_round_only"
    seed = _RELEASED_AVAILABILITY_SEED if released else settings.seed
    return entry.process(seed=seed, **entry.arguments(settings, p))


def build_strategy(settings: Settings, p: np.ndarray, sizes: np.ndarray) -> Strategy:
    """Returns the selection strategy, given client shares p_k and numbers of examples."""
    return SELECTIONS[ALGORITHMS[settings.algorithm].selection](settings, p, sizes)


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
    )
    server = Optimizer(
        settings.server_optimizer,
        settings.server_lr,
        settings.server_momentum,
        epsilon=settings.epsilon,
    )
    parts = (data, build_model(data), build_local_work(settings), client, server)
    if settings.engine == "tff":
        from f3ast_tff.engines.tff_engine import TffEngine

        return TffEngine(
            *parts,
            algorithm.aggregation,
            seed=settings.seed,
            client_loss=settings.poc_loss,
            worker_log=folder / "tff_worker.log",
        )
    from f3ast_tff.engines.fused_engine import FusedEngine

    return FusedEngine(
        *parts,
        algorithm.aggregation,
        seed=settings.seed,
        client_loss=settings.poc_loss,
        device=settings.device,
        cohort_size=settings.clients_per_round,
    )


def build_experiment(settings: Settings, folder: Path) -> Experiment:
    """Returns all parts of the experiment that the settings describe.

    Args:
        settings: Resolved settings.
        folder: The run's folder, for the engine's own files.
    """
    data = build_data(settings)
    p = client_share(data.train.sizes, build_local_work(settings), settings.client_share)
    return Experiment(
        build_availability(settings, p),
        availability.FixedK(settings.clients_per_round),
        build_strategy(settings, p, data.train.sizes),
        build_engine(settings, data, folder),
        settings.rounds,
        settings.eval_every,
        settings.checkpoint_every,
    )
