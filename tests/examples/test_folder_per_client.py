"""The recipe of docs/library.md for a folder per client and a network of PyTorch, as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="in the environment of `make test-torch` alone")

from PIL import Image

from f3ast_tff import load_run
from tests.test_docs import python_of


def test_it_runs_as_written_and_learns(cwd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four clients with bright and dark images of 8 x 8; in round 1 of the log nobody is there."""
    rng = np.random.default_rng(0)
    for client in ("ann", "bob", "cy", "di"):
        for label, level in (("bright", 200), ("dark", 40)):
            folder = cwd / "clients" / client / label
            folder.mkdir(parents=True)
            for number in range(6):
                pixels = rng.normal(level, 20, (8, 8, 3)).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")
    (code,) = (each for each in python_of("docs/library.md") if "PIL" in each)
    names: dict[str, Any] = {}
    exec(code, names)
    assert capsys.readouterr().out == "['bright' 'bright' 'bright']\n"
    assert names["data"].train.names.tolist() == ["ann", "bob", "cy", "di"]
    assert names["result"].metrics["test_user_accuracy"].iloc[-1] == 1
    assert load_run("runs/images").summary["clients_scored"] == 4
    (cwd / "online.csv").write_text("di,cy,bob,ann\n" + "0,0,0,0\n1,1,0,1\n0,0,1,1\n" * 20)
    more = {"availability": "table", "table_file": "online.csv", "rounds": 3}
    found = names["simulate"](names["data"], "f3ast", clients_per_round=3, **more)
    # The log's clients are found by name: in round 2 all except bob.
    assert found.selection["num_available"].tolist() == [0, 3, 2]
    assert sorted(found.selection["selected"][1]) == [0, 2, 3]
