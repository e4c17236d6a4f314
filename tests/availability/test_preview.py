"""A preview's numbers, absences, and whether clients are available together."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from benchmarks.availability_speed import NAMES
from f3ast_tff.availability import (
    AvailabilityConfig,
    FixedK,
    IndependentAvailability,
    Markov,
    Product,
    Table,
)
from f3ast_tff.availability.joint_availability import measure_joint_availability, measured_and_said
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.availability.preview import MAX_SHOWN, Absences, preview, report
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.settings import builtin_registry

HALVES = Table(np.array([[1] * 20 + [0] * 20, [0] * 20 + [1] * 20]))


def test_a_preview_by_hand() -> None:
    """Masks by client: 1 0 1 0, 1 1 0 0, 0 0 0 0.

    Earlier and later three rounds have means 2/3 and 1/3, 2/3 and 1/3, 0 and 0. Products of
    successive rounds sum to 0 and 1, of 3 rounds. So the covariances are -2/9 and 1/9; the
    variances are 2/9 each. Rounds since last available are 0 1 0 1, 0 0 1 2, 1 2 3 4: the largest
    is 4, the mean 15/12.
    """
    seen = preview(
        Table(np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]])),
        4,
        FixedK(clients_per_round=2),
    )
    assert seen.num_available.tolist() == [2, 1, 1, 0]
    assert seen.k is not None
    assert seen.k.tolist() == [2] * 4
    np.testing.assert_allclose(seen.frequency, [0.5, 0.5, 0])
    np.testing.assert_allclose(seen.stationary, [0.5, 0.5, 0])
    assert seen.autocorrelation == pytest.approx((-2 / 9 + 1 / 9) / (4 / 9))
    assert seen.masks.tolist()[1] == [False, True, False]
    lines = report(seen).splitlines()
    assert lines[0] == "mean available         1 of 3 (0.3333)"
    assert lines[1] == "fewest, most           0, 2"
    assert lines[2] == "empty rounds           1 of 4"
    assert lines[3] == "lag-1 autocorrelation  -0.250"
    assert lines[4] == "absence, in rounds     tau_avg 1.25, tau_max 4"
    assert lines[5] == "stationary             mean 0.3333, largest gap of a client 0.000"
    assert lines[6] == "K_t                    mean 2, 3 rounds with fewer available"


def test_autocorrelation_is_the_eigenvalue() -> None:
    """100 chains of 1000 rounds with eigenvalue 0.7: the estimate is within about 0.01."""
    chains = Markov(np.full(100, 0.3), np.full(100, 0.7), seed=0)
    assert preview(chains, 1000).autocorrelation == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("rounds", [1, 5])
def test_nothing_ever_changes(rounds: int) -> None:
    seen = preview(Table(np.ones((1, 3))), rounds)
    assert np.isnan(seen.autocorrelation)
    assert "nan" in report(seen)


def test_of_many_clients_some_are_shown() -> None:
    scarce = IndependentAvailability(np.full(5000, 0.2), 0)
    seen = preview(scarce, 3)
    assert seen.masks.shape == (3, MAX_SHOWN)
    assert (seen.shown[0], seen.shown[-1]) == (0, 4999)
    assert np.array_equal(seen.masks[2], scarce.mask(3)[seen.shown])


def test_a_mask_of_another_shape_is_refused() -> None:
    process = Table(np.eye(3))
    process.num_clients = 4
    with pytest.raises(ComponentError, match=r"availability Table: mask\(1\) returned shape"):
        preview(process, 2)


def test_unknown_stationary_is_said_so() -> None:
    table = Table(np.eye(2))
    assert "not known" in report(preview(Product([table, table]), 4))


def test_a_process_need_only_have_masks() -> None:
    class Plain:
        num_clients = 3

        def mask(self, round_number: int) -> np.ndarray:
            return np.ones(3, bool)

    seen = preview(Plain(), 2)  # type: ignore[arg-type]
    assert seen.stationary is None and "not known" in report(seen)


def test_absences_by_hand() -> None:
    """Three clients, four rounds: rounds since last available are 0 1 2 0, 1 0 1 2, 1 2 3 4.

    The longest absences are 2, 2 and 4; the 12 entries sum to 17.
    """
    absences = Absences(3)
    assert np.isnan(absences.tau_avg)
    for mask in ([1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]):
        absences.add(np.array(mask, bool))
    assert absences.longest.tolist() == [2, 2, 4]
    assert absences.tau_max == 4
    assert absences.tau_avg == 17 / 12


def test_absences_of_a_sum_beyond_32_bits() -> None:
    """10 clients away for 30,000 rounds: the sum, 10 x 30,000 x 30,001 / 2, exceeds 2^32."""
    absences, nobody = Absences(10), np.zeros(10, bool)
    for _ in range(30_000):
        absences.add(nobody)
    assert absences.tau_avg == 15_000.5


P = np.full(60, 1 / 60)
ROUNDS = range(1, 1001)


@pytest.mark.parametrize("name", NAMES)
def test_the_measure_finds_what_processes_declare(name: str) -> None:
    config: AvailabilityConfig = builtin_registry().components["availability"][name].config()
    process = config.build(P, 1)
    found = measure_joint_availability(np.array([process.mask(t) for t in ROUNDS]))
    assert found.positive == config.positively_correlated
    assert found.objective == ("p" if config.positively_correlated else "p_squared")


def test_groups_that_take_turns() -> None:
    """Of 59 other clients, 29 share the group, with correlation 1; the other 30 count as 0."""
    turns = (np.arange(200)[:, None] // 5 + np.arange(60)) % 2 == 0
    found = measure_joint_availability(turns)
    assert found.correlation == pytest.approx(29 / 59, abs=0.02)
    assert found.low > 0.4


@pytest.mark.parametrize(("rounds", "stay"), [(336, 5), (336, 10), (1000, 20)])
def test_clients_that_stay_long_are_not_together(rounds: int, stay: int) -> None:
    """Independent clients that stay for a tenth to a third of a part."""
    found = []
    for seed in range(4):
        process = Markov(np.full(100, 0.3), np.full(100, 1 - 1 / stay), seed)
        masks = np.array([process.mask(t) for t in range(1, rounds + 1)])
        found.append(measure_joint_availability(masks))
    assert abs(np.mean([each.correlation for each in found])) < 0.004
    assert not any(each.low > 0.01 for each in found)


def test_a_short_log_leaves_the_safe_case() -> None:
    """31 rounds are too few. Clients available always or never correlate with no other client."""
    draws = np.random.default_rng(0).random((400, 60)) < 0.3
    short = measure_joint_availability(draws[:31])
    assert np.isnan(short.correlation) and short.objective == "p"
    assert "fewer than 32 rounds" in str(short)
    draws[:, :20] = [False, True] * 10
    assert measure_joint_availability(draws).objective == "p_squared"


def test_the_objective_is_said(caplog: pytest.LogCaptureFixture) -> None:
    draws = np.random.default_rng(0).random((400, 60)) < 0.3
    with caplog.at_level(logging.WARNING):
        measured_and_said(packed_masks(draws, "x"), "mine.csv")
    (record,) = caplog.records
    assert record.getMessage().startswith("mine.csv: clients do not come and go together: ")
    assert record.getMessage().endswith("], so availability_objective=p_squared")
