"""The attributes of all settings are those that components declare."""

from __future__ import annotations

import typing
from dataclasses import fields

import pytest

from f3ast_tff.settings.all_settings import Settings
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve


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
