"""Presets for the differences between the paper, its released code and CA-Fed's authors."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.models.pure_model import PureModel
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings import Derived, Parameter, Reading, parameters_of
from f3ast_tff.settings.component import parts_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.parameter import PRESETS
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.settings.examples import CHOOSING

# Setting: number, paper, released code. The paper's R1 depends on the model, R9 on the
# availability, R3 on the constraint.
EXPECTED: dict[str, tuple[str, Any, Any]] = {
    "rate_init": ("R1", None, "p"),
    "divide_by_k": ("R2", False, True),
    "baseline_sampling": ("R3", None, "with_replacement"),
    "baseline_average": ("R3", "plain", "examples"),
    "lognormal_spread": ("R4", "variance", "sigma"),
    "smartphones_grid": ("R5", "hourly", "endpoints"),
    "availability_objective": ("R9", None, "p_squared"),
    "poc_pool": ("R10", "without_replacement", "with_replacement"),
    "poc_loss": ("R10", "mean", "training_loss"),
    "poc_average": ("R10", "plain", "examples"),
    "resnet_variant": ("R12", "strided", "released"),
    "ties": ("R11", "random", "lowest_id"),
    "availability_draws": ("R13", "by_seed", "by_round_only"),
    "client_share": ("R16", None, "batches"),
    "short_rounds": ("R17", "available_only", "fill_unavailable"),
    "poc_clip_norm": ("R18", 0.0, 1.0),
    "ca_fed_bias": ("R20", "paper", "paper"),
    "loss_minima": ("R20", "running", "running"),
    "softmax_start": ("R21", "zeros", "glorot"),
    "feature_spread": ("R22", "deviation", "variance"),
    "markov_classes": ("R23", "four", "four"),
}
# Values of CA-Fed's authors; all others are the paper's.
OF_CA_FED = {
    "ca_fed_bias": "released",
    "loss_minima": "trained",
    "feature_spread": "variance",
    "markov_classes": "three",
}
# Whether the clients of a process are available together.
KNOWN = {
    **dict.fromkeys(("smartphones", "alternating", "markov_clusters", "trace", "table"), True),
    **dict.fromkeys(("product", "staircase", "sine", "interleaved_sine"), True),
    **dict.fromkeys(("dirichlet_cyclic", "periodic_groups", "arrival_departure"), True),
    **dict.fromkeys(("stays", "sites", "poisson_arrivals"), True),
    **dict.fromkeys(("always", "scarce", "home_devices", "uneven", "mix", "four_classes"), False),
    **dict.fromkeys(("stationary", "smallest_label", "markov_transition", "battery"), False),
    **dict.fromkeys(("dirichlet_bernoulli", "dirichlet_markov", "minimum_separation"), False),
    "renewal": False,
}
PROCESSES = builtin_registry().names("availability")


def readings() -> dict[str, Parameter]:
    """Each parameter that is a reading."""
    found = dict(builtin_registry().parameters())
    for config in GROUPS.values():
        found.update({p.name: p for p in parameters_of(config)})
    return {name: p for name, p in found.items() if isinstance(p.default, Reading)}


READINGS = readings()
# Settings under which each reading exists.
WHERE: dict[str, dict[str, Any]] = {
    "baseline_sampling": {"algorithm": "fedavg"},
    "baseline_average": {"algorithm": "fedavg"},
    "smartphones_grid": {"availability": "smartphones"},
    "poc_pool": {"algorithm": "poc"},
    "poc_loss": {"algorithm": "poc"},
    "poc_average": {"algorithm": "poc"},
    "poc_clip_norm": {"algorithm": "poc"},
    "resnet_variant": {"task": "cifar100"},
    "ca_fed_bias": {"algorithm": "ca_fed", "availability": "four_classes", "ridge": 0.01},
    "loss_minima": {"algorithm": "ca_fed", "availability": "four_classes", "ridge": 0.01},
    "feature_spread": {"task": "leaf_synthetic"},
    "markov_classes": {"availability": "four_classes"},
}


def test_table_of_readings() -> None:
    got = {}
    for name, parameter in READINGS.items():
        reading = parameter.default
        paper = None if isinstance(reading.paper, Derived) else reading.paper
        got[name] = (reading.number, paper, reading.released)
    assert got == EXPECTED
    ca_fed = {n: p.default.ca_fed for n, p in READINGS.items() if p.default.ca_fed is not None}
    assert ca_fed == OF_CA_FED
    assert PRESETS == ("paper", "released", "ca_fed", "textbook")


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("preset", PRESETS)
def test_preset_is_its_values_one_by_one(preset: str, name: str) -> None:
    """A preset sets each reading; given alone, the value changes only that setting."""
    other = "paper" if preset == "released" else "released"
    base = {"run_name": "same", **WHERE.get(name, {})}
    value = resolve({**base, "reading": preset}).settings[name]
    if not isinstance(READINGS[name].default.value(preset), Derived):
        assert value == READINGS[name].default.value(preset)
    before = resolve({**base, "reading": other}).settings
    after = resolve({**base, "reading": other, name: value}).settings
    assert {n for n in before if before[n] != after[n]} <= {name}
    assert after[name] == value
    assert READINGS[name].decides_result
    assert not READINGS[name].choices or value in READINGS[name].choices


@pytest.mark.parametrize("availability", PROCESSES)
def test_objective_of_the_paper_follows_the_availability(availability: str) -> None:
    """Eq. (3): p if one available client makes another likelier to be available.

    A combination counts as correlated if one of its parts is. Among the examples, `product`
    contains smartphones, and `mix` does not.
    """
    given = {"availability": availability, **CHOOSING.get(("availability", availability), {})}
    found = resolve(given)
    config = found.configs["availability"]
    together = any(each.positively_correlated for each in (config, *parts_of(config)))
    assert together == KNOWN.get(availability, together)
    assert found.settings["availability_objective"] == ("p" if together else "p_squared")
    released = resolve({**given, "reading": "released", "client_share_of": "all"}).settings
    assert released["availability_objective"] == "p_squared"


@pytest.mark.parametrize(
    ("algorithm", "paper", "released"),
    [
        ("f3ast", "examples", "batches"),
        ("ca_fed", "examples", "batches"),
        ("mifa", "equal", "batches"),
        ("scaffold", "equal", "batches"),
        ("focus", "equal", "batches"),
    ],
)
def test_objective_of_a_method_is_its_papers(algorithm: str, paper: str, released: str) -> None:
    """Weights of clients: n_k / n, batches, or 1 / N."""
    for reading, expected in (("paper", paper), ("released", released)):
        given = {"algorithm": algorithm, "availability": "always", "reading": reading}
        assert resolve(given).settings["client_share"] == expected
        own = resolve({**given, "client_share": "equal"})
        assert own.settings["client_share"] == "equal"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"task": "synthetic"}, "p"),
        ({"task": "cifar100", "model": "softmax_regression"}, "p"),
        ({"task": "cifar100"}, "all_available"),
        ({"task": "shakespeare"}, "all_available"),
        ({"task": "cifar10", "model": "small_cnn"}, "all_available"),
    ],
)
def test_first_rates_of_the_paper_follow_the_model(given: dict[str, Any], expected: str) -> None:
    """Weights from p sum to up to 7 of K = 10: no network has trained with them so far."""
    for algorithm in ("f3ast", "f3ast_adam"):
        given = {**given, "algorithm": algorithm}
        assert resolve(given).settings["rate_init"] == expected
        assert resolve({**given, "reading": "released"}).settings["rate_init"] == "p"


def test_a_model_of_ones_own_says_whether_it_is_convex() -> None:
    """A user's model counts as a network unless it has `convex`, like our softmax regression."""
    own, convex = (
        PureModel(lambda seed: seed, lambda weights, inputs: inputs, convex=each)
        for each in (False, True)
    )
    found = []
    for model in (own, convex, SoftmaxRegression(60, 10)):
        settings, registry = settings_of({"model": model}, builtin_registry())
        found.append(resolve(settings, registry).settings["rate_init"])
    assert found == ["all_available", "p", "p"]


@pytest.mark.parametrize("seed", [1, 7])
def test_the_released_code_seeds_availability_with_one(seed: int) -> None:
    """R13, for any seed of the run."""
    released = resolve({"task": "synthetic", "seed": seed, "availability_draws": "by_round_only"})
    assert Builder(released).availability_seed == 1
    assert Builder(resolve({"task": "synthetic", "seed": seed})).availability_seed == seed
