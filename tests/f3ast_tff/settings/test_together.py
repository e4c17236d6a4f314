"""Settings that do not go together, or not with the data: name, value and reason."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

MEANT = "are meant for "
# D_k is -rate times the sum of gradients only without momentum, Adam or clipping.
GRADIENTS: dict[str, Any] = {"algorithm": "f3ast", "aggregation": "scaffold"}
TFF, WORKERS = {"engine": "tff"}, {"num_workers": 2}
LATE, ASYNCHRONOUS = {"delivery": "late"}, {"delivery": "asynchronous"}
QUORUM: dict[str, Any] = {"delivery": "quorum", "num_clients": 8, "clients_per_round": 8}
FEDASYNC = {"algorithm": "fedasync"}
TRANSFORMER = {"task": "shakespeare", "model": "character_transformer"}
FILE = {"task": "file", "data_file": "a.csv", "data_split": "part", "num_clients": 10}
# Settings, the reason, and the setting that is refused, if it is not the last one.
TOGETHER: list[tuple[Any, ...]] = [
    ({"availability": "trace"}, "must be given", "trace_file"),
    ({"constraint": "signal"}, "signal_file = : must be given", "signal_file"),
    ({"algorithm": "poc", "poc_candidates": 9}, "at least"),
    ({"algorithm": "sequential_sgd", "availability": "scarce"}, "must be always"),
    ({"algorithm": "sequential_sgd", "clients_per_round": 10}, "must be 1"),
    (
        {"algorithm": "fedavg", "rate_beta": 0.5},
        "f3ast, f3ast_adam, f3ast_of_ca_fed; the algorithm is fedavg",
    ),
    ({"algorithm": "fedavg", "aggregation": "sum"}, f"{MEANT}mean"),
    ({"algorithm": "f3ast", "aggregation": "fedlaavg"}, f"{MEANT}sum"),
    ({"algorithm": "f3ast", "aggregation": "mifa"}, f"{MEANT}sum"),
    ({"algorithm": "fedvarp", "aggregation": "sum"}, f"{MEANT}fedvarp"),
    ({"algorithm": "fedavg", "cohort_weights": "sum", "aggregation": "fedstale"}, f"{MEANT}mean"),
    ({"algorithm": "mimic", "cohort_weights": "sum", "aggregation": "fedvarp"}, f"{MEANT}mimic"),
    ({**GRADIENTS, "client_momentum": 0.5}, "must be 0 with aggregation scaff"),
    ({**GRADIENTS, "client_optimizer": "adam"}, "must be sgd with aggregation"),
    ({**GRADIENTS, "algorithm": "poc", "reading": "released"}, "which poc clips", "aggregation"),
    ({**GRADIENTS, "num_workers": 2}, "which remembers each client"),
    ({"algorithm": "fedawe", "server_momentum": 0.9}, "must be 0 with aggregation"),
    (
        {"algorithm": "fedadam", "aggregation": "fedawe"},
        "must be sgd with aggr",
        "server_optimizer",
    ),
    ({**GRADIENTS, **TFF, "client_optimizer": "adam"}, "must be sgd with aggr"),
    ({"algorithm": "scaffold", "client_optimizer": "sam"}, "must be sgd"),
    (
        {"algorithm": "f3ast+scaffold", "aggregation": "mean"},
        r"= mean: must be scaffold with f3ast\+scaffold",
    ),
    ({"algorithm": "unbiased+mifa"}, "= mifa: the weights of unbiased are ", "aggregation"),
    # Of two settings one is given: the other would be dropped without a word.
    ({"constraint": "cycle:5,10", "clients_per_round": 3}, "only applies with"),
    ({"clients_per_round": 3, "constraint": "7"}, "not be given with clients_per_ro"),
    ({"local_steps": 2, "local_epochs": 3}, "must not be given with local_step"),
    ({**FILE, "test_fraction": 0.5}, "with data_split=part"),
    ({"device": "cpu", "matmul_precision": "tensorfloat32"}, "applies on a GPU"),
    # Engines and workers.
    ({"ray_address": "auto"}, "only applies with num_workers"),
    ({"round_timeout": 3.0}, "only applies with num_workers"),
    ({**TFF, "tff_runtime": "worker", "device": "gpu"}, "CPU"),
    ({**TFF, "round_timeout": 3.0}, "TFF's worker"),
    (
        {**TFF, "tff_runtime": "tf", "tff_clients_at_once": 2},
        "only applies with tff_runtime worker",
    ),
    ({**TFF, **WORKERS, "tff_runtime": "worker"}, "must be tf"),
    ({"tff_runtime": "tf"}, "only applies with engine tff"),
    ({"tff_clients_at_once": 3}, "only applies with engine tff"),
    ({**TFF, "client_optimizer": "sam"}, "looks elsewhere"),
    (
        {**WORKERS, "algorithm": "fedlaavg"},
        "must not be .* fedlaavg, which remembers each client",
        "num_workers",
    ),
    ({**WORKERS, "algorithm": "fedprox"}, "fedprox, which sets each client's st", "num_workers"),
    ({**WORKERS, "private": "head"}, "must not be given with private=head", "num_workers"),
    ({**WORKERS, "attack": "noise"}, "must not be given with attack noise", "num_workers"),
    ({**WORKERS, **LATE}, "kept here", "num_workers"),
    ({**WORKERS, **ASYNCHRONOUS}, "delivery=asynchronous", "num_workers"),
    # Deliveries.
    ({**LATE, "algorithm": "scaffold"}, "corrections of their gradients", "delivery"),
    ({**LATE, "algorithm": "fedawe"}, "start from models", "delivery"),
    ({**LATE, "algorithm": "fedprox"}, "start from a pull to the model", "delivery"),
    ({**LATE, "algorithm": "oort_loss"}, "asks a client for its losses", "delivery"),
    ({**LATE, "algorithm": "poc", "poc_loss": "training_loss"}, "must be mean with delivery=late"),
    ({**LATE, "late_by": "fixed", "late_rounds": 1.5}, "whole number"),
    ({**LATE, "late_by": "uniform", "late_rounds": 0.7}, "twice it must be a whole number"),
    ({**LATE, "short_rounds": "fill_unavailable"}, "available_only"),
    ({"algorithm": "fedbuff", "delivery": "certain"}, "must be late or asynchronous"),
    ({**LATE, "algorithm": "fadas", "aggregation": "mean"}, "must be sum"),
    ({**LATE, "algorithm": "fedbuff", "staleness_weight": "root"}, "weighs staleness itself"),
    ({"algorithm": "fedavg_in_time", "delivery": "certain"}, "must be late with algo"),
    ({**ASYNCHRONOUS, "algorithm": "scaffold"}, "corrections of their gradients", "delivery"),
    ({**ASYNCHRONOUS, "algorithm": "oort_loss"}, "asks a client for its losses", "delivery"),
    (
        {**ASYNCHRONOUS, "algorithm": "fedavg_in_time"},
        "must be late with algorithm fedavg_in_time",
        "delivery",
    ),
    (
        {**ASYNCHRONOUS, "algorithm": "fedbuff", "buffer_size": 3, "async_buffer": 2},
        "must be buffer_size, 3",
    ),
    ({**ASYNCHRONOUS, "client_share_of": "present"}, "rounds have no time of their own"),
    (
        {**FEDASYNC, "async_buffer": 2},
        "must be 1 with algorithm fedasync, which steps on every arrival",
    ),
    ({**FEDASYNC, **LATE}, "must be asynchronous with algorithm fedasync"),
    ({**FEDASYNC, "aggregation": "sum"}, "must be fedasync with algorithm fedasync"),
    ({**FEDASYNC, "staleness_weight": "root"}, "must be constant with algorithm fedasync"),
    ({"algorithm": "uniform", "aggregation": "fedasync"}, f"{MEANT}mean"),
    ({**FEDASYNC, "fedasync_alpha": 1.5}, "must be above 0 and at most 1"),
    ({"loss_probability": 0.2}, "only applies with delivery bernoulli"),
    ({"delivery": "bernoulli", "loss_probability": 1.0}, "must be at least 0 and below 1"),
    ({"delivery": "over_commit", "fail_below_arrivals": 0.8}, "only applies with delivery be"),
    ({"delivery": "trace", "fail_below_arrivals": 1.5}, "at least 0 and at most 1"),
    ({"delivery": "mail"}, "must be one of certain, bernoulli, trace,"),
    ({"quorum": 4}, "only applies with delivery quorum"),
    ({**QUORUM, "quorum": 0}, "must be at least 1"),
    ({**QUORUM, "algorithm": "fedavg", "quorum": 4}, "give baseline_sampling=uniform"),
    *[
        ({"delivery": delivery, **given}, needs)
        for delivery in ("asynchronous", "bernoulli", "late", "over_commit")
        for given, needs in (
            ({"device_column": "t"}, "needs a device_file"),
            ({"device_column_examples": 5}, "needs a device_column"),
        )
    ],
    # Clients that rest, leave or attack, and leaves that they keep.
    ({"rate_clusters": 2, "rates_follow": "both"}, "must be delivered or"),
    (
        {"selection_separation": 3, "short_rounds": "fill_unavailable"},
        "must be .*with selection_separation",
    ),
    (
        {"availability": "poisson_arrivals", "client_share_of": "present", "reading": "released"},
        "= fill_unavailable: must be available_only with",
        "short_rounds",
    ),
    ({"attack": "sign_flips"}, "did you mean sign_flip"),
    ({"attack_share": 0.5}, "only applies with attack .*; the attack is not given"),
    ({"attack": "noise", "private": "head"}, "must not be given with attack noise"),
    ({"attack": "noise", "attackers": "rare"}, "must be one of"),
    # Models.
    ({**TRANSFORMER, "transformer_heads": 5}, "= 5: must divide .*_width, 64"),
    ({**TRANSFORMER, **TFF}, "must be fused with model character_transformer"),
    (
        {"task": "mnist", "model": "small_cnn", "engine": "host"},
        "engine = host: .*small_cnn, which has no form in",
    ),
    # Client optimizers, their schedules, and LoRA.
    ({"client_optimizer": "sam", "sam_radius": -1.0}, "must be"),
    ({"client_lr_schedule": "linear"}, "must be one of constant, geom"),
    ({"client_lr_schedule": "inverse", "client_lr_decay": 0.9}, "= 0.9: only"),
    ({"client_lr_decay": 0.9, "client_lr_rounds": 5}, "= 5: only .*geometric"),
    ({"client_lr_schedule": "inverse", "client_lr_rounds": 0}, "must be at least 1"),
    ({"lora": 0}, "^lora = 0: must be at least 1$"),
    ({"lora": 4, "lora_alpha": 0.0}, "^lora_alpha = 0.0: must be above 0$"),
    ({"lora_leaves": "head"}, "^lora_leaves = head: needs lora, the rank$"),
    ({"lora_alpha": 2.0}, "^lora_alpha = 2.0: needs lora, the rank$"),
    ({"lora": 4, "engine": "host"}, "^engine = host: must be fused with lora=4, whose"),
]


@pytest.mark.parametrize("row", TOGETHER, ids=str)
def test_what_cannot_be_together_is_refused(row: tuple[Any, ...]) -> None:
    given, says, name = (*row, [*row[0]][-1])[:3]
    with pytest.raises(ParameterError, match=says) as caught:
        resolve(given)
    error = caught.value
    assert error.name == name
    assert name not in given or error.value == given[name]
    assert "\n" not in str(error)
    assert "--" not in error.allowed


def data() -> FederatedData:
    """Clients of 3, 5 and 12 examples."""
    clients = np.repeat(["a", "b", "c"], [3, 5, 12])
    features = np.random.default_rng(0).normal(size=(20, 60)).astype(np.float32)
    labels = np.arange(20) % 10
    return FederatedData.from_arrays(features, labels, clients, test=None)


def build(**settings: object) -> None:
    given = {"num_clients": 3, "clients_per_round": 2, **settings}
    builder = Builder(resolve(given))
    builder.data = data()
    _ = builder.world


def test_a_batch_larger_than_every_client_is_refused() -> None:
    with pytest.raises(ParameterError, match="batch_size = 13: must be at most 12, .* client c"):
        build(batch_size=13, last_batch="drop")
    build(batch_size=13)
    build(batch_size=13, local_steps=1, last_batch="drop")


def test_clients_without_a_step_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        build(batch_size=6, last_batch="drop", algorithm="fedavg", client_share="batches")
    assert "2 of 3 clients hold less than one batch of 6" in caplog.text
    assert "the first is client a, with 3 examples" in caplog.text


def test_more_work_than_can_be_ordered_is_refused() -> None:
    with pytest.raises(ParameterError, match="local_steps = 1000000: .* visit 1000000000 examples"):
        build(local_steps=10**6, batch_size=1000)
