"""Kinds of runs: those of one kind cost the same a round, whatever their seed or availability."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.components import parameters_of

_BY_ALL = ("task", "model", "communication", "delivery", "engine")
# Their numbers with a fraction are rates and thresholds; whole numbers, choices and yes or no may
# decide how much is computed.
_BY_WHOLE = ("algorithm", "aggregation", "client_optimizer", "server_optimizer")
_TRAINING = ("batch_size", "local_epochs", "local_steps", "last_batch")
_WRITTEN = ("checkpoint_every", "checkpoint_seconds", "client_scores", "write_masks", "logger")
_NOT = ("data_seed", "data_dir")


def kind_of(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide what a run costs, by name."""
    settings, configs = run.settings, run.configuration.configs
    found: dict[str, Any] = {}
    for kind in (*_BY_ALL, *_BY_WHOLE):
        found[kind] = settings[kind]
        config = configs[kind]
        for part in (config, *getattr(config, "parts", ())):
            for parameter in parameters_of(type(part)):
                if parameter.name not in _NOT and (kind in _BY_ALL or parameter.kind is not float):
                    found[parameter.name] = settings[parameter.name]
    found.update({name: settings[name] for name in (*_TRAINING, *_WRITTEN)})
    plugins = {plugin.name: plugin.sha256 for plugin in run.configuration.plugins}
    return {**found, **({"plugins": plugins} if plugins else {})}


def key_of(kind: Mapping[str, Any]) -> str:
    """Returns the digest of a kind, equal for equal kinds."""
    return hashlib.sha256(json.dumps(kind, sort_keys=True).encode()).hexdigest()[:16]


def labels(kinds: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a name for each kind: task, model and algorithm, and what else tells them apart."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for kind in kinds:
        groups.setdefault(_short(kind), []).append(kind)
    return [" ".join([_short(kind), *_differing(kind, groups[_short(kind)])]) for kind in kinds]


def _short(kind: Mapping[str, Any]) -> str:
    return " ".join(str(kind[name]) for name in ("task", "model", "algorithm"))


def _differing(kind: Mapping[str, Any], group: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in kind.items()
        if value is not None and any(other.get(name) != value for other in group)
    ]
