"""Messages and stacked updates on the engines, by the plug-ins of `examples/plugins`.

Loops of their own in float64 compute what each plug-in's docstring says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import tiny_data, with_nan_client
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Client, ClientLosses, Gathered, Memory, RoundContext
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Sgd
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.registry import registry_with
from tests.f3ast_tff.engines.test_late_rounds import late_round
from tests.f3ast_tff.engines.test_local_work import (
    DATA,
    RATE,
    ROUNDS,
    START,
    Models,
    N,
    P,
    moved,
    run,
)
from tests.f3ast_tff.engines.two_biases import ENGINES, ONE_ENGINE, labelled

PLUGINS = Path(__file__).resolve().parents[3] / "examples" / "plugins"


def plugin(name: str, **parameters: Any) -> Aggregation:
    """Returns the aggregation of a plug-in."""
    component = registry_with([str(PLUGINS / f"{name}.py")]).plugins[-1].components[-1]
    found: Aggregation = component.config(**parameters)
    return found


class NoOp(Memory):
    """Sends the update as it is."""

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        return update, 1.0


class NoOpMean(WeightedMean):
    @property
    def memory(self) -> NoOp:
        return NoOp()


class StackedMean(WeightedMean):
    """The mean again, of stacked updates."""

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return super().combine(updates, weights)


def loss(k: int, model: np.ndarray) -> float:
    """Mean cross-entropy of client k."""
    features, labels = DATA.train.client(k)
    x = np.column_stack([features.reshape(len(labels), -1), np.ones(len(labels))])
    logits = x @ model.reshape(x.shape[1], -1)
    sums = np.log(np.exp(logits).sum(axis=1))
    return float(np.mean(sums - logits[np.arange(len(labels)), labels]))


def own_loop(delta: Callable[[int, list[int], np.ndarray, np.ndarray], np.ndarray]) -> Models:
    """The model after each of `ROUNDS`; `delta` gets t, ids, w_t and the updates."""
    w, found = START, []
    for t, ids in enumerate(ROUNDS, start=1):
        if ids:
            w = w + delta(t, ids, w, np.array([moved(k, w) for k in ids]))
        found.append(w)
    return found


@pytest.mark.long
@ENGINES
def test_a_message_without_effect_is_fedavg_bit_for_bit(
    name: str, made: Callable[..., Any]
) -> None:
    for server in (1.0, 0.7):
        work = LocalTraining(8, epochs=2)
        engines = [
            made(DATA, work, Sgd(server), each, client=Sgd(RATE), p=P, cohort_size=N)
            for each in (NoOpMean(), WeightedMean())
        ]
        for t, ids in enumerate(ROUNDS, start=1):
            cohort = Cohort(np.array(ids, int), np.linspace(0.2, 0.9, len(ids)))
            for engine in engines:
                engine.run_rounds(t, [cohort])
            for one, other in zip(*(engine.weights() for engine in engines)):
                if name == "tff_in_process":
                    # TFF divides in its sum, the host afterwards.
                    np.testing.assert_allclose(one, other, atol=1e-6)
                else:
                    np.testing.assert_array_equal(one, other)


@ENGINES
def test_clipped_updates_are_their_own_loop(made: Callable[..., Any]) -> None:
    """Weights 1 are cut to 0.4; some updates are longer than 0.1, some shorter."""

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(updates, axis=1)
        lengths.extend(norms)
        found: np.ndarray = 0.4 * (np.minimum(1, 0.1 / norms) @ updates)
        return found

    lengths: list[float] = []
    expected = own_loop(delta)
    assert min(lengths) < 0.1 < max(lengths)
    aggregation = plugin("clipped_updates", clip_update=0.1, largest_weight=0.4)
    np.testing.assert_allclose(run(made, aggregation), expected, atol=1e-6)


@ONE_ENGINE
def test_noise_of_the_server(made: Callable[..., Any]) -> None:
    """Its deviation is z B C = 2 * 0.4 * 0.1 in every coordinate, drawn anew in each round."""
    quiet, noisy = (
        plugin("clipped_updates", clip_update=0.1, largest_weight=0.4, noise_multiplier=z)
        for z in (0.0, 2.0)
    )
    found = np.array(run(made, noisy))
    np.testing.assert_array_equal(found, run(made, noisy))
    # Round 1 starts from the same model.
    first = found[0] - run(made, quiet)[0]
    assert 0.5 < first.std() / 0.08 < 1.6
    assert abs(np.corrcoef(found[1] - found[0], first)[0, 1]) < 0.8


@ENGINES
def test_sparse_updates_are_their_own_loop(made: Callable[..., Any]) -> None:
    """Of 18 entries the 4 largest are sent; the rest is added to the next update."""
    rest = np.zeros((N, len(START)))

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        sent = np.zeros_like(updates)
        for i, k in enumerate(ids):
            whole = updates[i] + rest[k]
            largest = np.argsort(-np.abs(whole))[:4]
            sent[i, largest] = whole[largest]
            rest[k] = whole - sent[i]
        found: np.ndarray = sent.mean(axis=0)
        return found

    aggregation = plugin("sparse_updates", cohort_weights="mean", sent_share=0.2)
    found = run(made, aggregation)
    np.testing.assert_allclose(found, own_loop(delta), atol=1e-6)


@pytest.mark.long
@ENGINES
def test_q_fedavg_is_its_own_loop(made: Callable[..., Any]) -> None:
    """Algorithm 2 with q = 2 and L = 1 / rate."""

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        q, lipschitz = 2, 1 / RATE
        losses = np.array([loss(k, w) for k in ids])
        v = -lipschitz * updates
        h = q * losses ** (q - 1) * (v**2).sum(axis=1) + lipschitz * losses**q
        found: np.ndarray = -(losses**q @ v) / h.sum()
        return found

    found = run(made, plugin("q_fedavg", fair_q=2.0))
    np.testing.assert_allclose(found, own_loop(delta), atol=1e-6)
    fedavg = run(made, WeightedMean())
    assert np.abs(np.subtract(found, fedavg)).max() > 1e-2
    equal = run(made, plugin("q_fedavg", fair_q=0.0))
    np.testing.assert_allclose(equal, fedavg, atol=1e-7)


def robust_of(rule: str, updates: np.ndarray) -> np.ndarray:
    """Median, or mean without the extremes, coordinate by coordinate; or Krum, with loops."""
    m, wrong = len(updates), int(0.4 * len(updates))
    if rule == "krum":
        sums = []
        for i in range(m):
            others = [np.sum((updates[i] - updates[j]) ** 2) for j in range(m) if j != i]
            sums.append(sum(sorted(others)[: max(1, m - wrong - 2)]))
        found: np.ndarray = updates[int(np.argmin(sums))]
        return found
    columns = [sorted(column) for column in updates.T]
    if rule == "trimmed_mean":
        return np.array([np.mean(column[wrong : m - wrong]) for column in columns])
    return np.array([(column[(m - 1) // 2] + column[m // 2]) / 2 for column in columns])


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize("rule", ["median", "trimmed_mean", "krum"])
def test_robust_rules_are_their_own_loops(rule: str, made: Callable[..., Any]) -> None:
    aggregation = plugin("robust", robust_rule=rule, wrong_share=0.4)
    found = run(made, aggregation)
    expected = own_loop(lambda t, ids, w, updates: robust_of(rule, updates))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.long
@ENGINES
def test_an_adaptive_clip_is_its_own_loop(made: Callable[..., Any]) -> None:
    """C follows the median norm from 0.02, below all norms; clients get C of the round before."""
    clips = [0.02]

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(updates, axis=1)
        clip = clips[-1]
        clips.append(clip * np.exp(-1.5 * (np.mean(norms < clip) - 0.5)))
        found: np.ndarray = (np.minimum(1, clip / norms)[:, None] * updates).mean(axis=0)
        return found

    expected = own_loop(delta)
    assert min(clips[1:]) < max(clips[1:-1]) and len(clips) == 8
    aggregation = plugin("adaptive_clip", first_clip=0.02, clip_rate=1.5)
    np.testing.assert_allclose(run(made, aggregation), expected, atol=1e-6)


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize("size", [1, 2])
def test_centred_clipping_is_its_own_loop(size: int, made: Callable[..., Any]) -> None:
    """Norms are around 0.1; an empty round leaves the centre."""
    centre = [np.zeros(len(START))]

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        order = np.argsort(uniforms(7, "buckets", np.array(ids), t))
        buckets = [updates[order[i : i + size]].mean(axis=0) for i in range(0, len(ids), size)]
        off = [bucket - centre[-1] for bucket in buckets]
        cut.extend(np.linalg.norm(each) > 0.1 for each in off)
        off = [each * min(1, 0.1 / np.linalg.norm(each)) for each in off]
        centre.append(centre[-1] + np.mean(off, axis=0))
        return centre[-1]

    cut: list[Any] = []
    expected = own_loop(delta)
    assert True in cut and False in cut
    aggregation = plugin("centred_clip", centred_tau=0.1, bucket_size=size, bucket_seed=7)
    np.testing.assert_allclose(run(made, aggregation), expected, atol=1e-6)


class Alike(Memory):
    """Keeps the sum of a client's updates, as FoolsGold does."""

    vectors = {"sum": "zero"}

    def after_client(self, client: Client, update: Any, server: Any, now: RoundContext) -> Any:
        return {"sum": client.kept["sum"] + update}


