"""Rules of a memory: what crosses to clients, and results that cannot be used."""

from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import ClientInit, Memory
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


ONE_TOO_MANY = np.zeros(3)


@pytest.mark.parametrize(
    ("rule", "result", "says"),
    [
        ("client", None, "client is None: must be a ClientInit"),
        (
            "client",
            ClientInit(pull=np.zeros(2)),
            r"client\(pull=...\) is an array of shape \[2\]: must be one number",
        ),
        ("after_client", {"y": np.zeros(2)}, "after_client is .*: must be a dict with seen, y"),
        (
            "after_client",
            {"y": 0.0, "seen": 1.0},
            r"after_client\['y'\] is 0.0: must be one vector, \[num_weights\]",
        ),
        ("message", np.zeros(2), "message is .*: must be a vector and a factor of the weight"),
        ("message", (0.0, 1.0), "message's vector is 0.0: must be one vector"),
        ("message", (np.zeros(2), np.zeros(2)), "message's factor is an array .*: must be one num"),
        ("aggregated", 1.0, "aggregated is 1.0: must be one vector"),
        ("correction", 1.0, "correction is 1.0: must be one vector"),
        ("correction", ONE_TOO_MANY, r"is an array of shape \[3\]: must be one vector"),
        ("mean", ONE_TOO_MANY, "mean is an array .*: must be one number"),
        ("steps", None, "steps is None: must be one truth value"),
        ("after_server_step", None, "after_server_step is None: must be a dict with seen, y"),
        ("end_round", None, "end_round is None: must be the server's values and the model"),
        ("end_round", ({}, np.zeros(2)), "must be a dict with average_y, average_y_error, total_s"),
        ("evaluated", 1.0, "evaluated is 1.0: must be one vector"),
        ("own_model", 1.0, "own_model is 1.0: must be one vector"),
    ],
)
def test_a_result_of_no_use(rule: str, result: Any, says: str) -> None:
    wrong = type("Wrong", (Kept,), {rule: lambda *given: result})()
    with pytest.raises(ComponentError, match=f"^memory Wrong: .*{says}"):
        start_of(wrong)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("vectors", {"y": "ones"}, r"vectors\['y'\] is ones: must be 'zero' or 'model'"),
        ("server_vectors", {"z": 0}, r"server_vectors\['z'\] is 0: must be 'zero' or 'model'"),
        ("numbers", ("seen", "y"), "must not name y, which vectors has"),
        ("averages", ("x",), r"averages is \('x',\): must be a tuple of names in vectors: y"),
        ("averages", "y", "averages is y: must be a tuple"),
        ("totals", ("y",), "totals is .*: must be a tuple of names in numbers: seen"),
        ("parts", {"y": ((0, 1),)}, "parts is y: must not name y, which vectors or numbers has"),
        ("parts", {"z": ()}, r"parts\['z'\] is \(\): must be rising ranges"),
        ("parts", {"z": ((0, 2), (1, 3))}, "must be rising ranges"),
        ("vectors_up", -1, "vectors_up is -1: must be an integer, at least 1"),
        ("start_loss", True, "start_loss is True: only applies with a rule message"),
        ("echo_clip", 1.0, "is None: must be a vector, as echo_clip is given"),
    ],
)
def test_a_declaration_of_no_use(field: str, value: Any, says: str) -> None:
    wrong = type("Wrong", (Kept,), {field: value})()
    with pytest.raises(ComponentError, match=says):
        start_of(wrong)


def test_a_run_refuses_it_before_its_first_round() -> None:
    class Forgets(Memory):
        vectors = {"y": "zero"}

        def after_client(self, *given: Any) -> dict[str, Any]:
            return {}

    class Forgetful(Aggregation):
        memory = Forgets()

    with pytest.raises(ComponentError, match="memory Forgets: after_client is {}: must be a dict"):
        simulate(aggregation=Forgetful(), rounds=1)
