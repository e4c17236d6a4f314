"""Strategies started without a run: `start`, in a process with NumPy only."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.availability import CycleK
from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods import Round, RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.fedlaavg import FedLaAvg, Switching
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.methods.unbiased import Unbiased
from f3ast_tff.settings import register
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, K, N
from tests.f3ast_tff.methods.test_every_selection import (
    ALGORITHMS,
    LATE,
    NEEDS,
    REMEMBER,
    STARTED,
    P,
    play,
)

EQUAL = np.full(N, 1 / N)


@pytest.mark.parametrize("name", STARTED)
def test_a_class_starts_its_own_method(name: str) -> None:
    """Names that share a class start like the first of them."""
    needs = NEEDS.get(name, {})
    started = ALGORITHMS[name].config.start(P, K, **needs)
    again = type(started).start(P, K, **needs)
    assert type(again) is type(started)
    assert play(again, range(1, 4)) == play(started, range(1, 4))


@pytest.mark.parametrize("name", sorted(REMEMBER))
def test_a_method_that_is_its_memory_is_refused(name: str) -> None:
    """It would be plain `AllAvailable` under another name."""
    with pytest.raises(ParameterError, match=f"algorithm = {name}: needs the aggregation {name}"):
        ALGORITHMS[name].config.start(P, K)


@pytest.mark.parametrize("name", sorted(LATE))
def test_a_method_of_late_updates_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=f"algorithm = {name}: needs the late updates"):
        ALGORITHMS[name].config.start(P, K)


def test_a_class_that_is_not_registered_is_refused_by_its_name() -> None:
    class Later(AlgorithmConfig):
        deliveries: ClassVar[tuple[str, ...]] = ("late",)

    with pytest.raises(ParameterError, match="algorithm = Later: needs the late updates"):
        Later.start(P, K)


@pytest.mark.parametrize("p", [P, EQUAL], ids=["by_size", "equal"])
def test_first_steps_of_f3ast_are_those_of_fedavg(p: np.ndarray) -> None:
    """If all are available, r(0) = K p, so that p_k / r_k = 1 / K.

    Eq. (5) puts line 5 before line 9, so a client weighs 1 / K over (1 - beta) + beta / (K p_k).
    """
    beta = 1e-3
    now = Round(1, np.ones(N, bool), RoundConstraint(2))
    strategy = F3AST.start(p, 2)
    np.testing.assert_allclose(strategy.rates.values, 2 * p)
    ids = strategy.select(now)
    cohort = strategy.weigh(now, ids, np.ones(2, bool))
    np.testing.assert_allclose(cohort.weights, 0.5 / (1 - beta + beta / (2 * p[ids])))
    assert abs(cohort.weights.sum() - 1) < 0.01


def test_parameters_and_constraints_reach_the_method() -> None:
    assert F3AST.start(P, 2, rate_beta=0.25).rates.beta == 0.25
    assert F3AST.start(P, 2).availability_objective == "p_squared"
    together = type("Together", (Blinking,), {"positively_correlated": True})()
    assert F3AST.start(P, 2, availability=together).availability_objective == "p"
    np.testing.assert_allclose(F3AST.start(EQUAL, CycleK("1,3").build(N)).rates.values, 2 / N)
    shared = F3AST.start(P, 2, rate_clusters=3).rates
    assert isinstance(shared, ClusterRates) and len(shared.of_clusters.values) == 3
    assert OortLoss.start(P, 2, sizes=SIZES).sizes.tolist() == SIZES.tolist()
    assert Unbiased.start(P, 2, availability=Blinking(), availability_knowledge="oracle")
    assert not FedAvg.start(P, 2, baseline_sampling="without_replacement").may_select
    assert FedAU.start(P, 2, fedau_cutoff=7).fedau_cutoff == 7


def test_everybody_may_be_asked_in_a_single_round() -> None:
    assert F3AST.start(P, N, rounds=1) is not None


class Own(F3AST):
    """A user's variant."""


