"""Which method is better: compared methods, sentences, and refused arguments."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.methods import COLUMNS, differences, heading, methods_of
from f3ast_tff.analysis.compare.paired_difference import paired_difference
from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.document import Text
from f3ast_tff.analysis.results_frame import read_results
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.analysis.score_directions import score_of_objective
from f3ast_tff.core.errors import ParameterError
from tests.analysis.conftest import MakeRun

# Accuracies by draw: the differences .1, .2, .3, .2, .1 have mean .18.
LOW = (0.30, 0.35, 0.30, 0.35, 0.30)
HIGH = (0.40, 0.55, 0.60, 0.55, 0.40)


def make(make_run: MakeRun, name: str, scores: tuple[float | None, ...], **settings: Any) -> None:
    for draw, score in enumerate(scores):
        given = {"data_seed": draw, "seed": draw, **settings}
        make_run(f"{name}-{draw}", score, **given)


def found(folder: Path, **given: Any) -> pd.DataFrame:
    return differences(methods_of(collect(folder).groups), **given)


def test_a_difference_has_interval_p_value_and_sentence(make_run: MakeRun, tmp_path: Path) -> None:
    """Numbers are those of `paired_difference`, uncorrected for a single pair.

    A lower loss is better.
    """
    make(make_run, "a", LOW, algorithm="fedavg")
    make(make_run, "b", HIGH, algorithm="f3ast")
    (row,) = found(tmp_path).to_dict("records")
    assert list(row) == list(COLUMNS)
    pairs = [Pair(draw, draw) for draw in range(5)]
    expected = paired_difference(dict(zip(pairs, HIGH)), dict(zip(pairs, LOW)))
    assert (row["a"], row["b"], row["verdict"]) == ("F3AST", "FedAvg", "better")
    assert row["difference"] == pytest.approx(0.18)
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    assert row["p"] == pytest.approx(expected.p_value)
    assert (row["where"], row["draws"], row["pairs"]) == ("", 5, 5)
    between = f"[{expected.low:.3f}, {expected.high:.3f}]".replace("0.", ".")
    assert (
        row["sentence"] == f"F3AST is better than FedAvg by .180 {between} at round 4 over 5 draws."
    )
    (turned,) = found(tmp_path, baseline="f3ast").to_dict("records")
    assert (
        turned["sentence"]
        == f"FedAvg is worse than F3AST by .180 {between} at round 4 over 5 draws."
    )
    (loss,) = found(tmp_path, score="sample_loss").to_dict("records")
    assert loss["sentence"] == "FedAvg and F3AST are equal in every run at round 4, over 5 draws."


@pytest.mark.parametrize(
    ("ours", "theirs", "sentence"),
    [
        (
            (0.5,),
            (0.4,),
            "F3AST minus FedAvg: +.100 at round 4; not judged: 1 draw of the data, 5 are needed.",
        ),
        ((), (), ""),
        (
            (0.5, 0.6, 0.7),
            (0.4, 0.5, 0.6),
            " at round 4; not judged: 3 draws of the data, 5 are needed.",
        ),
        (
            (0.5, 0.6, None),
            (0.4, 0.5, 0.6),
            "F3AST diverged in 1 of 3 runs; not judged: 3 draws of the data, 5 are needed.",
        ),
        (HIGH, (0.40, 0.55, 0.60, 0.50, 0.45), "too close to call, +.000 ["),
        (
            (None, None, None, 0.5, 0.5),
            HIGH,
            "F3AST is worse than FedAvg at round 4; F3AST diverged in 3 of 5 runs.",
        ),
    ],
)
def test_what_cannot_be_called(
    ours: tuple[float | None, ...],
    theirs: tuple[float | None, ...],
    sentence: str,
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    make(make_run, "a", theirs, algorithm="fedavg")
    make(make_run, "b", ours, algorithm="f3ast")
    make(make_run, "alone", (0.5,), algorithm="poc", availability="scarce")
    rows = found(tmp_path, baseline="fedavg" if theirs else None).to_dict("records")
    assert len(rows) == bool(theirs)
    for row in rows:
        assert sentence in row["sentence"]
        assert math.isnan(row["low"]) == (len(ours) == 1 or ours.count(None) == 3)


def test_a_lower_loss_is_better(make_run: MakeRun, tmp_path: Path) -> None:
    """Losses of F3AST are lower by .1 on average: it comes first, and the number is a - b."""
    for draw, (ours, theirs) in enumerate(
        zip((1.0, 2.0, 0.5, 1.5, 0.5), (1.5, 1.0, 1.5, 1.0, 1.0))
    ):
        for name, loss in (("f3ast", ours), ("fedavg", theirs)):
            make_run(f"{name}{draw}", loss=loss, algorithm=name, seed=draw, data_seed=draw)
    (row,) = found(tmp_path, score="sample_loss").to_dict("records")
    assert (row["a"], row["difference"]) == ("F3AST", pytest.approx(-0.1))
    assert row["sentence"].startswith("F3AST and FedAvg: too close to call, -.100 [-")


def test_seeds_of_one_draw_are_no_sample_of_draws(make_run: MakeRun, tmp_path: Path) -> None:
    """They are a sample if the task's data are the same for every seed."""
    for task in ("synthetic", "mnist"):
        for seed in range(4):
            for algorithm, score in (("fedavg", 0.4), ("f3ast", 0.5 + seed / 100)):
                name = f"{task}-{algorithm}-{seed}"
                make_run(name, score, task=task, algorithm=algorithm, seed=seed)
    verdicts = found(tmp_path).set_index("where")[["verdict", "sentence"]]
    generated = verdicts[verdicts.index.str.startswith("Synthetic")].iloc[0]
    words = "at round 4; not judged: 1 draw of the data, 5 are needed."
    assert generated["sentence"] == f"F3AST minus FedAvg: +.115 {words}"
    assert verdicts[verdicts.index.str.startswith("MNIST")].iloc[0]["verdict"] == "better"


