"""Merges the audits of a model's arrays: equal lines stand once, others name their array."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from f3ast_tff.audit.findings import CHECKS, OPEN, Audit, Finding
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import UNKNOWN

# Difference of two arrays' numbers that is rounding.
_ROUNDING = 1e-4


def merged(target: Target, audits: Mapping[str, Audit]) -> Audit:
    """Returns the audit of a model of several arrays.

    Args:
        target: Audited server.
        audits: Audit of each array by its name.
    """
    known = {name: each for name, each in audits.items() if each.rule.kind != UNKNOWN}
    shown = next(iter((known or audits).values()))
    alike = [name for name, each in audits.items() if _is_alike(each, shown)]
    groups: list[tuple[Finding, list[str]]] = []
    for name, each in audits.items():
        findings = each.findings
        if known and name not in known:
            findings = [Finding("weights", OPEN, f"not seen: {each.rule.error}")]
        for finding in findings:
            texts = _plain(finding, name)
            same = (names for other, names in groups if texts & _plain(other, names[0]))
            # A line that one array has twice stands twice.
            names = next((names for names in same if name not in names), None)
            if names is None:
                groups.append((finding, [name]))
            else:
                names.append(name)
    groups.sort(key=lambda group: list(CHECKS).index(group[0].check))
    return replace(
        shown,
        target=target,
        findings=[
            each
            if len(names) == len(audits) or names == [*known]
            else replace(each, found=f"{', '.join(names)}: {each.found}")
            for each, names in groups
        ],
        # A line without names is of all arrays that are seen.
        arrays=[] if len(alike) == len(audits) else alike,
        seconds=sum(each.seconds for each in audits.values()),
    )


def _is_alike(a: Audit, b: Audit) -> bool:
    """Whether two arrays have the same kind of rule, and the same weights in the table."""
    if a.rule.kind != b.rule.kind or len(a.weights) != len(b.weights):
        return False
    pairs = zip(a.weights, b.weights)
    return all(np.allclose(x.omega, y.omega, atol=_ROUNDING, equal_nan=True) for x, y in pairs)


def _plain(finding: Finding, array: str) -> set[tuple[str, str, str]]:
    """Texts of a finding without tiny numbers: with the array's name, and without."""
    found = re.sub(r"\d\.\d(e-\d+|e\+00)", "0", finding.found)
    texts = {found, found.replace(array, "its array")}
    return {(finding.check, finding.verdict, text) for text in texts}
