"""The code that advice ends in, and its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import advise
from f3ast_tff.advice.candidates import METHODS
from f3ast_tff.advice.deploy import deployment, snippets, write_files
from f3ast_tff.advice.page import Advice
from f3ast_tff.advice.trial import Trial, candidates_of
from f3ast_tff.availability.logs.availability_log import log_of_frame
from tests.f3ast_tff.advice.test_trial import kept

MASKS = np.random.default_rng(0).random((240, 12)) < np.linspace(0.1, 0.7, 12)


def advised(method: str) -> Advice:
    """Makes advice whose trial is won by one of the default methods."""
    candidates = candidates_of([*METHODS, "fedavg"])
    runs = {each.name: kept([0.9 if each.text == method else 0.1] * 5) for each in candidates}
    found = advise(MASKS, ks=[3])
    return replace(found, trial=Trial(candidates, {"a": runs}, "user_accuracy", 3, 12, 9))


@pytest.mark.long
@pytest.mark.parametrize("method", [*METHODS[:3], "fedavg"])
def test_the_printed_code_runs_a_server_of_ones_own(method: str, tmp_path: Path) -> None:
    """Fifty rounds in which client k wants its number.

    In round 3 nobody is there, in round 4 nobody answers, and client 11 answers from round 21 on,
    though it is asked before; all clients leave and come back.
    """
    advice = advised(method)
    assert advice.method.text == method
    write_files(advice, tmp_path, str(advice))
    names: dict[str, Any] = {}
    exec(snippets(advice, tmp_path)["own"], names)
    asked: set[int] = set()

    def send(t: int, model: np.ndarray, ids: np.ndarray) -> dict[int, np.ndarray]:
        asked.update(ids.tolist() if t <= 20 else ())
        answer = [k for k in ids.tolist() if t != 4 and (k != 11 or t > 20)]
        return {k: model + 0.3 * (k - model) for k in answer}

    model = np.zeros(1)
    for t in range(1, 51):
        before, mask = model.copy(), MASKS[t - 1] & (t != 3)
        sent = lambda model, ids, t=t: send(t, model, ids)  # noqa: E731
        model = names["play_round"](t, model, mask, sent)
        assert np.isfinite(model).all() and ((model == before).all() or t not in (3, 4))
    assert 3 < model[0] < 11 and 11 in asked


@pytest.mark.long
def test_a_method_that_no_server_can_run_is_said_to_be_for_simulation() -> None:
    advice = advised("scaffold")
    only = replace(
        advice, trial=replace(advice.trial, candidates=candidates_of(["scaffold", "mifa"]))
    )
    assert "in simulation only" in deployment(only, Path("advice"))[1]


@pytest.mark.long
def test_the_files(tmp_path: Path) -> None:
    masks = MASKS.copy()
    masks[:, 4] = False
    frame = pd.DataFrame(masks, columns=[f"phone-{k}" for k in range(12)])
    advice = advise(frame, np.arange(1.0, 13), [3])
    write_files(advice, tmp_path / "new" / "advice", "the page")
    folder = tmp_path / "new" / "advice"
    assert sorted(path.name for path in folder.iterdir()) == [
        "clients.csv",
        "neglect.png",
        "page.txt",
    ]
    table = pd.read_csv(folder / "clients.csv")
    assert table["client"].tolist() == [f"phone-{k}" for k in range(12)]
    assert table["share"].sum() == pytest.approx(1) and table["id"].tolist() == list(range(12))
    np.testing.assert_allclose(table["share_of_rounds"], masks.mean(axis=0))
    assert table["rate"].sum() == pytest.approx(advice.plan.rates.sum())
    never = table.loc[4]
    assert (never["rate"], never["fedavg_weight_over_p"], never["longest_absence"]) == (0, 0, 240)
    assert (folder / "page.txt").read_text() == "the page\n"
    assert (folder / "neglect.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_names_that_a_spreadsheet_takes_for_formulas_are_quoted(tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "@x", "+a", "-7", "plain", "'@x"]
    found = advise(log_of_frame(pd.DataFrame([[1] * 6, [0, 1, 1, 1, 1, 1]], columns=names)), ks=[1])
    write_files(found, tmp_path / "out", "page")
    written = pd.read_csv(tmp_path / "out/clients.csv")["client"].tolist()
    assert written == ["'=HYPERLINK(1)", "'@x", "'+a", "-7", "plain", "''@x"]
