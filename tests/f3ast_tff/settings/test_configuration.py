"""The typed settings, and the records of plug-ins in `config.json`, for comparable runs."""

from __future__ import annotations

import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve

PLUGIN = '''
from dataclasses import dataclass

from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.availability import ScarceConfig
from f3ast_tff.settings import register
from f3ast_tff.optimizers.sgd import ClientSgdConfig


@register("availability", "my_scarce", about="mine")
@dataclass(frozen=True)
class Availability(ScarceConfig):
    """Mine."""


@register("algorithm", "my_fedavg", about="mine")
@dataclass(frozen=True)
class Algorithm(FedAvg):
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


def test_each_attribute_is_a_kind_or_a_parameter_of_its_type() -> None:
    declared, types = builtin_registry().parameters(), typing.get_type_hints(Settings)
    for field in fields(Settings)[2:]:
        if field.name not in KINDS:
            found = declared[field.name]
            absent = field.default is None
            expected = found.kind | None if found.optional or absent else found.kind
            assert types[field.name] == expected, field.name
    assert KINDS.keys() <= types.keys()


def test_attributes_and_names_have_the_same_values() -> None:
    settings = resolve({"algorithm": "fedbuff", "buffer_size": 3, "rounds": 7}).settings
    assert settings.is_late and settings.delivery == settings["delivery"] == "late"
    assert settings.buffer_size == settings["buffer_size"] == 3
    assert settings.training.rounds == settings["rounds"] == 7
    assert settings.num_workers is settings["num_workers"] is None
    assert len(settings) == len([*settings]) and repr(settings) == repr({**settings})


def test_without_the_component_the_attribute_is_at_its_default() -> None:
    settings = resolve({"engine": "host"}).settings
    assert "buffer_size" not in settings and settings.buffer_size is None
    with pytest.raises(KeyError):
        settings["buffer_size"]


def test_a_run_from_before_a_setting_goes_on() -> None:
    """A setting that older runs lack is in the identity once it is given."""
    assert not {"train", "factors", "lora", "client_half"} & resolve({}).identity.keys()
    assert resolve({"train": "head"}).identity["train"] == "head"
