"""The comparison of methods, from small files written by hand, and each method's baseline."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies import kept_pages
from f3ast_tff.analysis.studies.baselines import FEDAVG, corrected_by, find_method
from f3ast_tff.analysis.studies.method_study import main, symmetric_limit
from f3ast_tff.analysis.studies.regime_differences import method_means, regime_differences
from f3ast_tff.analysis.study_runs import Method, read_study
from f3ast_tff.methods.fedvarp import FedVarp
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE

HEADER = (
    "task,algorithm,availability,client_share,client_lr,server_lr,data_seed,seed,round,"
    "sample_accuracy,user_accuracy,sample_loss,user_loss"
)
# Added to FedAvg's accuracy per draw.
NOISE = (-0.01, 0.01) * 3


def rows(
    algorithm: str, regime: str, share: str, sample: list[float], user: float, lr: float = 0.01
) -> list[str]:
    given = f"synthetic,{algorithm},{regime},{share},{lr},1.0"
    return [
        f"{given},{draw},{draw},9,{accuracy:.6f},{user + (draw - 1) / 100:.6f},0.5,1.5"
        for draw, accuracy in enumerate(sample)
    ]


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FedAvg and MIFA, whose objective is 1 / N, under two regimes, in both objectives.

    FedAvg has sample accuracies .49, .50 to .54 and user accuracies .19 to .24. MIFA's sample
    accuracy is higher by NOISE + .1 under `always` and by NOISE under `uneven`. Its user accuracy
    is .05 higher in each run that minimises 1 / N.
    """
    monkeypatch.setattr(Mifa.algorithm, "client_share", "equal")
    monkeypatch.setattr(Mifa.algorithm, "corrects", {"algorithm": "fedavg"})
    base = [0.49, 0.50, 0.51, 0.52, 0.53, 0.54]
    lines = []
    for share, gain in (("examples", 0.0), ("equal", 0.05)):
        for regime, lead in (("always", 0.1), ("uneven", 0.0)):
            mifa = [a + lead + e for a, e in zip(base, NOISE)]
            lines += rows("fedavg", regime, share, base, 0.2)
            lines += rows("mifa", regime, share, mifa, 0.2 + gain)
    path = tmp_path / "study.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def differences(scores: Path) -> pd.DataFrame:
    return regime_differences(read_study(scores, ["availability"]))


def printed(capsys: pytest.CaptureFixture[str], scores: Path, *flags: str) -> list[str]:
    assert main(["x", f"--scores={scores}", *flags]) == 0
    return capsys.readouterr().out.splitlines()


def test_differences_of_a_regime(scores: Path) -> None:
    """Corrected intervals: `always` has the lower p value, so its level is 1 - .05 / 2.

    `uneven` has mean difference 0, so it is judged at 1 - .05.
    """
    table = differences(scores)
    mifa = table[(table["method"] == "MIFA") & (table["client_share"] == "examples")]
    always, uneven = mifa.to_dict("records")
    assert always["regime"] == "Always" and always["corrects"] == "FedAvg"
    assert always["score"] == pytest.approx(0.615) and always["other_score"] == pytest.approx(0.215)
    assert always["difference"] == always["to_fedavg"] == pytest.approx(0.1)
    assert 0 < always["low"] < 0.1 < always["high"]
    assert uneven["difference"] == pytest.approx(0, abs=1e-9)
    assert uneven["low"] == pytest.approx(-uneven["high"]) and uneven["low"] < 0
    assert always["high"] - always["low"] > uneven["high"] - uneven["low"]


