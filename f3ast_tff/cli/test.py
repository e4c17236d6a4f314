"""`f3ast-tff test`: a plug-in's components against the properties of their kinds."""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from f3ast_tff.cli.flags import plugins_given, setting_flags
from f3ast_tff.core.errors import ComponentError, DataError, ParameterError, RunFolderError
from f3ast_tff.files.exit_codes import BAD_INPUT, FAILED, fail
from f3ast_tff.files.messages import show
from f3ast_tff.settings.component import Component
from f3ast_tff.settings.flags import UsageError, parse_flags, wants_help
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import Registry, registry_with

USAGE = """
Tests the components of a plug-in: state, draws, order, numbers that are not finite, engines.

f3ast-tff test my_method.py
f3ast-tff test my_availability.py --my_parameter=3

Each property is a line: holds, FAILS with what was seen, or undecided with the reason. The exit
code is 1 if one fails. Every setting of `f3ast-tff run` is a flag, for the small problem of the
test: 12 clients, 3 a round, 8 rounds. A minute at most.
"""
_WORDS = {True: "holds", False: "FAILS", None: "undecided"}
_WIDTH = 10


def main(argv: Sequence[str]) -> int:
    """Parses the command line and tests each component; returns the exit code."""
    words = list(argv[1:])
    try:
        if wants_help(words):
            show(USAGE.strip())
            return 0
        if not words or words[0].startswith("-"):
            raise UsageError("a plug-in must be named first: f3ast-tff test FILE.py; see --help")
        plugins = [_plugin(words[0]), *map(_plugin, plugins_given(words[1:]))]
        registry = registry_with(plugins)
        given = parse_flags(words[1:], setting_flags(registry), plugins=True)
        for name in ("output_dir", "run_name"):
            if name in given:
                raise ParameterError(name, given[name], "is set by the command")
        components = [c for c in registry.plugins[0].components if c.kind in _kinds()]
        if not components:
            allowed = f"registers no component that is tested: {', '.join(_kinds())}"
            raise ParameterError("plugin", words[0], allowed)
        with _without_warnings():
            failed = [_tested(each, registry, given) for each in components]
    except (ComponentError, DataError, ParameterError, RunFolderError, UsageError) as error:
        return fail(error, BAD_INPUT)
    return FAILED if any(failed) else 0


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Runs of eight rounds warn that they have not learnt much."""
    log = logging.getLogger("f3ast_tff")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # A plug-in's own are shown.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="f3ast_tff")
            yield
    finally:
        log.setLevel(before)


def _kinds() -> tuple[str, ...]:
    return tuple(kind for kind in KINDS if kind != "engine")


def _plugin(name: str) -> str:
    """The plug-in's file by its absolute path; a module as it is."""
    return os.path.abspath(os.path.expanduser(name)) if name.endswith(".py") else name


def _tested(component: Component, registry: Registry, given: dict[str, Any]) -> int:
    """Prints a component's findings; returns how many properties fail."""
    from f3ast_tff.conformance.case import Case
    from f3ast_tff.conformance.table import findings

    begun, failed, total = time.monotonic(), 0, 0
    first: dict[str, str] = {}
    again: dict[tuple[bool | None, str], list[str]] = {}
    show(f"{component.kind} {component.name}")
    with tempfile.TemporaryDirectory() as folder:
        case = Case(
            kind=component.kind,
            name=component.name,
            registry=registry,
            folder=Path(folder),
            given=given,
        )
        for each in findings(case):
            said = f": {each.said}" if each.said else ""
            if said and (name := first.setdefault(each.cause, each.name)) != each.name:
                again.setdefault((each.holds, name), []).append(each.name)
            else:
                show(f"  {_WORDS[each.holds]:<{_WIDTH}}{each.name}{said}")
            failed += each.holds is False
            total += 1
        for (holds, name), others in again.items():
            show(f"  {_WORDS[holds]:<{_WIDTH}}{', '.join(others)}: as {name!r}")
    seconds = time.monotonic() - begun
    verdict = f"{failed} of {total} properties fail" if failed else "no property fails"
    show(f"{component.kind} {component.name}: {verdict}, {total} tried in {seconds:.0f} s\n")
    return failed
