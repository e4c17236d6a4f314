"""Influence of clients under rules without linear weights, against numbers derived by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.check_weights import check_influence
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.influence import influence_by_presence, influence_of_all
from f3ast_tff.audit.page import weight_figure
from f3ast_tff.audit.report import json_of, text_of
from f3ast_tff.audit.weights import ROBUST, rule_of
from f3ast_tff.audit.world import EXAMPLES
from tests.f3ast_tff.audit.servers import median

N = len(EXAMPLES)


def plain(model: Any, updates: Any, weights: Any) -> Any:
    return model + np.mean(updates, axis=0)


def trimmed(model: Any, updates: Any, weights: Any) -> Any:
    """Without the largest and the smallest number."""
    return model + np.sort(updates, axis=0)[1:-1].mean(axis=0)


def krum(model: Any, updates: Any, weights: Any) -> Any:
    """The update nearest to its neighbours; of fewer than seven none."""
    if len(updates) < 7:
        return model
    u = np.array(updates)
    far = ((u[:, None] - u) ** 2).sum(axis=2)
    return model + u[np.sort(far, axis=1)[:, 1 : len(u) - 2].sum(axis=1).argmin()]


@pytest.mark.long
def test_a_plain_mean_has_one_nth_of_each_client() -> None:
    found = influence_of_all(target_of(plain), EXAMPLES)
    assert found.shares == pytest.approx(np.ones(N), abs=1e-3)
    assert found.errors.max() < 1e-4 and found.gain == pytest.approx(1) and not found.still
    absent = influence_by_presence(target_of(plain), EXAMPLES)
    assert absent.mean.sum() == pytest.approx(1, abs=1e-3)
    assert absent.mean[0] < absent.mean[-1]


@pytest.mark.long
def test_a_median_of_eight_is_half_of_each_of_two_clients() -> None:
    """Influence is half the share of the coordinates in which a client is one of the middle two."""
    found = influence_of_all(target_of(median), EXAMPLES)
    assert found.mean == pytest.approx(found.selected / 2, abs=0.01)
    assert found.mean.sum() == pytest.approx(1, abs=0.01)
    order = found.noise.argsort()
    assert found.mean[order[0]] > 2 * found.mean[order[-1]]


@pytest.mark.long
def test_a_trimmed_mean_is_a_sixth_of_each_of_six_clients() -> None:
    found = influence_of_all(target_of(trimmed), EXAMPLES)
    assert found.mean == pytest.approx(found.selected / 6, abs=0.01)
    assert found.selected.sum() == pytest.approx(6, abs=0.05)


@pytest.mark.long
def test_krum_is_one_client_and_leaves_most_rounds_as_they_are() -> None:
    target = target_of(krum)
    assert rule_of(target, EXAMPLES).kind == ROBUST
    found = influence_of_all(target, EXAMPLES)
    assert found.own.sum() == 1 and found.own == pytest.approx(found.mean, abs=1e-3)
    assert found.own == pytest.approx(found.selected, abs=1e-3)
    some = influence_by_presence(target, EXAMPLES)
    assert some.still > 0.8 and some.mean.sum() == pytest.approx(1 - some.still, abs=1e-3)
    said = "; ".join(each.found for each in check_influence([found, some], ""))
    assert "100% of the steps are one client's own reply" in said
    assert f"{some.still:.0%} leave the model as it is" in said


@pytest.mark.long
def test_the_report_shows_influence_in_place_of_weights() -> None:
    found = audit(median, rounds=100)
    assert not found.wrong() and not found.weights and len(found.influence) == 2
    assert "have a third (0.30) of an equal influence; no check" in found.sentence
    text = text_of(found)
    assert "all there, strays by   0.20" in text and "selected, if there" in text
    assert '"influence": [' in json_of(found)
    (axes,) = weight_figure(found).axes
    assert axes.get_legend().get_texts()[0].get_text() == "influence"


def test_no_influence_is_said_with_its_reason() -> None:
    (said,) = check_influence([], "why")
    assert said.verdict == "not judged" and said.found.endswith("no influence is seen: why")
