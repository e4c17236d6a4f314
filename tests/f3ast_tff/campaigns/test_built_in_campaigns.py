"""The built-in campaigns: each resolves, and equals its table or figure."""

from __future__ import annotations

import csv
import functools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file, read_grid_file
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.cli.flags import parse
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Reading, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.resolve import resolve

# Readings of other tasks, or of CA-Fed (R20, R22, R23).
NOT_OF_SYNTHETIC = {"R12", "R20", "R22", "R23"}
# Readings of Power-of-Choice, or of a generator without alpha.
NOT_OF_TABLE9 = {"R6", "R10", "R18"}
# Settings that distinguish the rows of `availability_methods_synthetic`.
METHOD = (
    "algorithm",
    "aggregation",
    "baseline_sampling",
    "fedawe_clip",
    "fedawe_scored",
    "clients_per_round",
)
STUDIES = Path(__file__).resolve().parents[3] / "analysis" / "studies"
TUNED = STUDIES / "tune_methods_synthetic/tuned_rates.csv"
TUNED_LATE = STUDIES / "tune_late_methods_synthetic/tuned_rates.csv"
TUNED_REAL = STUDIES / "tune_methods_real/tuned_rates.csv"
# eta_0 / sqrt(t / 10 + 1).
FEDAWE_RATE = (0.1, "inverse_sqrt", 10)


# Only some draws of the largest campaigns are planned here; the kept results cover all.
DRAWS = {
    "tune_methods_synthetic": "100-102",
    "tune_methods_edges": "100-102",
    "availability_methods_synthetic": "0-7",
}


@functools.cache
def built_in(name: str) -> Campaign:
    path = find_grid_file(name)
    if name not in DRAWS:
        return plan(path, {})
    assert read_grid_file(path).grid["draw"] == DRAWS[name]
    return plan(path, {"draw": int(DRAWS[name].partition("-")[0])})


def counts(campaign: Campaign, name: str) -> dict[object, int]:
    return dict(Counter(run.settings[name] for run in campaign.runs))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("table3_synthetic", 3 * 5 * 5 * 12),
        ("table3", 2 * 5 * 5 * 3),
        ("table3_small", 2 * 5 * 5 * 6),
        ("table3_small_f3ast", 2 * 5 * 5 * 3),
        ("table3_cifar100", 7 * 4 * 3),
        ("table3_shakespeare", 5 * 5 * 3),
        ("table3_part", 2 * 2 * 2 * 2),
        ("table3_part_f3ast", 2 * 2 * 2 * 2),
        ("table9", 3 * 2 * 3 * 12),
        ("fig2", 3 * 12 + 2 * 3 * 3),
        ("fig4_vary_k", 3 * 4 * 12),
        ("why_synthetic", 9 * 4 * 12),
        ("sensitivity_synthetic", 12 * 3 * 6),
        ("baseline_forms", (6 + 3) * 4 * 5),
        ("released_legacy", 3 * 5 * 3),
        ("seeds_synthetic", 30),
        ("cafed_fig1a", 7 * 12),
        ("tune_methods_synthetic", 32 * 2 * 3 * 12),
        ("tune_methods_edges", 148 * 3),
        ("availability_methods_synthetic", 2 * 29 * 13),
        ("tune_late_methods_synthetic", 2 * 2 * 2 * (11 * 6 + 51)),
        ("late_methods_synthetic", 2 * 2 * 11 * 8),
        ("tune_methods_real", 265),
        ("availability_methods_real", 2 * 14 * 4 * 3),
        ("tune_real_phones", 14 * 2 * 2 * 2 * 6),
        ("tune_real_phones_edges", 12 * 2 * 2 * 2 * 3),
        ("delivery_synthetic", 2 * (7 + 4 * 9) * 6),
        ("fedawe_table2", 9 * 4 * 3),
        ("fedlaavg_table2", 6 * 3),
        ("fedlaavg_table3", (1 + 4 + 3 + 4) * 3),
    ],
)
def test_number_of_runs(name: str, runs: int) -> None:
    campaign = built_in(name)
    assert len(campaign.runs) == runs
    assert campaign.name == name and campaign.about


def test_every_built_in_campaign_says_what_it_is_for() -> None:
    assert "readings_synthetic" in built_in_campaigns()
    for name in built_in_campaigns():
        assert "about" in find_grid_file(name).read_text()


@pytest.mark.parametrize("name", ["table4", "table7", "table8"])
def test_tables_of_the_same_runs_share_them(name: str) -> None:
    shared = built_in(name)
    assert "the runs of Table III" in shared.about
    assert replace(shared, about=built_in("table3").about) == built_in("table3")


def test_table3_is_as_published() -> None:
    campaign = built_in("table3")
    assert counts(campaign, "rounds") == {1000: 75, 500: 75}
    assert set(counts(campaign, "clients_per_round")) == {10}
    assert len(counts(campaign, "availability")) == 5


