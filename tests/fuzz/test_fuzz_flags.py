"""Random command lines: a run that finishes, or one error line and exit code 2."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import note

from f3ast_tff.cli.main import main
from f3ast_tff.settings import Parameter, builtin_registry
from f3ast_tff.settings.kinds import KINDS
from tests.fake_engine import use_fake_engine
from tests.fuzz.generate import TEXTS, often, try_cases, value_of

pytestmark = pytest.mark.slow
_CHANCES = {"algorithm": 0.8, "availability": 0.7, "engine": 0.2, "aggregation": 0.03}
# Tasks whose data are not here, or are large.
_NO_DATA = ("cifar10", "cifar100", "cifar10_one_class", "mnist", "shakespeare")


def command_line(rng: random.Random, folder: Path) -> list[str]:
    """Returns the flags of a run in a new folder: components, then some of their settings."""
    registry = builtin_registry()
    words = []
    chosen: list[Parameter] = []
    for kind in KINDS:
        if often(rng, _CHANCES.get(kind, 0.1)):
            names = [name for name in registry.names(kind) if name not in _NO_DATA]
            name = rng.choice(TEXTS if often(rng, 0.02) else names)
            if kind == "constraint":
                name = rng.choice(TEXTS)
            words.append(f"--{kind}={name}")
            component = registry.components[kind].get(name)
            chosen += component.parameters if component else ()
    from f3ast_tff.cli.flags import setting_flags

    everything = list(setting_flags(registry).values())
    pool = [p for p in chosen if p.name not in ("data_dir", "ray_address", "num_workers")]
    for parameter in rng.sample(pool, min(len(pool), rng.choice([0, 1, 2, 3]))):
        words.append(f"--{parameter.name}={value_of(parameter, rng)}")
    for parameter in rng.sample(everything, rng.choice([0, 0, 0, 1, 1, 2])):
        if parameter.name not in ("output_dir", "data_dir", "ray_address", "num_workers", "rounds"):
            words.append(f"--{parameter.name}={value_of(parameter, rng)}")
    if often(rng, 0.7):
        words.append(f"--num_clients={rng.choice([1, 2, 5, 12])}")
        words.append(f"--clients_per_round={rng.choice([1, 2, 5])}")
    if often(rng, 0.02):
        words.append(rng.choice(TEXTS))
    if often(rng, 0.03):
        words.append(f"--{rng.choice(['flagfile', 'plugin'])}={rng.choice(TEXTS)}")
    shutil.rmtree(folder, ignore_errors=True)
    note(repr(words))
    return [*words, f"--rounds={rng.choice([1, 2, 3])}", f"--output_dir={folder}"]


def test_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command runs in this process, on an engine without a framework."""
    use_fake_engine(monkeypatch)
    codes = Counter[int]()

    def check(rng: random.Random) -> None:
        code = main(["f3ast-tff", "run", *command_line(rng, tmp_path / "runs")])
        out, err = capsys.readouterr()
        assert code in (0, 2), err
        errors = [line for line in err.split("\n") if line.startswith("error: ")]
        assert len(errors) == (code == 2), err
        assert "Traceback" not in out + err
        codes[code] += 1

    try_cases(check, 2000)
    print(codes)
    assert codes[0] > 0.1 * codes.total() and codes[2] > 0


def test_processes(tmp_path: Path) -> None:
    """Real processes, on the real engine."""

    def check(rng: random.Random) -> None:
        words = command_line(rng, tmp_path / "runs")
        # No argument of a process holds a null byte or half a surrogate pair.
        words = [w for w in words if "\0" not in w and not any("\ud800" <= c < "\ue000" for c in w)]
        done = subprocess.run(
            [sys.executable, "-m", "f3ast_tff.cli.main", "run", *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
        assert done.returncode in (0, 2), done.stderr[-3000:]
        assert "Traceback" not in done.stderr, done.stderr[-3000:]
        if done.returncode == 2:
            assert done.stderr.splitlines()[-1].startswith("error: "), done.stderr[-3000:]

    try_cases(check, 200, 180)
