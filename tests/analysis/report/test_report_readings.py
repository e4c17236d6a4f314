"""Readings of the papers: what is switched, its effects, and the kept effects."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.report.document import Listing
from f3ast_tff.analysis.report.reading_effects import effects, table9_orderings
from f3ast_tff.analysis.report.reading_section import by_reading, reading_section
from f3ast_tff.analysis.report.readings import Form, departures, forms, readings, switched
from f3ast_tff.analysis.run_groups import RunGroup, collect, comparable_groups
from f3ast_tff.analysis.runs import SCORES, load_runs
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.resolve import applicable
from tests.analysis.conftest import MakeRun, described
from tests.analysis.kept_results import load

PAPER = {name: each.reading.paper for name, each in readings().items()}
# Values derived from other settings.
PAPER.update(availability_objective="p", rate_init="p", client_share="examples")
PAPER.update(baseline_sampling="with_replacement")
RELEASED = {name: each.reading.released for name, each in readings().items()}
TEXTBOOK = {name: each.reading.value("textbook") for name, each in readings().items()}
TEXTBOOK.update(availability_objective="p", rate_init="p", client_share="examples")
COMMON = {"availability": "smartphones", "clients_per_round": 10, "rounds": 1000}


def make(make_run: MakeRun, algorithm: str, accuracies: list[float], **given: object) -> None:
    """Makes one run per accuracy, each on its own draw of the data."""
    preset = {"released": RELEASED, "textbook": TEXTBOOK}.get(str(given.get("reading")), PAPER)
    for draw, accuracy in enumerate(accuracies):
        name = f"{algorithm}{sorted(given.items())}{draw}".replace("/", "")
        settings: dict[str, object] = {"task": "synthetic", **COMMON, "data_seed": draw, **given}
        components = {n: v for n, v in settings.items() if n in (*KINDS, "availability_parts")}
        known = settings["availability"] in builtin_registry().components["availability"]
        chosen = {"algorithm": algorithm, **components}
        names = applicable(chosen, builtin_registry()) if known else {*preset}
        settings = {**{n: v for n, v in preset.items() if n in names}, **settings}
        make_run(name, accuracy, algorithm=algorithm, **settings)


def forms_in(folder: Path) -> dict[Form, RunGroup]:
    found, left_out = forms(collect(folder).groups)
    assert left_out == []
    return found


def test_switched_is_what_differs_from_the_preset(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "f3ast", [0.5], divide_by_k=True)
    make(make_run, "fedavg", [0.5])
    make(make_run, "poc", [0.5], reading="released")
    make(make_run, "f3ast_adam", [0.5], availability_objective="p_squared")
    found = {group.algorithm: switched(group) for group in collect(tmp_path).groups}
    assert found == {
        "f3ast": ("divide_by_k",),
        "fedavg": (),
        "poc": (),
        "f3ast_adam": ("availability_objective",),
    }


def test_runs_of_combined_availability_are_kept(make_run: MakeRun, tmp_path: Path) -> None:
    """R9's paper value follows from the parts: smartphones are positively correlated."""
    parts = {"availability_parts": "smartphones,uneven"}
    make(make_run, "f3ast", [0.5], availability="product", **parts)
    released = {"availability_objective": "p_squared"}
    make(make_run, "f3ast_adam", [0.5], availability="product", **parts, **released)
    found = {group.algorithm: switched(group) for group in collect(tmp_path).groups}
    assert found == {"f3ast": (), "f3ast_adam": ("availability_objective",)}


def test_readings_of_runs_of_a_plug_in_are_as_recorded(make_run: MakeRun, tmp_path: Path) -> None:
    """A value derived from an unknown component is no departure; a fixed value may be one."""
    for name, ties in (("a", "random"), ("b", "lowest_id")):
        given = {"availability": "rainy", "availability_objective": "p_squared", "ties": ties}
        make_run(name, described=described(("ties",)), **given)
    assert sorted(map(switched, collect(tmp_path).groups)) == [(), ("ties",)]


def test_effects_on_scores_and_on_the_lead(make_run: MakeRun, tmp_path: Path) -> None:
    """R2 concerns only F3AST: FedAvg's base runs stand in, so the lead moves as F3AST does."""
    make(make_run, "fedavg", [0.3] * 5)
    make(make_run, "f3ast", [0.5, 0.52, 0.54, 0.51, 0.53])
    make(make_run, "f3ast", [0.4, 0.43, 0.44, 0.41, 0.43], divide_by_k=True)
    # R4 concerns all algorithms: without a FedAvg run there is no lead.
    make(make_run, "f3ast", [0.6, 0.62, 0.64, 0.61, 0.64], lognormal_spread="sigma")
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert [(e.what, e.switch) for e in found] == [
        ("lead", "R2 divide_by_k: True"),
        ("f3ast", "R4 lognormal_spread: sigma"),
        ("f3ast", "R2 divide_by_k: True"),
    ]
    lead, _, f3ast = found
    assert lead.found is not None
    assert f3ast.found is not None
    assert lead.base == pytest.approx(0.22)
    assert lead.found.mean == pytest.approx(-0.098)
    assert f3ast.found.mean == pytest.approx(-0.098)
    assert lead.moves == "yes"
    assert lead.found.covers == "draws of the data, 5 of them"


