"""Each parameter reaches its part: a second value changes that part, and no other.

An experiment is taken apart: data, model, strategy, availability, constraint, parts of the engine,
loop. Each parameter alone is switched from its default to another allowed value. It must change its
part, and leave the remaining parts byte for byte.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.delivery.event_clock import EventClock
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.run import build
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.settings import Parameter, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.settings.examples import CHOOSING

N, ROUNDS = 12, 6
SPEEDS = str(Path(__file__).with_name("speeds.csv"))
REGISTRY = builtin_registry()
# Tasks without files here: their generators are tested with the data sets.
WITH_FILES = {"cifar100", "shakespeare", "mnist", "cifar10", "cifar10_one_class"}
# Part that a parameter changes; by default the part named like its kind, with two exceptions.
PART_OF_KIND = {"task": "data", "algorithm": "strategy"}
PART_OF = {
    parameter: part
    for part, parameters in {
        "client_loss": "poc_loss",
        "client_optimizer": "poc_clip_norm client_lr_decay client_lr_rounds client_lr_schedule",
        "server_optimizer": "epsilon",
        "work": "local_epochs local_steps batch_size last_batch seed",
        "p": "client_share",
        "strategy": "client_share_of selection_separation",
        "availability": "availability_draws",
        "loop": "rounds eval_every checkpoint_every staleness_weight",
        "preprocessing": "augmentation",
        "data": "test_clients held_out_clients own_test client_half",
        "aggregation": "private",
        "model": "train lora",
        "constraint": "over_commitment",
    }.items()
    for parameter in parameters.split()
}
# Further settings under which a parameter has an effect.
WHERE: dict[str, dict[str, Any]] = {
    "device_column": {"device_file": SPEEDS},
    "device_column_examples": {"device_file": SPEEDS, "device_column": "computation"},
    "late_rounds": {"late_by": "geometric"},
    "async_starts": {"async_buffer": 2},
    "async_period_seconds": {"availability": "scarce"},
    "async_period_quantile": {"availability": "scarce"},
    "async_leavers": {"availability": "scarce", "async_period_seconds": 0.25},
    "async_most_periods": {
        **{"availability": "scarce", "async_period_seconds": 0.25},
        **{"async_leavers": "late", "async_most_periods": 1},
    },
    # One round later than the default maximum.
    "late_most_rounds": {"late_by": "fixed", "late_rounds": 51.0},
    "availability_objective": {"availability": "smartphones"},
    "availability_draws": {"seed": 3, "availability": "scarce"},
    "availability_history": {"availability_knowledge": "estimated"},
    "tff_clients_at_once": {"tff_runtime": "worker"},
    "client_lr_rounds": {"client_lr_schedule": "inverse"},
    "cnn_shrink": {"cnn_filters": "4"},
    "markov_epsilon": {"markov_order": "shuffled"},
    "ridge": {"task": "leaf_synthetic", "client_lr": 0.1},
    "loss_minima": {"task": "leaf_synthetic", "rounds": 4},
    "availability_knowledge": {"availability": "four_classes"},
    "policy_states": {"clients_per_round": 2},
    "client_share_of": {"availability": "arrival_departure", "algorithm": "fedavg"},
    "signal_time_unit": {
        "signal_file": str(Path(__file__).with_name("prices.csv")),
        "signal_round_seconds": 3.6,
    },
    "signal_budget": {"signal_rule": "budget", "signal_budget": 900.0},
    "round_timeout": {"num_workers": 2},
    "quorum_wait": {"quorum": 2},
    "quorum_failed": {"quorum": 3, "quorum_timeout": 0.01},
    # By the number of examples, and by their labels.
    "quorum_timeout": {"size_limit": None},
    "participation_alpha": {"size_limit": None},
    "transition_largest": {"size_limit": None},
    "test_fraction": {"test_fraction": 0.3},
}
# Values for which the rule below gives none that is allowed, or none with an effect.
OTHER_VALUE: dict[str, Any] = {
    "client_lr_schedule": "inverse",
    "cnn_filters": "4",
    "cnn_hidden": "8",
    "clients_per_round": 4,
    "cluster_pi": "0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.4",
    "cluster_eigenvalues": "0,0,0,0,0,0.5,0.6,0.7,0.8,0.5",
    "test_fraction": 0.6,
    "mix_shares": "1,3",
    "availability_parts": "always,smartphones",
    "num_clients": N + 1,
    "test_clients": 2,
    "own_test": 0.5,
    "renewal_up": "exponential,3",
    "renewal_down": "gamma,2,3",
    "private": "head.bias",
    "train": "head.bias",
    "poc_candidates": 31,
    "last_batch": "drop",
    "local_steps": 3,
    "rate_clusters": 3,
    "more_available_pi": 0.05,
    "groups_off": 50,
    "signal_file": str(Path(__file__).with_name("prices.csv")),
    "signal_time_unit": "ms",
    "device_file": SPEEDS,
    "device_column": "computation",
    "slot_seconds": 50.0,
    "fail_below_arrivals": 1.0,
    "transformer_heads": 2,
    "transformer_width": 8,
}
# Parameters outside the experiment: its place, its execution; alpha, which changes no label
# (tests/datasets/test_synthetic.py); another run (tests/f3ast_tff/run/test_initial_weights.py); a
# table of sites (tests/datasets/test_label_counts.py); and rules for a model with LoRA's factors
# (tests/f3ast_tff/methods/parts/test_factor_rules.py,
# tests/f3ast_tff/run/test_trained_part.py).
ELSEWHERE = (
    "factors lora_leaves lora_alpha method_name output_dir run_name logger client_scores "
    "write_masks checkpoint_seconds keep_checkpoints reading data_dir ray_address synthetic_alpha "
    "initial_weights partition label_counts scale"
)


# Availability of files alone.
FILES = ("trace", "table", "stays", "sites")


def other(parameter: Parameter, value: Any) -> Any:
    """Returns another allowed value."""
    if parameter.name in OTHER_VALUE:
        return OTHER_VALUE[parameter.name]
    if parameter.choices:
        return next(choice for choice in parameter.choices if choice != value)
    if parameter.kind is bool:
        return not value
    if parameter.kind is str:
        return f"{value}x"
    if parameter.kind is int:
        return 2 if value is None else value + 1
    if value is None:
        return 1.5
    candidates = (value / 2, value + 0.25, value * 2)
    return next(c for c in candidates if c != value and allowed(parameter, c))


def allowed(parameter: Parameter, value: float) -> bool:
    lower = parameter.minimum is None or value >= parameter.minimum
    above = parameter.above is None or value > parameter.above
    upper = parameter.maximum is None or value <= parameter.maximum
    return lower and above and upper and (parameter.below is None or value < parameter.below)


KNOWLEDGE = ("unbiased", "more_available", "adafed", "ca_fed", "fedstale", "f3ast_of_ca_fed")


def digest(value: Any) -> str:
    return hashlib.sha256(pickle.dumps(value)).hexdigest()


def parts(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Returns the digests of all parts of an experiment."""
    configuration = resolve(given)
    engine = configuration.configs["engine"]
    made: list[EngineParts] = []
    monkeypatch.setattr(type(engine), "build", lambda self, of: made.append(of))
    monkeypatch.setattr(type(engine), "connect", lambda self: None)
    if given.get("task") in WITH_FILES:
        monkeypatch.setattr(type(configuration.configs["task"]), "build", small_data)
    experiment = build.Builder(configuration, Path("folder")).experiment()
    (of_engine,) = made
    rounds = range(1, ROUNDS + 1)
    availability, deliver = experiment.availability, experiment.delivery.arrivals
    return {
        "data": digest((of_engine.data.train, of_engine.data.test)),
        "model": digest(of_engine.model),
        "preprocessing": digest(of_engine.preprocessing),
        "p": digest(of_engine.p),
        "strategy": digest(experiment.strategy),
        "availability": digest([availability.mask(t) for t in range(1, 100)]),
        "constraint": digest([experiment.constraint.limit(t) for t in rounds]),
        "delivery": digest([[deliver(t, np.arange(N)) for t in rounds], events(experiment)]),
        "work": digest(of_engine.work),
        "client_optimizer": digest(of_engine.client_optimizer),
        "server_optimizer": digest(of_engine.server_optimizer),
        "aggregation": digest(of_engine.aggregation),
        "attack": digest(
            [attackers, of_engine.aggregation] if (attackers := attackers_of(experiment)) else []
        ),
        "score_of": digest(experiment.further_score),
        "client_loss": of_engine.client_loss,
        "engine": digest(engine),
        "loop": (
            experiment.training.rounds,
            *(experiment.run.eval_every, experiment.run.checkpoint_every),
            experiment.staleness_weight,
        ),
    }


