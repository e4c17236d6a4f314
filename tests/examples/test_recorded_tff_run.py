"""The recorded TFF run that `make demo` compares with if TFF is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff import simulate
from f3ast_tff.analysis.agreement import main

RECORDED = Path(__file__).resolve().parents[2] / "examples" / "recorded_tff_run"


@pytest.mark.long
@pytest.mark.parametrize(
    ("client_lr", "code"), [(0.01, 0), (0.02, 1)], ids=["same", "another rate"]
)
def test_the_fused_engine_agrees_with_it(
    client_lr: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "fused"
    simulate(rounds=30, eval_every=5, client_lr=client_lr, folder=folder, logger="")
    assert main(["x", str(folder), str(RECORDED)]) == code
    assert capsys.readouterr().out.startswith("fused and tff: the same clients over 30 rounds")
