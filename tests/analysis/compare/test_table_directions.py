"""What the name of a score tells: its direction, and whether it is the score itself."""

from __future__ import annotations

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.table_directions import higher_is_better, is_share
from f3ast_tff.core.errors import ParameterError

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
