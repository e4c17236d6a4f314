"""The kept study's advice, and its regret on a kind of availability that was left out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.advice.regret import main, regret_table
from f3ast_tff.advice.study import Study, read_studies

ROOT = Path(__file__).resolve().parents[3]


def test_regret_by_hand() -> None:
    """Without `x`, b leads (.5 to .4) and costs .6 on it; without `y`, a leads and costs .1."""
    scores = pd.DataFrame({"x": [0.9, 0.3], "y": [0.4, 0.5]}, index=["a", "b"])
    study = Study(scores, pd.DataFrame(index=["a", "b"]))
    assert study.best == "a"
    assert study.regrets().to_dict() == pytest.approx({"x": 0.6, "y": 0.1})
    # Of high scores on one kind alone is not the best, nor where it has no score on another.
    others = pd.DataFrame({"x": [None, 0.95], "y": [0.99, 0.0]}, index=["c", "d"], dtype=float)
    assert Study(pd.concat([scores, others]), study.settings).best == "a"
    assert study.regrets("b").to_dict() == pytest.approx({"x": 0.6, "y": 0.0})


@pytest.mark.long
def test_the_page_states_the_regrets_of_the_kept_study(capsys: pytest.CaptureFixture[str]) -> None:
    table = regret_table(read_studies())
    assert table in (ROOT / "docs/advise.md").read_text()
    assert main(["advice_regret"]) == 0
    assert capsys.readouterr().out.strip() == table


def test_the_advice_beats_fedavg_where_it_was_not_chosen() -> None:
    for study in read_studies().values():
        assert study.scores.shape[1] == 13
        assert study.regrets().mean() < study.regrets("FedAvg").mean() / 2
