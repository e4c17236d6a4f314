"""From a configuration to the parts of an experiment."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.availability.label_distribution import label_distribution
from f3ast_tff.configuration.configuration import Configuration
from f3ast_tff.configuration.protocols import check_object
from f3ast_tff.delivery import Delivery, DeliveryWorld
from f3ast_tff.delivery.remembered_masks import RememberedMasks
from f3ast_tff.engines.engine import Engine, EngineParts
from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.local_training import LocalTraining, client_share
from f3ast_tff.models import Model
from f3ast_tff.optimizers.schedules import client_schedule
from f3ast_tff.preprocessing import Preprocessing
from f3ast_tff.randomness import generator
from f3ast_tff.selection import OfThosePresent, Separated, Strategy
from f3ast_tff.selection.population import Population
from f3ast_tff.training.delivering import Payload
from f3ast_tff.training.run import Experiment

# The released code seeds availability with the constant 1 (R13).
_RELEASED_AVAILABILITY_SEED = 1
# Of examples, with repetition, by a client in a round: their order is drawn at once.
_MOST_VISITS = 10**8
_WHOSE = {"held_out_clients": "training clients", "test_clients": "test clients"}


def _built(configuration: Configuration, kind: str, *arguments: Any) -> Any:
    """What a component builds, checked to be of its kind."""
    made = configuration.configs[kind].build(*arguments)
    check_object(kind, made)
    return made


def build_data(configuration: Configuration) -> FederatedData:
    """Returns the task's data: clients held out, pooled, test clients thinned out, as asked for.

    Raises:
        ParameterError: If the data contradicts itself, or does not have that many clients.
        DataError: If a file is missing or damaged.
    """
    try:
        data = _built(configuration, "task")
    except ParameterError:
        raise
    except ValueError as error:
        # Of `FederatedData`: a label out of range, say.
        raise ParameterError("task", configuration.settings["task"], str(error)) from error
    found, wanted = data.train.num_clients, configuration.settings.get("num_clients")
    if wanted is not None and found != wanted:
        allowed = f"must be {found}, the number in this data"
        raise ParameterError("num_clients", wanted, allowed)
    held = _drawn_clients(configuration, "held_out_clients", found, found - 1)
    if held is not None:
        kept = np.setdiff1d(np.arange(found), held)
        data = replace(data, train=data.train.take(kept), test=data.train.take(held))
    if configuration.configs["algorithm"].pooled:
        data = replace(data, train=data.train.pooled())
    there = data.test.num_clients
    scored = _drawn_clients(configuration, "test_clients", there, there)
    return data if scored is None else replace(data, test=data.test.take(scored))


def _drawn_clients(
    configuration: Configuration, name: str, there: int, most: int
) -> np.ndarray | None:
    """Ids, rising, of as many of `there` clients as the setting asks for; `None` for none."""
    asked = configuration.settings.get(name)
    if asked is None:
        return None
    if asked > most:
        allowed = f"must be at most {most}: this data has {there} {_WHOSE[name]}"
        raise ParameterError(name, asked, allowed)
    seed = configuration.settings["data_seed"]
    drawn = generator(seed, name.replace("_", " ")).permutation(there)
    return np.sort(drawn[:asked])


def build_preprocessing(configuration: Configuration) -> Preprocessing:
    """Returns what turns stored features into model inputs."""
    return configuration.configs["task"].preprocessing(configuration.settings["seed"])


def build_model(configuration: Configuration, data: FederatedData) -> Model:
    """Returns the model.

    Raises:
        ParameterError: If it does not fit the data.
    """
    config, name = configuration.configs["model"], configuration.settings["model"]
    sequences = data.train.labels.ndim > 1
    if sequences != config.labels_sequences:
        labels = "one an example" if not sequences else "a sequence an example"
        raise ParameterError("model", name, f"does not fit: the labels of this data are {labels}")
    shape = build_preprocessing(configuration).output_shape(data.train.features.shape[1:])
    try:
        return _built(configuration, "model", shape, data.num_classes)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError("model", name, str(error)) from error


def build_local_training(configuration: Configuration) -> LocalTraining:
    """Returns what a client does in a round."""
    settings = configuration.settings
    return LocalTraining(
        settings["batch_size"],
        settings["local_epochs"],
        settings["local_steps"],
        drop_remainder=settings["last_batch"] == "drop",
        seed=settings["seed"],
    )


def availability_seed(configuration: Configuration) -> int:
    """Returns the seed of availability and of random K_t (reading R13)."""
    released = configuration.settings["availability_draws"] == "by_round_only"
    return _RELEASED_AVAILABILITY_SEED if released else configuration.settings["seed"]


def _check_steps(train: ClientExamples, work: LocalTraining) -> None:
    """Refuses training in which nobody takes a step; warns of clients that take none."""
    sizes = train.sizes
    if not sizes.sum():
        raise ParameterError("task", "", "has no training example")
    visits = int(work.num_visits(sizes).max())
    if visits > _MOST_VISITS:
        name = "local_epochs" if work.steps is None else "local_steps"
        most = f"a client would visit {visits} examples a round, more than {_MOST_VISITS}"
        raise ParameterError(name, work.epochs if work.steps is None else work.steps, most)
    idle = np.flatnonzero((work.num_batches(sizes) == 0) & (sizes > 0))
    if len(idle) == 0:
        return
    largest = int(np.argmax(sizes))
    if work.num_batches(sizes[largest : largest + 1])[0] == 0:
        allowed = (
            f"must be at most {sizes[largest]}, the examples of client {train.name(largest)}, who "
            "has most: with last_batch=drop nobody would train"
        )
        raise ParameterError("batch_size", work.batch_size, allowed)
    first = int(idle[0])
    logging.warning(
        "%d of %d clients hold less than one batch of %d and take no step, as last_batch is drop; "
        "the first is client %s, with %d examples",
        *(len(idle), len(sizes), work.batch_size, train.name(first), sizes[first]),
    )


def _model_bytes(configuration: Configuration, model: Model) -> int:
    weights = model.initial_weights(configuration.settings["seed"])
    return sum(weight.nbytes for weight in weights)


def build_world(configuration: Configuration, data: FederatedData, model: Model) -> World:
    """Returns what a strategy may look at: shares, availability, constraint, data, model."""
    settings = configuration.settings
    sizes = data.train.sizes
    work = build_local_training(configuration)
    _check_steps(data.train, work)
    p = client_share(sizes, work, settings["client_share"])
    seed = availability_seed(configuration)
    labels = []
    if configuration.configs["availability"].needs_labels:
        labels = [label_distribution(data.train, data.num_classes)]
    return World(
        p,
        sizes,
        _built(configuration, "availability", p, seed, *labels),
        _built(configuration, "communication", len(p), seed, _model_bytes(configuration, model)),
        settings["rounds"],
        settings["seed"],
        data.train,
        model,
        build_preprocessing(configuration),
    )


def build_strategy(configuration: Configuration, world: World) -> Strategy:
    """Returns what picks the clients: the algorithm's strategy, and what goes with any.

    Raises:
        ParameterError: If the population changes and a part cannot follow.
    """
    settings = configuration.settings
    strategy: Strategy = _built(configuration, "algorithm", world)
    if configuration.configs["algorithm"].made:
        _check_made(configuration, strategy)
    if settings["client_share_of"] == "present":
        strategy = _of_those_present(configuration, world, strategy)
    if settings["selection_separation"]:
        strategy = Separated(strategy, settings["selection_separation"], world.num_clients)
    return strategy


def _check_made(configuration: Configuration, strategy: Strategy) -> None:
    """Refuses a strategy whose weights or losses the run would take for others."""
    configs, name = configuration.configs, type(strategy).__name__
    meant_for = getattr(strategy, "aggregation", None)
    if meant_for is not None and not configs["aggregation"].takes_weights(meant_for):
        allowed = f"the weights of {name} are meant for {meant_for}: give aggregation={meant_for!r}"
        raise ParameterError("aggregation", configuration.settings["aggregation"], allowed)
    loss, asked = configs["algorithm"].client_loss, getattr(strategy, "client_loss", None)
    if asked not in (None, loss):
        allowed = f"{name} asks for client_loss {asked!r}, which the function must say as attribute"
        raise ParameterError("algorithm", configuration.settings["algorithm"], allowed)


def _of_those_present(
    configuration: Configuration, world: World, strategy: Strategy
) -> OfThosePresent:
    name, population = "client_share_of", world.availability
    if not isinstance(population, Population):
        who = configuration.settings["availability"]
        raise ParameterError(name, "present", f"clients of {who} neither join nor leave")
    if _built(configuration, "aggregation").memory is not None:
        which = configuration.settings["aggregation"]
        allowed = f"aggregation {which} remembers clients that have left"
        raise ParameterError(name, "present", allowed)
    return OfThosePresent(strategy, population, world.p, world.constraint.mean_k)


def build_engine(
    configuration: Configuration, data: FederatedData, world: World, folder: Path | None
) -> Engine:
    """Returns the engine; imports its framework.

    Args:
        configuration: The experiment.
        data: Its data.
        world: See `build_world`.
        folder: The run's folder, for the engine's own files; `None` for none.

    Raises:
        EngineError: If what it runs on cannot be started.
        ParameterError: If there is no such device or cluster.
    """
    settings, configs = configuration.settings, configuration.configs
    algorithm = configs["algorithm"]
    client = _built(configuration, "client_optimizer")
    schedule = client_schedule(settings)
    if schedule.is_constant:
        # An optimizer that was given as an object may have one of its own.
        schedule = client.schedule
    # So may it have a clip; an algorithm's own comes first.
    limit = algorithm.client_clip_norm
    clip_norm = client.clip_norm if limit is None else limit
    client = replace(client, schedule=schedule, clip_norm=clip_norm)
    server = _built(configuration, "server_optimizer")
    if not server.is_constant:
        allowed = "has a schedule, which only a client optimizer can"
        raise ParameterError("server_optimizer", settings["server_optimizer"], allowed)
    parts = EngineParts(
        data=data,
        model=world.model,
        preprocessing=world.preprocessing,
        work=build_local_training(configuration),
        client_optimizer=client,
        server_optimizer=server,
        aggregation=_built(configuration, "aggregation"),
        p=world.p,
        client_loss=algorithm.client_loss,
        cohort_size=min(world.constraint.largest_k, world.num_clients),
        seed=settings["seed"],
        tff_clients_at_once=configs["task"].tff_clients_at_once,
        folder=folder,
    )
    return configs["engine"].build(parts)


def build_payload(configuration: Configuration, model: Model) -> Payload:
    """Returns the bytes that a client gets and sends, by the model and the aggregation."""
    memory = _built(configuration, "aggregation").memory
    down, up = (1, 1) if memory is None else (memory.vectors_down, memory.vectors_up)
    one = _model_bytes(configuration, model)
    return Payload(down * one, up * one)


def build_delivery(
    configuration: Configuration, world: World, masks: RememberedMasks, payload: Payload
) -> Delivery:
    """Returns what says whose update arrives.

    Args:
        configuration: The experiment.
        world: See `build_world`; its constraint is that on those received.
        masks: Of the world's availability.
        payload: Bytes of a client.

    Raises:
        ParameterError: If a parameter does not fit.
        DataError: If a file is missing or damaged.
    """
    of_delivery = DeliveryWorld(
        world.sizes,
        build_local_training(configuration).num_visits(world.sizes),
        payload.bytes_down,
        payload.bytes_up,
        world.availability,
        masks,
        world.constraint,
        availability_seed(configuration),
    )
    return _built(configuration, "delivery", of_delivery)


def build_experiment(configuration: Configuration, folder: Path | None) -> Experiment:
    """Returns all parts of the experiment.

    Args:
        configuration: The experiment.
        folder: The run's folder, for the engine's own files; `None` for none.
    """
    # Before any framework with threads: a local cluster is forked off this process.
    configuration.configs["engine"].connect()
    settings = configuration.settings
    data = build_data(configuration)
    model = build_model(configuration, data)
    world = build_world(configuration, data, model)
    masks = RememberedMasks(world.availability)
    payload = build_payload(configuration, model)
    delivery = build_delivery(configuration, world, masks, payload)
    config = configuration.configs["delivery"]
    asks = replace(world, constraint=config.asking(world.constraint, world.num_clients))
    strategy = build_strategy(configuration, asks)
    return Experiment(
        masks if config.looks_ahead else world.availability,
        asks.constraint,
        strategy,
        build_engine(configuration, data, world, folder),
        settings["rounds"],
        settings["eval_every"],
        settings["checkpoint_every"],
        world.num_clients,
        world.model,
        delivery,
        payload,
        world.p,
        data_sha256=None if folder is None else data.sha256(),
        checkpoint_seconds=settings["checkpoint_seconds"],
        client_scores=settings["client_scores"],
        keep_checkpoints=settings["keep_checkpoints"],
        write_masks=settings["write_masks"],
    )