def test_only_equal_conditions_are_compared(make_run: MakeRun, tmp_path: Path) -> None:
    """Methods' own settings may differ; K, availability and the objective may not."""
    make(make_run, "a", LOW, algorithm="fedavg", client_share="examples")
    make(make_run, "b", HIGH, algorithm="mifa", client_share="equal")
    make(make_run, "c", HIGH, algorithm="f3ast", clients_per_round=3, client_share="examples")
    make(make_run, "d", HIGH, algorithm="poc", availability="scarce", client_share="examples")
    make(make_run, "e", HIGH, algorithm="fedavg", client_lr=0.5, client_share="examples")
    rows = found(tmp_path, baseline="FedAvg, client_lr 0.1")
    pairs = set(zip(rows["a"], rows["b"]))
    base = "FedAvg, client_lr 0.1"
    assert pairs == {("FedAvg, client_lr 0.5", base)}
    methods = methods_of(collect(tmp_path).groups)
    said = heading(methods, rows, "sample_accuracy", "final")
    assert "Not compared: " in said
    for alone, values in (
        ("F3AST", "clients_per_round (3, 2) [--may_differ=clients_per_round compares them]"),
        ("MIFA", "client_share (equal, examples) [--may_differ=client_share compares them]"),
        ("Power-of-Choice", "availability (Scarce, Always) [--may_differ=availability compares"),
    ):
        assert f"{alone} with FedAvg, client_lr 0.1, they differ in {values}" in said
    with_two = methods_of([g for g in collect(tmp_path).groups if g.algorithm in ("mifa", "poc")])
    nothing = differences(with_two)
    assert nothing.empty and list(nothing) == list(COLUMNS)
    said = heading(with_two, nothing, "sample_accuracy", "final")
    assert said.startswith("Not compared: MIFA with Power-of-Choice, they differ in ")
    rows = differences(methods_of(with_two.groups, ["availability", "client_share"]))
    assert rows["a"].tolist() == ["Power-of-Choice"] and rows["b"].tolist() == ["MIFA"]
    with pytest.raises(ParameterError, match="may_differ = no_such: must be settings of the runs"):
        methods_of(with_two.groups, ["no_such"])


