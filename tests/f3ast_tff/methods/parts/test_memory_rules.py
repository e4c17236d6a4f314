"""Rules of a memory: what crosses to clients, and results that cannot be used."""

import inspect
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    CohortSums,
    Memory,
    RoundContext,
    initial_server,
)
from f3ast_tff.methods.parts.memory_rules import start_of
from tests.f3ast_tff.methods.every_memory import EVERY


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("mifa", {"shift"}),
        ("mimic", {"shift"}),
        ("fedawe", {"model", "scale", "shift"}),
        ("scaffold", {"offset"}),
        ("amplified_fedavg", set()),
        ("amplified_scaffold", {"offset"}),
        ("focus", {"offset"}),
        ("fedprox", {"pull"}),
        ("feddyn", {"offset", "pull"}),
        ("fednova", {"scale"}),
        ("feddc", {"offset", "pull"}),
        ("feddc_paper", {"offset", "pull", "scale", "shift"}),
    ],
)
def test_what_crosses_to_clients(name: str, used: set[str]) -> None:
    memory = EVERY[name].memory
    assert memory is not None
    start = start_of(memory)._asdict()
    assert {part for part, value in start.items() if value is not None} == used


class Kept(Memory):
    """Keeps a vector and a number per client, and one vector on the server."""

    vectors = {"y": "zero"}
    numbers = ("seen",)
    averages = ("y",)
    totals = ("seen",)
    server_vectors = {"z": "model"}


TWO, THREE = np.zeros(2), np.zeros(3)
SERVER = initial_server(Kept(), TWO, np)


def of(result: Any) -> Any:
    """A rule that returns this result."""
    return lambda *given: result


# What a subclass of `Kept` has, and the error; a memory of nothing has no names.
OF_NO_USE: list[tuple[dict[str, Any], str]] = [
    ({"client": of(3)}, "client is 3: must be a ClientInit"),
    (
        {"client": of(ClientInit(pull=TWO))},
        r"client\(pull=...\) is an array of shape \[2\]: must be one number",
    ),
    ({"after_client": of({"y": TWO})}, "after_client is .*: must be a dict with seen, y"),
    (
        {"after_client": of({"y": 0.0, "seen": 1.0})},
        r"after_client\['y'\] is 0.0: must be one vector, \[num_weights\]",
    ),
    ({"message": of(TWO)}, r"message is \[0. 0.\]: must be a vector and a factor of the weight"),
    ({"message": of((0.0, 1.0))}, "message's vector is 0.0: must be one vector"),
    ({"message": of((TWO, TWO))}, "message's factor is an array .*: must be one num"),
    ({"aggregated": of(1.0)}, "aggregated is 1.0: must be one vector"),
    ({"correction": of(1.0)}, "correction is 1.0: must be one vector"),
    ({"correction": of(THREE)}, r"correction is an array of shape \[3\]: must be one vector"),
    ({"mean": of(THREE)}, "mean is an array .*: must be one number"),
    ({"steps": of(None)}, "steps is None: must be one truth value"),
    ({"steps": of(np.ones(2, bool))}, r"steps is \[ True  True\]: must be one truth value"),
    ({"after_server_step": of(None)}, "after_server_step is None: must be a dict with seen, y"),
    ({"end_round": of(3)}, "end_round is 3: must be the server's values and the model"),
    (
        {"end_round": of(({}, 0))},
        "end_round is {}: must be a dict with average_y, average_y_error, ",
    ),
    ({"end_round": of((SERVER, 1.0))}, "end_round's model is 1.0: must be one vector"),
    ({"evaluated": of(1.0)}, "evaluated is 1.0: must be one vector"),
    ({"own_model": of(1.0)}, "own_model is 1.0: must be one vector"),
    ({"vectors": {"y": "ones"}}, r"vectors\['y'\] is ones: must be 'zero' or 'model'"),
    ({"server_vectors": {"z": 0}}, r"server_vectors\['z'\] is 0: must be 'zero' or 'model'"),
    ({"numbers": ("seen", "y")}, r"numbers is \('seen', 'y'\): must not name y, which vectors has"),
    ({"averages": ("x",)}, r"averages is \('x',\): must be a tuple of names in vectors: y"),
    ({"averages": "y"}, "averages is y: must be a tuple"),
    (
        {"settled_averages": ("x",)},
        r"settled_averages is \('x',\): must be a tuple of names in vectors: y$",
    ),
    ({"totals": ("y",)}, "totals is .*: must be a tuple of names in numbers: seen"),
    ({"parts": {"y": ((0, 1),)}}, "parts is y: must not name y, which vectors or numbers has"),
    ({"parts": {"z": ()}}, r"parts\['z'\] is \(\): must be rising ranges"),
    ({"parts": {"z": ((0, 2), (1, 3))}}, r"parts\['z'\] is .*: must be rising ranges"),
    ({"parts": {"z": ((-1, 2),)}}, r"parts\['z'\] is \(\(-1, 2\),\): must be rising ranges"),
    ({"vectors_up": -1}, "vectors_up is -1: must be an integer, at least 1"),
    ({"start_loss": True}, "start_loss is True: only applies with a rule message"),
    ({"echo_clip": 1.0}, r"client\(shift=...\) is None: must be a vector, as echo_clip is given"),
    # Clipped echoes are not messages.
    (
        {
            "echo_clip": 1.0,
            "client": lambda self, client, server, now: ClientInit(shift=now.model),
            "message": lambda self, client, update, losses, now: (update, 1.0),
        },
        "message is given: must not be given with echo_clip$",
    ),
]
NOTHING: list[tuple[dict[str, Any], str]] = [
    ({"averages": ("y",)}, r"averages is \('y',\): must be a tuple of names in vectors: none$"),
    ({"after_client": of({"y": 0})}, "after_client is .*: must be a dict with no name$"),
]