def test_table9_moves_both_parameters_of_the_data() -> None:
    campaign = built_in("table9")
    assert counts(campaign, "synthetic_alpha") == {0.0: 72, 0.5: 72, 1.0: 72}
    assert all(
        run.settings["synthetic_alpha"] == run.settings["synthetic_beta"] for run in campaign.runs
    )
    assert set(counts(campaign, "availability")) == {"smartphones"}


def test_fig4_leaves_power_of_choice_a_choice() -> None:
    for run in built_in("fig4_vary_k").runs:
        candidates = run.settings.get("poc_candidates", 30)
        assert run.settings["clients_per_round"] < candidates == 30


@pytest.mark.long
def test_methods_of_availability_share_all_but_their_own() -> None:
    """13 regimes and 29 rows, with equal training except rates; a draw sets both data and seed."""
    campaign = built_in("availability_methods_synthetic")
    assert len(counts(campaign, "availability")) == 13
    rows = {tuple(run.settings.get(name) for name in METHOD) for run in campaign.runs}
    assert len(rows) == 29 and ("f3ast", "scaffold", None, None, None, 10) in rows
    shared = ("client_share", "rounds", "batch_size", "local_steps")
    assert {tuple(run.settings[name] for name in shared) for run in campaign.runs} == {
        ("equal", 1000, 20, 5),
        ("examples", 1000, 20, 5),
    }
    assert all(run.settings["data_seed"] == run.settings["seed"] for run in campaign.runs)
    periods = {"groups_on": 10, "groups_off": 40, "cyclic_rounds": 50, "amplified_period": 50}
    for name, value in {**periods, "control_period": 50}.items():
        assert {run.settings.get(name) for run in campaign.runs} == {None, value}


def test_methods_of_availability_have_their_tuned_rates() -> None:
    """Each row has the rates chosen for it, at the better weight of a penalty.

    FedAWE's server model has FedAWE's rates.
    """
    tuned: dict[tuple[Any, ...], tuple[float, float]] = {}
    best: dict[tuple[Any, ...], float] = {}
    for row in csv.DictReader(TUNED.read_text().splitlines()):
        of_method = (row["algorithm"], row["aggregation"], row["baseline_sampling"] or None)
        clip = float(row["fedawe_clip"]) if row["fedawe_clip"] else None
        key = (*of_method, clip, int(row["clients_per_round"]), row["client_share"])
        if float(row["score"]) > best.get(key, 0.0):
            best[key] = float(row["score"])
            tuned[key] = (float(row["client_lr"]), float(row["server_lr"]))
    found: dict[tuple[Any, ...], set[tuple[float, float]]] = {}
    for run in built_in("availability_methods_synthetic").runs:
        s = run.settings
        of_method = (s["algorithm"], s["aggregation"], s.get("baseline_sampling"))
        key = (*of_method, s.get("fedawe_clip"), s["clients_per_round"], s["client_share"])
        found.setdefault(key, set()).add((s["client_lr"], s["server_lr"]))
    assert found == {key: {rates} for key, rates in tuned.items()}


def test_methods_of_late_updates_have_their_tuned_rates() -> None:
    rows = csv.DictReader(TUNED_LATE.read_text().splitlines())
    tuned = {(r["algorithm"], float(r["client_lr"]), float(r["server_lr"])) for r in rows}
    names = ("algorithm", "client_lr", "server_lr")
    runs = built_in("late_methods_synthetic").runs
    assert {tuple(run.settings[name] for name in names) for run in runs} == tuned


def test_methods_on_real_data_have_their_tuned_rates() -> None:
    names = ("task", "algorithm", "aggregation", "client_lr", "server_lr")
    rows = csv.DictReader(TUNED_REAL.read_text().splitlines())
    tuned = {(*(r[n] for n in names[:3]), *(float(r[n]) for n in names[3:])) for r in rows}
    runs = built_in("availability_methods_real").runs
    assert {tuple(run.settings[name] for name in names) for run in runs} == tuned


def test_fedawe_table2_is_reduced_in_three_settings() -> None:
    """All available clients train, except with F3AST; rates, steps and split are the paper's."""
    campaign = built_in("fedawe_table2")
    assert len(counts(campaign, "algorithm")) == 8
    for run in campaign.runs:
        s = run.settings
        assert s["clients_per_round"] == (10 if s["algorithm"] == "f3ast" else 100)
        assert (s["client_lr"], s["client_lr_schedule"], s["client_lr_rounds"]) == FEDAWE_RATE
        assert (s["local_steps"], s["dirichlet_s"], s["num_clients"]) == (10, 0.1, 100)
    full = {"rounds": 2000, "batch_size": 128, "cnn_shrink": 1, "cnn_filters": "32,64"}
    whole = plan(find_grid_file("fedawe_table2"), {**full, "cnn_hidden": "256"})
    differing = {
        name
        for a, b in zip(campaign.runs, whole.runs)
        for name, value in a.configuration.identity.items()
        if b.configuration.identity.get(name) != value
    }
    assert differing == {*full, "cnn_hidden"}