def attackers_of(experiment: Experiment) -> list[int]:
    return list(np.flatnonzero(experiment.of_clients.get("attacks", [])))


def events(experiment: Experiment) -> list[Any]:
    """Returns the first rounds of the clock of events, if there is one."""
    times: Any = experiment.delivery
    if not getattr(times, "is_asynchronous", False):
        return []
    clock, played = EventClock(times, N), []
    for t in range(1, ROUNDS + 1):
        found = clock.play(t, 3, lambda free, most, request: np.flatnonzero(free)[:most])
        clock.take(found.here if found.acts else [])
        played.append((found.seconds, found.asked.tolist(), found.here, found.lost))
    return played


def small_data(self: Any) -> FederatedData:
    """Replaces a task whose files are not here."""
    rng = generator(self.data_seed, "images")
    offsets = np.arange(self.num_clients + 1) * 2
    if self.model == "character_lstm":
        ids = rng.integers(1, 9, (2 * self.num_clients, 4)).astype(np.int32)
        return FederatedData(*[ClientExamples(ids, ids, offsets)] * 2, 10)
    images = rng.integers(256, size=(2 * self.num_clients, 32, 32, 3)).astype(np.uint8)
    examples = ClientExamples(images, np.zeros(len(images), np.int32), offsets)
    return FederatedData(examples, examples, 10)


