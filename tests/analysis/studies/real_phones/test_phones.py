"""The plug-in's regimes and task; regrets of rules, and the influence of rare phones, by hand."""

from __future__ import annotations

import hashlib
import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.real_phones import phones
from f3ast_tff.analysis.studies.real_phones.left_out import main, regret_of
from f3ast_tff.analysis.studies.real_phones.rare_phones import METHODS as RARE_METHODS
from f3ast_tff.analysis.studies.real_phones.rare_phones import REGIMES, influences
from f3ast_tff.analysis.studies.real_phones.rare_phones import main as rare_main
from f3ast_tff.core.errors import DataError
from tests.commands import Cli


def test_another_file_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        phones.Flash300(trace_file=str(tmp_path / "none.json")).build(np.ones(2) / 2, 0)
    (tmp_path / "other.json").write_text('{"devices": {"1": [[0, "AVL_TRAIN"]]}}')
    with pytest.raises(DataError, match="must have the SHA-256 87163d22"):
        phones.Flash300(trace_file=str(tmp_path / "other.json")).build(np.ones(2) / 2, 0)


def written(path: Path, devices: object) -> str:
    """Writes traces; returns their SHA-256."""
    path.write_text(json.dumps(devices))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_run_begins_on_day_28_and_repeats_after_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phone watched from day 27 for three days, ready in the first hour, is so every third."""
    day, path = 86_400, tmp_path / "ready.json"
    phone = {"isSuccess": True, "trace_start": 27 * day, "trace_end": 30 * day}
    phone["ready_time"] = [[27 * day, 27 * day + 3600]]
    monkeypatch.setattr(phones.FlashReady, "sha256", written(path, {"0": phone}))
    process = phones.FlashReady(trace_file=str(path)).build(np.ones(1), 0)
    first = [t for t in range(1, 10 * 144 + 1) if process.mask(t)[0] and (t - 1) % 144 == 0]
    assert [(t - 1) // 144 for t in first] == [2, 5, 9]


def test_fedscales_first_round_and_end_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Phone 0 is on in the first 228 s alone, phone 1 in round 2, phone 2 after 720 rounds."""
    on, off = "AVL_TRAIN", "UN_AVL"
    spells = {"0": (0, 228), "1": (456, 684), "2": (228 * 721, 228 * 730)}
    devices = {
        name: [[0, on if first == 0 else off], *([[first, on]] if first else []), [last, off]]
        for name, (first, last) in spells.items()
    }
    path = tmp_path / "fedscale.json"
    monkeypatch.setattr(phones.FedScale300, "sha256", written(path, {"devices": devices}))
    process = phones.FedScale300(trace_file=str(path)).build(np.ones(3), 0)
    there = np.array([process.mask(t) for t in range(1, 723)])
    rounds = [(np.flatnonzero(column) + 1).tolist() for column in there.T]
    assert sorted(rounds) == [[], [], [2, 722]]  # Devices are drawn for the clients.