def test_fedlaavg_table2_is_a_tenth_of_the_flag_files() -> None:
    """Clients, K, rounds, hence the round of the switch, are reduced; all else is equal."""
    files = {
        ("fedavg", "alternating"): "table2_fedavg_alternating",
        ("fedlaavg", "alternating"): "table2_fedlaavg_alternating",
        ("fedavg", "always"): "table2_fedavg_always",
        ("fedlaavg", "always"): "table2_fedlaavg_always",
        ("sequential_sgd", "always"): "table2_sequential_sgd",
        ("fedavg_then_fedlaavg", "alternating"): "fig2_fedavg_then_fedlaavg",
    }
    runs = [run for run in built_in("fedlaavg_table2").runs if run.settings["data_seed"] == 0]
    assert len(runs) == len(files)
    for run in runs:
        file = files[run.settings["algorithm"], run.settings["availability"]]
        full = resolve(parse([f"--flagfile=fedlaavg_{file}"]).settings).identity
        own = run.configuration.identity
        differing = {name for name in {*full, *own} if full.get(name) != own.get(name)}
        # Sequential SGD takes as many steps as the clients of a round together.
        of_a_round = "local_steps" if own["algorithm"] == "sequential_sgd" else "clients_per_round"
        assert differing - {"switch_round", "memory_from_round"} == {
            "num_clients",
            "rounds",
            of_a_round,
        }
        assert full[of_a_round] == 10 * own[of_a_round]
        assert full["num_clients"] == 10 * own["num_clients"]


def test_fedlaavg_table3_moves_one_setting_from_table_2() -> None:
    """N, with K = N / 10; E; or K. With E = 1, E / 2 rounded down would be no second turn."""
    (base,) = {
        tuple(run.configuration.identity.items())
        for run in built_in("fedlaavg_table2").runs
        if run.name == "turns_memory-draw0"
    }
    moved = set()
    for run in built_in("fedlaavg_table3").runs:
        if run.settings["data_seed"] == 0:
            own = run.configuration.identity
            assert own.keys() == dict(base).keys()
            moved.add(tuple((name, own[name]) for name, value in base if own[name] != value))
    swept = [
        *((("num_clients", n), ("clients_per_round", n // 10)) for n in (20, 40, 60, 80)),
        (("alternating_period", 1), ("alternating_ratio", 1.0)),
        *((("alternating_period", rounds),) for rounds in (5, 15)),
        *((("clients_per_round", k),) for k in (2, 4, 6, 8)),
    ]
    assert {frozenset(each) for each in moved} == {frozenset(each) for each in [(), *swept]}


@pytest.mark.parametrize(
    ("readings", "base", "absent"),
    [
        ("readings_synthetic", "table3_synthetic", set()),
        ("readings_table9", "table9", NOT_OF_TABLE9),
    ],
)
def test_readings_are_switched_one_at_a_time(readings: str, base: str, absent: set[str]) -> None:
    """A run named after a reading differs from the base's run only in settings of that reading.

    These settings have the released code's value. If that equals the paper's (R1, FedAvg's
    sampling), they have another value.
    """
    paper = {
        _case(run): run.configuration.identity
        for run in built_in(base).runs
        if run.settings["reading"] == "paper"
    }
    known = readings_by_setting()
    switched = set()
    for run in built_in(readings).runs:
        number = run.name.partition("-")[0].partition("_")[0]
        got, before = run.configuration.identity, paper[_case(run)]
        differing = {key for key, value in got.items() if before.get(key) != value}
        switched.add(number)
        if number == "R6":
            assert "task" in differing
            continue
        assert got.keys() == before.keys()
        assert differing and all(known[key].number == number for key in differing)
        for key in differing:
            assert got[key] == known[key].released or known[key].released == before[key]
    numbers = {reading.number for reading in known.values()}
    assert switched == (numbers | {"R6"}) - NOT_OF_SYNTHETIC - absent


def readings_by_setting() -> dict[str, Reading]:
    of_all = [parameter for group in GROUPS.values() for parameter in parameters_of(group)]
    every = [*of_all, *builtin_registry().parameters().values()]
    return {p.name: p.default for p in every if isinstance(p.default, Reading)}


def _case(run: PlannedRun) -> tuple[Any, ...]:
    """Settings that a switched run shares with its base; App. C's generator has no alpha."""
    named = ("algorithm", "availability", "seed")
    return (run.settings.get("synthetic_alpha", 1.0), *(run.settings[name] for name in named))


def test_a_campaign_that_is_not_there(tmp_path: Path) -> None:
    allowed = "did you mean table9.*ends in .toml, or one of .*, baseline_forms, "
    with pytest.raises(ParameterError, match=f"campaign = table5: {allowed}"):
        find_grid_file("table5")
    (tmp_path / "grid.txt").touch()
    with pytest.raises(ParameterError):
        find_grid_file(str(tmp_path / "grid.txt"))


def test_names_are_found_whatever_their_case() -> None:
    assert find_grid_file("Table9") == find_grid_file("table9")