def test_too_few_draws_or_rounds_move_nothing(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "f3ast", [0.5, 0.52, 0.54, 0.51])
    make(make_run, "f3ast", [0.4, 0.43, 0.44, 0.41], divide_by_k=True)
    short: dict[str, object] = {"rounds": 300}
    make(make_run, "f3ast", [0.5, 0.52, 0.54, 0.51, 0.53], **short)
    make(make_run, "f3ast", [0.4, 0.43, 0.44, 0.41, 0.43], divide_by_k=True, **short)
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert {e.asked.reason_not_judged: e.moves for e in found} == {
        "4 draws of the data, 5 are needed": "not enough runs",
        "300 rounds, 1000 are needed": "not enough runs",
    }


def test_effects_are_one_family(make_run: MakeRun, tmp_path: Path) -> None:
    """Differences 0, 0.01, 0.02, 0.03, 0.04 give t = 0.02 / (0.0158 / sqrt 5) = 2.83, p = 0.047."""
    make(make_run, "f3ast", [0.5] * 5)
    make(make_run, "f3ast", [0.5, 0.51, 0.52, 0.53, 0.54], divide_by_k=True)
    (alone,) = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert alone.found is not None and alone.found.p_value == pytest.approx(0.0474, abs=1e-4)
    assert alone.moves == "yes"
    make(make_run, "f3ast", [0.5, 0.4, 0.6, 0.5, 0.51], lognormal_spread="sigma")
    both = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert [e.moves for e in both] == ["not seen", "not seen"]


def test_a_line_for_each_reading(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "fedavg", [0.3] * 5)
    make(make_run, "f3ast", [0.5, 0.52, 0.54, 0.51, 0.53])
    make(make_run, "f3ast", [0.4, 0.43, 0.44, 0.41, 0.43], divide_by_k=True)
    make(make_run, "f3ast", [0.51, 0.51, 0.54, 0.52, 0.51], ties="lowest_id")
    make(make_run, "f3ast", [0.6, 0.62], rate_init="k_over_n")
    # R18 concerns only Power-of-Choice, so it cannot move the lead.
    make(make_run, "poc", [0.3, 0.31, 0.3, 0.3, 0.31])
    make(make_run, "poc", [0.4, 0.4, 0.42, 0.41, 0.4], poc_clip_norm=1.0)
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    rows = {row[0]: row for row in by_reading(found)}
    # R4 and R7 are not switched; R20 concerns only CA-Fed.
    assert list(rows) == ["R1", "R2", "R11", "R18"]
    moves = {number: row[1] for number, row in rows.items()}
    assert moves["R2"] == "yes" and moves["R11"] == "not seen"
    assert moves["R1"] == "not enough runs"
    assert (rows["R18"][2], rows["R18"][4]) == ("–", "1 of 1")
    assert (rows["R2"][2], rows["R11"][2]) == ("1 of 1", "0 of 1")


def test_the_other_preset_is_one_switch(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "f3ast", [0.5, 0.51])
    make(make_run, "f3ast", [0.6, 0.6], reading="released")
    # Two switched readings say nothing about either.
    make(make_run, "f3ast", [0.9, 0.9], divide_by_k=True, ties="lowest_id")
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert [(e.preset, e.switch, e.moves) for e in found] == [
        ("paper", "all: released", "not enough runs")
    ]


def test_three_presets_in_one_folder(make_run: MakeRun, tmp_path: Path) -> None:
    for algorithm, shift in (("f3ast", 0.0), ("fedavg", -0.2)):
        for preset, accuracy in (("paper", 0.5), ("released", 0.6), ("textbook", 0.7)):
            values = [accuracy + shift + draw / 100 for draw in range(5)]
            make(make_run, algorithm, values, reading=preset)
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    means = {(e.what, e.switch): e.found.mean for e in found if e.found is not None}
    assert {e.preset for e in found} == {"paper"}
    assert means == {
        ("lead", "all: released"): pytest.approx(0),
        ("lead", "all: textbook"): pytest.approx(0),
        ("f3ast", "all: released"): pytest.approx(0.1),
        ("f3ast", "all: textbook"): pytest.approx(0.2),
        ("fedavg", "all: released"): pytest.approx(0.1),
        ("fedavg", "all: textbook"): pytest.approx(0.2),
    }


