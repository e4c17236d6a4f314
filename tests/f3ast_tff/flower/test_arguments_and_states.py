"""Arguments of other types, and state files that no server writes: refused in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord

from f3ast_tff import F3AST
from f3ast_tff.core.errors import CheckpointError, ComponentError, ParameterError
from f3ast_tff.flower import AvailabilityStrategy
from f3ast_tff.flower.saved import SavedRound, load_round, save_round

NO_GRID: Any = None
STATE = F3AST.start(np.full(4, 0.25), 2).state()
SAVED = SavedRound(3, {"0": np.zeros(4)}, STATE)


def server(**given: Any) -> AvailabilityStrategy:
    strategy = F3AST.start(np.full(4, 0.25), 2)
    usual = {"strategy": strategy, "num_clients": 4, "clients_per_round": 2}
    return AvailabilityStrategy(**{**usual, **given})


ARGUMENTS = ("num_clients", "clients_per_round", "availability", "state_file")


@pytest.mark.parametrize("name", [*ARGUMENTS, "server_lr", "evaluate_every", "answer_seconds"])
def test_arguments_of_another_type_are_refused(name: str) -> None:
    for value in (True, "a\nb", b"x", [1], {}, object(), np.zeros(3), np.zeros((2, 2)), 1j):
        with pytest.raises(ParameterError) as caught:
            server(**{name: value})
        assert str(caught.value).startswith(f"{name} = ") and "\n" not in str(caught.value)
        with pytest.raises(ComponentError):
            server(strategy=value)


@pytest.mark.parametrize("rounds", [-1, 2.0, "3", None])
def test_a_number_of_rounds_that_is_none_is_refused(rounds: Any) -> None:
    with pytest.raises(ParameterError, match=f"num_rounds = {rounds}: must be"):
        server().start(NO_GRID, ArrayRecord([np.zeros(4)]), rounds)


@pytest.mark.parametrize(
    "changes",
    [
        *({"number": number} for number in (-5, 1.5, True, 3j, [1, 2], "3")),
        *({"model": {"0": model}} for model in (np.zeros(4, complex), np.full(4, np.nan))),
        *({"model": {"0": model}} for model in (np.zeros(4, np.float32), np.array(list("abcd")))),
        {"strategy": dict.fromkeys(STATE, np.zeros(4, complex))},
    ],
    ids=str,
)
def test_a_state_that_no_server_writes_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "server.npz"
    save_round(file, replace(SAVED, **changes))
    with pytest.raises(CheckpointError, match=r"server.npz (cannot be read|holds another|is of)"):
        server(state_file=file).start(NO_GRID, ArrayRecord([np.zeros(4)]))
    assert load_round(tmp_path / "none.npz") is None