class TellsApart(WeightedMean):
    """Weights by the distance of a client's sum to the others' (a simple FoolsGold)."""

    @property
    def memory(self) -> Alike:
        return Alike()

    def combine_round(self, gathered: Gathered) -> tuple[np.ndarray, Any]:
        return apart(gathered.kept["sum"] + gathered.updates) @ gathered.updates, {}


def apart(sums: np.ndarray) -> np.ndarray:
    """1 less the largest cosine to another's sum, scaled to sum 1."""
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(len(unit))
    found: np.ndarray = 1 - cosines.max(axis=1) + 1e-3 if len(unit) > 1 else np.ones(1)
    return found / found.sum()


@pytest.mark.long
@ENGINES
def test_a_combination_sees_what_is_kept_of_its_clients(made: Callable[..., Any]) -> None:
    sums = np.zeros((N, len(START)))

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        sums[ids] += updates
        found: np.ndarray = apart(sums[ids]) @ updates
        return found

    expected = own_loop(delta)
    np.testing.assert_allclose(run(made, TellsApart()), expected, atol=1e-6)


@pytest.mark.long
@ENGINES
def test_the_median_of_equal_updates_is_the_update(made: Callable[..., Any]) -> None:
    work, data = LocalTraining(4), labelled([0], [0], [0])
    p, ids = np.full(3, 1 / 3), np.arange(3)
    models = []
    for aggregation, cohort in (
        (plugin("robust"), Cohort(ids, np.array([0.1, 0.5, 2.0]))),
        (WeightedMean(), Cohort(ids[:1], np.ones(1))),
    ):
        engine = made(data, work, Sgd(1.0), aggregation, client=Sgd(0.5), p=p, cohort_size=3)
        engine.run_rounds(1, [cohort])
        models.append(engine.weights())
    for one, other in zip(*models):
        np.testing.assert_array_equal(one, other)


