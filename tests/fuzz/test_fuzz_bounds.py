"""Each number of each component at its bounds: a run, or a one-line error.

A process has 4 GiB of memory, and each command one minute of a core.
"""

from __future__ import annotations

import contextlib
import io
import math
import multiprocessing
import os
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.cli.availability import Options
from f3ast_tff.settings import Parameter, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.slow
_MEMORY_BYTES, _CPU_SECONDS = 4 * 2**30, 60
# Tasks whose data are not here.
_NO_DATA = ("cifar10", "cifar100", "cifar10_one_class", "mnist", "shakespeare")
# Settings that lengthen the run, and the one that needs a Ray cluster.
_LEFT_OUT = ("rounds", "local_epochs", "local_steps", "num_workers")
_INTEGERS = (0, 2**31 - 1, 2**31, 2**63 - 1, 2**63)
_NUMBERS = (0.0, -0.0, 1e-300, 1e-45, 2e-38, 2.0**31, 2.0**63 - 1, 3e38, 1e300)
# Further flags that a component needs.
_BESIDE: Mapping[str, tuple[str, ...]] = {
    "product": ("--availability_parts=smartphones,sine",),
    "table": ("--table_file=masks.csv",),
    "trace": ("--trace_file=trace.csv",),
    "stays": ("--stays_file=stays.csv",),
    "signal": ("--signal_file=signal.csv", "--signal_budget=3", "--signal_rule=budget"),
    "file": ("--data_file=data.csv",),
    "epsilon": ("--server_optimizer=adam",),
    "late_rounds": ("--late_by=geometric",),
    "client_lr_rounds": ("--client_lr_schedule=inverse",),
}
# Kinds whose parameters an engine computes with.
_OF_ENGINE = ("task", "model", "aggregation", "client_optimizer", "server_optimizer")


def values_of(p: Parameter) -> list[str]:
    """The bounds of a parameter, their neighbours, and numbers at which formats end."""
    if p.kind is int:
        whole = [*_INTEGERS, *(int(b) for b in (p.minimum, p.maximum) if b is not None)]
        return list(map(str, sorted(set(whole))))
    found = list(_NUMBERS)
    found += [float(b) for b in (p.minimum, p.maximum, p.above, p.below) if b is not None]
    found += [math.nextafter(b, math.inf) for b in (p.above,) if b is not None]
    found += [math.nextafter(b, -math.inf) for b in (p.below,) if b is not None]
    return list(dict.fromkeys(map(repr, found)))


def command_lines(of_engine: bool) -> list[list[str]]:
    """The flags of a run per value of each number, with the first component that has the number."""
    registry = builtin_registry()
    found: dict[str, list[list[str]]] = {}
    for kind, components in registry.components.items():
        if kind == "engine" or (kind in _OF_ENGINE) != of_engine:
            continue
        for name, component in components.items():
            for p in component.parameters if name not in _NO_DATA else ():
                words = [f"--{kind}={name}", *_BESIDE.get(name, ())]
                found.setdefault(p.name, _with_values(p, words))
    if not of_engine:
        for group in GROUPS.values():
            found.update({p.name: _with_values(p, []) for p in parameters_of(group)})
    return [words for each in found.values() for words in each]


def preview_lines() -> list[list[str]]:
    """The same for `f3ast-tff availability`."""
    found = []
    for p in parameters_of(Options):
        if p.kind in (int, float):
            rounds = [] if p.name == "rounds" else ["--rounds=3"]
            common = ["availability", "--availability=stationary", *rounds]
            found += [[*common, f"--{p.name}={value}"] for value in values_of(p)]
    return found


def _with_values(p: Parameter, words: Sequence[str]) -> list[list[str]]:
    if p.kind not in (int, float) or p.name in _LEFT_OUT:
        return []
    common = [*words, *_BESIDE.get(p.name, ()), "--rounds=3"]
    common += [f"--{name}=5" for name in ("num_clients", "clients_per_round") if name != p.name]
    kept = [word for word in common if not word.startswith(f"--{p.name}=")]
    return [["run", *kept, f"--{p.name}={value}", "--output_dir=runs"] for value in values_of(p)]


def _files(folder: Path) -> None:
    """Small files for the components that read one."""
    rng = np.random.default_rng(0)
    masks = rng.random((24, 5)) < 0.5
    np.savetxt(folder / "masks.csv", masks.astype(int), fmt="%d", delimiter=",")
    hours = [
        f"{k},{t * 3600},{'AVL_TRAIN' if (k + t) % 2 else 'OFF'}"
        for k in range(5)
        for t in range(130)
    ]
    tables = {
        "trace": ["device,time,state", *hours],
        "stays": ["client,first,last", *(f"{k},1,{k + 20}" for k in range(5))],
        "signal": ["time,value", *(f"{t * 3600},{t % 5 + 1}" for t in range(24))],
        "data": ["client,label,x", *(f"{i % 5},{i % 2},{rng.random()}" for i in range(100))],
    }
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _serve(lines: Sequence[Sequence[str]], folder: str, fake: bool, pipe: Connection) -> None:
    """Runs commands in this process, one after another, and sends the end of each."""
    from f3ast_tff.cli.main import main
    from f3ast_tff.engines.components import FusedConfig

    def build(config: Any, parts: Any) -> FakeEngine:
        return FakeEngine(parts.data.train.num_clients)

    if fake:
        FusedConfig.build = build  # type: ignore[assignment,method-assign]
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    for words in lines:
        # This timer ends the process, even inside a library.
        signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(["f3ast-tff", *words])
            except Exception as error:
                code = repr(error)
        left = os.listdir("runs") if os.path.exists("runs") else []
        shutil.rmtree("runs", ignore_errors=True)
        pipe.send((code, err.getvalue(), left))


def _ends(lines: Sequence[Sequence[str]], folder: Path, fake: bool) -> Iterator[tuple[Any, ...]]:
    """Yields the end of each command; after a process dies, a new one takes the next command."""
    context = multiprocessing.get_context("spawn")
    done = 0
    while done < len(lines):
        here, there = context.Pipe(duplex=False)
        arguments = lines[done:], str(folder), fake, there
        process = context.Process(target=_serve, args=arguments)
        process.start()
        there.close()
        try:
            while done < len(lines):
                yield here.recv()
                done += 1
        except EOFError:
            process.join()
            yield f"ended, {process.exitcode}", "", []
            done += 1
        process.join()


def _check(end: tuple[Any, ...]) -> None:
    """Checks for 0, or one error line and no folder; "not enough memory" is allowed too."""
    code, err, left = end
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    if code == 1:
        assert errors and "not enough memory" in errors[0], end
        return
    assert code in (0, 2) and len(errors) == (code == 2), end
    assert code == 0 or not left, end


@pytest.mark.parametrize("case", ["availability", "run", "run of an engine"])
def test_numbers_at_their_bounds(case: str, tmp_path: Path) -> None:
    _files(tmp_path)
    of_engine = case == "run of an engine"
    lines = preview_lines() if case == "availability" else command_lines(of_engine)
    codes, failed = Counter[int](), []
    for words, end in zip(lines, _ends(lines, tmp_path, fake=not of_engine)):
        try:
            _check(end)
            codes[end[0]] += 1
        except AssertionError as error:
            failed.append(f"{' '.join(words)}: {error!s:.500}")
    print(case, dict(codes))
    assert not failed, f"{len(failed)} of {len(lines)} failed:\n" + "\n".join(failed)
    assert codes[0] and codes[2]
