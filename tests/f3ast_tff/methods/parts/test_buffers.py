"""Buffers beside the rules of aggregations: means by hand, and rules that see and move none."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.buffers import BuffersApart, mean_of_buffers, with_buffers
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    RoundContext,
    Values,
    initial_server,
)
from f3ast_tff.methods.parts.memory_rules import start_of
from f3ast_tff.methods.sum_and_mean import WeightedSum
from tests.f3ast_tff.methods.every_memory import EVERY

NOW = np.array([7.0, 1.0], np.float32)


def test_the_mean_by_hand() -> None:
    """(4 * 1 + 12 * .2) / 16 = .4, whatever the sum of the weights."""
    buffers = np.array([[1.0, 0.5], [0.2, 0.5]], np.float32)
    found = mean_of_buffers(buffers, np.array([4.0, 12.0]), NOW)
    np.testing.assert_allclose(found, [0.4, 0.5], rtol=1e-6)
    assert found.dtype == np.float32
    for weights in (np.zeros(2), np.array([1.0, -1.0])):
        np.testing.assert_array_equal(mean_of_buffers(buffers, weights, NOW), NOW)
    np.testing.assert_array_equal(mean_of_buffers(buffers[:0], np.zeros(0), NOW), NOW)


@pytest.mark.parametrize("seed", range(20))
def test_a_mean_lies_between_those_that_arrived(seed: int) -> None:
    """Even with a weight below 0, and of buffers of any size; equal ones stay bit for bit."""
    rng = np.random.default_rng(seed)
    buffers = np.exp(rng.normal(scale=20, size=(5, 30))).astype(np.float32)
    buffers[:, 0] = buffers[0, 0]
    mean = mean_of_buffers(buffers, rng.normal(size=5) + 0.5, np.zeros(30, np.float32))
    assert (buffers.min(axis=0) <= mean).all() and (mean <= buffers.max(axis=0)).all()
    assert mean[0] == buffers[0, 0]


class Everything(Memory):
    """Moves every coordinate in every rule."""

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(model=now.model + 1, offset=now.model + 2, shift=now.model + 3)

    def message(
        self, client: Client, update: np.ndarray, losses: ClientLosses, now: RoundContext
    ) -> tuple[np.ndarray, float]:
        return update + 4, 1.0

    def aggregated(self, delta: np.ndarray, server: Values, now: RoundContext) -> np.ndarray:
        return delta + 5

    def correction(self, server: Values, now: RoundContext) -> np.ndarray:
        return now.model + 6

    def end_round(
        self, server: Values, model: np.ndarray, now: RoundContext
    ) -> tuple[Values, np.ndarray]:
        return server, model + 7

    def evaluated(self, server: Values, model: np.ndarray) -> np.ndarray:
        return model + 8

    def own_model(self, kept: Values, server: Values, model: np.ndarray, xp: object) -> np.ndarray:
        return model + 9


def test_no_rule_moves_a_buffer() -> None:
    """Coordinate 1 of 3 is the buffer: 0 in what is added, the model's in what is a model."""
    rules, model = BuffersApart(Everything(), ((1, 2),)), np.array([10.0, 20.0, 30.0])
    now = RoundContext(np, 1, 0.1, 1.0, model, 2)
    client, losses = Client({}, 0.5, 1, weight=1.0), ClientLosses(0.0, 0.0)
    start = rules.client(client, {}, now)
    added = [start.offset, start.shift, rules.message(client, model, losses, now)[0]]
    added += [rules.aggregated(model, {}, now), rules.correction({}, now)]
    models = [start.model, rules.end_round({}, model, now)[1], rules.evaluated({}, model)]
    models += [rules.own_model({}, {}, model, np)]
    assert [each[1] for each in added] == [0] * 5 and [each[1] for each in models] == [20] * 4
    assert [each[0] for each in added] == [12, 13, 14, 15, 16]
    assert [each[0] for each in models] == [11, 17, 18, 19]


@pytest.mark.parametrize("name", EVERY)
def test_a_memory_around_keeps_the_facts_of_the_one_inside(name: str) -> None:
    inner = EVERY[name].memory
    wrapped = with_buffers(EVERY[name], ((1, 2),)).memory
    assert inner is not None and wrapped is not None
    for fact in ("has_messages", "has_own_models", "by_client", "keeps_clients", "echo_clip"):
        assert getattr(wrapped, fact) == getattr(inner, fact), fact
    given, expected = start_of(wrapped)._asdict(), start_of(inner)._asdict()
    assert {n for n in given if given[n] is None} == {n for n in given if expected[n] is None}
    model = np.arange(3.0, dtype=np.float32)
    assert initial_server(wrapped, model, np).keys() == initial_server(inner, model, np).keys()


def test_without_buffers_nothing_is_wrapped() -> None:
    once = with_buffers(WeightedSum(), ((0, 1),))
    assert (
        with_buffers(WeightedSum(), ()) == WeightedSum() and with_buffers(once, ((0, 1),)) == once
    )
    assert once.memory is None and once.own_name == "WeightedSum"