@ENGINES
def test_stacked_updates_of_a_memory(made: Callable[..., Any]) -> None:
    """The mean, as a combination, with FedDyn's penalties and h."""
    from f3ast_tff.methods.feddyn import FedDyn

    class Stacked(FedDyn):
        def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
            return weights @ updates / weights.sum()

    found, expected = (run(made, each("mean", 0.5)) for each in (Stacked, FedDyn))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize(
    "kind", ["clipped_updates", "robust", "stacked", "memory", "adaptive_clip", "centred_clip"]
)
def test_clients_that_break_are_left_out(kind: str, made: Callable[..., Any]) -> None:
    """Client 2 breaks; client 3 is drawn twice; a round of client 2 alone leaves all as it is."""
    aggregations: dict[str, Aggregation] = {
        "stacked": StackedMean(),
        "memory": plugin("sparse_updates", cohort_weights="mean", sent_share=0.5),
    }
    aggregation = aggregations.get(kind) or plugin(kind)
    data, work = with_nan_client(tiny_data(), 2), LocalTraining(8)
    both = []
    for ids in ([1, 2, 3, 3], [3, 1, 3]):
        engine = made(data, work, Sgd(1.0), aggregation, p=np.full(6, 1 / 6), cohort_size=4)
        cohort = Cohort(np.array(ids), np.full(len(ids), 0.3))
        (outcome,) = engine.run_rounds(1, [cohort], by_client=True)
        assert outcome.num_dropped == ids.count(2) and not outcome.rejected
        assert outcome.delivered is not None
        np.testing.assert_array_equal(outcome.delivered, np.array(ids) != 2)
        before = {key: np.array(value) for key, value in engine.state().items()}
        (alone,) = engine.run_rounds(2, [Cohort(np.array([2]), np.ones(1))])
        (nobody,) = engine.run_rounds(3, [Cohort(np.array([], int), np.zeros(0))])
        assert alone.rejected and nobody.rejected and alone.num_dropped == 1
        for key, value in engine.state().items():
            np.testing.assert_array_equal(value, before[key], err_msg=key)
        both.append(engine.weights())
    for one, other in zip(*both):
        np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "clipped_updates") for name in ("fused", "host")),
        ("host", "robust"),
        pytest.param("tff_in_process", "clipped_updates", marks=pytest.mark.slow),
        pytest.param("tff_in_process", "robust", marks=pytest.mark.slow),
    ],
)
def test_late_messages(name: str, kind: str, made: Callable[..., Any]) -> None:
    """Both are asked at a = 0, where D = 1/4 and -1/4 in the first bias, both in the second.

    Norm |D| = sqrt(2) / 4, clipped to sqrt(2) / 8: 1/8 and -1/8. Client 0 enters in round 2, then
    client 1 in round 3; each is a median of one.
    """
    aggregation = plugin(kind, **({"clip_update": 2**0.5 / 8} if kind != "robust" else {}))
    rounds = [
        late_round([(0, 0), (1, 1)], []),
        late_round([], [(0, 0, 1, 1.0)]),
        late_round([], [(1, 1, 1, 1.0)]),
    ]
    parts = (labelled([0], [1]), LocalTraining(4), Sgd(1.0), aggregation)
    engine = made(*parts, client=Sgd(0.5), p=np.full(2, 0.5), cohort_size=2, late=True)
    found = []
    for t, cohort in enumerate(rounds, start=1):
        engine.run_rounds(t, [cohort])
        found.append(float(engine.weights()[1][0]))
    size = 1 / 4 if kind == "robust" else 1 / 8
    assert found == pytest.approx([0, size, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("robust", {"num_workers": 2}, "must not be given with aggregation robust, which combines"),
        ("robust", {"delivery": "late"}, "must not be late on engine fused .* host can"),
        ("q_fedavg", {"delivery": "late"}, "q_fedavg, which reads losses at the start"),
        ("clipped_updates", {"num_workers": 2}, "which changes each client's update"),
    ],
)
def test_what_is_refused(kind: str, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        plugin(kind).check(
            Settings.of({"engine": "fused", **settings}, is_late="delivery" in settings)
        )


@ONE_ENGINE
def test_a_combination_of_another_shape(made: Callable[..., Any]) -> None:
    class Wrong(StackedMean):
        def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
            return updates

    with pytest.raises(ComponentError, match=r"combine returned float32 of shape \[2, 18\]"):
        run(made, Wrong())


def test_the_memory_of_a_stack_is_said_before_the_run(
    caplog: pytest.LogCaptureFixture,
    make_engine: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = (DATA, LocalTraining(8), Sgd(1.0), StackedMean())
    with caplog.at_level("INFO", "f3ast_tff"):
        for name in ("fused", "host"):
            make_engine(name, *parts, cohort_size=4000)
    said = [record.message for record in caplog.records if "combine keeps" in record.message]
    assert len(said) == 2 and "up to 4000 clients at once, 0.3 MiB" in said[0]
    monkeypatch.setattr("f3ast_tff.engines.host.sums.available_memory_bytes", lambda: 2**18)
    with pytest.raises(ParameterError, match="keeps the updates of 4000 clients at once"):
        make_engine("host", *parts, cohort_size=4000)
