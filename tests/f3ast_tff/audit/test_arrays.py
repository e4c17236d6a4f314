"""Models of several arrays, and servers that gather replies of several rounds."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from f3ast_tff.audit.arrays import ARRAY, DICT, LAYERS, Form, form_named, forms_of
from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.check_weights import gradient_weights
from f3ast_tff.audit.findings import NOTE, OPEN, WRONG, Audit
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.plays import NoStepError, calls_of, step
from f3ast_tff.audit.report import json_of, text_of
from f3ast_tff.audit.weights import CLIPS, LINEAR, rule_of
from f3ast_tff.audit.world import EXAMPLES
from f3ast_tff.core.errors import ParameterError

FILE = "tests/f3ast_tff/audit/servers_of_arrays.py"
N = len(EXAMPLES)


@functools.cache
def audit_of(name: str) -> Audit:
    return audit(f"{FILE}:{name}", rounds=100)


def said(found: Audit, verdict: str = WRONG) -> list[str]:
    return [f"{each.check}: {each.found}" for each in found.findings if each.verdict == verdict]


@pytest.mark.parametrize("form", [Form(LAYERS), Form(DICT), form_named("a, b,c")])
def test_a_vector_that_is_split_is_joined_again(form: Form) -> None:
    vector = np.arange(8.0)
    for seen, one in enumerate(form.parts().values()):
        arrays = one.split(vector, 8)
        listed = list(arrays.values()) if form.kind == DICT else arrays
        assert [each.shape for each in listed[:3]] == [(2, 4), (8,), (2, 4)]
        assert one.join(arrays, 8)[one.key].tolist() == vector.tolist()
        listed[seen][...] = 0
        assert vector.any() and all(each.any() for n, each in enumerate(listed) if n != seen)


def test_an_array_of_another_size_and_one_less() -> None:
    assert [each.shape for each in Form(LAYERS, seen=1).split(np.ones(3), 8)][:2] == [(2, 4), (3,)]
    less = Form(DICT, seen=1).split(np.zeros(0), 8)
    assert list(less) == ["body.weight", "head.weight", "head.bias"]


def _of_list(model: list[np.ndarray], updates: Any, weights: Any) -> None: ...


def _of_updates(model: Any, updates: list[OrderedDict], weights: Any) -> None: ...


def _by_client(model: Any, updates: dict[int, list[np.ndarray]], weights: Any) -> None: ...


def _of_arrays(model: Any, updates: dict[int, np.ndarray], weights: Any) -> None: ...


def _one(model: np.ndarray, updates: Any, weights: Any) -> Any:
    return [each for each in model]


def _untold(model: Any, updates: Any, weights: Any) -> Any:
    return model + np.average(updates, axis=0, weights=weights) * len(model)


def _by_name(state: Any, updates: Any, weights: Any) -> Any:
    for key in state:
        state[key] += sum(update[key] for update in updates)
    return state


def _by_place(model: Any, updates: Any, weights: Any) -> Any:
    return [model[i] + sum(update[i] for update in updates) for i in range(len(model))]


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        (_of_list, LAYERS),
        (_of_updates, DICT),
        (_by_client, LAYERS),
        (_of_arrays, ARRAY),
        (_one, ARRAY),
        (_untold, ARRAY),
        (_by_name, DICT),
        (_by_place, LAYERS),
    ],
)
def test_annotations_and_code_say_the_form(aggregate: Callable[..., Any], kind: str) -> None:
    model = "state" if aggregate is _by_name else "model"
    assert forms_of(aggregate, model, "updates")[0].kind == kind


def test_the_setting_is_over_the_annotation() -> None:
    assert not target_of(f"{FILE}:by_examples", model="array").parts
    assert list(target_of(f"{FILE}:by_examples", model="layers").parts) == [
        "model[0]",
        "model[1]",
        "model[2]",
    ]
    assert list(target_of(f"{FILE}:own_names", model="fc.weight,fc.bias").parts) == [
        "fc.weight",
        "fc.bias",
    ]
    with pytest.raises(ParameterError, match="model = other.*must be array, layers, dict, or diff"):
        target_of(f"{FILE}:by_examples", model="other")


def test_code_that_means_an_array_or_a_list_is_played_both_ways() -> None:
    """The sum of a list's medians is by number; that of arrays is one number for each array."""
    assert len(target_of(f"{FILE}:by_number").parts) == 3
    with pytest.raises(ParameterError, match="model = None: must be array or layers: the code"):
        target_of(f"{FILE}:median_by_number")
    assert not target_of(f"{FILE}:median_by_number", model="array").parts
    assert len(target_of(f"{FILE}:median_of_arrays").parts) == 3
    # A loop that takes numbers alone is of one array; names are found without annotations.
    assert not target_of(f"{FILE}:floats_by_number").parts
    assert len(target_of(f"{FILE}:unsaid_names").parts) == 3


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is there")
def test_tensors_need_pytorch() -> None:
    with pytest.raises(ParameterError, match="takes tensors: pip install torch, or convert arr"):
        target_of(f"{FILE}:of_tensors")


def test_a_module_is_refused() -> None:
    with pytest.raises(ParameterError, match="takes a module: let net be its state_dict"):
        target_of(f"{FILE}:of_module")


def test_tensors_are_made() -> None:
    torch = pytest.importorskip("torch")
    form = Form(DICT, tensors=True)
    arrays = form.split(np.arange(32.0), 32)
    assert {each.dtype for each in arrays.values()} == {torch.float32}
    assert form.join(arrays, 32)[form.key].tolist() == np.arange(32.0).tolist()
    rule = rule_of(target_of(f"{FILE}:of_tensors"), EXAMPLES)
    assert rule.kind == LINEAR


