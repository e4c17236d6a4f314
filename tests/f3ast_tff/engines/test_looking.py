"""Client optimizers that look elsewhere before they step, beside loops of their own in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.tiny import tiny_data
from f3ast_tff import simulate
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.fedprox import FedProx
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Optimizer, Sgd
from f3ast_tff.optimizers.sam import Sam

DATA = tiny_data()
WORK = LocalTraining(8, epochs=2, seed=3)
RATE, RADIUS, MU = 0.1, 0.3, 0.5
ENGINES = ["host", "fused", "fused_lanes"]
Find = Callable[[Any], Any]


@dataclass(frozen=True)
class Ahead(Sgd):
    """Extragradient: the step's gradient is that after a step."""

    def look(self, find: Find, weights: Any) -> Any:
        return weights - self.learning_rate * find(weights)


@dataclass(frozen=True)
class Speed(Sgd):
    """FedSpeed's gradient: a quarter at w, the rest at w + radius g."""

    look_share: ClassVar[float] = 0.75

    def look(self, find: Find, weights: Any) -> Any:
        return weights + RADIUS * find(weights)


@dataclass(frozen=True)
class Wrong(Sgd):
    def look(self, find: Find, weights: Any) -> Any:
        return find(weights)[..., :2]


@dataclass(frozen=True)
class Writes(Sgd):
    def look(self, find: Find, weights: Any) -> Any:
        weights += 1
        return weights


def stepped_along(optimizer: Optimizer, find: Find, w: np.ndarray) -> np.ndarray:
    """The gradient of a step, each rule written out."""
    g = find(w)
    if isinstance(optimizer, Sam):
        return np.asarray(find(w + RADIUS * g / np.sqrt((g**2).sum())))
    if isinstance(optimizer, Ahead):
        return np.asarray(find(w - RATE * g))
    if isinstance(optimizer, Speed):
        return np.asarray(0.25 * g + 0.75 * find(w + RADIUS * g))
    return np.asarray(g)


def by_hand(k: int, optimizer: Optimizer, mu: float) -> tuple[np.ndarray, float]:
    """Update of client k from 0 and its mean loss, which is that at w."""
    features, labels = DATA.train.client(k)
    x = np.column_stack([features, np.ones(len(labels))]).astype(float)
    w = np.zeros((x.shape[1], DATA.num_classes))
    order, total, visits = WORK.order(1, k, len(labels)), 0.0, 0
    for row in order:
        for first in range(0, len(row), WORK.batch_size):
            batch = row[first : first + WORK.batch_size]

            def chances(at: np.ndarray, batch: np.ndarray = batch) -> np.ndarray:
                logits = np.exp(x[batch] @ at)
                return np.asarray(logits / logits.sum(axis=1, keepdims=True))

            def find(at: np.ndarray, batch: np.ndarray = batch) -> np.ndarray:
                error = chances(at, batch) - np.eye(DATA.num_classes)[labels[batch]]
                return np.asarray(x[batch].T @ error / len(batch))

            own = chances(w)[np.arange(len(batch)), labels[batch]]
            total, visits = total - np.log(own).sum(), visits + len(batch)
            w = w - RATE * (stepped_along(optimizer, find, w) + mu * w)
    return w.ravel(), total / visits


@pytest.mark.long
@pytest.mark.parametrize("mu", [0.0, MU])
@pytest.mark.parametrize(
    "optimizer", [Sgd(RATE), Sam(RATE, radius=RADIUS), Ahead(RATE), Speed(RATE)], ids=str
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_is_the_rule_written_out(
    make_engine: Any, engine: str, optimizer: Optimizer, mu: float
) -> None:
    """FedProx's pull is not in the gradient that is looked at, but in the step's, at w."""
    rule: Aggregation = FedProx(prox_mu=mu, cohort_weights="mean") if mu else WeightedMean()
    p = np.full(6, 1 / 6) if mu else None
    made = make_engine(engine, DATA, WORK, client=optimizer, aggregation=rule, p=p)
    ids, weights = np.array([0, 2, 4]), np.array([0.5, 0.25, 0.25])
    (outcome,) = made.run_rounds(1, [Cohort(ids, weights)], by_client=True)
    updates, losses = zip(*(by_hand(k, optimizer, mu) for k in ids.tolist()))
    found = np.concatenate([leaf.ravel() for leaf in made.weights()])
    np.testing.assert_allclose(found, weights @ np.array(updates), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outcome.client_losses, losses, rtol=1e-5)


def test_a_radius_of_zero_is_sgd() -> None:
    """Bit for bit on the host engine."""
    given = {"algorithm": "fedavg", "engine": "host", "rounds": 3, "client_lr": 0.05}
    plain = simulate(**given).weights
    same = simulate(**given, client_optimizer="sam", sam_radius=0.0).weights
    other = simulate(**given, client_optimizer="sam").weights
    assert all(np.array_equal(*pair) for pair in zip(plain, same))
    assert not np.array_equal(plain[0], other[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "tff", "client_optimizer": Ahead(0.1)}, "client_optimizer = ahead: looks"),
        ({"server_optimizer": Ahead(0.1)}, "server_optimizer = ahead: looks elsewhere"),
    ],
)
def test_refused_in_a_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        simulate(rounds=1, **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", ["host", "fused"])
def test_another_shape_is_refused(make_engine: Any, engine: str) -> None:
    made = make_engine(engine, DATA, WORK, client=Wrong(RATE))
    with pytest.raises(ComponentError, match="Wrong: look returned shape .*, must be"):
        made.run_rounds(1, [Cohort(np.array([0]), np.array([1.0]))])


def test_what_is_handed_over_is_read_only(make_engine: Any) -> None:
    made = make_engine("host", DATA, WORK, client=Writes(RATE))
    with pytest.raises(ValueError, match="read-only"):
        made.run_rounds(1, [Cohort(np.array([0]), np.array([1.0]))])
