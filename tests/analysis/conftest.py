"""Tiny run folders made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.records.metrics import COLUMNS
from f3ast_tff.settings import builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import METHOD_KINDS

SETTINGS = {
    "task": "synthetic",
    "algorithm": "f3ast",
    "availability": "always",
    "reading": "paper",
    "engine": "tff",
    "clients_per_round": 2,
    "rounds": 4,
    "local_steps": None,
    "client_lr": 0.1,
    "server_lr": 1.0,
    "batch_size": 20,
    "seed": 0,
}

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Makes a run of two evaluations, at rounds 2 and 4, in `tmp_path/runs`.

    Its sample accuracies are 0.25 and then `accuracy`; user accuracies are half of them. Its sample
    losses are 2 and then `loss`; user losses are double. `described` replaces parts of
    `config.json` other than the settings.
    """

    def make(
        name: str,
        accuracy: float | None = 0.5,
        loss: float | None = 1.0,
        unfinished: bool = False,
        described: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        given = {**SETTINGS, **settings}
        if given["clients_per_round"] is None:
            del given["clients_per_round"]
        config = {"settings": given, **_described(given), **(described or {})}
        if described and isinstance(config["components"], dict):
            config["components"] = {**_components(given), **config["components"]}
        (folder / "config.json").write_text(json.dumps(config))
        rows = [_row(2, 0.25, 2.0), _row(4, accuracy, loss)]
        lines = [",".join(COLUMNS)]
        lines += [",".join("nan" if v is None else repr(v) for v in row.values()) for row in rows]
        (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
        if not unfinished:
            summary = {"rounds": 4, "final": rows[-1], "mean_of_last_10_percent": rows[-1]}
            (folder / "summary.json").write_text(json.dumps(summary))
        return folder

    return make


def described(
    own: tuple[str, ...] = (), plugins: tuple[tuple[str, str], ...] = (), **names: tuple[str, int]
) -> dict[str, Any]:
    """Returns parts of `config.json` on components: display name and order by kind."""
    return {
        "components": {k: {"display": display, "order": at} for k, (display, at) in names.items()},
        "method_settings": ["algorithm", "client_lr", "server_lr", *own],
        "not_compared": ["output_dir", "run_name"],
        "plugins": [
            {"name": name, "source": "x.py", "sha256": sha, "kinds": []} for name, sha in plugins
        ],
    }


def _components(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the record of a run's components; for unknown components, only their name."""
    found = {}
    for kind, components in builtin_registry().components.items():
        name = settings.get(kind, "")
        component = components.get(name)
        order, display = (1000, name) if component is None else (component.order, component.display)
        found[kind] = {"display": display, "order": order}
        for more in ("generates_data", "num_classes", "pooled"):
            if component is not None and hasattr(component.config, more):
                found[kind][more] = getattr(component.config, more)
    return found


@cache
def _method_settings() -> tuple[set[str], set[str]]:
    """Settings of methods, and settings that do not affect results."""
    grouped = [p for group in GROUPS.values() for p in parameters_of(group)]
    own = {*METHOD_KINDS, *(p.name for p in grouped if p.method_specific)}
    for component in builtin_registry().all():
        of_kind = component.kind in METHOD_KINDS
        own |= {
            p.name
            for p in component.parameters
            if (of_kind if p.method_specific is None else p.method_specific)
        }
    every = [*grouped, *(p for c in builtin_registry().all() for p in c.parameters)]
    return own, {p.name for p in every if not p.decides_result}


def _described(settings: dict[str, Any]) -> dict[str, Any]:
    own, not_compared = _method_settings()
    return {
        "components": _components(settings),
        "method_settings": sorted(own),
        "not_compared": sorted(not_compared),
        "plugins": [],
        "input_files": {},
    }


def _row(number: int, accuracy: float | None, loss: float | None) -> dict[str, Any]:
    scores = (
        accuracy,
        loss,
        None if accuracy is None else accuracy / 2,
        None if loss is None else loss * 2,
    )
    return dict(zip(COLUMNS, (number, 1.5, *scores, 9, 2, 2, 800, 800, None, 0.1, 3.25)))