def test_table_nine_ordering(make_run: MakeRun, tmp_path: Path) -> None:
    for alpha in (0, 0.5, 1):
        at = {"synthetic_alpha": alpha, "synthetic_beta": alpha}
        make(make_run, "fedavg", [0.3, 0.31, 0.32, 0.31, 0.3], **at)
        make(make_run, "f3ast", [0.4, 0.42, 0.43, 0.41, 0.4], **at)
        make(make_run, "f3ast", [0.2, 0.22, 0.23, 0.21, 0.2], **at, divide_by_k=True)
    make(make_run, "f3ast", [0.2, 0.22], reading="released", synthetic_alpha=0, synthetic_beta=0)
    found = table9_orderings(forms_in(tmp_path), "final")
    assert [(o.reading, o.reproduced) for o in found] == [
        ("paper", "yes"),
        ("paper, R2 divide_by_k: True", "no"),
        ("released", "not enough runs"),
    ]
    lead = found[0].leads[0.5]
    assert lead is not None
    assert lead.mean == pytest.approx(0.104)


def test_r3_is_one_reading_in_two_settings_and_r6_another_task(
    make_run: MakeRun, tmp_path: Path
) -> None:
    own = {"synthetic_alpha": 1.0, "synthetic_beta": 1.0, "data_generator": "generator"}
    make(make_run, "fedavg", [0.3, 0.31, 0.32], **own)
    both = {"baseline_sampling": "without_replacement", "baseline_average": "examples"}
    make(make_run, "fedavg", [0.4, 0.42, 0.43], **both, **own)
    make(make_run, "fedavg", [0.9, 0.91, 0.93], task="synthetic_linear")
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert [e.switch for e in found] == [
        "R6 task: synthetic_linear",
        "R3 baseline_sampling: without_replacement, R3 baseline_average: examples",
    ]


