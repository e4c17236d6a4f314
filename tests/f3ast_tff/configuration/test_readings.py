"""The presets of what the paper, its released code and CA-Fed's authors do otherwise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from f3ast_tff.availability.catalogue import ENTRIES
from f3ast_tff.configuration.readings import PRESETS, READINGS, value_of
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.configuration.settings import Settings

# Setting: number, paper, released code. R9 of the paper depends on the availability.
EXPECTED: dict[str, tuple[str, Any, Any]] = {
    "rate_init": ("R1", "k_over_n", "p"),
    "aggregate": ("R2", "sum", "sum_over_k"),
    "baseline_sampling": ("R3", "without_replacement", "with_replacement"),
    "baseline_average": ("R3", "plain", "examples"),
    "lognormal_spread": ("R4", "variance", "sigma"),
    "smartphones_grid": ("R5", "hourly", "endpoints"),
    "availability_objective": ("R9", None, "p_squared"),
    "poc_loss": ("R10", "mean", "sum_of_batches"),
    "resnet_variant": ("R12", "strided", "released"),
    "ties": ("R11", "random", "lowest_id"),
    "availability_draws": ("R13", "by_seed", "by_round_only"),
    "client_share": ("R16", "examples", "batches"),
    "short_rounds": ("R17", "available_only", "fill_unavailable"),
    "poc_clip_norm": ("R18", 0.0, 1.0),
    "f3ast_rule": ("R19", "f3ast", "f3ast"),
    "ca_fed_bias": ("R20", "paper", "paper"),
}
# What CA-Fed's authors do otherwise; in all else the paper stands.
OF_CA_FED = {"f3ast_rule": "ca_fed", "ca_fed_bias": "released"}
# What a process must be given. Where clients are available together.
REQUIRED: dict[str, dict[str, Any]] = {
    "trace": {"trace_file": "x.json"},
    "table": {"table_file": "x.npy"},
    "product": {"availability_parts": "scarce,smartphones"},
    "mix": {"availability_parts": "scarce,uneven"},
}
TOGETHER = {"smartphones", "alternating", "markov_clusters", "trace", "table", "product"}
each_reading = pytest.mark.parametrize("name", READINGS)


def differences(one: Settings, other: Settings) -> set[str]:
    first, second = one.as_dict(), other.as_dict()
    return {name for name in first if first[name] != second[name]}


def test_table_of_readings() -> None:
    got = {name: (r.number, r.paper, r.released) for name, r in READINGS.items()}
    assert got == EXPECTED
    assert {name: r.ca_fed for name, r in READINGS.items() if r.ca_fed is not None} == OF_CA_FED
    assert PRESETS == ("paper", "released", "ca_fed")


@pytest.mark.parametrize("availability", ENTRIES)
@pytest.mark.parametrize("preset", PRESETS)
def test_preset_is_its_values_one_by_one(preset: str, availability: str) -> None:
    """`--reading=released` and each released value alone resolve to the same settings."""
    other = "paper" if preset == "released" else "released"
    values = {name: value_of(name, preset) for name in READINGS}
    if preset != "released":
        values["availability_objective"] = "p" if availability in TOGETHER else "p_squared"
    base = {"availability": availability, "run_name": "same", **REQUIRED.get(availability, {})}
    by_preset = resolve({**base, "reading": preset})
    one_by_one = resolve({**base, "reading": other, **values})
    assert differences(by_preset, one_by_one) == {"reading"}


@each_reading
@pytest.mark.parametrize("preset", ["paper", "released"])
def test_one_value_changes_that_setting_and_no_other(preset: str, name: str) -> None:
    """On smartphones, where the presets differ in every reading: those of CA-Fed, or the others."""
    other = "ca_fed" if name in OF_CA_FED else {"paper": "released", "released": "paper"}[preset]
    # Of F3AST's own readings, that rule refuses all but the paper's.
    rest = {"aggregate": "sum", "short_rounds": "available_only"} if name in OF_CA_FED else {}
    base = {"availability": "smartphones", "reading": preset, **rest}
    value = getattr(resolve({**base, "reading": other}), name)
    switched = resolve({**base, name: value})
    assert differences(resolve(base), switched) == {name}
    assert getattr(switched, name) == value


@pytest.mark.parametrize("availability", ENTRIES)
def test_objective_of_the_paper_follows_the_availability(availability: str) -> None:
    """Eq. (3): p where one client being available makes another likelier to be."""
    expected = "p" if availability in TOGETHER else "p_squared"
    given = {"availability": availability, **REQUIRED.get(availability, {})}
    assert resolve(given).availability_objective == expected
    released = resolve({**given, "reading": "released"})
    assert released.availability_objective == "p_squared"


@each_reading
def test_values_are_among_the_choices(name: str) -> None:
    spec = next(spec for spec in fields(Settings) if spec.name == name)
    reading = READINGS[name]
    if spec.metadata["choices"]:
        values = {reading.paper, reading.released, reading.ca_fed} - {None}
        assert values <= set(spec.metadata["choices"])
    assert spec.metadata["help"].startswith(f"{reading.number}: ")
    assert spec.metadata["decides_result"]
