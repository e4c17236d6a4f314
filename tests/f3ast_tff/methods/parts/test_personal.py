"""Personal parts around a memory: what its rules see and return, and settings refused with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    CohortSums,
    Memory,
    Ranges,
    RoundContext,
)
from f3ast_tff.methods.parts.personal import OWN, NoRules, Personal, PersonalParts
from f3ast_tff.methods.parts.private_setting import check_private
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.settings.configuration import Settings

PRIVATE: Ranges = ((1, 2), (3, 5))
MODEL = np.array([1, 2, 3, 4, 5, 6], np.float32)
UPDATE = np.array([7, 8, 9, 10, 11, 12], np.float32)
OF_INNER = {"y": np.ones(6, np.float32)}
KEPT = {**OF_INNER, OWN: np.array([20, 40, 50], np.float32)}
CLIENT = Client(KEPT, share=0.25, steps=3, weight=0.5)
SERVER = {"z": np.zeros(6, np.float32)}
NOW = RoundContext(np, 2, 0.1, 1.0, MODEL, 4, CohortSums(0.5, 1.5))


class Inner(Memory):
    """Keeps y, and notes what its rules are called with."""

    vectors: ClassVar[dict[str, str]] = {"y": "zero"}
    parts: ClassVar[dict[str, Ranges]] = {"first": ((0, 1),)}

    def __init__(self, result: Any) -> None:
        self.result = result

    def __getattribute__(self, name: str) -> Any:
        if name not in RULES:
            return super().__getattribute__(name)

        def noted(*given: Any) -> Any:
            self.given = given
            return self.result

        return noted


RULES = {name for name, value in vars(Memory).items() if hasattr(value, "__code__")}


def around(result: Any) -> tuple[Inner, PersonalParts]:
    """Returns a memory whose rules return `result`, and the one around it."""
    inner = Inner(result)
    return inner, PersonalParts(inner, PRIVATE)


def assert_given(inner: Inner, *expected: Any) -> None:
    """Compares the arguments of the latest rule, by value."""
    np.testing.assert_equal([*inner.given], [*expected])


def test_the_facts_are_those_of_the_memory_inside() -> None:
    memory = PersonalParts(UpdateMemory(), PRIVATE)
    assert dict(memory.vectors) == {"update": "zero"} and memory.totals == ("seen",)
    _, memory = around(None)
    assert dict(memory.parts) == {"first": ((0, 1),), OWN: PRIVATE}


@pytest.mark.parametrize("model", [None, np.full(6, 9, np.float32)], ids=["w_t", "another"])
def test_a_client_starts_with_its_own_part(model: np.ndarray | None) -> None:
    """Also where the rule inside has it start from another model; the rest is the rule's."""
    inner, memory = around(ClientInit(model=model, scale=0.5))
    start = memory.client(CLIENT, SERVER, NOW)
    own = [1, 20, 3, 40, 50, 6]
    assert start.model.tolist() == (own if model is None else [9, 20, 9, 40, 50, 9])
    assert start.scale == 0.5
    seen = NOW._replace(model=np.array(own, np.float32))
    assert_given(inner, CLIENT._replace(kept=OF_INNER), SERVER, seen)


SHARED = np.array([7, 0, 9, 0, 0, 12], np.float32)


def test_updates_reach_the_rules_inside_without_the_private_coordinates() -> None:
    inner, memory = around({"y": UPDATE})
    client, losses = CLIENT._replace(kept=OF_INNER), ClientLosses(0.5, 0.25)
    kept = memory.after_client(CLIENT, UPDATE, SERVER, NOW)
    np.testing.assert_equal(kept, {"y": UPDATE, OWN: np.array([28, 50, 61], np.float32)})
    assert_given(inner, client, SHARED, SERVER, NOW)
    assert inner.given[1].dtype == np.float32
    assert memory.message(CLIENT, UPDATE, losses, NOW) is inner.result
    assert_given(inner, client, SHARED, losses, NOW)


