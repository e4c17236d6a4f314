"""Arguments of the Python interface of other types and values: each error is one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import (
    F3AST,
    Round,
    RoundConstraint,
    advise,
    compare,
    select_clients,
    simulate,
    weigh_updates,
)
from f3ast_tff.core.errors import ComponentError, DataError, ParameterError

P = [0.25] * 4
THERE = np.ones(4, bool)
# fmt: off
ODD: tuple[Any, ...] = (
    True, -1, 1.5, float("nan"), float("inf"), -(10**400), "", "a\x1b\nb", "\ud800", b"x", [None],
    {"a": 1}, object(), np.zeros(3), np.zeros((2, 2)), np.array(["a"]), range(3, 6), 1j,
    [[1], [2, 3]],
)
# fmt: on


def started() -> F3AST:
    return F3AST.start(P, 2)


def now(**given: Any) -> Round:
    return Round(**{"number": 1, "available": THERE, "constraint": RoundConstraint(2), **given})


def weighed(**given: Any) -> Any:
    both = np.array([0, 1])
    usual = {"strategy": started(), "now": now(), "ids": both, "delivered": both >= 0}
    return weigh_updates(**{**usual, **given})


RUN = {"algorithm": "fedavg", "rounds": 1, "engine": "host", "num_clients": 4}
SIMULATE = partial(simulate, **RUN, clients_per_round=2)
COSTS = {"cost": np.ones(4), "budget": 1.0}
GROUPS = {"group": np.zeros(4, int), "minimum": np.ones(1, int)}
CALLS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "simulate": (
        SIMULATE,
        (*("rounds", "engine", "folder", "plugins", "on_round", "on_evaluation", "seeds"),)
        + ("private", "seed", "client_lr", "model", "delivery", "run_name", "logger", "nosuch"),
    ),
    "compare": (partial(compare, {"a": "fedavg"}, **RUN), ("seeds", "folder")),
    "methods": (partial(compare, rounds=1, engine="host"), ("methods",)),
    "advise": (partial(advise, np.eye(4, dtype=bool)), ("p", "ks", "rounds_per_day")),
    "start": (partial(F3AST.start, **{"p": P, "k": 2}), ("p", "k", "seed", "sizes", "rounds")),
    "availability": (partial(F3AST.start, P, 2), ("availability", "rate_beta", "nosuch")),
    "round": (now, ("number", "constraint", "losses", "request")),
    "select": (
        lambda **given: select_clients(**{"strategy": started(), "now": now(), **given}),
        ("strategy", "now"),
    ),
    "weigh": (weighed, ("strategy", "now", "ids", "delivered")),
    "constraint": (RoundConstraint, ("k",)),
    "costs": (lambda **given: RoundConstraint(2, **{**COSTS, **given}), ("cost", "budget")),
    "groups": (lambda **given: RoundConstraint(2, **{**GROUPS, **given}), ("group", "minimum")),
    "restore": (lambda state: started().restore(state), ("state",)),
    "restored": (
        lambda value: started().restore(dict.fromkeys(started().state(), value)),
        ("value",),
    ),
}
# What is allowed: `ks` and `seeds` hold integers, a budget may be infinite, and some paths are odd.
ALLOWED = {
    *(("advise", "ks", repr(value)) for value in (True,)),
    *(("simulate", "seeds", repr(value)) for value in (range(3, 6),)),
    *(("compare", "seeds", repr(value)) for value in (range(3, 6),)),
    *(("costs", "budget", repr(value)) for value in (True, 1.5, float("inf"))),
    *(("simulate", "client_lr", repr(value)) for value in (1.5,)),
    *(("simulate", name, repr(value)) for name in ("private", "plugins") for value in ("",)),
    *(("simulate", "logger", repr(value)) for value in ("",)),
}


@pytest.mark.parametrize(
    ("call", "name"), [(call, name) for call, (_, names) in CALLS.items() for name in names]
)
def test_another_value_is_one_line(call: str, name: str, cwd: Path) -> None:
    for value in ODD:
        try:
            CALLS[call][0](**{name: value})
        except (ComponentError, DataError, ParameterError, ValueError) as error:
            text = str(error)
            assert "\n" not in text and 0 < len(text) < 1500, value
            assert type(error) is not ValueError or text.startswith(("p", "saved ")), (value, text)
        else:
            assert (call, name, repr(value)) in ALLOWED, value
