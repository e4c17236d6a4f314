"""What can be audited, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.functions import FunctionServer
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.core.errors import ParameterError
from tests.f3ast_tff.audit import servers

FILE = "tests/f3ast_tff/audit/servers.py"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere:aggregate", "cannot be imported: ModuleNotFoundError"),
        ("nowhere.py:aggregate", "there is no file nowhere.py"),
        (f"{FILE}:nothing", "has no nothing; there are"),
        (f"{FILE}:NeedsArguments", "needs arguments: --args=rate=..."),
        (f"{FILE}:REPLIES", "must be aggregate(model, updates, weights), an object with such"),
        ("f3ast_tff/audit/report.py", "has no aggregate; name one of text_of"),
        ("f3ast_tff.audit.report", "has no aggregate; name one of text_of"),
        ("tests.f3ast_tff.audit", "has no aggregate; name one of its functions or classes"),
        (
            f"{FILE}:two_lists",
            "models=...,counts=...; if it is the aggregation, it must take model,",
        ),
        (f"{FILE}:model_last", "takes updates, weights, model: must be model, updates and weights"),
        (f"{FILE}:model_between", "takes client_models, model, counts: must be model, updates and"),
        (f"{FILE}:sizes_first", "takes counts, updates, model: must be model, updates and weights"),
        ("nosuchmethod", "or a method's name: fedavg"),
        ("fedavgg", "did you mean fedavg? It must be module:name"),
    ],
)
def test_what_is_no_target_is_said(given: str, words: str) -> None:
    with pytest.raises(ParameterError) as raised:
        target_of(given)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_arguments_that_are_refused_are_said() -> None:
    with pytest.raises(ParameterError, match="cannot be made: TypeError.*; it takes rate$"):
        target_of(f"{FILE}:NeedsArguments", {"rate": 1.0, "other": 2})
    with pytest.raises(ParameterError, match="takes none"):
        target_of(f"{FILE}:aggregate", {"rate": 1.0})
    with pytest.raises(ParameterError, match="must be one of present"):
        target_of(f"{FILE}:aggregate", objective="none")


@pytest.mark.long
def test_a_file_an_object_and_a_class_are_targets() -> None:
    for given in (FILE, servers.AllForATenth()):
        assert not audit(given, rounds=100).wrong(["weights", "scale", "replies"])
    found = audit(f"{FILE}:NeedsArguments", {"rate": 0.5}, rounds=100)
    assert not found.wrong()
    assert "sum to 0.50" in "; ".join(each.found for each in found.findings)


def test_a_file_is_executed_anew_for_each_server() -> None:
    make = target_of(f"{FILE}:replies_so_far").make
    one, other = make().held, make().held
    one(np.zeros(2), [np.ones(2)], [1.0], [5])
    assert one.__globals__["REPLIES"] == {5: 1} and other.__globals__["REPLIES"] == {}
    assert servers.REPLIES == {}


@pytest.mark.long
def test_the_two_lists_are_told_by_their_names() -> None:
    found = audit(f"{FILE}:weights_first", rounds=100)
    assert not found.wrong(["weights", "scale", "returning"])
    assert "the mean of clients whose replies arrive" in found.findings[0].found


@pytest.mark.long
def test_a_function_that_returns_nothing_is_named() -> None:
    def in_place(model: Any, updates: Any, weights: Any) -> None:
        model += np.mean(updates, axis=0)

    found = audit(in_place, rounds=100)
    assert "returns None: must return the model" in "; ".join(e.found for e in found.findings)
    assert [each.advice for each in found.wrong()] == [
        "Return the new model; a model that is changed in place is not seen."
    ]


@pytest.mark.long
def test_a_function_may_take_models_in_place_of_updates() -> None:
    def aggregate(model: Any, models: Any, weights: Any) -> Any:
        return np.average(models, axis=0, weights=weights) if sum(weights) else model

    assert not audit(aggregate, rounds=100).wrong()


@pytest.mark.parametrize(
    ("names", "models"),
    [
        ("w_glob, w_locals, num_samples", True),
        ("global_state, client_states, counts", True),
        ("net, weights, local_weights", True),
        ("model, params, n", True),
        ("model, updates, weights", False),
        ("model, local_updates, weights", False),
        ("model, weights, deltas", False),
    ],
)
def test_models_are_told_from_updates_by_the_name(names: str, models: bool) -> None:
    aggregate = eval(f"lambda {names}: None")
    assert FunctionServer(aggregate).takes_models == models
