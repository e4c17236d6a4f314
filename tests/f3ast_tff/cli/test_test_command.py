"""`f3ast-tff test`: a line per property, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.cli.main import main
from tests.commands import Cli

MASKS = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.settings import register

class Mine:
    def __init__(self, num_clients):
        self.num_clients, self.kept = num_clients, np.ones(num_clients, bool)

    def mask(self, t):
        self.kept[:] = np.arange(self.num_clients) % 2 == t % 2
        return self.kept

@register("availability", "mine", "Mine", about="even and odd clients in turn")
@dataclass(frozen=True)
class MineConfig(AvailabilityConfig):
    def build(self, p, seed):
        return Mine(len(p))
"""


def test_what_fails_is_a_line_and_the_exit_code_is_1(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MASKS)
    said = cli.said(main(["f3ast-tff", "test", str(path), "--num_clients=6"]), 1).out.splitlines()
    assert said[0] == "availability mine"
    assert [line for line in said if line.startswith("  FAILS     masks are handed over: ")]
    assert "  holds     a run repeats" in said
    assert "1 of 8 properties fail" in said[-2]


def test_a_fault_that_many_properties_meet_is_said_once(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MASKS.replace("return self.kept", "return np.flatnonzero(self.kept)"))
    said = cli.said(main(["f3ast-tff", "test", str(path)]), 1).out.splitlines()
    assert [line[:32] for line in said[1:-2]] == [
        "  FAILS     function of the round: "[:32],
        "  FAILS     another seed, masks a"[:32],
    ]
    assert said[2].endswith("parameters reach: as 'function of the round'")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a plug-in must be named first"),
        (["nothing.py"], "nothing.py"),
        (["math"], "registers no component"),
    ],
)
def test_refusals(words: list[str], message: str, cli: Cli) -> None:
    assert message in cli.err("test", *words)
