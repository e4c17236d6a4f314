"""Records of plug-ins in `config.json`, from which the analysis knows comparable runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve

PLUGIN = '''
from dataclasses import dataclass

from f3ast_tff.methods.fedavg import FedAvgConfig
from f3ast_tff.availability import ScarceConfig
from f3ast_tff.settings import register
from f3ast_tff.optimizers.sgd import ClientSgdConfig


@register("availability", "my_scarce", about="mine")
@dataclass(frozen=True)
class Availability(ScarceConfig):
    """Mine."""


@register("algorithm", "my_fedavg", about="mine")
@dataclass(frozen=True)
class Algorithm(FedAvgConfig):
    """Mine."""


@register("client_optimizer", "my_sgd", about="mine")
@dataclass(frozen=True)
class Optimizer(ClientSgdConfig):
    """Mine."""
'''


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"algorithm": "my_fedavg"}, ["algorithm"]),
        ({"availability": "my_scarce"}, ["availability"]),
        ({"availability": "mix", "availability_parts": "always,my_scarce"}, ["availability"]),
        ({"client_optimizer": "my_sgd"}, ["client_optimizer"]),
        ({"algorithm": "my_fedavg", "availability": "my_scarce"}, ["algorithm", "availability"]),
    ],
)
def test_a_plug_in_is_recorded_with_the_kinds_in_use(
    given: dict[str, Any], kinds: list[str], tmp_path: Path
) -> None:
    """Kinds are no part of the identity, which already has the settings."""
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    configuration = resolve(given, registry_with([str(file)]))
    (entry,) = configuration.describe()["plugins"]
    assert entry["kinds"] == kinds
    assert configuration.identity["plugins"] == {"mine": entry["sha256"]}


def test_a_plug_in_that_is_not_in_use_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    configuration = resolve({}, registry_with([str(file)]))
    assert configuration.describe()["plugins"] == []
    assert "plugins" not in configuration.identity