def test_each_method_in_its_own_objective(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """FedAvg's objective is p_k = n_k / n: sample .515.

    MIFA's is 1 / N: user .265, against FedAvg's .215. Differences in 1 / N are .05 on all draws of
    both regimes: above 0, with intervals of no width.
    """
    lines = printed(capsys, scores, "--objective=own")
    assert lines[:6] == [
        "Each method in its paper's objective, means over 2 regimes at round 9:",
        "",
        "| method | p_k | client rate | server rate | score | other score | corrects | minus that "
        "| minus FedAvg | better | worse | lost | runs |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        "| FedAvg | n_k / n | 0.01 | 1 | 0.515 | 0.215 | – | – | – | – | – | 0 | 12 |",
        "| MIFA | 1 / N | 0.01 | 1 | 0.265 | 0.565 | FedAvg | +0.050 | +0.050 | 2 | 0 | 0 | 12 |",
    ]


def test_all_objectives_own_first(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MIFA is first in the objective over samples, with .565."""
    lines = printed(capsys, scores)
    titles = [line for line in lines if line.endswith(":")]
    assert [title.split(",")[0] for title in titles] == [
        "Each method in its paper's objective",
        "Objective p_k = n_k / n",
        "Objective p_k = 1 / N",
    ]
    first = lines[lines.index(titles[1]) + 4]
    assert (
        first == "| MIFA | 0.01 | 1 | 0.565 | 0.215 | FedAvg | +0.050 | +0.050 | 1 | 0 | 0 | 12 |"
    )
    assert "at least 2.303, that of a uniform guess" in lines[-1]


def test_lost_runs(scores: Path) -> None:
    """A missing loss counts as accuracy 0; one loss is ln 10 as it is kept, with six decimals.

    FedAvg under `always`, over samples: (0 + .50 + ... + .54) / 6 = 2.6 / 6.
    """
    text = scores.read_text()
    lost = "0,0,9,0.490000,0.190000,0.5,1.5", "1,1,9,0.500000,0.200000,0.5,1.5"
    text = text.replace(lost[0], "0,0,9,0.490000,0.190000,,1.5", 1)
    text = text.replace(lost[1], "1,1,9,0.500000,0.200000,2.302585,1.5", 1)
    scores.write_text(text)
    first = differences(scores).iloc[0]
    assert (first["method"], first["regime"]) == ("FedAvg", "Always")
    assert (first["lost"], first["runs"]) == (2, 6)
    assert first["score"] == pytest.approx(2.6 / 6)


def test_a_score_is_a_mean_over_draws(scores: Path) -> None:
    """FedAvg's draw 0 has seeds with .49 and .61, its others .50 to .54: the mean is .525."""
    more = "synthetic,fedavg,always,examples,0.01,1.0,0,7,9,0.61,0.2,0.5,1.5"
    scores.write_text(scores.read_text() + f"{more}\n")
    first = differences(scores).iloc[0]
    assert (first["method"], first["regime"], first["runs"]) == ("FedAvg", "Always", 7)
    assert first["score"] == pytest.approx(0.525)


def test_a_regime_that_one_method_lacks(scores: Path) -> None:
    """The method has no mean score; its difference is over the remaining regimes."""
    lines = [line for line in scores.read_text().splitlines() if "mifa,uneven" not in line]
    scores.write_text("\n".join(lines) + "\n")
    means = method_means(differences(scores))
    mifa = means[(means["method"] == "MIFA") & (means["client_share"] == "examples")].iloc[0]
    assert math.isnan(mifa["score"]) and mifa["difference"] == pytest.approx(0.1)
    assert (mifa["better"], mifa["worse"], mifa["runs"]) == (1, 0, 6)


def test_a_study_without_the_baseline(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, scores, "--objective=equal", "--where=algorithm=mifa")
    assert "| MIFA | 0.01 | 1 | 0.265 | 0.565 | – | – | – | – | – | 0 | 12 |" in lines
    picture = scores.with_name("heat.svg")
    flags = ("--where=algorithm=mifa", f"--picture={picture}")
    assert main(["x", f"--scores={scores}", *flags]) == 2
    assert "no method has a difference" in capsys.readouterr().err
    assert not picture.exists()


def test_tuned_rates_choose_the_runs(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under 1 / N, MIFA also has runs at rate .1, with user accuracy higher by .3."""
    more = [*rows("mifa", "always", "equal", [0.1] * 6, 0.55, 0.1)]
    more += rows("mifa", "uneven", "equal", [0.1] * 6, 0.55, 0.1)
    scores.write_text(scores.read_text() + "\n".join(more) + "\n")
    assert main(["x", f"--scores={scores}"]) == 2
    said = "MIFA has runs of several rates; give --rates or --where"
    assert said in capsys.readouterr().err
    rates = scores.with_name("rates.csv")
    choices = ["fedavg,examples,0.01", "fedavg,equal,0.01", "mifa,examples,0.01", "mifa,equal,0.1"]
    lines = ["algorithm,client_share,client_lr,server_lr", *(f"{each},1.00" for each in choices)]
    rates.write_text("\n".join(lines) + "\n")
    found = printed(capsys, scores, "--objective=equal", f"--rates={rates}")
    assert found[4].startswith("| MIFA | 0.1 | 1 | 0.565 | 0.100 | FedAvg | +0.350 ")
    rates.write_text("\n".join(lines[:-1]) + "\n")
    assert main(["x", f"--scores={scores}", f"--rates={rates}"]) == 2
    assert "mifa, equal: no run at the rates" in capsys.readouterr().err


def test_each_task_has_its_tuned_rates(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both tasks ran both rates; Shakespeare's choice is .1, whose accuracies are .7 in all."""
    header, *lines = scores.read_text().splitlines()
    high = [
        line for a in ("fedavg", "mifa") for line in rows(a, "always", "equal", [0.7] * 6, 0.7, 0.1)
    ]
    every = [line for line in [*lines, *high] if ",always,equal," in line]
    every += [line.replace("synthetic", "shakespeare", 1) for line in every]
    scores.write_text("\n".join([header, *every]) + "\n")
    rates = scores.with_name("rates.csv")
    choices = [
        f"{task},{algorithm},equal,{rate},1.0"
        for task, rate in (("synthetic", 0.01), ("shakespeare", 0.1))
        for algorithm in ("fedavg", "mifa")
    ]
    names = "task,algorithm,client_share,client_lr,server_lr"
    rates.write_text("\n".join([names, *choices]) + "\n")
    shown = printed(capsys, scores, "--objective=equal", f"--rates={rates}")
    found = [line for line in shown if line.startswith("| FedAvg |")]
    assert [line.split(" | ")[1:4] for line in found] == [
        ["0.01", "1", "0.215"],
        ["0.1", "1", "0.715"],
    ]


def test_the_table_as_csv(scores: Path) -> None:
    out = scores.with_name("table.csv")
    assert main(["x", f"--scores={scores}", "--objective=own", f"--out={out}"]) == 0
    table = pd.read_csv(out, keep_default_na=False)
    assert list(table["method"]) == ["FedAvg", "MIFA"]
    assert list(table["difference"]) == ["", "0.05"]
    assert list(table["objective"]) == ["own", "own"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_is_the_same_again(scores: Path, kind: str) -> None:
    pictures = [scores.with_name(f"{number}.{kind}") for number in range(2)]
    for path in pictures:
        assert main(["x", f"--scores={scores}", f"--picture={path}"]) == 0
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    if kind == "png":
        # Width in the header of a PNG file.
        assert int.from_bytes(pictures[0].read_bytes()[16:20], "big") == 900


def test_a_picture_of_another_kind(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x", f"--scores={scores}", "--picture=heat.jpg"]) == 2
    assert "--picture=heat.jpg: must end in .svg or .png" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("differences", "limit"), [([0.01], 0.05), ([-0.051, 0.0], 0.05), ([0.2, math.nan], 0.2)]
)
def test_limits_of_the_colours(differences: list[float], limit: float) -> None:
    """The 95% quantile of 0 and .051 is .04845, within .05."""
    assert symmetric_limit(pd.Series(differences, dtype=float)) == pytest.approx(limit)


def test_differences_at_earlier_rounds(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rounds 2 and 4 of 9 are nearest to a quarter and a half; a round of fewer runs is not shown.

    The user accuracy of MIFA is .08 and .07 above FedAvg's there, and .05 at the end.
    """
    header, *lines = scores.read_text().splitlines()
    for number, lead in ((2, 0.03), (4, 0.02)):
        for line in [line for line in lines if ",equal," in line and ",9," in line]:
            first, user = line.split(",9,")[0], line.split(",9,")[1].split(",")
            accuracy = float(user[1]) + lead * ("mifa" in line)
            lines.append(f"{first},{number},{user[0]},{accuracy:.6f},0.5,1.5")
    scores.write_text("\n".join([header, *lines]) + "\n")
    shown = printed(capsys, scores, "--objective=equal")
    assert " minus that | at 2, 4 | " in shown[2]
    assert any("| FedAvg | +0.050 | +0.080, +0.070 | +0.050 |" in line for line in shown)
    first = next(
        line for line in lines if "mifa,always,equal" in line and line.split(",")[8] == "2"
    )
    scores.write_text("\n".join([header, *(line for line in lines if line != first)]) + "\n")
    shown = printed(capsys, scores, "--objective=equal")
    assert " minus that | at 4 | " in shown[2]
    assert any("| FedAvg | +0.050 | +0.070 | +0.050 |" in line for line in shown)


def test_in_a_kept_page(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is pasted; a command that writes a picture is left alone."""
    monkeypatch.chdir(scores.parent)
    study = "python -m f3ast_tff.analysis.studies.method_study --scores study.csv"
    page = f"# A\n\n```sh\n{study} --objective=own\n```\n\nOld.\n"
    page += f"\n```sh\n{study} --picture=heat.svg\n```\n\n![](heat.svg)\n"
    new = kept_pages.refreshed(page)
    assert "Old." not in new and "| MIFA | 1 / N |" in new
    assert new.endswith("![](heat.svg)\n")
    assert not Path("heat.svg").exists()


def test_a_study_of_two_tasks(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each task has its table. Rounds differ only between tasks, so they name no method."""
    header, *lines = scores.read_text().splitlines()
    every = [f"{line},100" for line in lines]
    every += [f"{line},200".replace("synthetic", "shakespeare", 1) for line in lines]
    scores.write_text("\n".join([f"{header},rounds", *every]) + "\n")
    shown = printed(capsys, scores, "--objective=equal")
    titles = [line for line in shown if "regimes at round" in line]
    assert [title.split(".")[0] for title in titles] == ["Synthetic", "Shakespeare"]
    assert sum(line.startswith("| MIFA | 0.01 | 1 | 0.265 |") for line in shown) == 2
    assert "at least 2.303 or 4.5, that of a uniform guess" in shown[-1]


def fedavg(sampling: str, **further: str) -> Method:
    return {"algorithm": "fedavg", "aggregation": "mean", "baseline_sampling": sampling, **further}


REPLACED, WITHOUT, UNIFORM = map(fedavg, ("with_replacement", "without_replacement", "uniform"))
F3AST = {"algorithm": "f3ast", "aggregation": "sum"}


def test_what_a_method_corrects(monkeypatch: pytest.MonkeyPatch) -> None:
    """An algorithm with another aggregation corrects the algorithm with its own."""
    monkeypatch.setattr(FedVarp.algorithm, "corrects", {"algorithm": "uniform"})
    assert corrected_by({"algorithm": "fedvarp"}) == {"algorithm": "uniform"}
    assert corrected_by({"algorithm": "fedvarp", "aggregation": ""}) == {"algorithm": "uniform"}
    with_scaffold = {"algorithm": "f3ast", "aggregation": "scaffold"}
    assert corrected_by(with_scaffold) == {"algorithm": "f3ast", "aggregation": "sum"}
    assert corrected_by({"algorithm": "of_a_plugin"}) == FEDAVG
    assert corrected_by({"algorithm": "fedbuff"}) == MEAN_OF_AVAILABLE
    assert corrected_by({"algorithm": "fedavg_in_time"}) == FEDAVG


def found(wanted: Method, methods: list[Method], beside: Method) -> Method | None:
    return find_method("synthetic", wanted, methods, beside)


@pytest.mark.parametrize("beside", [F3AST, REPLACED, WITHOUT, UNIFORM])
def test_fedavg_is_that_with_default_sampling(beside: Method) -> None:
    assert found(FEDAVG, [UNIFORM, WITHOUT, REPLACED, F3AST], beside) is REPLACED


def test_an_aggregation_is_the_algorithms_own_or_the_wanted() -> None:
    mean, total = ({"algorithm": "fedavg_all", "aggregation": each} for each in ("mean", "sum"))
    scaffold = {"algorithm": "scaffold", "aggregation": "scaffold"}
    methods: list[Method] = [total, mean, scaffold]
    assert found({"algorithm": "fedavg_all"}, methods, scaffold) is total
    assert found({"algorithm": "fedavg_all", "aggregation": "mean"}, methods, scaffold) is mean
    assert found({"algorithm": "uniform"}, methods, scaffold) is None


def test_of_two_numbers_of_clients_it_is_the_methods_own() -> None:
    few, all_of_them = (fedavg("uniform", clients_per_round=k) for k in ("10", "100"))
    for k, expected in (("10", few), ("100", all_of_them)):
        beside = {"algorithm": "fedawe", "clients_per_round": k}
        assert found(FEDAVG, [few, all_of_them], beside) is expected


def test_two_that_are_equally_near_are_refused() -> None:
    said = "FedAvg, uniform and FedAvg, without replacement could both be the baseline of F3AST"
    with pytest.raises(RunsError, match=said):
        found(FEDAVG, [UNIFORM, WITHOUT], F3AST)