@pytest.mark.parametrize(
    ("base", "given", "says"),
    [*((Kept, *row) for row in OF_NO_USE), *((Memory, *row) for row in NOTHING)],
)
def test_a_memory_of_no_use(base: type[Memory], given: dict[str, Any], says: str) -> None:
    wrong = type("Wrong", (base,), given)()
    with pytest.raises(ComponentError, match=f"^memory Wrong: {says}"):
        start_of(wrong)


def test_a_class_is_not_a_memory() -> None:
    told = "^aggregation: memory is <class .*Kept'>: must be an object of a subclass of Memory$"
    with pytest.raises(ComponentError, match=told):
        start_of(Kept)  # type: ignore[arg-type]


def described(value: Any) -> Any:
    """Dtypes and shapes in a rule's arguments, which are finite."""
    if isinstance(value, dict):
        return {name: described(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return type(value)(*map(described, value))
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    assert np.isfinite(value).all()
    return f"{value.dtype}{list(value.shape)}"


def test_rules_are_tried_with_what_a_round_gives() -> None:
    """A model as long as the parts reach, in single precision; the update and weight are not 0."""
    given: dict[str, tuple[Any, ...]] = {}

    def noting(rule: str) -> Any:
        def noted(self: Memory, *arguments: Any) -> Any:
            given[rule] = arguments
            return getattr(Kept, rule)(self, *arguments)

        return noted

    rules = {rule: noting(rule) for rule in vars(Memory) if inspect.isfunction(vars(Memory)[rule])}
    start_of(type("Tried", (Kept,), {"parts": {"own": ((0, 1), (2, 4))}, **rules})())
    vector, number, whole = "float32[4]", "float32[]", "int32[]"
    kept = {"y": vector, "seen": number, "own": "float32[3]"}
    averages = {"average_y": vector, "average_y_error": vector}
    server = {"z": vector, **averages, "total_seen": number}
    client = Client(kept, number, whole)
    now = RoundContext(np, whole, number, number, vector, whole)
    sums = now._replace(cohort=CohortSums(number, number))
    assert {rule: tuple(map(described, arguments)) for rule, arguments in given.items()} == {
        "client": (client, server, now),
        "after_client": (client, vector, server, now),
        "message": (
            *(client._replace(weight=number, id=whole), vector),
            *(ClientLosses(number, number), now._replace(server=server)),
        ),
        "aggregated": (vector, server, sums),
        "correction": (server, sums),
        "mean": (False, sums),
        "steps": (server, sums, "bool[]"),
        "after_server_step": (kept, vector, vector, sums),
        "end_round": (server, vector, sums),
        "evaluated": (server, vector),
        "own_model": (kept, server, vector, np),
    }
    sender, update, losses, _ = given["message"]
    assert update.all() and sender.weight and all(losses)


def test_a_run_refuses_it_before_its_first_round() -> None:
    class Forgets(Memory):
        vectors = {"y": "zero"}

        def after_client(self, *given: Any) -> dict[str, Any]:
            return {}

    class Forgetful(Aggregation):
        memory = Forgets()

    with pytest.raises(ComponentError, match="memory Forgets: after_client is {}: must be a dict"):
        simulate(aggregation=Forgetful(), rounds=1)