def cases() -> list[Any]:
    found = []
    for component in REGISTRY.all():
        for parameter in component.parameters:
            if parameter.name in ELSEWHERE.split() or component.name in WITH_FILES:
                continue
            base: dict[str, Any] = {component.kind: component.name}
            chosen = CHOOSING.get((component.kind, component.name), {})
            if component.kind == "constraint":
                base = {}
            if component.name == "file" and parameter.name != "test_fraction":
                continue
            if component.kind == "availability" and component.name in FILES:
                continue
            if component.kind == "model" and component.name != "softmax_regression":
                # The task drops partial batches; clients of `small_data` have two examples.
                task = "shakespeare" if component.config.labels_sequences else "cifar100"
                base.update(task=task, batch_size=2)
            if component.name == "character_lstm":
                base["lstm_units"] = 4
            if component.name in KNOWLEDGE:
                base["availability"] = "four_classes"
            base.update(chosen)
            label = f"{component.kind}-{component.name}-{parameter.name}"
            marks = pytest.mark.long if component.name == "resnet18" else ()
            found.append(pytest.param(component.kind, base, parameter, id=label, marks=marks))
    for config in GROUPS.values():
        for parameter in parameters_of(config):
            if parameter.name not in ELSEWHERE.split():
                found.append(pytest.param("", {}, parameter, id=parameter.name))
    return found


@pytest.fixture(scope="module")
def unswitched() -> dict[str, dict[str, Any]]:
    """Parts before a switch, by settings: many switches share them."""
    return {}


@pytest.mark.parametrize(("kind", "base", "parameter"), cases())
def test_a_setting_reaches_its_part(
    kind: str,
    base: dict[str, Any],
    parameter: Parameter,
    unswitched: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = {"clients_per_round": 3, "rounds": 5}
    if base.get("task") != "file":
        small["num_clients"] = N
    if "constraint" in base:
        small.pop("clients_per_round")
    if parameter.name == "poc_candidates":
        small["clients_per_round"] = 3
    given = {**small, **base, **WHERE.get(parameter.name, {})}
    if given.get("task", "synthetic") == "synthetic":
        given = {"size_limit": 60, **given}
    value = resolve(given).settings[parameter.name]
    switched = {**given, parameter.name: other(parameter, value)}
    key = repr(sorted(given.items()))
    if key not in unswitched:
        unswitched[key] = parts(given, monkeypatch)
    before, after = unswitched[key], parts(switched, monkeypatch)
    part = PART_OF.get(parameter.name) or PART_OF_KIND.get(kind, kind)
    if kind == "client_optimizer":
        part = "client_optimizer"
    assert before[part] != after[part]
    if kind in KINDS and kind not in ("task", "availability", "constraint"):
        moved = {name for name in before if before[name] != after[name]}
        # The memory begins at the algorithm's switch; the released rank adds n_k; attackers may
        # have other labels.
        assert moved <= {part, "aggregation", "strategy", *(["data"] if kind == "attack" else [])}
