"""The page about LoRA: its code runs as it is printed, its commands on a small text."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import load_run
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli.main import main
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.datasets.shakespeare import Shakespeare
from tests.test_docs import ROOT, python_of

PAGE = ROOT / "docs/lora.md"


def small_text(self: Shakespeare) -> FederatedData:
    """Two sequences of each of the 715 roles."""
    ids = np.random.default_rng(0).integers(1, 87, (2 * self.num_clients, 80)).astype(np.uint8)
    offsets = 2 * np.arange(self.num_clients + 1)
    examples = ClientExamples(ids, ids.astype(np.int8), offsets)
    return FederatedData(examples, examples, 90)


@pytest.mark.long
def test_the_commands_and_the_grid(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One round each: the second run has the other clients, and the first one's base."""
    monkeypatch.setattr(Shakespeare, "build", small_text)
    text = PAGE.read_text().replace("\\\n", "")
    commands = [line for line in text.splitlines() if line.startswith("f3ast-tff ")]
    assert [line.split()[1] for line in commands] == ["run", "run"]
    for name, line in zip(("pretrained", "fine"), commands):
        more = ["--rounds=1", "--test_clients=5", f"--run_name={name}", f"--data_dir={cwd}"]
        assert main([*shlex.split(line)[1:], *more]) == 0
    first, second = (load_run(f"runs/{name}") for name in ("pretrained", "fine"))
    assert first.weights is not None and second.weights is not None
    assert len(second.weights) == len(first.weights) + 2 * 13
    for base, kept in zip(first.weights, second.weights):
        np.testing.assert_array_equal(base, kept)
    assert first.selection["p"].shape == (1,) and second.selection["p"].shape == (358,)
    Path("rules.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    assert len(plan(Path("rules.toml"), {}).runs) == 40


@pytest.mark.long
def test_the_python_of_the_suite() -> None:
    names: dict[str, Any] = {}
    exec(python_of("docs/lora.md")[0], names)
    assert names["a"].shape == (4, 60) and not names["b"].any()


@pytest.mark.long
def test_the_server_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints what the page says; W moves by the weighted changes with `fedex` and `flora`."""
    names: dict[str, Any] = {}
    exec(python_of("docs/lora.md")[1], names)
    assert f"```\n{capsys.readouterr().out}```" in PAGE.read_text()
    rng = np.random.default_rng(1)
    base, a, b = (rng.normal(size=shape) for shape in ((8, 8), (2, 8), (8, 2)))
    replies = [(rng.normal(size=(2, 8)), rng.normal(size=(8, 2))) for _ in range(3)]
    weights = [0.2, 1.5, 0.1]
    moved = sum(w * (b_k @ a_k - b @ a) for w, (a_k, b_k) in zip(weights, replies))
    for rule in ("fedex", "flora"):
        after, a_after, b_after = names["folded"](rule, base, a, b, replies, weights, 1)
        expected = base + moved + (0 if rule == "flora" else b @ a)
        np.testing.assert_allclose(after + b_after @ a_after, expected, atol=1e-12)
