"""`advise`: the objective, K, effects on FedAvg and F3AST, clients never online, and the page."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import advise
from f3ast_tff.advice.plan import plan, total_variation, trained_by_fedavg
from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.availability.logs.log_measures import measure_log
from f3ast_tff.core.errors import DataError, ParameterError

pytestmark = pytest.mark.usefixtures("host_by_default")

INDEPENDENT = np.random.default_rng(0).random((240, 30)) < 0.3


def test_measures_of_a_log_by_hand() -> None:
    """Days of 2 rounds: clients 0 and 1 are online in the first, 1 not on days 2 and 3, 2 never."""
    masks = np.zeros((8, 3), bool)
    masks[::2, :2] = True
    masks[2:6, 1] = False
    found = measure_log(masks, 2)
    assert found.share.tolist() == [0.5, 0.25, 0]
    assert found.longest_absence.tolist() == [1, 5, 8]
    assert found.num_online.tolist() == [2, 0, 1, 0, 1, 0, 2, 0]
    assert found.by_hour is not None
    np.testing.assert_allclose(found.by_hour, [0.5, 0])
    np.testing.assert_allclose(measure_log(masks, 2, first=1).by_hour, [0, 0.5])
    assert measure_log(masks, 5).by_hour is None


@pytest.mark.long
def test_what_independent_clients_ask_for() -> None:
    found = advise(INDEPENDENT, ks=[2, 4, 12])
    assert found.objective == "p_squared"
    assert [each.k for each in found.plans] == [2, 4, 12]
    assert found.k == 4
    assert len(found.unreachable) == 0
    page = str(found)
    assert "--availability_objective=p_squared, H(r) = sum of p_k^2 / r_k" in page
    assert "K = 4: H(r*) is 1.0" in page
    assert max(map(len, page.splitlines())) <= 100


@pytest.mark.long
def test_clients_that_come_by_night_and_one_that_never_comes() -> None:
    masks = INDEPENDENT & (np.arange(240)[:, None] % 24 < 8)
    masks[:, 7] = False
    found = advise(pd.DataFrame(masks), np.arange(1.0, 31), [3])
    assert found.objective == "p"
    assert found.unreachable.tolist() == [7]
    assert found.fedavg[7] == 0 and found.fedavg.sum() == pytest.approx(1)
    page = str(found)
    assert "never            1 client, 1.7% of p: no method reaches them" in page
    assert "0.0% in hour" in page and found.share == "examples"
    assert len(found.plans[0].rates) == 29
    assert "least: 7" not in page
    named = advise(pd.DataFrame(masks, columns=[f"phone-{k:02}" for k in range(30)]), ks=[3])
    assert "least: phone-" in str(named) and "phone-07" not in str(named)


@pytest.mark.long
def test_a_client_that_never_comes_is_no_bias_of_fedavg() -> None:
    """Client 0 is there in both rounds, 1 in one, 2 never; p = (1/4, 1/4, 1/2).

    Of those reached p is (1/2, 1/2). FedAvg trains 0 for (1 + 1/2) / 2 = 3/4 and 1 for 1/4, 3/2
    and 1/2 times their share: total variation 1/4.
    """
    found = advise(np.array([[1, 1, 0], [1, 0, 0]], bool), np.array([1.0, 1, 2]), [1])
    assert found.fedavg.tolist() == [0.75, 0.25, 0]
    assert found.fedavg_bias == pytest.approx(0.25)
    assert "least: 1 0.50, 0 1.50" in str(found)


@pytest.mark.long
@pytest.mark.parametrize(("seconds", "day"), [(3600, 24), (40_000, None), (172_800, None)])
def test_a_day_that_is_no_whole_number_of_rounds_is_not_measured(
    seconds: int, day: int | None
) -> None:
    """Two devices are online from 0 to 12 h of 30 days; 2 rounds of 40,000 s are no day."""
    starts = np.arange(30) * 86_400
    visits = {"start": starts, "end": starts + 43_200}
    frames = [pd.DataFrame({"device": device, **visits}) for device in "ab"]
    log = log_of_frame(pd.concat(frames, ignore_index=True), seconds)
    measures = advise(log, ks=[1]).measures
    assert (None if measures.by_hour is None else len(measures.by_hour)) == day
    assert np.isnan(measures.lag_day) == (day is None)


@pytest.mark.long
def test_what_a_short_log_does_not_tell_is_left_out() -> None:
    """10 rounds are fewer than the 32 that a correlation across clients needs."""
    text = str(advise(np.arange(20).reshape(10, 2) % 3 > 0, ks=[1]))
    assert "across clients" not in text and "nan" not in text
    assert "fewer than 32 rounds do not tell whether clients come together" in text


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"p": np.ones(3)}, ParameterError, "shares = shape .3,.: must be 30 numbers above 0"),
        ({"p": np.zeros(30)}, ParameterError, "must be 30 numbers above 0"),
        ({"ks": []}, ParameterError, "clients_per_round = : must be in 1..30"),
        ({"ks": [2.5]}, ParameterError, "clients_per_round = 2.5: must be in 1..30"),
        ({"rounds_per_day": -5}, ParameterError, "rounds_per_day = -5: must be at least 1"),
        ({"ks": [3, 0]}, ParameterError, "clients_per_round = 3,0: must be in 1..30"),
        ({"ks": [3, 31]}, ParameterError, "clients_per_round = 3,31: must be in 1..30"),
        ({"masks": np.zeros((3, 2), bool)}, DataError, "nobody is online"),
        ({"masks": np.full((3, 2), 2)}, DataError, "masks: round 1, client 0 is 2: must be 0 or 1"),
    ],
)
def test_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        advise(**{"masks": INDEPENDENT, **given})


def test_what_fedavg_trains() -> None:
    """Client 0 is alone in round 1 and weighs 1; in round 2 it weighs p_0 / (p_0 + p_1) = 1 / 4.

    Round 3 trains no client.
    """
    masks = np.array([[1, 0], [1, 1], [0, 0]], bool)
    found = trained_by_fedavg(masks, np.array([0.25, 0.75]))
    np.testing.assert_allclose(found, [5 / 8, 3 / 8])
    assert total_variation(np.array([0.25, 0.75]), found) == pytest.approx(3 / 8)


@pytest.mark.long
@pytest.mark.parametrize(("objective", "bound"), [("p", 2.0), ("p_squared", 1.0)])
def test_two_clients_who_take_turns(objective: str, bound: float) -> None:
    """Each is available every second round: r* = (1/2, 1/2), H = 2 (1/2) / (1/2), 2 (1/4) / (1/2).

    If both were always available, K = 1 would give the same rates and H.
    """
    masks = np.array([[1, 0], [0, 1]] * 20, bool)
    found = plan(masks, np.full(2, 0.5), 1, objective)
    np.testing.assert_allclose(found.rates, 0.5)
    assert found.bound == pytest.approx(bound)
    assert found.bound_if_always == pytest.approx(found.bound)
    assert found.short_rounds == 0
    assert found.largest_weight == pytest.approx(1.0)
    assert found.bias_later < 0.01


@pytest.mark.long
def test_f3ast_removes_the_bias_of_fedavg() -> None:
    """Half of the clients are online in 9 rounds of 10, the other half in 3."""
    q = np.repeat([0.9, 0.3], 10)
    masks = np.random.default_rng(0).random((500, 20)) < q
    p = np.full(20, 0.05)
    found = plan(masks, p, 3, "p_squared")
    assert total_variation(p, trained_by_fedavg(masks, p)) > 0.2
    assert found.bias_later < 0.02
    assert found.rates.sum() == pytest.approx(3, abs=0.05)
    assert plan(masks, p, 15, "p_squared").short_rounds > 0.5


@pytest.mark.long
@pytest.mark.parametrize("most", [10**6, 5000])
def test_a_rare_client_of_a_long_log_keeps_its_share_of_rounds(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """With K = N every r*_k is k's share of rounds online, also if most rounds are left out.

    `most` limits rounds times clients.
    """
    monkeypatch.setattr(sys.modules[plan.__module__], "_MAX_STATES", most)
    masks = np.ones((1000, 20), bool)
    masks[:, 0] = False
    masks[[501, 777], 0] = True
    found = plan(masks, np.full(20, 0.05), 20, "p_squared")
    np.testing.assert_allclose(found.rates, masks.mean(axis=0))
    assert found.rounds_used == (1000 if most == 10**6 else pytest.approx(251, abs=1))
