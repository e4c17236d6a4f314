"""Constructors of release 0.2.0 make the strategies that `start` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability
from f3ast_tff.methods.parts.loss_estimates import LossEstimates
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, N
from tests.f3ast_tff.methods.test_every_selection import P, play

KNOWN = KnownAvailability(Blinking.stationary, Blinking.eigenvalue)
OLD: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
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
    with pytest.warns(DeprecationWarning, match=r"of arrays is \w+.start\(p, k, ...\) now"):
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
    ],
    ids=["poc", "ca_fed"],
)
def test_what_no_parameter_says_is_refused(old: Callable[..., Any], says: str) -> None:
    with pytest.warns(DeprecationWarning), pytest.raises(ParameterError, match=says):
        old()


def test_parameters_alone_make_a_config() -> None:
    assert FedAU(fedau_cutoff=2).plays is False
    with pytest.raises(ParameterError, match="fedau_cutoff = -1"):
        FedAU(fedau_cutoff=-1)
