"""Audits a server for clients that come and go: whom its model is of, and what breaks it.

f3ast-tff audit my_server.py:aggregate
f3ast-tff audit flwr.serverapp.strategy:FedAvg --args=fraction_train=0.5 --html=audit.html
f3ast-tff audit f3ast --args=rate_beta=0.01,k=4 --log=visits.csv
f3ast-tff audit my_app.strategy:Mine --junit=audit.xml --fail_on=weights,liveness

A target is aggregate(model, updates, weights), a class or file with such a method, a Flower
strategy of either API, or the name of a method of ours. It needs half a minute and no data.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.analysis.command_line import command, names_in, require_ending
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.audit.arrays import FORMS
from f3ast_tff.audit.audit import ROUNDS, audit
from f3ast_tff.audit.findings import CHECKS
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.report import json_of, junit_of, text_of
from f3ast_tff.audit.targets import OBJECTIVES
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.exit_codes import FAILED, written
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import REQUIRED, parameter

# Clients of a log that are audited, from the rarest to the most present.
_MOST_CLIENTS = 40
_FILES = {"html": (".html", ".htm"), "json": (".json",), "junit": (".xml",)}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    target: str = parameter(
        REQUIRED,
        "module:name, file.py:name, file.py, or a method's name; --target= may be left out",
    )
    args: str = parameter(
        "", "arguments of a class, name=value with commas between; a value may be module:name"
    )
    objective: str | None = parameter(
        None,
        "whose mean the model is meant to be of; default: present, of our sums all",
        choices=tuple(OBJECTIVES),
    )
    model: str | None = parameter(
        None,
        f"the model, if it is read otherwise than you mean it: {', '.join(FORMS)}, or the names "
        "of a dict's arrays with commas",
    )
    log: str | None = parameter(
        None, "log of who was online, as f3ast-tff advise reads it: one more schedule", is_path=True
    )
    rounds: int = parameter(ROUNDS, "rounds of each schedule", minimum=100)
    fail_on: str = parameter(
        "", f"checks that must not be wrong, for exit code 1: {', '.join(CHECKS)}, or all"
    )
    html: str | None = parameter(None, "HTML page to write, with one picture", is_path=True)
    json: str | None = parameter(None, "JSON file to write", is_path=True)
    junit: str | None = parameter(None, "JUnit file (.xml) to write", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> int:
    """Prints the audit."""
    for name, endings in _FILES.items():
        if path := getattr(flags, name):
            require_ending(name, path, *endings)
    failing = names_in(flags.fail_on)
    if unknown := [each for each in failing if each not in (*CHECKS, "all")]:
        allowed = f"must be of {', '.join(CHECKS)}, or all"
        raise ParameterError("fail_on", ",".join(unknown), allowed)
    masks = None if flags.log is None else _masks(Path(flags.log))
    # A module of the folder is found as by `python -m`.
    sys.path.insert(0, "")
    target = target_of(flags.target, _arguments(flags.args), flags.objective, flags.model)
    say(f"auditing {target.name} ({target.kind}): up to a minute")
    found = audit(target, log=masks, rounds=flags.rounds)
    show(text_of(found))
    if flags.html:
        from f3ast_tff.audit.page import write_page

        with written("html", flags.html):
            write_page(found, Path(flags.html))
    for name, text in (("json", json_of), ("junit", junit_of)):
        if path := getattr(flags, name):
            with written(name, path), atomic_write(Path(path), encoding="utf-8") as file:
                file.write(text(found))
    for name in _FILES:
        if path := getattr(flags, name):
            show(f"{name}: {path}")
    checks = list(CHECKS) if "all" in failing else failing
    return FAILED if checks and found.wrong(checks) else 0


def _arguments(text: str) -> dict[str, Any]:
    """The arguments in `name=value,name=value`; values are Python's literals, or text."""
    found: dict[str, Any] = {}
    for part in filter(None, re.split(r",(?=\s*\w+\s*=)", text)):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not name.isidentifier():
            raise ParameterError("args", text, "must be name=value, with commas between")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def _masks(path: Path) -> np.ndarray:
    from f3ast_tff.availability.logs import read_log

    try:
        log = read_log(path)
    except DataError as error:
        raise RunsError(str(error)) from error
    say(f"{path}: read as {log.read_as}")
    masks = log.masks.table()
    order = np.argsort(masks.mean(axis=0), kind="stable")
    count = min(len(order), _MOST_CLIENTS)
    return np.asarray(masks[:, order[np.linspace(0, len(order) - 1, count).astype(int)]], bool)
