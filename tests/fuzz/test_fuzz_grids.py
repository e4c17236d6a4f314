"""Random campaign files: planned, or refused in one line; nothing is written elsewhere."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import note

from f3ast_tff.cli.main import main
from f3ast_tff.engines.components import FusedConfig, TffConfig
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.kinds import KINDS
from tests.fuzz.generate import DAMAGES, TEXTS, often, try_cases, value_of

pytestmark = pytest.mark.slow
_IN_PLACE = ("cut", "flip", "digit", "replace", "double")
_RANGES = ("0-2", "2-0", "0-100000000000000", "-", "0-0", "1", "x", "\u0660-\u0663", "0-999")
_NAMES = ("a", "b.c", "...", ".", "..", "-x", "ü", "x" * 200, " ", "a\tb", ".hidden", "%s")


def _value(rng: random.Random, name: str) -> Any:
    """Returns a value of a TOML file, of the setting's type in most cases."""
    registry = builtin_registry()
    if often(rng, 0.1):
        odd = [True, -1, 10**25, 1.5, float("nan"), "", [], [[]], [1, 1], {"a": 1}, *TEXTS[:12]]
        return rng.choice(odd)
    if name in KINDS:
        return rng.choice(registry.names(name))
    parameter = registry.parameters().get(name)
    if parameter is None:
        return rng.choice([0, 1, 2, 3])
    text = value_of(parameter, rng)
    try:
        return parameter.kind(text)
    except ValueError:
        return text


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def grid_file(rng: random.Random) -> str:
    """Returns the text of a campaign's file."""
    common = ["seed", "data_seed", "draw", "rounds", "clients_per_round", "batch_size", "reading"]
    names = [*KINDS, *common, *rng.sample(sorted(builtin_registry().parameters()), 2), "nonsense"]

    def table(most: int, several: bool) -> list[str]:
        lines = []
        for name in rng.sample(names, rng.randrange(most)):
            value = _value(rng, name)
            if several and often(rng, 0.5):
                value = [value, _value(rng, name)]
            elif several and often(rng, 0.1):
                value = rng.choice([*_RANGES, "0-" + "9" * 5000])
            lines.append(f"{json.dumps(name)} = {_toml(value)}")
        return lines

    if often(rng, 0.1):
        other = rng.choice(["../up", "a/b", "", "..", ".", "table3", 3, ["x"], "x\n", "ü" * 300])
        return f'about = "x"\nsame_runs_as = {_toml(other)}\n'
    lines = [f"about = {_toml(_value(rng, 'x'))}"] if often(rng, 0.2) else ['about = "x"']
    lines += ["[settings]", *table(3, False), "[grid]", *table(3, True)]
    for _ in range(rng.choice([0, 0, 1, 2])):
        lines += ["[[variants]]", *table(3, True)]
        if often(rng, 0.6):
            lines.append(f"name = {_toml(rng.choice(_NAMES))}")
    return "\n".join(lines) + "\n"


def test_grids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for config in (FusedConfig, TffConfig):
        monkeypatch.setattr(config, "check_installed", lambda self: None)
    codes, folder = Counter[int](), tmp_path / "case"

    def check(rng: random.Random) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        name = rng.choice(_NAMES) if often(rng, 0.2) else "grid"
        path = folder / f"{name}.toml"
        path.write_text(grid_file(rng))
        if often(rng, 0.15):
            DAMAGES[rng.choice(_IN_PLACE)](path, rng)
        words = ["campaign", str(path), "--list", f"--output_dir={folder / 'out' / 'runs'}"]
        if often(rng, 0.15):
            words.append(
                f"--{rng.choice(['seeds', 'draws'])}={rng.choice([*_RANGES, '0-' + '9' * 5000])}"
            )
        note(f"{words} {path.read_bytes()!r}")
        code = main(["f3ast-tff", *words])
        out, err = capsys.readouterr()
        assert code in (0, 2), err
        assert len(err.splitlines()) == (code == 2), err
        assert "Traceback" not in out + err
        listed = [line.split("  ")[0] for line in out.splitlines()[1:-1]]
        inside = str(folder / "out" / "runs") + "/"
        assert all(line.startswith(inside) and "/../" not in line for line in listed), out
        codes[code] += 1

    try_cases(check, 1000)
    print(codes)
    assert codes[0] > 0.1 * codes.total() and codes[2] > 0
