"""Components of one's own that cannot be used: each is refused before round 1, and says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.models import PureModel
from f3ast_tff.optimizers import Schedule, Sgd
from f3ast_tff.optimizers.optimizer import OptimizerConfig
from f3ast_tff.settings import parameter, register

WORLD: dict[str, Any] = {"num_clients": 8, "rounds": 4, "seed": 1}
SMALL: dict[str, Any] = {**WORLD, "clients_per_round": 3}
NO_CLOCK = np.full(3, np.nan)


def model(apply: Callable[[Any], Any], outputs: int = 10, **more: Any) -> PureModel:
    """A linear model of the 60 features, whose logits go through `apply`."""
    kernel = np.zeros((60, outputs), np.float32)
    init = lambda seed: {"kernel": kernel}  # noqa: E731
    return PureModel(init, lambda w, x: apply(x @ w["kernel"]), **more)


class Limits:
    """A constraint that returns one result after the other."""

    largest_k, mean_k = 3, 2.0

    def __init__(self, *results: Any) -> None:
        self.results, self.calls = results, 0

    def limit(self, round_number: int) -> Any:
        self.calls += 1
        return self.results[(self.calls - 1) % len(self.results)]


class Delivers(Limits):
    """A delivery that returns one result after the other."""

    def arrivals(self, round_number: int, ids: np.ndarray) -> Any:
        return self.limit(round_number)


class Late(Delivers):
    is_late = True


class Writes:
    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        ids %= 2
        return Arrivals(np.ones(len(ids), bool), NO_CLOCK, np.nan)


class Steps(Aggregation):
    def __init__(self, result: Any) -> None:
        self.rule = type("Rule", (Memory,), {"steps": lambda *given: result})()

    @property
    def memory(self) -> Memory:
        return self.rule


class Directs(Aggregation):
    def __init__(self, direction: Callable[[list[Any]], Any]) -> None:
        self.direction = direction

    def in_jax(self, delta: list[Any]) -> Any:
        return self.direction(delta)


class NoOptax(Sgd):
    def in_jax(self, learning_rate: Any) -> Any:
        return None


@register("client_optimizer", "nothing", about="builds nothing")
@dataclass(frozen=True)
class NothingConfig(OptimizerConfig):
    pass


class Factor(Schedule):
    def __init__(self, result: Any) -> None:
        object.__setattr__(self, "result", result)

    def factor(self, round_number: int) -> Any:
        return self.result


class ByCalls:
    """Clients whose availability is counted by calls, not by rounds."""

    num_clients, positively_correlated, periodic = 8, False, False
    stationary = np.full(8, 0.5)

    def __init__(self, only_forward: bool) -> None:
        self.only_forward, self.at, self.seen = only_forward, 0, 0

    def mask(self, round_number: int) -> np.ndarray:
        if not self.only_forward or round_number > self.at:
            self.seen += 1
        self.at = max(self.at, round_number)
        return np.arange(8) != self.seen % 8


def arrivals(delivered: Any = (1, 1, 1), **changes: Any) -> Arrivals:
    given = {"seconds": NO_CLOCK, "round_seconds": np.nan, **changes}
    return Arrivals(np.array(delivered, bool), **given)


BROKEN: list[tuple[str, Any, str]] = [
    ("model", model(lambda z: z, 9), r"apply returned shape \[2, 9\] for 2 .* shape \[2, 10\]"),
    ("model", model(lambda z: z.mean(0)), r"returned shape \[10\] for 2 examples"),
    ("model", model(lambda z: z[..., 0]), r"returned shape \[2\] for 2 examples"),
    ("model", model(lambda z: None), "apply returned NoneType for 2 examples"),
    ("model", model(lambda z: z.astype("int8")), "apply returned int8: must be floating-point"),
    ("model", model(lambda z: z + 1j), "apply returned complex64: must be floating-point"),
    (
        "model",
        model(lambda z: z, penalty=lambda w: w["kernel"] ** 2),
        r"PureModel: penalty returned \(60, 10\): must be a number",
    ),
    ("model", model(lambda z: z, penalty=lambda w: None), "penalty returned no array: must be a n"),
    ("constraint", Limits(4), r"limit\(1\) returned 4: must be a RoundConstraint"),
    ("constraint", Limits(RoundConstraint(2), RoundConstraint(3)), r"limit\(1\) returned two"),
    ("delivery", Delivers(None), r"arrivals\(1\) returned NoneType: must be Arrivals"),
    (
        "delivery",
        Delivers(arrivals(seconds=np.full(3, 10))),
        r"has seconds of int64 \[3\]: must be float \[3\]",
    ),
    ("delivery", Delivers(arrivals(seconds=np.full(3, -1.0))), "has seconds of -1.0: must be at l"),
    ("delivery", Delivers(arrivals(round_seconds=None)), "has a round of None s: must be finite"),
    ("delivery", Delivers(arrivals(), arrivals((1, 0, 1))), r"arrivals\(1\) returned two results"),
    ("delivery", Delivers(arrivals(rounds=np.zeros(3, int))), "only count with is_late = True"),
    ("delivery", Late(arrivals()), r"has rounds of NoneType: must be int \[3\]"),
    ("aggregation", Steps(0.3), "steps is 0.3: must be one truth value"),
    ("aggregation", type("A", (Aggregation,), {"memory": Memory})(), "memory is <class .*: must b"),
    ("aggregation", Directs(lambda d: None), "in_jax returned NoneType of shapes"),
    ("aggregation", Directs(lambda d: d[1:]), r"must be a list of shapes \[\(60, 10\), \(10,\)\]"),
    ("aggregation", Directs(lambda d: [x.ravel() for x in d]), r"returned list of shapes \[\(600,"),
    ("client_optimizer", NoOptax(0.1), "in_jax returned NoneType: must be an optax"),
    ("client_optimizer", Sgd(0.1, schedule=Factor(None)), r"factor\(1\) returned None: must be a"),
    ("client_optimizer", Sgd(0.1, schedule=Factor(-1.0)), r"factor\(1\) returned -1.0"),
    ("client_optimizer", NothingConfig(), "NothingConfig does not say what it builds"),
    ("availability", ByCalls(only_forward=False), r"mask\(1\) returned two results"),
    ("availability", ByCalls(only_forward=True), r"mask\(1\) returned two results"),
]


@pytest.mark.parametrize(
    ("kind", "value", "says"), BROKEN, ids=[f"{k}{n}" for n, (k, *_) in enumerate(BROKEN)]
)
def test_it_is_refused(kind: str, value: Any, says: str) -> None:
    with pytest.raises(ComponentError, match=says):
        simulate(**(WORLD if kind == "constraint" else SMALL), **{kind: value})


def test_a_delivery_cannot_change_who_was_selected() -> None:
    with pytest.raises(ValueError, match="read-only"):
        simulate(**SMALL, delivery=Writes())


@pytest.mark.parametrize("result", [True, False])
def test_a_truth_value_of_python_is_one(result: bool) -> None:
    """A server that never steps rejects nothing."""
    found = simulate(**SMALL, aggregation=Steps(result))
    assert not found.selection["rejected"].any()


@pytest.mark.long
def test_a_schedule_of_ones_own_counts() -> None:
    """Without `is_constant`; half the rate in all rounds is a rate of half."""
    half = Sgd(0.1, schedule=Factor(jnp.float32(0.5)))
    results = [simulate(**SMALL, client_optimizer=each) for each in (half, Sgd(0.05), Sgd(0.1))]
    losses = [result.metrics["test_sample_loss"].iloc[-1] for result in results]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) != losses[2]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("learning_rate", -0.05, "must be above 0 and finite"),
        ("clip_norm", np.nan, "must be above 0 and finite"),
        ("schedule", lambda t: 1.0, "must be a Schedule"),
    ],
)
def test_fields_of_an_optimizer_are_checked(name: str, value: Any, says: str) -> None:
    given: dict[str, Any] = {"learning_rate": 0.1, name: value}
    with pytest.raises(ParameterError, match=f"{name} = .*: {says}"):
        Sgd(**given)


def test_two_defaults_of_one_name_are_refused() -> None:
    @register("client_optimizer", "own_beta", about="has a parameter of the name of F3AST's")
    @dataclass(frozen=True)
    class OwnConfig(OptimizerConfig):
        rate_beta: float = parameter(0.07, "another beta", above=0, below=1)

        def build(self) -> Sgd:
            return Sgd(self.rate_beta)

    simulate(**SMALL, algorithm="fedavg", client_optimizer=OwnConfig())
    says = "algorithm f3ast and client_optimizer own_beta both have a parameter rate_beta"
    with pytest.raises(ComponentError, match=says):
        simulate(**SMALL, algorithm="f3ast", client_optimizer=OwnConfig())
