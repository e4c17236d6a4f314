"""Constructors of release 0.2.0 make the strategies that `start` makes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.policies import GreedyMixture
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.cluster_f3ast import ClusterF3AST
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.fedasync import FedAsync
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg, SampledMean, Uniform
from f3ast_tff.methods.fedlaavg import FedLaAvg, Switching
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability
from f3ast_tff.methods.parts.loss_estimates import LossEstimates
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, N
from tests.f3ast_tff.methods.test_every_selection import P, play

KNOWN = KnownAvailability(Blinking.stationary, Blinking.eigenvalue)
RATES, POLICY = np.linspace(0.2, 0.7, N), GreedyMixture(np.array([np.arange(N) + 1.0]), np.ones(1))
BLOCKS = np.arange(N) // 2


def rates(falling: bool = False) -> ParticipationRates:
    return ParticipationRates(RATES, 0.1, falling=falling)


def clusters() -> ParticipationRates:
    return ParticipationRates(RATES[:3], 0.1)


def switching_of_0_2_0() -> Switching:
    first: Any = FedAvg.start(P, 1, seed=3, sizes=SIZES, baseline_average="examples")
    then: Any = FedLaAvg.start(P, 1, seed=3, ties="lowest_id")
    return Switching(first, then, 4)


def start_with(weights: np.ndarray, p: np.ndarray) -> FedAvg:
    by_size = {"baseline_sampling": "uniform", "baseline_average": "examples"}
    return FedAvg.start(p, N, seed=3, sizes=weights, **by_size)


OLD: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "f3ast": (
        lambda: F3AST(P, rates(), "p", False, weight_bound=1.0, follow="selected"),
        lambda: F3AST.tracking(
            P,
            rates(),
            availability_objective="p",
            ties="lowest_id",
            weight_bound=1.0,
            rates_follow="selected",
        ),
    ),
    "f3ast_both": (
        lambda: F3AST(P, rates(), divide_by_k=True, seed=3, selected_rates=rates()),
        lambda: F3AST.tracking(P, rates(), rates(), divide_by_k=True, seed=3),
    ),
    "f3ast_released": (
        lambda: F3AST(P, rates(falling=True), fill_unavailable=True),
        lambda: F3AST.tracking(P, rates(falling=True), short_rounds="fill_unavailable"),
    ),
    "clusters": (
        lambda: ClusterF3AST(P, BLOCKS, clusters(), seed=3, weight_bound=1.0),
        lambda: F3AST.tracking(P, ClusterRates(BLOCKS, clusters()), seed=3, weight_bound=1.0),
    ),
    "f3ast_fixed": (
        lambda: FixedPolicy(P, RATES, POLICY, seed=3),
        lambda: FixedPolicy.following(P, RATES, POLICY, seed=3),
    ),
    "fedavg": (
        lambda: FedAvg(P, np.ones(N), seed=3),
        lambda: FedAvg.start(P, 1, seed=3, baseline_sampling="without_replacement"),
    ),
    "fedavg_by_size": (
        lambda: FedAvg(P, SIZES, True),
        lambda: FedAvg.start(P, 1, sizes=SIZES, baseline_average="examples"),
    ),
    "uniform": (lambda: Uniform(np.ones(N), 3), lambda: Uniform.start(P, 1, seed=3)),
    "uniform_weighted": (
        lambda: Uniform(P, seed=3, candidates=BLOCKS > 0),
        lambda: start_with(P, (BLOCKS > 0) / 4),
    ),
    "fedavg_all": (lambda: AllAvailable(P, 3), lambda: AllAvailable.start(P, 1, seed=3)),
    "longest_absent": (lambda: FedLaAvg(P, False), lambda: FedLaAvg.start(P, 1, ties="lowest_id")),
    "switching": (
        switching_of_0_2_0,
        lambda: Switching.start(
            P, 1, seed=3, sizes=SIZES, ties="lowest_id", switch_round=4, baseline_average="examples"
        ),
    ),
    "fedau": (lambda: FedAU(P), lambda: FedAU.start(P, N, fedau_cutoff=0)),
    "fedau_cutoff": (
        lambda: FedAU(P, seed=3, cutoff=2),
        lambda: FedAU.start(P, N, seed=3, fedau_cutoff=2),
    ),
    "unbiased": (
        lambda: Unbiased(P, EstimatedAvailability(N), 3),
        lambda: Unbiased.start(P, N, seed=3),
    ),
    "more_available": (
        lambda: MoreAvailable(P, KNOWN, seed=3, least_pi=0.6),
        lambda: MoreAvailable.start(P, N, seed=3, availability=Blinking(), more_available_pi=0.6),
    ),
    "adafed": (lambda: AdaFed(P, KNOWN), lambda: AdaFed.start(P, N, availability=Blinking())),
    "f3ast_of_ca_fed": (
        lambda: F3ASTOfCAFed(P, KNOWN, 0.2),
        lambda: F3ASTOfCAFed.start(P, N, availability=Blinking(), rate_beta=0.2),
    ),
    "ca_fed": (
        lambda: CAFed(P, KNOWN, LossEstimates(N, 0.5), 0.1, 0.01, bias_factor=1.0, strict=False),
        lambda: CAFed.start(
            P,
            N,
            availability=Blinking(),
            kappa2=0.1,
            tau=0.01,
            loss_beta=0.5,
            ca_fed_bias="released",
        ),
    ),
    "oort": (
        lambda: OortLoss(SIZES, 0.5, least=0.1),
        lambda: OortLoss.start(P, N, sizes=SIZES, oort_exploration=0.5, oort_exploration_min=0.1),
    ),
    "poc": (
        lambda: PowerOfChoice(p=P, candidates=4),
        lambda: PowerOfChoice.start(P, 1, poc_candidates=4),
    ),
    "poc_released": (
        lambda: PowerOfChoice(P, 4, 3, replace=True, added=SIZES, average_weights=SIZES),
        lambda: PowerOfChoice.start(
            P,
            1,
            seed=3,
            sizes=SIZES,
            poc_candidates=4,
            poc_pool="with_replacement",
            poc_loss="training_loss",
            poc_average="examples",
        ),
    ),
}


@pytest.mark.parametrize(("old", "new"), OLD.values(), ids=OLD)
def test_old_arguments_play_as_start_does(old: Callable[..., Any], new: Callable[[], Any]) -> None:
    with pytest.warns(DeprecationWarning, match=r"of arrays is \w+\.\w+\(p, .* now"):
        strategy = old()
    assert play(strategy, range(1, 9)) == play(new(), range(1, 9))


@pytest.mark.parametrize(
    ("old", "says"),
    [
        (
            lambda: PowerOfChoice(P, 4, added=SIZES, average_weights=P),
            "average_weights = .*: must be the numbers added",
        ),
        (
            lambda: CAFed(P, KNOWN, LossEstimates(N), bias_factor=1.0),
            "bias_factor = 1.0: must be 4 with strict, or 1 without",
        ),
        (
            lambda: Switching(AllAvailable.start(P, 1), FedLaAvg.start(P, 1), 4),
            "first = AllAvailable: must be FedAvg",
        ),
    ],
    ids=["poc", "ca_fed", "switching"],
)
def test_what_no_parameter_says_is_refused(old: Callable[..., Any], says: str) -> None:
    with pytest.warns(DeprecationWarning), pytest.raises(ParameterError, match=says):
        old()


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("f3ast_tff", "Proportional", FedAvg),
        ("f3ast_tff.methods.fedavg", "BaselineConfig", SampledMean),
        ("f3ast_tff.methods.f3ast", "F3ASTConfig", F3AST),
        ("f3ast_tff.methods.f3ast_fixed", "F3ASTFixedConfig", FixedPolicy),
        ("f3ast_tff.methods.fedlaavg", "FedLaAvgConfig", FedLaAvg),
        ("f3ast_tff.methods.fedlaavg", "LongestAbsent", FedLaAvg),
        ("f3ast_tff.methods.fedasync", "Mixing", FedAsync),
        ("f3ast_tff.methods.parts.all_available", "AllAvailableConfig", AllAvailable),
    ],
)
def test_old_names_are_those_of_the_one_class(module: str, name: str, now: type) -> None:
    said = f"{name} is {now.__qualname__} now"
    with pytest.warns(DeprecationWarning, match=said) as warned:
        assert getattr(importlib.import_module(module), name) is now
    # Python shows it for the user's own lines alone.
    assert warned[0].filename == __file__
    assert not hasattr(importlib.import_module(module), "Nobody")


def test_parameters_alone_make_a_config() -> None:
    assert FedAU(fedau_cutoff=2).plays is False
    with pytest.raises(ParameterError, match="fedau_cutoff = -1"):
        FedAU(fedau_cutoff=-1)
