"""Saved states: of whole strategies see `test_every_selection.py`; here, states that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg, Uniform
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability
from f3ast_tff.methods.parts.loss_estimates import LossEstimates
from f3ast_tff.methods.parts.wrappers import Separated


def equal(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


def falling(n: int) -> ParticipationRates:
    return ParticipationRates(equal(n), 0.1, falling=True)


# By name: an object of n clients, and the end of "saved ... lack ...".
MAKE: dict[str, tuple[Callable[[int], Any], str]] = {
    "rates": (lambda n: ParticipationRates(equal(n), 0.1), "rates lack rate_scale, unscaled_rates"),
    "falling": (falling, "rates lack rate_scale, rate_updates, unscaled_rates"),
    "losses": (LossEstimates, "losses lack minima, started, values"),
    "availability": (EstimatedAvailability, "availability lack .*last_round"),
    "separated": (
        lambda n: Separated(Uniform.start(equal(n), 2), 2, n),
        "selections lack free_from",
    ),
    "fedau": (
        lambda n: FedAU.start(equal(n), n),
        "arrays lack interval_rounds, intervals_ended, mean_interval",
    ),
    "oort": (lambda n: OortLoss.start(equal(n), n), "arrays lack last_participation, utility"),
}


@pytest.mark.parametrize(("make", "lack"), MAKE.values(), ids=MAKE)
def test_states_that_do_not_fit_are_refused(make: Callable[[int], Any], lack: str) -> None:
    with pytest.raises(ValueError, match=f"saved {lack}"):
        make(2).restore({})
    with pytest.raises(ValueError, match=r"saved \w+ has shape \(3,\), not \(2,\): .* of another"):
        make(2).restore(make(3).state())


def test_rates_saved_with_a_constant_step_lack_the_number_of_rounds() -> None:
    with pytest.raises(ValueError, match="saved rates lack rate_updates"):
        falling(2).restore(ParticipationRates(equal(2), 0.1).state())


@pytest.mark.parametrize("stateless", [KnownAvailability(equal(4)), FedAvg.start(equal(4), 1)])
def test_without_a_state_only_the_empty_one_is_restored(stateless: Any) -> None:
    assert stateless.state() == {}
    stateless.restore({})
    with pytest.raises(ValueError, match="unexpected saved state.*rates"):
        stateless.restore({"rates": np.ones(4)})


def test_an_array_that_is_made_anew_is_refused() -> None:
    """`restore` would write into a copy."""

    class Points(SavedState):
        pointer = 3

        def saved_arrays(self) -> dict[str, np.ndarray]:
            return {"pointer": np.array([self.pointer])}

    with pytest.raises(ComponentError, match="Points: saved_arrays.. makes a new array"):
        Points().state()