def test_a_window_of_observation_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phone watched on day 28 alone, ready in its first hour, is so on each day of the run."""
    start, day = 28 * 86_400, 86_400
    phone = {"isSuccess": True, "trace_start": start, "trace_end": start + day}
    path = tmp_path / "ready.json"
    ready_phone = {**phone, "ready_time": [[start, start + 3600]]}
    monkeypatch.setattr(phones.FlashReady, "sha256", written(path, {"0": ready_phone}))
    process = phones.FlashReady(trace_file=str(path)).build(np.ones(1), 0)
    ready = [t for t in range(1, 7 * 144 + 1) if process.mask(t)[0]]
    assert ready == [144 * d + t for d in range(7) for t in range(1, 7)]


@pytest.mark.long
def test_sizes_and_labels_of_mnist1d() -> None:
    data = phones.Mnist1d(num_clients=20, data_seed=1).build()
    assert len(data.train.sizes) == 20 and data.num_classes == 10
    assert data.train.sizes.min() >= 16 and data.train.sizes.max() <= 800
    again = phones.Mnist1d(num_clients=20, data_seed=1).build()
    assert np.array_equal(data.train.features, again.train.features)


def test_the_network_has_two_layers() -> None:
    """ReLUs of -1 and 2 on an input of 1, then a sum of 0 and 2."""
    model = phones.OneHiddenLayer(hidden_units=2).build((1,), 1)
    assert [w.shape for w in model.initial_weights(0)] == [(1, 2), (2,), (2, 1), (1,)]
    weights = [np.array([[-1.0, 2.0]]), np.zeros(2), np.ones((2, 1)), np.zeros(1)]
    assert model.apply(weights, np.ones((1, 1))).tolist() == [[2.0]]


TRACES = ("a", "b", "c")
# Accuracy of each method on a, b and c, without the draw's own part.
METHODS = {
    ("f3ast", "sum", ""): (0.60, 0.50, 0.40),
    ("fedavg_all", "mean", ""): (0.50, 0.50, 0.60),
    ("mifa", "mifa", ""): (0.55, 0.65, 0.20),
}


def table(swing: float = 0.0) -> pd.DataFrame:
    """Six draws; draw d adds d / 100 to all, and a swing of alternating sign to F3AST."""
    columns = {
        ("/".join(filter(None, method)), trace): [
            score + d / 100 + (swing * (-1) ** d if method[0] == "f3ast" else 0) for d in range(6)
        ]
        for method, scores in METHODS.items()
        for trace, score in zip(TRACES, scores)
    }
    found = pd.DataFrame(columns, index=pd.Index(range(6), name="draw"))
    found.columns = found.columns.set_names(["method", "availability"])
    return found


def test_each_trace_is_left_out_in_turn() -> None:
    """Left out a: the others' means are F3AST .45, mean .55, MIFA .425: the mean, .60 - .50.

    Left out b: F3AST .50, mean .55, MIFA .375: the mean, .65 - .50. Left out c: .55, .50, .60:
    MIFA, .60 - .20. In the mean (.10 + .15 + .40) / 3.
    """
    found = regret_of(table())
    assert found.chosen == {"a": "fedavg_all/mean", "b": "fedavg_all/mean", "c": "mifa/mifa"}
    assert found.by_trace == pytest.approx({"a": 0.10, "b": 0.15, "c": 0.40})
    assert found.found.mean == pytest.approx(0.65 / 3)
    assert found.found.num_draws == 6


def test_a_rule_that_always_takes_one_method() -> None:
    """F3AST: 0 on a, .65 - .50 on b, .60 - .40 on c; its swing makes the interval."""
    found = regret_of(table(0.03), "f3ast/sum")
    assert found.by_trace == pytest.approx({"a": 0, "b": 0.15, "c": 0.20})
    assert found.found.mean == pytest.approx(0.35 / 3)
    assert found.found.low < 0.35 / 3 < found.found.high


def test_a_missing_run_is_refused() -> None:
    holes = table()
    holes.iloc[2, 3] = float("nan")
    with pytest.raises(RunsError, match="a run per trace and draw"):
        regret_of(holes)


def test_the_table_names_rules_and_methods(tmp_path: Path, cli: Cli) -> None:
    """In the kept study MIFA is best, and a method that the study of phones lacks."""
    rows = []
    for (method, scores), d in product(METHODS.items(), range(6)):
        for trace, score in zip(TRACES, scores):
            settings = dict(zip(("algorithm", "aggregation", "baseline_sampling"), method))
            world = {"task": "synthetic", "availability": trace, "clients_per_round": 10}
            drawn = {"client_share": "equal", "data_seed": d, "seed": d, "round": 9}
            found = {"sample_accuracy": 0.1, "user_accuracy": score + d / 100}
            losses = {"sample_loss": 1.0, "user_loss": 1.0}
            rows.append({**world, **settings, **drawn, **found, **losses})
    scores_file, kept = tmp_path / "scores.csv", tmp_path / "kept.csv"
    phones = pd.DataFrame(rows)
    phones.to_csv(scores_file, index=False)
    best = phones.assign(user_accuracy=phones["algorithm"].map({"mifa": 0.7}).fillna(0.3))
    other = best[best["algorithm"] == "mifa"].assign(algorithm="scaffold", user_accuracy=0.9)
    pd.concat([best, other]).to_csv(kept, index=False)
    printed = cli.said(main(["x", f"--scores={scores_file}", f"--kept={kept}"])).out
    fitted = "Plain mean; MIFA | 0.217 [0.217, 0.217] | 0.400 (c) |"
    assert f"| Synthetic | 1 / N | best of the other traces | {fitted}" in printed
    assert "| always the kept study's best | MIFA | 0.150 " in printed


def test_influence_by_hand() -> None:
    """Three phones of p = 1/4, 1/4, 1/2, in 0, 2 and 4 rounds of four, K = 1 or none.

    Phone 1 is selected once with weight .6, phone 2 twice with .2: of all weights, 1.0, they have
    .6 and .4, over p 2.4 and .8.
    """
    rows = list(
        influences(
            available=np.array([0, 2, 4]),
            selected=np.array([[1], [2], [2], [-1]]),
            weights=np.array([[0.6], [0.2], [0.2], [np.nan]]),
            p=np.array([0.25, 0.25, 0.5]),
        )
    )
    assert [row["rounds_available"] for row in rows] == ["0", "1-2", "3-20"]
    assert [row["phones"] for row in rows] == [1, 1, 1]
    assert [row["selected"] for row in rows] == [0, 0.5, 0.5]
    assert [row["influence"] for row in rows] == pytest.approx([0, 2.4, 0.8])
    assert [row["largest_weight"] for row in rows] == [0, 0.6, 0.2]


def test_the_kept_file_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups stand in the order of their rounds; without finished runs there is no file."""
    rows = [
        (regime, group, method, 5, 0.5, 0.25, 0.75)
        for regime in REGIMES
        for group in ("21-100", "3-20")
        for method in RARE_METHODS
    ]
    names = ["availability", "rounds_available", "method", "phones"]
    names += ["selected", "influence", "largest_weight"]
    kept = tmp_path / "rare_phones.csv"
    pd.DataFrame(rows, columns=names).to_csv(kept, index=False)
    assert rare_main(["x", f"--kept={kept}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = "| 5 | 0.50 | 0.25 | 0.25 | 0.25 | 0.25 | 0.75 | 0.75 |"
    assert lines[2:4] == [f"| flash_ready_1000 | {group} {cells}" for group in ("3-20", "21-100")]
    assert rare_main(["x", f"--runs={tmp_path}"]) == 2
    assert rare_main(["x", f"--runs={tmp_path}", f"--out={kept}"]) == 2
    assert "has no finished run" in capsys.readouterr().err
