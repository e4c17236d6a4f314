"""What a score's name and values tell: direction, whether it is the score itself, units."""

from __future__ import annotations

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_directions import higher_is_better, is_share
from f3ast_tff.core.errors import ParameterError
from tests.analysis.compare.test_judge_table import HEAD, MINE, THEIRS, table

UP = (
    "accuracy", "test/acc", "Top-1 accuracy", "top-1-acc", "1-shot acc", "f1_score", "score",
    "inception_score", "test_neg_mean_squared_error", "mean_test_neg_log_loss", "neg_brier_score",
    "Central val | macro accuracy", "accuracy_at_round_100", "value ↑", "text_to_image_acc",
    "acc_of_classes_0_to_4", "cifar100-acc", "100-shot acc",
)  # fmt: skip
DOWN = (
    "loss", "error rate", "accuracy loss", "top5_error", "1-acc", "1 - accuracy", "test/1-acc",
    "one_minus_acc", "rounds_to_80_acc", "rounds_to_target", "time_to_accuracy",
    "epochs_until_acc", "accuracy_drop", "acc_gap", "loss_gap", "forgetting_score",
    "test_acc_std", "accuracy_variance", "fid_score", "FIDScore", "fid50k", "brier_score",
    "mae_score", "mse", "rmse_score", "wall time", "score ↓", "mb_to_80_acc", "attack_acc (↓)",
    "test_spread_accuracy", "acc_iqr", "accuracy_gini", "100-acc", "100% - accuracy", "cost_to_acc",
    "energy_to_accuracy",
)  # fmt: skip
ASKED = (
    "attack_acc", "attack_success_rate", "backdoor_accuracy", "loss_acc", "acc_at_100_rounds",
    "error_accuracy", "neg_accuracy", "loss_drop", "delta_acc", "explained_variance",
    "forget_acc", "value", "mia_auc", "membership_accuracy", "privacy_leakage_acc", "acc_range",
)  # fmt: skip


@pytest.mark.parametrize("name", UP + DOWN + ASKED)
def test_directions(name: str) -> None:
    """The verdict follows the name, in a table in which b has the lower values in each seed."""
    expected = True if name in UP else False if name in DOWN else None
    assert higher_is_better(name) is expected
    rows = [(m, s, v + s / 100) for m, v in (("a", 2.0), ("b", 1.0)) for s in range(4)]
    table = pd.DataFrame(rows, columns=["method", "seed", name])
    if expected is None:
        with pytest.raises(ParameterError, match="give --higher or --lower, which is better"):
            judge_table(table, columns={"score": name})
        table = table[table["seed"] < 4]
    best = "a" if expected or expected is None else "b"
    higher = True if expected is None else None
    sentence = judge_table(table, columns={"score": name}, higher=higher).results[0].sentence
    assert sentence.startswith(f"{best} is better than {'b' if best == 'a' else 'a'} by 1.000")


@pytest.mark.parametrize(
    "beside", ["target_accuracy", "attack_acc", "acc_gap", "test_acc_std", "rounds_to_80_acc"]
)
def test_a_score_goes_before_what_is_made_from_one(beside: str) -> None:
    rows = [(m, s, 9.0, v + s / 100) for m, v in (("a", 0.5), ("b", 0.4)) for s in range(4)]
    table = pd.DataFrame(rows, columns=["method", "seed", beside, "val_acc"])
    assert "score val_acc (higher" in judge_table(table).heading


@pytest.mark.parametrize(
    "head",
    ["Methode,Startwert,Genauigkeit", "Verfahren,Lauf,Test-Genauigkeit",
     "Verfahren,Lauf,Testgenauigkeit",
     "méthode,graine,exactitude", "algorithme,essai,précision", "método,semilla,exactitud",
     "metodo,seme,accuratezza",
     "método,semente,acurácia", "methode,seed,nauwkeurigheid", "方法,种子,准确率",
     "手法,シード,精度", "метод,seed,точность"],
)  # fmt: skip
def test_headings_of_other_languages(head: str) -> None:
    """As in English, also that accuracies are shares; losses are lower if better."""
    rows = [(m, s, v + s / 100) for m, v in (("a", 0.5), ("b", 0.4)) for s in range(4)]
    table = pd.DataFrame(rows, columns=head.split(","))
    found = judge_table(table).results[0]
    assert (
        found.sentence.replace("runs", "seeds")
        == "a is better than b by .100 [.100, .100] over 4 seeds."
    )
    assert is_share(table.columns[2])
    loss = table.set_axis([*table.columns[:2], "Verlust (Validierung)"], axis=1)
    assert judge_table(loss).results[0].sentence.startswith("b is better than a")


def test_shares() -> None:
    assert all(is_share(name) for name in ("accuracy", "test/acc", "f1", "val_auc"))
    assert not any(is_share(name) for name in ("rounds_to_80_acc", "reward", "acc_gap", "loss"))


def test_shares_and_percentages_are_not_compared() -> None:
    text = HEAD + MINE + THEIRS.replace(",.", ",")
    with pytest.raises(RunsError) as refused:
        judge_table(table(text))
    said = "column accuracy holds at most 0.83 for mine (row 1) and 74.0 for fedavg (row 5): "
    assert said in str(refused.value)
    # Percentages of both, of which one is small; a loss may be any number.
    small = HEAD + "".join(
        f"{m},{s},{v + s}\n" for m, v in (("a", 50), ("b", 0.5)) for s in range(3)
    )
    assert judge_table(table(small)).results
    assert judge_table(table(text.replace("accuracy", "loss"))).results


def test_nor_are_runs_of_one_method_in_both() -> None:
    """A failed run of few percent is no share: 100 times as much is not as the others."""
    table = pd.DataFrame({"method": ["a"] * 4 + ["b"] * 4, "seed": [*range(4)] * 2})
    table["accuracy"] = [61.0, 60.0, 62.0, 0.9, 64.0, 65.0, 66.0, 0.8]
    judge_table(table)
    table.loc[7, "accuracy"] = 0.655
    with pytest.raises(RunsError, match=r"0\.655 \(row 7\) and 64 \(row 4\) of b: shares of 1 and"):
        judge_table(table)
    # A seed of both, of which the mean was taken.
    table["accuracy"] = [0.61, 0.60, 0.62, 61.0, 0.54, 0.55, 0.56, 54.0]
    with pytest.raises(RunsError, match="shares of 1 and percentages are not compared"):
        judge_table(table)


def test_shares_of_one_condition_and_percentages_of_another_are() -> None:
    """Each verdict is within a condition."""
    text = "method,data,seed,accuracy\n"
    for data, width in (("x", 1.0), ("y", 100.0)):
        for method, value in (("a", 0.6), ("b", 0.5)):
            text += "".join(f"{method},{data},{s},{width * (value + s / 100)}\n" for s in range(3))
    assert list(judge_table(table(text)).frame()["difference"]) == pytest.approx([0.1, 10.0])


def test_percentages_of_a_first_round_may_be_below_1() -> None:
    """Of a hundred classes .9% in round 1, and 95% in the last."""
    rows = [(m, s, t, v + s / 10) for m in "ab" for s in range(3)
            for t, v in ((1, 0.85), (2, 40.0), (3, 95.0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "round", "accuracy"])
    assert judge_table(table).results
