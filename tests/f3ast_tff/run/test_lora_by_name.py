"""LoRA by settings: `lora`, `lora_leaves` and `lora_alpha` around a model by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import TrainingFunction, load_run, simulate
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import lora
from f3ast_tff.settings.resolve import resolve

SMALL: dict[str, Any] = {
    "task": "synthetic",
    "num_clients": 12,
    "clients_per_round": 4,
    "rounds": 4,
    "eval_every": 4,
    "client_lr": 0.1,
    "availability": "always",
    "algorithm": "fedavg",
}


@pytest.mark.long
def test_it_is_the_model_of_the_library() -> None:
    base = resolve(SMALL).configs["model"].build((60,), 10)
    model = lora(base, 4, "kernel", 8.0)
    given = simulate(**SMALL, model=model, train="lora", factors="fedex")
    named = simulate(**SMALL, lora=4, lora_alpha=8.0, factors="fedex")
    for one, other in zip(named.weights, given.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert named.metrics["bytes_up"].tolist() == given.metrics["bytes_up"].tolist()


@pytest.mark.long
def test_a_run_of_the_command_is_read_back_and_starts_another(tmp_path: Path) -> None:
    """The base of a run without factors gets factors; a run with them goes on with them."""
    given = [f"--{name}={value}" for name, value in SMALL.items()]
    where = f"--output_dir={tmp_path}"
    assert main(["run", *given, where, "--run_name=base"]) == 0
    start = f"--initial_weights={tmp_path / 'base'}"
    named = [where, "--run_name=x", "--lora=2", "--lora_leaves=head", "--factors=ffa"]
    assert main(["run", *given, start, *named]) == 0
    base, found = load_run(tmp_path / "base"), load_run(tmp_path / "x")
    assert base.weights is not None and found.weights is not None
    np.testing.assert_array_equal(found.weights[0], base.weights[0])
    x = np.ones((3, 60), np.float32)
    kernel, bias, a, b = found.weights
    expected = x @ (kernel + (b @ a).T) + bias
    np.testing.assert_allclose(found.trained.outputs(x), expected, atol=1e-5)
    more = simulate(**{**SMALL, "rounds": 1}, lora=2, initial_weights=tmp_path / "x")
    np.testing.assert_array_equal(more.weights[0], kernel)
    assert not np.array_equal(more.weights[2], a)


@pytest.mark.long
def test_the_model_of_a_run_from_before_lora_is_read(tmp_path: Path) -> None:
    run = simulate(**SMALL, folder=tmp_path / "x")
    path = tmp_path / "x" / "config.json"
    config = json.loads(path.read_text())
    for name in ("lora", "lora_leaves", "lora_alpha", "client_half"):
        assert name not in config["identity"]
        del config["settings"][name]
    path.write_text(json.dumps(config))
    x = np.ones((3, 60), np.float32)
    found = load_run(tmp_path / "x").trained.outputs(x)
    np.testing.assert_array_equal(found, run.trained.outputs(x))


def test_a_grid_has_ranks_and_rules(tmp_path: Path) -> None:
    grid = tmp_path / "ranks.toml"
    settings = 'task = "synthetic"\nlora_leaves = "head"'
    axes = 'lora = [2, 4]\nfactors = ["changes", "fedex"]'
    grid.write_text(f"[settings]\n{settings}\n\n[grid]\n{axes}\n")
    planned = plan(grid, {"output_dir": str(tmp_path)}).runs
    runs = [resolve(run.settings) for run in planned]
    assert [(r.settings["lora"], r.settings["factors"]) for r in runs] == [
        (2, "changes"),
        (2, "fedex"),
        (4, "changes"),
        (4, "fedex"),
    ]
    assert len({run.name for run in planned}) == 4
    assert {run.settings["train"] for run in runs} == {"lora"}
    assert {"lora", "lora_leaves", "train", "factors"} <= {*runs[0].method_settings}


def test_factors_are_not_convex() -> None:
    """So F3AST's first rates are those of other networks (R1)."""
    first = [resolve({"algorithm": "f3ast", **more}) for more in ({}, {"lora": 4})]
    assert [run.settings["rate_init"] for run in first] == ["p", "all_available"]


FUNCTION = TrainingFunction(lambda seed: [np.zeros(2)], lambda w, x, work: (w, 0.0), lambda w, x: x)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lora": 11}, r"^lora = 11: must be from 1 to 10: head.kernel is \[60, 10\]$"),
        ({"lora": 4, "lora_leaves": "body"}, "^lora_leaves = body: must be among head, kernel"),
        ({"lora": 4, "lora_leaves": "bias"}, "^lora_leaves = bias: must name a matrix, of head.k"),
        ({"lora": 4, "model": FUNCTION}, "^lora = 4: must not be given with model "),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        simulate(**{**SMALL, **given})