def test_a_variant_starts_as_itself() -> None:
    assert isinstance(Own.start(P, 2), Own)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "k_0": (lambda: F3AST.start(P, 0), ParameterError, "k = 0: must be at least 1"),
    "k_above_n": (lambda: F3AST.start(P, N + 1), ParameterError, f"k = {N + 1}: must be at most"),
    "k_half": (lambda: F3AST.start(P, 1.5), ParameterError, "k = 1.5: must be an integer or a"),
    "seed": (lambda: F3AST.start(P, 2, seed=-1), ParameterError, "seed = -1: must be at least 0"),
    "p_in_rows": (lambda: F3AST.start([[1.0]], 1), ParameterError, "p = "),
    "rounds_0": (lambda: F3AST.start(P, 2, rounds=0), ParameterError, "rounds = 0: must be at"),
    "sizes_of_2": (
        lambda: OortLoss.start(P, 2, sizes=[1, 2]),
        ParameterError,
        "sizes = shape [2]: must be [6], numbers of at least 0, one per client",
    ),
    "sizes_below_0": (
        lambda: OortLoss.start(P, 2, sizes=[-1, 1, 1, 1, 1, 1]),
        ParameterError,
        "sizes = shape [6]: must be [6], numbers of at least 0",
    ),
    "sizes_infinite": (
        lambda: OortLoss.start(P, 2, sizes=[np.inf, 1, 1, 1, 1, 1]),
        ParameterError,
        "sizes = shape [6]: must be [6], numbers of at least 0",
    ),
    "sizes_in_rows": (lambda: OortLoss.start(P, 2, sizes=[[1]]), ParameterError, "sizes = "),
    "p_of_sum_9": (lambda: F3AST.start([1.5] * 6, 2), ValueError, "p sums to 9.0: must sum to 1"),
    "no_share": (lambda: F3AST.start([1, 0], 1), ParameterError, "client 1 has no share"),
    "range": (lambda: F3AST.start(P, 2, rate_beta=2), ParameterError, "must be above 0 and below"),
    "unknown": (lambda: F3AST.start(P, 2, beta=0.1), ParameterError, "beta = 0.1: must be one of"),
    "candidates": (
        lambda: PowerOfChoice.start(P, 3, poc_candidates=2),
        ParameterError,
        "poc_candidates = 2: must be at least",
    ),
    "masks": (lambda: FixedPolicy.start(P, 2), ParameterError, "availability = : must be given"),
    "oracle": (
        lambda: Unbiased.start(P, 2, availability_knowledge="oracle"),
        ParameterError,
        "availability_knowledge = oracle: is not known",
    ),
    "rounds": (lambda: Switching.start(P, 2), ParameterError, "rounds = : must be given"),
}


@pytest.mark.parametrize(("start", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_start_is_told(start: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        start()
    assert says in str(caught.value)


def test_memory_of_fedlaavg_is_told_by_its_aggregation() -> None:
    assert FedLaAvg.start(P, 2).aggregation == "fedlaavg"
    assert AllAvailable.start(P, 2).aggregation == "sum"


@dataclass(frozen=True)
class BareConfig(AlgorithmConfig):
    def build(self, world: Any) -> Any:
        return object()


@register("algorithm", "bare_mean", about="a strategy without attributes, for a mean")
@dataclass(frozen=True)
class MeanConfig(BareConfig):
    aggregation: ClassVar[str] = "mean"


def test_a_strategy_that_names_no_aggregation_is_meant_for_a_sum() -> None:
    assert BareConfig.start(P, 2) is not None
    with pytest.raises(ParameterError, match="aggregation mean of a run: object, .* meant for sum"):
        MeanConfig.start(P, 2)


ALONE = """
import sys

import numpy as np
import numpy.random

before = {name.partition(".")[0] for name in sys.modules}
from f3ast_tff import F3AST, RoundConstraint, PowerOfChoice
from f3ast_tff.methods import Round

for strategy in (F3AST.start([0.25] * 4, 2), PowerOfChoice.start([0.25] * 4, 2)):
    now = Round(1, np.ones(4, bool), RoundConstraint(2), lambda ids: np.ones(len(ids)))
    cohort = strategy.weigh(now, strategy.select(now), np.array([True, True]))
    strategy.restore(strategy.state())
loaded = {name.partition(".")[0] for name in sys.modules} - before
print(*sorted(loaded - sys.stdlib_module_names))
"""


def test_a_strategy_needs_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == ["f3ast_tff"]
