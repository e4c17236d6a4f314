"""The picture of single switches of readings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.studies.readings_synthetic.picture import leads, main

EFFECTS = """base,where,of,switch,effect,low,high
paper,"synthetic, uneven",lead,R11 ties: lowest_id,0.1,0.0,0.2
paper,"synthetic, home_devices",lead,R2 divide_by_k: True,-0.3,-0.4,-0.2
paper,"synthetic, uneven",lead,all: released,0.5,0.4,0.6
paper,"synthetic, uneven",FedAvg,R2 divide_by_k: True,0.7,0.6,0.8
"""


def test_single_switches_of_the_lead_by_number(tmp_path: Path) -> None:
    file = tmp_path / "effects.csv"
    file.write_text(EFFECTS)
    found = leads(pd.read_csv(file))
    assert found[["name", "cell", "mean"]].values.tolist() == [
        ["R2 divide_by_k: True", "Home devices", -0.3],
        ["R11 ties: lowest_id", "Uneven", 0.1],
    ]
    assert main(["picture", f"--effects={file}", f"--out={tmp_path}/leads.svg"]) == 0
    assert "R11 ties" in (tmp_path / "leads.svg").read_text(encoding="utf-8")