def test_methods_may_differ_in_optimizer_penalty_and_local_work(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Every method has one value of each; what differs stands beside the verdict."""
    own = {"client_optimizer": "sgd", "local_steps": 5, "ridge": 0.0}
    make(make_run, "a", LOW, algorithm="fedavg", **own)
    other = {"client_optimizer": "adam", "local_steps": 10, "ridge": 0.1}
    make(make_run, "b", HIGH, algorithm="f3ast", **other)
    (row,) = found(tmp_path).to_dict("records")
    assert (row["a"], row["b"], row["verdict"], row["where"]) == ("F3AST", "FedAvg", "better", "")
    for said in ("client_optimizer (adam, sgd)", "local_steps (10, 5)", "ridge (0.1, 0.0)"):
        assert said in row["differs_in"]


def test_what_one_method_ran_with_several_values_of_is_a_condition(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for steps in (5, 10):
        make(make_run, f"a{steps}", LOW, algorithm="fedavg", local_steps=steps)
        make(make_run, f"b{steps}", HIGH, algorithm="f3ast", local_steps=steps)
    rows = found(tmp_path)
    assert rows["where"].tolist() == ["local_steps 5", "local_steps 10"]
    assert not any(rows["differs_in"])


def test_p_values_are_corrected_for_their_number(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "a", LOW, algorithm="fedavg")
    make(make_run, "b", HIGH, algorithm="f3ast")
    alone = found(tmp_path)["p"].iloc[0]
    make(make_run, "c", HIGH[::-1], algorithm="poc")
    every = found(tmp_path)
    assert len(every) == 3
    assert every[(every["a"] == "F3AST") & (every["b"] == "FedAvg")]["p"].iloc[0] >= 2 * alone


def test_many_methods_are_compared_with_one(make_run: MakeRun, tmp_path: Path) -> None:
    for algorithm in ("f3ast", "fedadam", "fedavg", "poc", "mifa", "fedau", "uniform"):
        make(make_run, algorithm, (0.5, 0.6), algorithm=algorithm)
    assert set(found(tmp_path)["b"]) == {"FedAvg"}
    with pytest.raises(ParameterError, match="baseline = fedprox: must be a method of the runs"):
        found(tmp_path, baseline="fedprox")


def test_no_frame_is_empty_without_a_reason(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", algorithm="fedavg")
    with pytest.raises(ParameterError, match="score = x: must be one of sample_accuracy"):
        read_results(tmp_path).differences(score="x")
    with pytest.raises(ParameterError, match="period = last: must be a round, final or mean"):
        read_results(tmp_path).differences(period="last")
    assert read_results(tmp_path).differences().empty
    make_run("b", algorithm="f3ast", availability="scarce")
    with pytest.raises(
        RunsError, match="Not compared: FedAvg with F3AST, they differ in availability"
    ):
        read_results(tmp_path).differences()


def test_a_folder_is_a_tidy_frame(make_run: MakeRun, tmp_path: Path) -> None:
    """The frame has one row per run and evaluation; a part of it is a plain frame."""
    make(make_run, "a", LOW, algorithm="fedavg")
    make(make_run, "b", HIGH, algorithm="f3ast")
    frame = read_results(tmp_path)
    assert len(frame) == 20
    assert list(frame)[:5] == ["method", "data_seed", "seed", "round", "train_loss"]
    last = frame[frame["round"] == 4].groupby("method")["sample_accuracy"].mean()
    assert dict(last) == pytest.approx({"FedAvg": 0.32, "F3AST": 0.5})
    assert type(frame.head()) is pd.DataFrame
    assert frame.differences()["verdict"].tolist() == ["better"]
    frame.plot(tmp_path / "x.svg")
    assert "F3AST" in (tmp_path / "x.svg").read_text()
    with pytest.raises(RunsError, match="is not a folder"):
        read_results(tmp_path / "runs" / "a-0" / "nothing")
    make_run("again", LOW[0], algorithm="fedavg", data_seed=0, seed=0)
    with pytest.raises(RunsError, match="again and .*a-0 are the same run"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("held_out", "on"),
    [
        ((None, None), "on test data at round 4"),
        ((5, 5), "on held-out training clients at round 4"),
        ((None, 5), "on test data (with held_out_clients: on held-out training clients) at"),
    ],
)
def test_the_heading_names_the_data_that_was_scored(
    held_out: tuple[int | None, int | None], on: str, make_run: MakeRun, tmp_path: Path
) -> None:
    for number, clients in enumerate(held_out):
        for algorithm in ("f3ast", "fedavg"):
            make(
                make_run,
                f"{algorithm}{number}",
                (0.5,) * 5,
                algorithm=algorithm,
                held_out_clients=clients,
                clients_per_round=5 + number,
            )
    report = build(collect(tmp_path), "final")
    texts = [b.text for s in report.sections for b in s.blocks if isinstance(b, Text)]
    assert sum(on in text for text in texts) == 1


def test_methods_are_compared_by_the_accuracy_of_their_objective(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for share in ("equal", "examples"):
        for algorithm in ("f3ast", "fedavg"):
            make(make_run, f"{share}-{algorithm}", (0.5,), algorithm=algorithm, client_share=share)
    groups = collect(tmp_path).groups
    equal = [group for group in groups if group.settings["client_share"] == "equal"]
    others = [group for group in groups if group not in equal]
    assert score_of_objective(equal) == "user_accuracy"
    assert score_of_objective(others) == score_of_objective(groups) == "sample_accuracy"


def test_a_report_compares_methods_that_depart_from_a_preset_alike(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """As `compare` does; runs beside others with the preset's value are named."""
    for algorithm in ("f3ast", "fedavg"):
        make(make_run, algorithm, LOW, algorithm=algorithm, client_share="equal")
    report = build(collect(tmp_path), "final")
    assert len(report.tables["differences"]) == 1
    make(make_run, "usual", HIGH, algorithm="f3ast", client_share="examples")
    report = build(collect(tmp_path), "final")
    (row,) = report.tables["differences"].to_dict("records")
    assert row["where"] == "client_share equal"
    said = str(report.sections[0].blocks)
    assert "Not compared: F3AST with FedAvg, they differ in client_share (examples, equal)" in said
    assert "Runs with p_k = 1 / N among them have the objective of --score=user_accuracy" in said