def test_a_form_with_a_setting_of_its_own_has_its_own_base(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """A reading has no effect, also at another step size, where runs are 0.2 better."""
    make(make_run, "fedavg", [0.3] * 5)
    for beta in (None, 0.0001, 0.01):
        shift = {None: 0.0, 0.0001: 0.1, 0.01: 0.2}[beta]
        accuracies = [0.5 + shift + draw / 100 for draw in range(5)]
        make(make_run, "f3ast", accuracies, rate_beta=beta)
        if beta != 0.0001:
            make(make_run, "f3ast", accuracies, rate_beta=beta, ties="lowest_id")
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    where = "synthetic, smartphones"
    assert {(e.what, e.place): (e.base, e.found and e.found.mean) for e in found} == {
        ("lead", where): (pytest.approx(0.22), 0.0),
        ("f3ast", where): (pytest.approx(0.52), 0.0),
        # FedAvg has no such form, so there is no lead.
        ("f3ast", f"{where}, rate_beta 0.01"): (pytest.approx(0.72), 0.0),
    }


def test_two_values_of_a_reading_are_two_switches(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "f3ast", [0.5, 0.5])
    make(make_run, "f3ast", [0.4, 0.4], rate_init="k_over_n")
    make(make_run, "f3ast", [0.2, 0.2], rate_init="one_over_n")
    found = effects(forms_in(tmp_path), "sample_accuracy", "final")
    assert [(e.switch, e.found and e.found.mean) for e in found] == [
        ("R1 rate_init: one_over_n", pytest.approx(-0.3)),
        ("R1 rate_init: k_over_n", pytest.approx(-0.1)),
    ]


def test_table_nine_compares_runs_of_one_place(make_run: MakeRun, tmp_path: Path) -> None:
    """FedAvg with lost updates or longer runs, and F3AST with another step, are not compared."""
    for alpha in (0, 0.5, 1):
        at = {"synthetic_alpha": alpha, "synthetic_beta": alpha}
        make(make_run, "fedavg", [0.3, 0.31, 0.32, 0.31, 0.3], **at)
        make(make_run, "f3ast", [0.4, 0.42, 0.43, 0.41, 0.4], **at)
        make(make_run, "fedavg", [0.9] * 5, **at, rounds=2000)
        make(make_run, "fedavg", [0.9] * 5, **at, delivery="bernoulli")
        make(make_run, "f3ast", [0.1] * 5, **at, delivery="bernoulli")
        make(make_run, "f3ast", [0.1] * 5, **at, rate_beta=0.01)
        make(make_run, "f3ast", [0.1] * 5, **at, constraint="cycle:5,10")
    (found,) = table9_orderings(forms_in(tmp_path), "final")
    assert (found.reading, found.reproduced) == ("paper", "yes")
    assert [lead and round(lead.mean, 3) for lead in found.leads.values()] == [0.104] * 3
    make(make_run, "f3ast", [0.8] * 5, **at, rounds=2000)
    orderings = table9_orderings(forms_in(tmp_path), "final")
    assert [o.reading for o in orderings] == ["paper, rounds 1000", "paper, rounds 2000"]
    longer = orderings[1].leads[1]
    assert longer is not None and longer.mean == pytest.approx(-0.1)


def test_groups_of_one_form_are_left_out_and_said(make_run: MakeRun, tmp_path: Path) -> None:
    """R9's default is unknown for a plug-in's component: either form could be the base."""
    for objective in ("p", "p_squared"):
        for ties in ("random", "lowest_id"):
            given = {"availability_objective": objective, "ties": ties, "availability": "rainy"}
            make(make_run, "f3ast", [0.5, 0.6], **given)
    make(make_run, "f3ast", [0.5, 0.6])
    groups = collect(tmp_path).groups
    found, left_out = forms(groups)
    assert [form.place[0] for form in found] == [("availability", "smartphones")]
    assert len(left_out) == 2
    assert left_out[0].startswith("f3ast, reading paper, R11 ties: lowest_id: ")
    assert left_out[1].endswith("are of one form and differ in availability_objective")
    section, _ = reading_section(groups, "final")
    assert [block.lines for block in section.blocks if isinstance(block, Listing)] == [
        tuple(left_out)
    ]


def test_departures_from_defaults(make_run: MakeRun, tmp_path: Path) -> None:
    """0.01 is Synthetic's client rate. Defaults of a plug-in are unknown."""
    make_run("a", algorithm="fedadam", client_lr=0.01, server_lr=0.03)
    make_run("b", algorithm="f3ast", client_lr=0.02, rate_beta=0.001, divide_by_k=True)
    make_run("c", algorithm="f3ast", client_lr=0.01, availability="rainy", engine="fused")
    says = described(("luck",))
    make_run("d", algorithm="lucky", client_lr=0.01, luck=2, described=says)
    found = {group.first.path.name: departures(group) for group in collect(tmp_path).groups}
    assert found == {
        "a": {},
        "b": {"client_lr": 0.02},
        "c": {},
        "d": {"client_lr": 0.01, "server_lr": 1.0, "luck": 2},
    }


ROOT = Path(__file__).resolve().parents[3]
KEY = ("base", "where", "of", "switch")
# Scores are kept with six decimals. The ends of an interval have several times that error, and a p
# value has a larger relative error than the effect.
TOLERANCE, OF_P = 1e-5, 0.01


def write_runs(campaign: str, folder: Path) -> None:
    """Writes the runs of a kept file, with the settings that the campaign gives them."""
    kept = load(Path("analysis", "studies", campaign, "scores.csv"))
    planned = {kept.planned_key(run): run.configuration for run in kept.planned}
    for number, run in enumerate(kept.runs):
        configuration = planned[kept.key(run)]
        path = folder / f"{campaign}-{number}"
        path.mkdir()
        config = {"settings": dict(configuration.settings), **configuration.describe()}
        (path / "config.json").write_text(json.dumps(config))
        last: dict[str, float] = {"round": max(run.scores)}
        last.update({f"test_{score}": run.scores[max(run.scores)][score] for score in SCORES})
        lines = [",".join(last), ",".join(map(str, last.values()))]
        (path / "metrics.csv").write_text("\n".join(lines) + "\n")
        (path / "summary.json").write_text(json.dumps(dict.fromkeys(PERIODS, last)))


def by_key(table: pd.DataFrame) -> dict[tuple[str, ...], dict[Any, Any]]:
    found = {tuple(row[name] for name in KEY): row for row in table.to_dict("records")}
    assert len(found) == len(table)
    return found


@pytest.mark.long
def test_of_the_presets_and_the_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `table3_synthetic` and `readings_synthetic`, as the second one's page says."""
    monkeypatch.chdir(ROOT)
    for name in ("table3_synthetic", "readings_synthetic"):
        write_runs(name, tmp_path)
    groups, _ = comparable_groups(load_runs(tmp_path))
    made = reading_section(groups, "final")[1]["reading_effects"]
    kept = pd.read_csv("analysis/studies/readings_synthetic/effects.csv")
    assert list(made.columns) == list(kept.columns)
    ours, theirs = by_key(made), by_key(kept)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        for name, value in row.items():
            is_number = isinstance(value, float) and not math.isnan(value)
            rel = OF_P if name == "p_value" else 0.0
            expected = pytest.approx(value, rel=rel, abs=TOLERANCE) if is_number else value
            assert ours[key][name] == expected, (key, name)
