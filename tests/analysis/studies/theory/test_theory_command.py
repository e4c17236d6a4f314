"""The command, its tables and pictures, and the conclusions from the kept measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.studies.theory import tables
from f3ast_tff.analysis.studies.theory.__main__ import PARTS, main
from f3ast_tff.analysis.studies.theory.optima import RIGHT
from f3ast_tff.analysis.studies.theory.pictures import PICTURES, of
from f3ast_tff.settings import builtin_registry

KEPT = Path(__file__).resolve().parents[4] / "analysis/studies/theory/scores.csv"


@pytest.fixture(scope="module")
def kept() -> pd.DataFrame:
    return pd.read_csv(KEPT, keep_default_na=False, na_values=[""])


@pytest.mark.long
def test_command_writes_rows_and_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "theory.csv"
    assert main(["x", f"--out={out}", "--part=ca_fed", "--draws=3", "--rounds=200"]) == 0
    found = pd.read_csv(out)
    assert set(found["part"]) == {"ca_fed"}
    assert set(found["claim"]) >= {"Theorem 2", "bias by alpha"}
    assert (tmp_path / "ca_fed.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.parametrize("part", list(PARTS))
def test_pictures_of_the_kept_rows(part: str, kept: pd.DataFrame, tmp_path: Path) -> None:
    PICTURES[part](kept[kept["part"] == part], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    small.write_text(
        "part,claim,case,setting,x,measured,low,high,exact,bound\n"
        "p,one,a,,2,0.5,0.25,0.75,,1\n"
        "p,two,a,left,,0.1,,,0.125,\n"
        "p,two,a,right,,-0.004,,,-0.5,\n"
    )
    assert tables.main(["x", f"--results={small}", "--claim=one"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "| one | a | 2 | 0.5 [0.25, 0.75] | 1 |"
    assert tables.main(["x", f"--results={small}", "--claim=two", "--wide"]) == 0
    assert capsys.readouterr().out.splitlines()[::2] == [
        "| | left | right |",
        "| a | 0.10 (0.12) | 0 (-0.50) |",
    ]
    assert tables.main(["x", f"--results={small}", "--claim=three"]) == 2
    assert "no claim 'three'" in capsys.readouterr().err
    assert tables.main(["x", f"--results={tmp_path / 'none.csv'}", "--claim=one"]) == 2
    assert "cannot read" in capsys.readouterr().err
    small.write_text("claim,case\none,a\n")
    assert tables.main(["x", f"--results={small}", "--claim=one"]) == 2
    assert "no file of measurements: no column setting" in capsys.readouterr().err


def test_f3asts_bound_holds_for_eight_clients_and_fails_for_two(kept: pd.DataFrame) -> None:
    rate = of(kept, "III.5")
    assert (rate["measured"] < rate["bound"]).all()
    two = of(kept, "III.5 two clients")
    assert two["exact"].gt(1).tolist() == two["x"].ge(0.98).tolist()
    assert ((two["exact"] - two["measured"]).abs() < 0.6 * two["exact"]).all()


def test_exponents_are_at_least_those_proved(kept: pd.DataFrame) -> None:
    slopes = of(kept, "Corollary 1 slopes").set_index("case")["high"]
    assert slopes["in N"] < -1 / 4
    assert slopes["in T"] < -1 / 2
    assert (of(kept, "Theorem 2 slope")["measured"] < -1 / 4).all()


@pytest.mark.parametrize("objective", ["1 / N", "n_k / n"])
def test_right_methods_are_nearer_than_fedavg(objective: str, kept: pd.DataFrame) -> None:
    """If a method has a closed form, a run's mean agrees with it, within the error of 4 runs."""
    mean = of(kept, f"mean, {objective}")
    known = mean[mean["exact"].notna()]
    assert len(known) == 7 * (len(RIGHT) + 3)
    assert (known["measured"] - known["exact"]).abs().max() < 0.08
    names = [builtin_registry().find("algorithm", name).display for name in RIGHT]
    independent = mean[mean["setting"] == "independent"].set_index("case")["measured"].abs()
    assert independent[names].max() < 0.1 < independent["FedAvg"]
    assert np.isfinite(mean["measured"]).all()