def test_what_the_audit_cannot_give_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="needs accuracies; after model, updates and weights may"
    ):
        target_of(f"{FILE}:buffered")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one_less", "ValueError: returns 3 arrays for a model of 4"),
        ("flat", r"ValueError: returns shape \(32,\) for model\[0\] of \(8, 4\)"),
        ("forgets", "ValueError: returns arrays body.weight, body.bias, head.weight, not body"),
        ("one_array", "TypeError: returns ndarray: must return a dict of body.weight, body.bias"),
    ],
)
def test_a_model_of_another_structure_is_named(name: str, words: str) -> None:
    with pytest.raises(NoStepError, match=words):
        step(target_of(f"{FILE}:{name}"), np.ones((N, 4 * N)), EXAMPLES)
    found = audit_of(name)
    assert found.sentence.startswith(f"{name} cannot be audited: ")
    assert [each.check for each in found.wrong()] == ["liveness"]


def _steps_of(name: str) -> np.ndarray:
    """The step of each array that is seen."""
    target, updates = target_of(f"{FILE}:{name}"), np.random.default_rng(0).random((N, 4 * N))
    makes = target.parts.values()
    return np.array([step(replace(target, make=make), updates, EXAMPLES) for make in makes])


@pytest.mark.parametrize("name", ["with_zip", "in_place", "tuples", "by_client", "FedProx"])
def test_one_mean_has_one_step_however_it_is_written(name: str) -> None:
    steps = _steps_of("by_examples")
    assert steps.shape == (3, 4 * N) and np.array_equal(steps[0], steps[1])
    np.testing.assert_allclose(_steps_of(name), steps, rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("name", ["by_examples", "by_client", "Momentum"])
def test_right_ones_pass_all(name: str) -> None:
    found = audit_of(name)
    assert not found.wrong() and not found.arrays and found.weights
    independent = next(each for each in found.weights if each.schedule == "independent")
    assert independent.named and independent.distance < 0.02
    assert len([each for each in said(found, "right") if "step is the same from" in each]) == 1


@pytest.mark.long
def test_each_client_alike_is_no_mean_by_examples() -> None:
    one = replace(target_of(f"{FILE}:mean_of_states"), parts={})
    assert {each.check for each in audit(one, rounds=100).wrong()} == {"weights"}
    assert not audit(replace(one, objective="equal"), rounds=100).wrong()


@pytest.mark.long
def test_a_head_that_stays_with_the_clients_is_not_judged() -> None:
    found = audit_of("personal_head")
    assert not found.wrong() and found.arrays == ["body.weight", "body.bias"]
    assert "of their weight in body.weight, body.bias; no check is wrong" in found.sentence
    assert "weights: head.weight: not seen: the model stays as it is" in said(found, OPEN)
    assert "body.weight, body.bias: weight of a client over its share" in text_of(found)
    assert '"arrays": [\n  "body.weight",' in json_of(found)


@pytest.mark.long
def test_names_of_arrays_may_be_given() -> None:
    found = audit_of("own_names")
    assert not found.wrong() and "name yours, --model=fc.weight,fc.bias" in said(found, OPEN)[0]
    named = audit(f"{FILE}:own_names", rounds=100, model="fc.weight,fc.bias")
    assert not named.wrong() and named.arrays == ["fc.weight"]


@pytest.mark.long
def test_what_is_wrong_in_one_array_is_said_of_it() -> None:
    wrong = said(audit_of("first_by_examples"))
    assert len(wrong) == 1 and wrong[0].startswith("weights: model[1], model[2]: not the mean of")
    found = audit_of("CachedHead")
    assert all(each.partition(": ")[2].startswith("model[2]: ") for each in said(found))
    assert {each.check for each in found.wrong()} >= {"returning", "replies", "weights"}
    assert found.arrays == ["model[0]", "model[1]"]


@pytest.mark.long
def test_a_clip_by_array_is_a_clip_in_each() -> None:
    """Of all arrays together it would turn the step of equal updates."""
    target = target_of(f"{FILE}:clipped_by_array")
    for make in target.parts.values():
        rule = rule_of(replace(target, make=make), EXAMPLES)
        assert rule.kind == CLIPS and 2 < rule.clip < 15


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("three_steps", "weights of a round with all clients sum to 3.00, of a buffer"),
        ("AdamOfAll", "a buffer takes steps by axes"),
    ],
)
def test_a_buffer_is_a_mean(name: str, words: str) -> None:
    found = audit(f"{FILE}:{name}", rounds=100, model="fc.weight,bn.running_var")
    of_scale = [each for each in said(found) if each.startswith("scale")]
    assert of_scale == [f"scale: bn.running_var: {words}"]


def test_fednova_is_told_the_local_steps() -> None:
    """A mean by examples has 6.5 times the weight of those that take 8 times the steps."""
    found = gradient_weights(target_of(f"{FILE}:fednova"), EXAMPLES, 300)
    assert found is not None and 0.7 < found.ratio(found.steps) < 1


def test_rounds_until_a_model_moves() -> None:
    calls = [
        calls_of(target_of(f"{FILE}:{name}"), EXAMPLES)
        for name in ("EverySecond", "EveryOdd", "by_examples")
    ]
    assert calls == [(2, 2), (1, 2), (1, 1)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["EverySecond", "EveryOdd"])
def test_a_server_that_gathers_replies_is_judged_by_what_it_makes_of_them(name: str) -> None:
    found = audit_of(name)
    assert not found.wrong(), said(found)
    assert "scale: replies of 2 rounds are used together: the audit takes 2 as one" in said(
        found, NOTE
    )
    assert found.weights[0].distance < 1e-3


@pytest.mark.long
def test_a_wrong_server_that_gathers_replies_is_named() -> None:
    assert {each.check for each in audit_of("EverySecondOfSeen").wrong()} == {"weights"}
