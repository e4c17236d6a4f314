"""An audit as text for the terminal, as JSON, and as JUnit's XML for CI."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from f3ast_tff.audit.findings import CHECKS, OPEN, WRONG, Audit
from f3ast_tff.audit.targets import OBJECTIVES
from f3ast_tff.audit.weights import Weights

_WIDTH, _INDENT = 100, 15
# Clients that a row of weights has room for; more are shown in as many groups by presence.
_COLUMNS = 8


def text_of(audit: Audit) -> str:
    """Returns the table for the terminal: one sentence first."""
    target = audit.target
    versions = "".join(f", {name} {number}" for name, number in target.versions.items())
    about = (
        f"{target.name}: {target.kind}{versions}; rule: {audit.rule.kind}; its objective: "
        f"{OBJECTIVES[target.objective]} ({target.objective}); {audit.seconds:.0f} s"
    )
    lines = [*textwrap.wrap(audit.sentence, _WIDTH), *textwrap.wrap(about, _WIDTH), ""]
    if audit.weights:
        lines += [*_table(audit), ""]
    if audit.influence:
        lines += [*_influences(audit), ""]
    for check, what in CHECKS.items():
        findings = [each for each in audit.findings if each.check == check]
        if findings:
            lines.append(f"{check}: {what}")
        for each in findings:
            lines += _wrapped(f"  {each.verdict:<{_INDENT - 3}} ", each.found)
            if each.advice and each.verdict == WRONG:
                lines += _wrapped(f"  {'':<{_INDENT - 3}} ", f"-> {each.advice}")
    return "\n".join(lines)


def shares_in(weights: Weights) -> tuple[list[float], list[float]]:
    """Returns presence, and weight over the share of the examples, rarest first.

    Of many clients these are means of groups of equal number.
    """
    order = sorted(range(len(weights.p)), key=lambda k: weights.presence[k])
    groups = min(len(order), _COLUMNS)
    places = [
        order[len(order) * g // groups : len(order) * (g + 1) // groups] for g in range(groups)
    ]
    presence = [float(weights.presence[each].mean()) for each in places]
    return presence, [float(weights.omega[e].sum() / weights.p[e].sum()) for e in places]


def json_of(audit: Audit) -> str:
    """Returns the audit as JSON; numbers that are not finite are null."""
    target = audit.target
    found = {
        "target": target.name,
        "kind": target.kind,
        "objective": target.objective,
        "versions": dict(target.versions),
        "rule": audit.rule.kind,
        "sentence": audit.sentence,
        "arrays": list(audit.arrays),
        "findings": [vars(each) for each in audit.findings],
        "influence": [
            {name: np.asarray(values).tolist() for name, values in vars(each).items()}
            for each in audit.influence
        ],
        "weights": [
            {
                "schedule": each.schedule,
                "r2": each.r2,
                **{
                    name: getattr(each, name).tolist()
                    for name in ("presence", "omega", "errors", "p", "stated")
                },
            }
            for each in audit.weights
        ],
    }
    return json.dumps(_finite(found), indent=1) + "\n"


def junit_of(audit: Audit) -> str:
    """Returns the audit as JUnit's XML: a case per finding."""
    wrong = len(audit.wrong())
    suite = ElementTree.Element(
        "testsuite",
        name=f"f3ast-tff audit {audit.target.name}",
        tests=str(len(audit.findings)),
        failures=str(wrong),
        skipped=str(sum(each.verdict == OPEN for each in audit.findings)),
        time=f"{audit.seconds:.1f}",
    )
    for each in audit.findings:
        case = ElementTree.SubElement(suite, "testcase", classname=each.check, name=each.found)
        if each.verdict == WRONG:
            ElementTree.SubElement(case, "failure", message=each.found).text = each.advice
        elif each.verdict == OPEN:
            ElementTree.SubElement(case, "skipped", message=each.found)
    return ElementTree.tostring(suite, encoding="unicode") + "\n"


def _table(audit: Audit) -> Iterator[str]:
    of_arrays = f"{', '.join(audit.arrays)}: " if audit.arrays else ""
    title = "weight of a client over its share of the examples (1: its share), the rarest first"
    yield from textwrap.wrap(of_arrays + title, _WIDTH)
    first, *_ = audit.weights
    named = next((each for each in audit.weights if each.schedule == "independent"), first)
    yield f"  {'there, independent':<20}" + _cells(shares_in(named)[0])
    for each in audit.weights:
        if each.schedule == "log":
            yield f"  {'there, log':<20}" + _cells(shares_in(each)[0])
        shown = _cells(shares_in(each)[1]) if each.named else "  no weights"
        yield f"  {each.schedule:<20}{shown}"


def _influences(audit: Audit) -> Iterator[str]:
    everybody, by_presence = audit.influence
    of_arrays = f"{', '.join(audit.arrays)}: " if audit.arrays else ""
    title = "influence of a client on a step over that of an equal mean of all (1: equal)"
    yield from textwrap.wrap(of_arrays + title, _WIDTH)
    for found, title, by in (
        (everybody, "all there, strays by", everybody.noise),
        (by_presence, "there, independent", by_presence.presence),
    ):
        order = by.argsort(kind="stable")
        for name, values in (
            (title, by),
            ("  influence", found.shares),
            ("  standard error", found.errors * len(found.mean)),
            ("  selected, if there", found.selected),
        ):
            yield f"  {name:<20}" + _cells(values[order].tolist())


def _cells(values: list[float]) -> str:
    return "".join(f"{value:>7.2f}" for value in values)


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * _INDENT)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