def test_the_server_s_step_leaves_the_own_part() -> None:
    inner, memory = around({"y": UPDATE})
    kept = memory.after_server_step(KEPT, UPDATE, MODEL, NOW)
    np.testing.assert_equal(kept, {"y": UPDATE, OWN: KEPT[OWN]})
    assert_given(inner, OF_INNER, UPDATE, MODEL, NOW)


def test_a_client_is_scored_with_its_own_part_of_the_model_inside() -> None:
    inner, memory = around(UPDATE)
    own = memory.own_model(KEPT, SERVER, MODEL, np)
    assert own.tolist() == [7, 20, 9, 40, 50, 12]
    assert_given(inner, OF_INNER, SERVER, MODEL, np)


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        ("aggregated", (UPDATE, SERVER, NOW)),
        ("correction", (SERVER, NOW)),
        ("mean", (True, NOW)),
        ("steps", (SERVER, NOW, True)),
        ("end_round", (SERVER, MODEL, NOW)),
        ("evaluated", (SERVER, MODEL)),
    ],
)
def test_rules_of_the_server_are_those_inside(rule: str, given: tuple[Any, ...]) -> None:
    inner, memory = around(UPDATE)
    assert getattr(memory, rule)(*given) is UPDATE
    assert_given(inner, *given)


@dataclass(frozen=True)
class Doubles(Aggregation):
    """Another multiple of Delta in each form."""

    def in_jax(self, delta: list[Any]) -> list[Any]:
        return [2 * leaf for leaf in delta]

    def in_tf(self, delta: list[Any]) -> list[Any]:
        return [3 * leaf for leaf in delta]

    def in_numpy(self, delta: list[Any]) -> list[Any]:
        return [4 * leaf for leaf in delta]

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return updates.max(axis=0) * weights.sum()


def test_an_aggregation_acts_as_the_one_inside() -> None:
    personal = Personal(Doubles(), PRIVATE)
    assert [form([1.0]) for form in (personal.in_jax, personal.in_tf, personal.in_numpy)] == [
        [2.0],
        [3.0],
        [4.0],
    ]
    assert personal.combine(np.array([[1.0, 5.0], [2.0, 3.0]]), np.array([1.0, 2.0])).tolist() == [
        6.0,
        15.0,
    ]
    assert personal.stacks and not Personal(Aggregation(), PRIVATE).stacks
    assert isinstance(personal.memory.inner, NoRules) and personal.memory.ranges == PRIVATE


class LastSteps(Memory):
    last_step = True


class Clips(Memory):
    echo_clip = 1.0


SCORED = "must not be given with private=head, which scores the clients that train"
OWN_RULES = "must not be given with aggregation own"


@pytest.mark.parametrize(
    ("name", "value", "memory", "told"),
    [
        (
            *("num_workers", 2, None),
            "must not be given with private=head, whose leaves stay with one process",
        ),
        ("test_clients", 3, None, SCORED),
        ("held_out_clients", 3, None, SCORED),
        (
            *("delivery", "late", None),
            "must not be late with private=head: a client starts from its last leaves, which would "
            "still be under way",
        ),
        (
            *("client_share_of", "present", None),
            "must be all with private=head: clients that have left would keep theirs",
        ),
        ("private", "head", LastSteps(), f"{OWN_RULES}: it reads last steps alone"),
        ("private", "head", Clips(), f"{OWN_RULES}: it clips the sum of all updates"),
    ],
)
def test_refused(name: str, value: Any, memory: Memory | None, told: str) -> None:
    given = {"private": "head", name: value}
    with pytest.raises(ParameterError) as caught:
        check_private(Settings.of(given, is_late=name == "delivery"), "own", memory)
    assert str(caught.value) == f"{name} = {value}: {told}"


@pytest.mark.parametrize("memory", [None, Memory()])
def test_taken(memory: Memory | None) -> None:
    others = {"num_workers": None, "delivery": "certain", "client_share_of": "all"}
    check_private(Settings.of({"private": "head", **others}), "own", memory)
