"""The command line of the preview."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from f3ast_tff.availability.__main__ import BAD_INPUT, main

ROOT = Path(__file__).resolve().parents[2]


def test_table_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.png"
    arguments = ["--availability=alternating", "--num_clients=10", "--rounds=40", f"--plot={out}"]
    assert main(["preview", *arguments, "--communication=4", "--alternating_period=5"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "alternating, 10 clients, 40 rounds, seed 0"
    assert printed[1] == "mean available         5 of 10 (0.5000)"
    assert "K_t                    mean 4, 0 rounds with fewer available" in printed
    assert printed[-1] == f"picture: {out}"
    assert out.read_bytes().startswith(b"\x89PNG")


def test_parameters_and_the_seed_change_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for arguments in (
        ["--availability=uneven"],
        ["--availability=uneven", "--seed=1"],
        ["--availability=uneven", "--shares_spread=0"],
        ["--availability=mix", "--availability_parts=uneven,always"],
        ["--availability=mix", "--availability_parts=uneven,always", "--mix_shares=9,1"],
    ):
        assert main(["preview", "--num_clients=30", "--rounds=20", *arguments]) == 0
        outputs.append(capsys.readouterr().out.partition("\n")[2])
    assert len(set(outputs)) == 5


BAD = {
    "unknown_flag": (["--foo=1"], ["foo"]),
    "not_a_flag": (["markov"], ["'markov' is not a flag", "--help"]),
    "not_a_number": (["--rounds=many"], ["--rounds=many"]),
    "unknown_process": (["--availability=never"], ["--availability=never", "smartphones"]),
    "no_clients": (["--num_clients=0"], ["--num_clients=0", "at least 1"]),
    "no_rounds": (["--rounds=0"], ["--rounds=0", "at least 1"]),
    "negative_seed": (["--seed=-1"], ["--seed=-1", "at least 0"]),
    "spread": (["--shares_spread=nan"], ["--shares_spread=nan", "at least 0"]),
    "of_another": (
        ["--availability=scarce", "--markov_g=0.1"],
        ["--markov_g=0.1", "--availability=scarce has no such parameter"],
    ),
    "q": (["--availability=scarce", "--scarce_q=2"], ["--scarce_q=2", "[0, 1]"]),
    "no_file": (["--availability=table", "--table_file=gone.csv"], ["gone.csv", "no such file"]),
    "constraint": (["--communication=lots"], ["--communication=lots", "uniform:LEAST:MOST"]),
    "not_png": (["--plot=out.pdf"], ["--plot=out.pdf", ".png"]),
    "no_folder": (["--plot=gone/out.png"], ["--plot=gone/out.png", "no folder gone"]),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preview", *arguments]) == BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert len(printed.err.splitlines()) == 1
    for text in said:
        assert text in printed.err


def test_a_picture_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out.png"
    folder.mkdir()
    assert main(["preview", "--rounds=3", f"--plot={folder}"]) == BAD_INPUT
    assert f"--plot={folder}: cannot write: Is a directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [folder]


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", "--help"]) == 0
    printed = capsys.readouterr().out
    for text in ("--plot", "--trace_states", "--markov_nu", "default: 0.9", "must be given"):
        assert text in printed


def test_the_module_runs_and_bad_input_imports_nothing_slow() -> None:
    """`-X importtime` lists on stderr what is imported."""
    command = [sys.executable, "-X", "importtime", "-m", "f3ast_tff.availability", "--plot=out.pdf"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == BAD_INPUT
    assert re.search(r"\|\s+availability\.catalogue\b", done.stderr)
    for slow in ("matplotlib", "pandas", "scipy", "tensorflow", "jax"):
        assert not re.search(rf"\|\s+{slow}\b", done.stderr)
