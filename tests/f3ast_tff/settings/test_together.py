"""Settings that do not go together, or not with their values: name, value and reason."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
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
TOGETHER: list[tuple[dict[str, Any], str, str]] = [
    ({"availability": "trace"}, "trace_file", "must be given"),
    ({"constraint": "signal"}, "signal_file", "signal_file = : must be given"),
    ({"algorithm": "poc", "poc_candidates": 9}, "poc_candidates", "at least"),
    ({"algorithm": "sequential_sgd", "availability": "scarce"}, "availability", "must be always"),
    ({"algorithm": "sequential_sgd", "clients_per_round": 10}, "clients_per_round", "must be 1"),
    (
        {"algorithm": "fedavg", "rate_beta": 0.5},
        "rate_beta",
        "f3ast, f3ast_adam, f3ast_of_ca_fed; the algorithm is fedavg",
    ),
    ({"algorithm": "fedavg", "aggregation": "sum"}, "aggregation", f"{MEANT}mean"),
    ({"algorithm": "f3ast", "aggregation": "fedlaavg"}, "aggregation", f"{MEANT}sum"),
    ({"algorithm": "f3ast", "aggregation": "mifa"}, "aggregation", f"{MEANT}sum"),
    ({"algorithm": "fedvarp", "aggregation": "sum"}, "aggregation", f"{MEANT}fedvarp"),
    (
        {"algorithm": "fedavg", "aggregation": "fedstale", "cohort_weights": "sum"},
        "aggregation",
        f"{MEANT}mean",
    ),
    (
        {"algorithm": "mimic", "aggregation": "fedvarp", "cohort_weights": "sum"},
        "aggregation",
        f"{MEANT}mimic",
    ),
    ({**GRADIENTS, "client_momentum": 0.5}, "client_momentum", "must be 0 with aggregation scaff"),
    ({**GRADIENTS, "client_optimizer": "adam"}, "client_optimizer", "must be sgd with aggregation"),
    ({**GRADIENTS, "algorithm": "poc", "reading": "released"}, "aggregation", "which poc clips"),
    ({**GRADIENTS, "num_workers": 2}, "num_workers", "which remembers each client"),
    (
        {"algorithm": "fedawe", "server_momentum": 0.9},
        "server_momentum",
        "must be 0 with aggregation",
    ),
    (
        {"algorithm": "fedadam", "aggregation": "fedawe"},
        "server_optimizer",
        "must be sgd with aggr",
    ),
    ({**GRADIENTS, **TFF, "client_optimizer": "adam"}, "client_optimizer", "must be sgd with aggr"),
    ({"client_optimizer": "sam", "algorithm": "scaffold"}, "client_optimizer", "must be sgd"),
    (
        {"algorithm": "f3ast+scaffold", "aggregation": "mean"},
        "aggregation",
        r"= mean: must be scaffold with f3ast\+scaffold",
    ),
    ({"algorithm": "unbiased+mifa"}, "aggregation", "= mifa: the weights of unbiased are "),
    # Of two settings one is given: the other would be dropped without a word.
    (
        {"constraint": "cycle:5,10", "clients_per_round": 3},
        "clients_per_round",
        "only applies with",
    ),
    ({"constraint": "7", "clients_per_round": 3}, "constraint", "not be given with clients_per_ro"),
    ({"local_epochs": 3, "local_steps": 2}, "local_epochs", "must not be given with local_step"),
    ({**FILE, "test_fraction": 0.5}, "test_fraction", "with data_split=part"),
    (
        {"matmul_precision": "tensorfloat32", "device": "cpu"},
        "matmul_precision",
        "applies on a GPU",
    ),
    # Engines and workers.
    ({"ray_address": "auto"}, "ray_address", "only applies with num_workers"),
    ({"round_timeout": 3.0}, "round_timeout", "only applies with num_workers"),
    ({**TFF, "tff_runtime": "worker", "device": "gpu"}, "device", "CPU"),
    ({**TFF, "round_timeout": 3.0}, "round_timeout", "TFF's worker"),
    (
        {**TFF, "tff_runtime": "tf", "tff_clients_at_once": 2},
        "tff_clients_at_once",
        "only applies with tff_runtime worker",
    ),
    ({**TFF, **WORKERS, "tff_runtime": "worker"}, "tff_runtime", "must be tf"),
    ({"tff_runtime": "tf"}, "tff_runtime", "only applies with engine tff"),
    ({"tff_clients_at_once": 3}, "tff_clients_at_once", "only applies with engine tff"),
    ({**TFF, "client_optimizer": "sam"}, "client_optimizer", "looks elsewhere"),
    (
        {**WORKERS, "algorithm": "fedlaavg"},
        "num_workers",
        "must not be .* fedlaavg, which remembers each client",
    ),
    ({**WORKERS, "algorithm": "fedprox"}, "num_workers", "fedprox, which sets each client's st"),
    ({**WORKERS, "private": "head"}, "num_workers", "must not be given with private=head"),
    ({**WORKERS, "attack": "noise"}, "num_workers", "must not be given with attack noise"),
    ({**WORKERS, **LATE}, "num_workers", "kept here"),
    ({**WORKERS, **ASYNCHRONOUS}, "num_workers", "delivery=asynchronous"),
    # Deliveries.
    ({**LATE, "algorithm": "scaffold"}, "delivery", "corrections of their gradients"),
    ({**LATE, "algorithm": "fedawe"}, "delivery", "start from models"),
    ({**LATE, "algorithm": "fedprox"}, "delivery", "start from a pull to the model"),
    ({**LATE, "algorithm": "oort_loss"}, "delivery", "asks a client for its losses"),
    (
        {**LATE, "algorithm": "poc", "poc_loss": "training_loss"},
        "poc_loss",
        "must be mean with delivery=late",
    ),
    ({**LATE, "late_by": "fixed", "late_rounds": 1.5}, "late_rounds", "whole number"),
    (
        {**LATE, "late_by": "uniform", "late_rounds": 0.7},
        "late_rounds",
        "twice it must be a whole number",
    ),
    ({**LATE, "short_rounds": "fill_unavailable"}, "short_rounds", "available_only"),
    ({"algorithm": "fedbuff", "delivery": "certain"}, "delivery", "must be late or asynchronous"),
    ({**LATE, "algorithm": "fadas", "aggregation": "mean"}, "aggregation", "must be sum"),
    (
        {**LATE, "algorithm": "fedbuff", "staleness_weight": "root"},
        "staleness_weight",
        "weighs staleness itself",
    ),
    ({"algorithm": "fedavg_in_time", "delivery": "certain"}, "delivery", "must be late with algo"),
    ({**ASYNCHRONOUS, "algorithm": "scaffold"}, "delivery", "corrections of their gradients"),
    ({**ASYNCHRONOUS, "algorithm": "oort_loss"}, "delivery", "asks a client for its losses"),
    (
        {**ASYNCHRONOUS, "algorithm": "fedavg_in_time"},
        "delivery",
        "must be late with algorithm fedavg_in_time",
    ),
    (
        {**ASYNCHRONOUS, "algorithm": "fedbuff", "buffer_size": 3, "async_buffer": 2},
        "async_buffer",
        "must be buffer_size, 3",
    ),
    (
        {**ASYNCHRONOUS, "client_share_of": "present"},
        "client_share_of",
        "rounds have no time of their own",
    ),
    (
        {**FEDASYNC, "async_buffer": 2},
        "async_buffer",
        "must be 1 with algorithm fedasync, which steps on every arrival",
    ),
    ({**FEDASYNC, **LATE}, "delivery", "must be asynchronous with algorithm fedasync"),
    ({**FEDASYNC, "aggregation": "sum"}, "aggregation", "must be fedasync with algorithm fedasync"),
    (
        {**FEDASYNC, "staleness_weight": "root"},
        "staleness_weight",
        "must be constant with algorithm fedasync",
    ),
    ({"algorithm": "uniform", "aggregation": "fedasync"}, "aggregation", f"{MEANT}mean"),
    ({**FEDASYNC, "fedasync_alpha": 1.5}, "fedasync_alpha", "must be above 0 and at most 1"),
    ({"loss_probability": 0.2}, "loss_probability", "only applies with delivery bernoulli"),
    (
        {"delivery": "bernoulli", "loss_probability": 1.0},
        "loss_probability",
        "must be at least 0 and below 1",
    ),
    (
        {"delivery": "over_commit", "fail_below_arrivals": 0.8},
        "fail_below_arrivals",
        "only applies with delivery be",
    ),
    (
        {"delivery": "trace", "fail_below_arrivals": 1.5},
        "fail_below_arrivals",
        "at least 0 and at most 1",
    ),
    ({"delivery": "mail"}, "delivery", "must be one of certain, bernoulli, trace,"),
    ({"quorum": 4}, "quorum", "only applies with delivery quorum"),
    ({**QUORUM, "quorum": 0}, "quorum", "must be at least 1"),
    ({**QUORUM, "quorum": 4, "algorithm": "fedavg"}, "quorum", "give baseline_sampling=uniform"),
    *[
        ({"delivery": delivery, **given}, name, needs)
        for delivery in ("asynchronous", "bernoulli", "late", "over_commit")
        for given, name, needs in (
            ({"device_column": "t"}, "device_column", "needs a device_file"),
            ({"device_column_examples": 5}, "device_column_examples", "needs a device_column"),
        )
    ],
    # Clients that rest, leave or attack, and leaves that they keep.
    ({"rates_follow": "both", "rate_clusters": 2}, "rates_follow", "must be delivered or"),
    (
        {"selection_separation": 3, "short_rounds": "fill_unavailable"},
        "short_rounds",
        "must be .*with selection_separation",
    ),
    (
        {"availability": "poisson_arrivals", "client_share_of": "present", "reading": "released"},
        "short_rounds",
        "= fill_unavailable: must be available_only with",
    ),
    ({"attack": "sign_flips"}, "attack", "did you mean sign_flip"),
    ({"attack_share": 0.5}, "attack_share", "only applies with attack .*; the attack is not given"),
    ({"attack": "noise", "private": "head"}, "private", "must not be given with attack noise"),
    ({"attack": "noise", "attackers": "rare"}, "attackers", "must be one of"),
    # Models.
    ({**TRANSFORMER, "transformer_heads": 5}, "transformer_heads", "= 5: must divide .*_width, 64"),
    ({**TRANSFORMER, **TFF}, "engine", "must be fused with model character_transformer"),
    (
        {"engine": "host", "task": "mnist", "model": "small_cnn"},
        "engine",
        "engine = host: .*small_cnn, which has no form in",
    ),
    # Client optimizers, their schedules, and LoRA.
    ({"client_optimizer": "sam", "sam_radius": -1.0}, "sam_radius", "must be"),
    ({"client_lr_schedule": "linear"}, "client_lr_schedule", "must be one of constant, geom"),
    ({"client_lr_schedule": "inverse", "client_lr_decay": 0.9}, "client_lr_decay", "= 0.9: only"),
    ({"client_lr_decay": 0.9, "client_lr_rounds": 5}, "client_lr_rounds", "= 5: only .*geometric"),
    (
        {"client_lr_schedule": "inverse", "client_lr_rounds": 0},
        "client_lr_rounds",
        "must be at least 1",
    ),
    ({"lora": 0}, "lora", "^lora = 0: must be at least 1$"),
    ({"lora": 4, "lora_alpha": 0.0}, "lora_alpha", "^lora_alpha = 0.0: must be above 0$"),
    ({"lora_leaves": "head"}, "lora_leaves", "^lora_leaves = head: needs lora, the rank$"),
    ({"lora_alpha": 2.0}, "lora_alpha", "^lora_alpha = 2.0: needs lora, the rank$"),
    ({"lora": 4, "engine": "host"}, "engine", "^engine = host: must be fused with lora=4, whose"),
]


@pytest.mark.parametrize(("given", "name", "says"), TOGETHER, ids=str)
def test_what_cannot_be_together_is_refused(given: dict[str, Any], name: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as caught:
        resolve(given)
    error = caught.value
    assert error.name == name
    assert name not in given or error.value == given[name]
    assert "\n" not in str(error)
    assert "--" not in error.allowed
