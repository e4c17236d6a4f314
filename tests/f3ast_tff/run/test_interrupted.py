"""Interrupted runs end as undisturbed ones: a table of settings, engines and rounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.f3ast_tff.delivery import test_delivery_runs as lossy
from tests.f3ast_tff.delivery import test_late_runs as late
from tests.f3ast_tff.run.interrupted import Ended, Stopped, assert_goes_on

PLUGINS = Path(__file__).resolve().parents[3] / "examples" / "plugins"
SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 4, "rounds": 8, "eval_every": 2}
MEMORY: dict[str, Any] = {
    "num_clients": 8,
    "clients_per_round": 3,
    "client_lr": 0.05,
    "client_lr_decay": 0.9,
    "availability": "four_classes",
    "rounds": 9,
    "eval_every": 3,
    "checkpoint_every": 2,
    "seed": 3,
}
MEMORIES: dict[str, dict[str, Any]] = {
    "mifa": {"algorithm": "mifa"},
    "mifa_waits": {
        "algorithm": "mifa",
        "mifa_start": "wait",
        "clients_per_round": 8,
        "availability": "scarce",
        "scarce_q": 0.4,
    },
    "fedvarp": {"algorithm": "fedvarp"},
    "fedstale": {"algorithm": "fedstale", "availability_knowledge": "estimated"},
    "mimic": {"algorithm": "mimic"},
    "focus": {"algorithm": "focus"},
    "fedawe": {"algorithm": "fedawe"},
    "f3ast+fedvarp": {"algorithm": "f3ast", "aggregation": "fedvarp"},
}
ASYNCHRONOUS: dict[str, Any] = {
    **{"num_clients": 12, "clients_per_round": 4, "local_steps": 2, "rounds": 12, "eval_every": 4},
    **{"seed": 2, "delivery": "asynchronous", "checkpoint_every": 2},
    **{"availability": "four_classes", "async_leavers": "late"},
}
MORE = {"fedbuff": {"buffer_size": 2}, "poc": {"poc_candidates": 6}, "aced": {"aced_tau": 2}}
# Settings, and what the server then keeps and starts from.
KEEPING: dict[str, tuple[dict[str, Any], str, np.float32]] = {
    "centred_clip": ({"bucket_size": 2}, "server_last", np.float32(0)),
    "adaptive_clip": ({"clip_rate": 0.5}, "server_clip", np.float32(0.1)),
}


def moved(ended: Ended) -> bool:
    return max(np.abs(weight).max() for weight in ended.weights) > 0.01


def in_flight_after_round_6(ended: Ended) -> bool:
    return bool(ended.selection["in_flight"][5] > 0)


def kept_leaves(ended: Ended) -> bool:
    table = ended.checkpoint["engine/client_private_leaves"]
    return table.shape == (12, 10) and bool(table.any())


def rows() -> Iterator[tuple[str, str, Stopped, bool]]:
    """Name of a row, its engine, the run, and whether it takes long."""
    for name, given in MEMORIES.items():
        # The checkpoint is of round 4.
        yield name, "host", Stopped({**MEMORY, **given}, 5, shows=moved), False
    for algorithm in ("f3ast", "fedbuff", "fadas", "mifa", "fedau", "fedavg"):
        given = {**late.SMALL, **late.GIVEN.get(algorithm, {}), "algorithm": algorithm}
        yield f"late {algorithm}", "host", Stopped(given, 7, shows=in_flight_after_round_6), True
    for algorithm in ("fedbuff", "f3ast", "mifa", "poc", "fedasync", "aced"):
        given = {**ASYNCHRONOUS, "algorithm": algorithm, **MORE.get(algorithm, {})}
        run = Stopped(given, 7, shows=in_flight_after_round_6)
        yield f"asynchronous {algorithm}", "host", run, False
    for place, algorithm in enumerate(lossy.ALGORITHMS):
        # Each algorithm with one of the deliveries.
        loses = list(lossy.LOSSY.values())[place % len(lossy.LOSSY)]
        given = {**lossy.SMALL, "algorithm": algorithm, **lossy.GIVEN.get(algorithm, {}), **loses}
        if algorithm == "f3ast":
            given["rates_follow"] = "both"
        run = Stopped(given, 8, "breakdown", lambda ended: ended.summary["lost_updates"] > 0)
        yield f"lossy {algorithm}", "host", run, False
    for aggregation, (more, kept, start) in KEEPING.items():
        given = {**SMALL, **more, "algorithm": "fedavg", "aggregation": aggregation}
        given |= {"attack": "noise", "checkpoint_every": 4}
        run = Stopped(
            given,
            5,
            shows=lambda ended, kept=kept, start=start: np.any(ended.state[kept] != start),
            plugins=(PLUGINS / f"{aggregation}.py",),
        )
        for engine in ("host", "fused"):
            yield f"attacked {aggregation}", engine, run, True
    given = {**SMALL, "num_clients": 12, "eval_every": 4, "checkpoint_every": 4, "client_lr": 0.1}
    for engine in ("host", "fused"):
        leaves = Stopped({**given, "private": "head.bias"}, 4, "end", kept_leaves)
        yield "private leaves", engine, leaves, True
    given = {**SMALL, "clients_per_round": 3, "rounds": 4, "checkpoint_every": 2}
    yield "score of the worst", "host", Stopped({**given, "score_of": "worst"}, 2, "end"), False
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 6, "device": "cpu"}
    given |= {"checkpoint_every": 2, "eval_every": 2}
    given |= {"client_lr": 0.1, "client_lr_schedule": "inverse_sqrt"}
    yield "inverse_sqrt", "fused", Stopped(given, 4, "evaluation"), False


@pytest.mark.parametrize(
    ("engine", "stopped"),
    [
        pytest.param(
            engine,
            stopped,
            id=f"{name}-{engine}-{stopped.at} {stopped.after}",
            marks=pytest.mark.long if long else (),
        )
        for name, engine, stopped, long in rows()
    ],
)
def test_ends_as_an_undisturbed_run(engine: str, stopped: Stopped, tmp_path: Path) -> None:
    assert_goes_on(stopped.on(engine), tmp_path)
