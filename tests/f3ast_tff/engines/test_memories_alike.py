"""Each memory on all engines: equal rounds, and rounds that leave no trace.

Client 0 has less than one batch and makes no step. Client 2 is never finite. Client 5 has four
examples with features so large that its update is about 1e35. They are equal under labels 0, 1, 2,
0, so that no model classifies all correctly, and their gradients do not cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, tiny_data
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Geometric, Sgd
from tests.f3ast_tff.methods.every_memory import EVERY, FEDVARP

pytestmark = pytest.mark.tff

IDLE, BROKEN, HUGE = 0, 2, 5
P = np.array([0.2, 0.3, 0.0, 0.25, 0.25, 0.0])
WORK = LocalTraining(8, drop_remainder=True, seed=3)
SERVER, CLIENT = Sgd(1.0, momentum=0.5), Sgd(0.05, schedule=Geometric(0.95))
State = dict[str, np.ndarray]
# A clip that some rounds reach.
KINDS = {**EVERY, "fedawe": FedAwe(fedawe_clip=0.1)}
# TFF's process is that of FedVARP, and so are most rules.
ALIKE_FEDVARP = ("mifa", "mifa_waits", "fedstale", "mimic", "fednova")
# `test_tffs_worker_agrees` has SCAFFOLD; the amplified methods contain it.
ALIKE_SCAFFOLD = ("scaffold", "amplified_fedavg", "amplified_scaffold")
# FedDyn pulls to the start, too; FedDC is FedDyn with SCAFFOLD's controls.
ALIKE_FEDDYN = ("fedprox", "feddc", "feddc_paper")
# FedVARP stands for these, too, until the engines' tests run in full.
WITH_MORE = ("fedawe", "focus", "feddyn")


def data() -> FederatedData:
    tiny = tiny_data()
    features, labels = tiny.train.features.copy(), tiny.train.labels.copy()
    offsets = tiny.train.offsets
    features[offsets[BROKEN] : offsets[BROKEN + 1]] = np.nan
    features[offsets[HUGE] : offsets[HUGE] + 4] = 1e38
    labels[offsets[HUGE] : offsets[HUGE] + 4] = [0, 1, 2, 0]
    return FederatedData(ClientExamples(features, labels, offsets), tiny.test, NUM_CLASSES)


DATA = data()


def cohort(*ids: int, weight: float = 0.3) -> Cohort:
    return Cohort(np.array(ids, np.int64), np.full(len(ids), weight))


def twenty_rounds() -> list[Cohort]:
    """Rounds of none to three clients, one of them twice; by round 9 each client has taken part."""
    rng = np.random.default_rng(4)
    rounds = [rng.permutation(HUGE)[: t % 4] for t in range(1, 21)]
    rounds[6], rounds[8] = np.array([4, BROKEN, 4]), np.array([0, 1, 3, 4])
    return [Cohort(ids, rng.random(len(ids)) + 0.1) for ids in rounds]


def run(engine: Any, cohorts: list[Cohort], first: int = 1) -> tuple[np.ndarray, list[Any]]:
    """Returns the model after each round, and the outcomes."""
    models, outcomes = [], []
    for t, one in enumerate(cohorts, start=first):
        outcomes += engine.run_rounds(t, [one], by_client=True)
        models.append(np.concatenate([weight.ravel() for weight in engine.weights()]))
    return np.array(models), outcomes


def copied(engine: Any) -> State:
    return {name: value.copy() for name, value in engine.state().items()}


def restore(engine: Any, state: State) -> None:
    """Restores a copy, since an engine writes into the restored tables."""
    engine.restore({name: value.copy() for name, value in state.items()})


def assert_equal(state: State, other: State) -> None:
    assert state.keys() == other.keys()
    for name, value in state.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@dataclass(frozen=True)
class OfKind:
    """Engines of one memory by name, with their start states."""

    kind: str
    engines: dict[str, Any]
    starts: dict[str, State]


def make(make_engine: Callable[..., Any], name: str, aggregation: Any, server: Any = SERVER) -> Any:
    return make_engine(name, DATA, WORK, server, aggregation, client=CLIENT, p=P, cohort_size=4)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=pytest.mark.slow)
        if kind in ALIKE_FEDVARP + ALIKE_SCAFFOLD + ALIKE_FEDDYN
        else pytest.param(kind, marks=pytest.mark.long if kind in WITH_MORE else ())
        for kind in KINDS
    ],
)
def built(request: pytest.FixtureRequest, make_engine: Callable[..., Any]) -> OfKind:
    names = ("tff_in_process", "fused", "fused_lanes", "host")
    engines = {name: make(make_engine, name, KINDS[request.param]) for name in names}
    starts = {name: copied(engine) for name, engine in engines.items()}
    return OfKind(request.param, engines, starts)


@pytest.fixture
def both(built: OfKind) -> Iterator[OfKind]:
    """The engines, restored to their start after each test."""
    yield built
    for name, engine in built.engines.items():
        restore(engine, built.starts[name])


def assert_alike(ours: list[Any], theirs: list[Any]) -> None:
    for a, b in zip(ours, theirs):
        assert (a.rejected, a.num_dropped) == (b.rejected, b.num_dropped)
        assert a.update_norm == pytest.approx(b.update_norm, abs=1e-5)
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4, nan_ok=True)
        np.testing.assert_allclose(a.client_losses, b.client_losses, rtol=1e-4)
        np.testing.assert_array_equal(a.delivered, b.delivered)


@pytest.mark.long
def test_twenty_rounds_agree(both: OfKind, make_engine: Callable[..., Any]) -> None:
    """Decaying rate, server momentum, empty rounds; clients twice, without a step or broken."""
    found = {name: run(engine, twenty_rounds()) for name, engine in both.engines.items()}
    models, outcomes = found["tff_in_process"]
    assert sum(outcome.num_dropped for outcome in outcomes) > 0
    assert np.abs(models[-1]).max() > 0.01
    reference = both.engines["tff_in_process"].state()
    names = {name for name in reference if not name.isdigit()}
    for name in ("fused", "fused_lanes", "host"):
        np.testing.assert_allclose(found[name][0], models, rtol=0, atol=1e-5)
        assert_alike(found[name][1], outcomes)
        state = both.engines[name].state()
        assert {key for key in state if not key.isdigit()} == names
        scores = [both.engines[each].evaluate() for each in (name, "tff_in_process")]
        np.testing.assert_allclose(scores[0].loss, scores[1].loss, rtol=1e-4)
        for key in names:
            np.testing.assert_allclose(state[key], reference[key], atol=1e-5, err_msg=key)
    if both.kind == "fedawe":
        unclipped, _ = run(make(make_engine, "fused", EVERY["fedawe"]), twenty_rounds())
        apart = np.abs(unclipped - models).max(axis=1)
        assert apart[0] < 1e-5 and apart[-1] > 1e-2


@pytest.mark.long
def test_restored_engine_repeats_bit_for_bit(both: OfKind, make_engine: Callable[..., Any]) -> None:
    """Another engine than the one that saved also repeats."""
    rounds = twenty_rounds()
    for name in ("tff_in_process", "fused", "host"):
        engine = both.engines[name]
        run(engine, rounds[:9])
        saved = copied(engine)
        models, _ = run(engine, rounds[9:14], 10)
        first = copied(engine)
        again = engine
        if name != "tff_in_process":
            again = make(make_engine, name, KINDS[both.kind])
        restore(again, saved)
        repeated, _ = run(again, rounds[9:14], 10)
        np.testing.assert_array_equal(repeated, models)
        assert_equal(copied(again), first)


NOTHING = {
    "nobody": cohort(),
    "broken": cohort(BROKEN),
    "overflow": cohort(HUGE, weight=1e5),
    "infinite weight": cohort(1, 3, weight=np.inf),
}


@pytest.mark.long
@pytest.mark.parametrize("case", NOTHING)
def test_round_that_leaves_all_state_alone(both: OfKind, case: str) -> None:
    """Round 10, after each client has taken part, only moves the state that its memory moves."""
    empty = case in ("nobody", "broken")
    moves = empty and both.kind in ("mifa", "mifa_waits", "focus")
    for name, engine in both.engines.items():
        run(engine, [cohort(0, 1), cohort(3, 4)])
        before = copied(engine)
        models, (outcome,) = run(engine, [NOTHING[case]], first=10)
        assert outcome.rejected != moves and (outcome.update_norm > 0) == moves
        assert np.isnan(outcome.train_loss)
        assert outcome.num_dropped == int(case == "broken")
        after = copied(engine)
        for key, value in before.items():
            if not (moves and key.isdigit()):
                np.testing.assert_array_equal(after[key], value, err_msg=f"{name} {key}")


@pytest.mark.long
def test_empty_first_round_leaves_all_state_alone(both: OfKind) -> None:
    for name, engine in both.engines.items():
        _, (outcome,) = run(engine, [cohort()])
        assert outcome.rejected and outcome.update_norm == 0
        assert outcome.client_losses.shape == outcome.delivered.shape == (0,)
        assert_equal(copied(engine), both.starts[name])


@pytest.mark.long
def test_a_client_that_breaks_is_as_if_it_had_not_been_there(both: OfKind) -> None:
    for name, engine in both.engines.items():
        run(engine, [cohort(0, 3), cohort(1, BROKEN, 3, 4)])
        got = copied(engine)
        restore(engine, both.starts[name])
        run(engine, [cohort(0, 3), cohort(1, 3, 4)])
        state = copied(engine)
        for key in got:
            np.testing.assert_allclose(got[key], state[key], rtol=0, atol=1e-7, err_msg=name)


@pytest.mark.long
def test_a_client_without_a_step_is_there_all_the_same(both: OfKind) -> None:
    """The client sends the result of an update of 0; a control stays as it is."""
    found = []
    for engine in both.engines.values():
        models, outcomes = run(engine, [cohort(0, 3), cohort(0), cohort(4, 0)])
        assert outcomes[1].num_dropped == 0 and np.isnan(outcomes[1].client_losses).all()
        found.append(models)
        state = engine.state()
        for key in ("client_control", "client_next"):
            if key in state:
                assert not state[key][IDLE].any() and not np.isnan(state[key]).any()
        if "client_last_round" in state:
            np.testing.assert_array_equal(state["client_last_round"], [3, 0, 0, 1, 3, 0])
    for models in found[1:]:
        np.testing.assert_allclose(models, found[0], rtol=0, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    "aggregation",
    [
        pytest.param(Scaffold("sum"), id="scaffold"),
        pytest.param(KINDS["fedawe"], id="fedawe", marks=pytest.mark.slow),
    ],
)
def test_tffs_worker_agrees(aggregation: Any, make_engine: Callable[..., Any]) -> None:
    rounds = twenty_rounds()[:9]
    models, outcomes = run(make(make_engine, "fused", aggregation), rounds)
    theirs, of_worker = run(make(make_engine, "tff", aggregation), rounds)
    np.testing.assert_allclose(theirs, models, rtol=0, atol=1e-5)
    assert_alike(of_worker, outcomes)


@pytest.mark.long
@pytest.mark.parametrize("aggregation", [WeightedMean(), FEDVARP], ids=["mean", "fedvarp"])
def test_a_model_that_would_not_be_finite_is_rejected(
    aggregation: Any, make_engine: Callable[..., Any]
) -> None:
    """Delta is finite, but the server's step along it is not."""
    for name in ("fused", "tff_in_process", "host"):
        # The rate itself is infinite in float32.
        with np.errstate(over="ignore", invalid="ignore"):
            engine = make(make_engine, name, aggregation, Sgd(1e300))
            before = copied(engine)
            _, outcomes = run(engine, [cohort(0, 3), cohort(), cohort(1, BROKEN, 4)])
        assert [(o.rejected, o.num_dropped) for o in outcomes] == [(True, 0), (True, 0), (True, 1)]
        assert [o.update_norm for o in outcomes] == [0, 0, 0]
        assert_equal(copied(engine), before)
