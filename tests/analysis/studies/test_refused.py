"""Arguments that commands of studies refuse: exit code 2 and one line that says why."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("module", "flags", "says"),
    [
        ("cafed_fig4a.__main__", ["--out=x.pdf"], "must end in .png"),
        ("cafed_fig4a.__main__", ["--out={tmp}/x.png", "--num_seeds=0"], "num_seeds"),
        ("fig1.__main__", ["--out={tmp}/x.png", "--beta=1"], "--beta=1.0: must be above 0"),
        ("theory.rate_convergence", ["--out=a", "--seeds=0"], "--seeds=0: must be at least 1"),
    ],
)
def test_one_line(
    module: str, flags: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = import_module(f"f3ast_tff.analysis.studies.{module}").main
    assert main(["x", *(flag.format(tmp=tmp_path) for flag in flags)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert says in error
