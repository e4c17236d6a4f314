"""The configurations of availability processes, and processes made of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import (
    AlternatingConfig,
    AvailabilityProcess,
    IndependentAvailability,
    Markov,
    MinimumSeparationConfig,
    Mix,
    MixConfig,
    NonStationary,
    Product,
    ProductConfig,
    ScarceConfig,
    SmartphonesConfig,
    Table,
    TableConfig,
    TraceConfig,
)
from f3ast_tff.availability.combined import build_process, draw_members, part_seed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.settings import REQUIRED, Reading
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.registry import builtin_registry
from tests.availability.effects import EFFECTS, LABELS, N, P, masks

COMPONENTS = builtin_registry().components["availability"]
COMBINATORS = {"product", "mix"}
SAME_FOR_ALL_SEEDS = {"always", "alternating", "table", "stays"}
NAMES = tuple(COMPONENTS)
PARTS = (ScarceConfig(0.5), AlternatingConfig(), SmartphonesConfig())
ALL = {(c.name, p.name): p for c in COMPONENTS.values() for p in c.parameters}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Settings without defaults, per process.

    Device a of the trace is eligible for five hours, then not for five, and so on; device b is the
    opposite. List "two" is the opposite of "one", and the other file the opposite of the first; so
    are the other table, and the other column of the table, which has a line per change.
    """
    table = np.random.default_rng(0).random((50, N)) < 0.5
    events = [
        (k, 3600 * h, int(table[h % 50, k]))
        for h in range(51)
        for k in range(N)
        if h in (0, 50) or table[h, k] != table[h - 1, k]
    ]
    lines = [f"{k},{time},{online},{1 - online}" for k, time, online in events]
    (tmp_path / "table.csv").write_text("\n".join(["device,time,online,other", *lines]))
    np.save(tmp_path / "other.npy", ~table)
    states = ("AVL_TRAIN", "UN_AVL")
    for file, start in (("trace.json", 0), ("other.json", 1)):
        devices = {
            device: {
                name: [[h * 3600, states[(h // 5 + d + li + start) % 2]] for h in range(130)]
                for li, name in enumerate(("one", "two"))
            }
            for d, device in enumerate("ab")
        }
        (tmp_path / file).write_text(json.dumps({"devices": devices}))
    (tmp_path / "stays.csv").write_text("client,first,last\n3,100,\n5,1,700\n")
    (tmp_path / "other.csv").write_text("client,first,last\n0,2,\n")
    (tmp_path / "clients.json").write_text(json.dumps(["b", "a", "a"] * 4))
    (tmp_path / "sites.csv").write_text(
        "site,presence\n" + "".join(f"{k},0.8\n" for k in range(12))
    )
    parts = {"availability_parts": "scarce,alternating,smartphones", "parts": PARTS}
    return {
        "table": {"table_file": str(tmp_path / "table.csv"), "table_columns": "ignore=other"},
        "trace": {"trace_file": str(tmp_path / "trace.json"), "trace_states": "one"},
        "sites": {"site_file": str(tmp_path / "sites.csv")},
        "product": parts,
        "mix": parts,
        "arrival_departure": {"presence_rounds": 2400},
        "stays": {"presence_rounds": 2400, "stays_file": str(tmp_path / "stays.csv")},
        "poisson_arrivals": {"presence_rounds": 2400, "presence_stay": 500.0},
    }


# Further processes may stand anywhere after the paper's five.
ORDER = """
always scarce home_devices uneven smartphones
stationary staircase sine interleaved_sine smallest_label markov_transition
dirichlet_bernoulli dirichlet_markov dirichlet_cyclic periodic_groups
arrival_departure minimum_separation stays poisson_arrivals battery renewal sites
"""


def test_names_are_in_the_papers_order() -> None:
    displayed = [component.display for component in COMPONENTS.values()]
    assert displayed[:5] == ["Always", "Scarce", "Home devices", "Uneven", "Smartphones"]
    others = {"alternating", "four_classes", "markov_clusters", "trace", "table"}
    assert {*NAMES[5 : NAMES.index("stationary")]} >= others | COMBINATORS
    assert [name for name in NAMES if name in ORDER.split()] == ORDER.split()


@pytest.mark.parametrize("name", NAMES)
def test_each_process_by_its_name(name: str, files: Mapping[str, Any]) -> None:
    """Properties of all processes: masks by (seed, round), and the stationary availability.

    Over T = 2400 rounds, 100 days, a client's count has variance sum_t q_kt (1 - q_kt); for a chain
    it is T pi (1 - pi) (1 + lambda) / (1 - lambda). For other processes 2400 rounds end within a
    period of 500: at most 100 rounds too many or too few, 540 of a renewal process.
    """
    config = COMPONENTS[name].config(**files.get(name, {}))
    config.check(Settings.of({}))
    process, again, another = (build_process(config, P, seed, LABELS) for seed in (3, 3, 4))
    assert process.num_clients == N
    # A combinator's config decides by its parts; the built process does not know.
    assert process.positively_correlated == (config.positively_correlated or name in COMBINATORS)
    seen = masks(process, 2400)
    assert seen.dtype == bool
    for t in (2000, 7, 8, 2400):
        again.mask(t)[:] ^= True
        assert np.array_equal(again.mask(t), seen[t - 1])
    assert np.array_equal(masks(another, 600), seen[:600]) == (name in SAME_FOR_ALL_SEEDS)
    stationary = process.stationary
    if name == "product":
        assert stationary is None
        return
    assert stationary.shape == (N,)
    # Spells of a renewal process have heavy tails.
    most = 540 if name == "renewal" else 100
    variance = np.full(N, (most / 5) ** 2)
    if isinstance(process, IndependentAvailability):
        q = np.array([process.probabilities(t) for t in range(1, 2401)])
        variance = (q * (1 - q)).sum(axis=0)
        np.testing.assert_allclose(stationary, q.mean(axis=0))
        assert process.periodic == isinstance(process, NonStationary)
    elif getattr(process, "eigenvalue", None) is not None:
        memory = (1 + process.eigenvalue) / (1 - process.eigenvalue)
        variance = 2400 * stationary * (1 - stationary) * memory
    counts = seen.sum(axis=0)
    assert np.all(np.abs(counts - 2400 * stationary) <= 5 * np.sqrt(variance) + 1e-6)


def test_an_effect_of_every_parameter_of_a_file_is_tested() -> None:
    of_files = {key for key in ALL if key[0] in ("trace", "table", "stays")}
    assert of_files <= EFFECTS.keys() <= ALL.keys()


@pytest.mark.parametrize("key", EFFECTS, ids="-".join)
def test_each_parameter_reaches_the_process(
    key: tuple[str, str], files: Mapping[str, Any], tmp_path: Path
) -> None:
    (name, parameter), (value, check) = key, EFFECTS[key]
    if ALL[key].is_path:
        value = str(tmp_path / value)
    assert ALL[key].checked(value) == value
    before = COMPONENTS[name].config(**files.get(name, {}))
    after = replace(before, **{parameter: value})
    after.check(Settings.of({}))
    assert check(build_process(before, P, 3, LABELS), build_process(after, P, 3, LABELS))


def test_readings_and_what_must_be_given() -> None:
    readings = {key: p.default for key, p in ALL.items() if isinstance(p.default, Reading)}
    spread, grid = Reading("R4", "variance", "sigma"), Reading("R5", "hourly", "endpoints")
    assert readings == {
        ("home_devices", "lognormal_spread"): spread,
        ("smartphones", "lognormal_spread"): spread,
        ("smartphones", "smartphones_grid"): grid,
        ("four_classes", "markov_classes"): Reading("R23", "four", "four", "three"),
    }
    required = {name for (_, name), p in ALL.items() if p.default is REQUIRED}
    files = {"trace_file", "site_file", "table_file", "stays_file"}
    assert required == {*files, "availability_parts"}


def test_parts_are_found_by_name() -> None:
    for config in (ProductConfig, MixConfig):
        files = {"availability_parts": "Scarce, ALWAYS,scarce"}
        assert config.part_names(files, NAMES) == ["scarce", "always", "scarce"]


def test_parts_have_their_own_seeds_and_parameters() -> None:
    both = ProductConfig("scarce,scarce", (ScarceConfig(0.5), ScarceConfig(0.5))).build(P, 1)
    assert isinstance(both, Product)
    assert not np.array_equal(both.parts[0].mask(1), both.parts[1].mask(1))
    expected = [
        IndependentAvailability(np.full(N, 0.5), part_seed(1, i)).mask(1).tolist() for i in (0, 1)
    ]
    assert [part.mask(1).tolist() for part in both.parts] == expected
    mixed = MixConfig("scarce,smartphones", (PARTS[0], PARTS[2]), mix_shares="1,0").build(P, 1)
    assert isinstance(mixed, Mix)
    assert isinstance(mixed.parts[1], NonStationary)
    assert not mixed.members.any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "availability_parts = : must be given"),
        (3, "availability_parts = 3: must be given: names"),
        ("", "availability_parts = : must be one of always, .*"),
        ("scarce,product", "availability_parts = product: must be one of always, [^m]*"),
        ("scarce,smartfones", ".*= smartfones: did you mean smartphones?"),
    ],
)
def test_parts_that_are_none_are_refused(text: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        MixConfig.part_names({} if text is None else {"availability_parts": text}, NAMES)


WRONG = {
    "nested": (
        MixConfig("scarce,own", (PARTS[0], ProductConfig())),
        "availability_parts = scarce,own: a part must not be made of others",
    ),
    "shares_differ": (
        MixConfig("scarce,alternating", PARTS[:2], mix_shares="1"),
        "mix_shares = 1: must be one number for each of the 2",
    ),
    "shares_are_none": (
        MixConfig("scarce,alternating", PARTS[:2], mix_shares="1,-1"),
        "mix_shares = 1,-1: must be finite, at least 0",
    ),
    "no_second_turn": (
        AlternatingConfig(alternating_ratio=0.01),
        "alternating_ratio = 0.01: must, times alternating_period, 10, be 1 or more",
    ),
    "least_above_most": (
        MinimumSeparationConfig(separation_most_q=0.05),
        "separation_least_q = 0.1: must be at most separation_most_q, 0.05",
    ),
}


@pytest.mark.parametrize(("config", "message"), WRONG.values(), ids=WRONG)
def test_parameters_are_checked_against_each_other(config: Any, message: str) -> None:
    """Checks happen before building, and read no files."""
    with pytest.raises(ParameterError, match=f"^{message}"):
        config.check(Settings.of({}))


def test_files_that_do_not_fit_are_refused(files: Mapping[str, Any]) -> None:
    table = TableConfig(**files["table"])
    with pytest.raises(
        ParameterError, match=r"^table_file = .*has 12 columns, .* each of 11 clients"
    ):
        table.build(P[1:], 0)
    for config in (TableConfig("gone.npy"), TraceConfig("gone.json")):
        with pytest.raises(DataError, match="there is no such file"):
            config.build(P, 0)


def independent(num_clients: int, seed: int, q: float = 0.2) -> IndependentAvailability:
    return IndependentAvailability(np.full(num_clients, q), seed)


def alternating(num_clients: int, ratio: float = 1.0) -> AvailabilityProcess:
    return AlternatingConfig(10, ratio).build(np.ones(num_clients), 0)


def test_each_client_follows_its_part() -> None:
    parts = [independent(5, 0, 0.5), Table(np.array([[1, 0, 1, 0, 1]])), alternating(5)]
    process = Mix(parts, np.array([0, 1, 2, 1, 0]))
    for t in range(1, 40):
        a, b, c = (part.mask(t) for part in parts)
        assert process.mask(t).tolist() == [a[0], b[1], c[2], b[3], a[4]]
    np.testing.assert_allclose(process.stationary, [0.5, 0, 0.5, 0, 0.5])
    assert process.periodic


def test_stationary_is_not_known_where_a_part_has_none() -> None:
    unknown = Product([alternating(2), alternating(2)])
    assert Mix([independent(2, 0), unknown], np.array([0, 1])).stationary is None


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=5).filter(lambda s: sum(s) > 0.01),
    st.integers(1, 200),
)
def test_groups_are_as_large_as_their_shares(shares: list[float], n: int) -> None:
    members = draw_members(shares, n, seed=0)
    sizes = np.bincount(members, minlength=len(shares))
    assert sizes.sum() == n
    np.testing.assert_allclose(sizes, n * np.array(shares) / sum(shares), atol=1)


def test_members_depend_on_the_seed() -> None:
    first = draw_members([1, 1], 50, 1)
    assert np.array_equal(first, draw_members([1, 1], 50, 1))
    assert not np.array_equal(first, draw_members([1, 1], 50, 2))


def test_available_where_all_are() -> None:
    one, two = Table(np.array([[1, 1, 0, 0]])), Table(np.array([[1, 0, 1, 0]]))
    assert Product([one, two]).mask(1).tolist() == [True, False, False, False]


def test_frequency_is_the_product_for_parts_with_their_own_seeds() -> None:
    """0.5 x 0.6 over 40 clients and 1000 rounds, standard error 0.0023.

    A shared seed would give 0.5.
    """
    parts = [independent(40, part_seed(1, 0), 0.5), independent(40, part_seed(1, 1), 0.6)]
    process = Product(parts)
    seen = np.mean([process.mask(t).mean() for t in range(1, 1001)])
    assert abs(seen - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 40_000)
    assert process.stationary == pytest.approx(np.full(40, 0.3))


def test_stationary_with_one_periodic_part() -> None:
    parts = [Markov(np.full(4, 0.5), np.full(4, 0.5), 1), alternating(4, ratio=3.0)]
    assert Product(parts).stationary == pytest.approx([0.125, 0.125, 0.375, 0.375])


def test_no_stationary_for_two_periodic_parts() -> None:
    """Two alternating processes in opposite phase: each half of the time, never together."""
    parts = [alternating(2), Table(np.repeat(np.eye(2)[::-1], 10, axis=0))]
    assert not any(Product(parts).mask(t).any() for t in range(1, 41))
    assert Product(parts).stationary is None
    assert Product([Product(parts), independent(2, 0)]).stationary is None
