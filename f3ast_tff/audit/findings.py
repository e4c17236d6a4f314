"""Findings of an audit: verdicts, each with its number and advice.

In an audit of several arrays equal lines stand once; other lines name their array.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import RANDOM, UNKNOWN, Rule, Weights

if TYPE_CHECKING:
    from f3ast_tff.audit.influence import Influence

# Difference of two arrays' numbers that is rounding.
_ROUNDING = 1e-4
RIGHT, NOTE, WRONG, OPEN = "right", "note", "wrong", "not judged"
# Checks in the order of the report.
CHECKS = {
    "weights": "whom the model is of",
    "scale": "how far a round moves the model, by who is there",
    "returning": "a client that was away",
    "replies": "replies that are lost, late, twice, reordered, empty or broken",
    "liveness": "whether rounds end, and how many clients train",
    "memory": "what grows",
    "restart": "what a restart loses",
    "determinism": "the same seed, another order",
}


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        check: The check, of `CHECKS`.
        verdict: `RIGHT`; `NOTE`, by design or a matter of choice; `WRONG`; or `OPEN`.
        found: The finding in words, with its number.
        advice: Advice; `""` for none.
        value: The number; `None` for none.
        error: Its standard error; `None` if it has none.
    """

    check: str
    verdict: str
    found: str
    advice: str = ""
    value: float | None = None
    error: float | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes:
        target: Audited server.
        rule: Kind of its rule.
        weights: Weights in each schedule; empty if the rule has no linear weights.
        influence: Influence of the clients, with all present and by presence, for such a rule.
        findings: All findings, in the order of `CHECKS`.
        seconds: Time that it took.
        arrays: Arrays of the model to which rule, weights and influence apply; empty for all.
    """

    target: Target
    rule: Rule
    weights: Sequence[Weights]
    influence: Sequence[Influence]
    findings: Sequence[Finding]
    seconds: float
    arrays: Sequence[str] = ()

    def wrong(self, checks: Sequence[str] = ()) -> list[Finding]:
        """Returns the findings that are wrong, of some checks or of all."""
        return [f for f in self.findings if f.verdict == WRONG and f.check in (checks or CHECKS)]

    @property
    def sentence(self) -> str:
        """The audit in one sentence."""
        if self.rule.kind in (UNKNOWN, RANDOM):
            return f"{self.target.name} cannot be audited: {self.rule.error.rstrip('.')}."
        wrong = list(dict.fromkeys(each.check for each in self.wrong()))
        end = f"wrong: {', '.join(wrong)}" if wrong else "no check is wrong"
        of_arrays = f" in {', '.join(self.arrays)}" if self.arrays else ""
        return f"{self._of_the_rare()}{of_arrays}; {end}."

    def _of_the_rare(self) -> str:
        named = [each for each in self.weights if each.named]
        if not named:
            none = f"The model of {self.target.name} is no weighted mean of its clients"
            if not self.influence:
                return none
            by_presence = self.influence[-1]
            of_rare = _share_text(float(by_presence.shares[by_presence.presence < 1 / 3].mean()))
            none += ": clients that are there less than a third of the time have "
            return f"{none}{of_rare} of an equal influence"
        # The schedule of the user's log comes last; without it, that of unequal shares is shown.
        shown = next((w for w in named if w.schedule == "independent"), named[-1])
        shown = named[-1] if named[-1].schedule == "log" else shown
        limit, how = 1 / 3, "a third"
        if not (shown.presence < limit).any():
            limit = float(np.median(shown.presence))
            how = f"{limit:.0%}"
        rare = shown.presence <= limit
        share = _share_text(float(shown.omega[rare].sum() / shown.p[rare].sum()))
        return f"Clients that are there less than {how} of the time have {share} of their weight"


def _share_text(share: float) -> str:
    words = {0.25: "a quarter", 1 / 3: "a third", 0.5: "half", 2 / 3: "two thirds", 1.0: "all"}
    near = min(words, key=lambda each: abs(each - share))
    return f"{words[near]} ({share:.2f})" if abs(near - share) < 0.05 else f"{share:.2f}"


def merged(target: Target, audits: Mapping[str, Audit]) -> Audit:
    """Returns the audit of a model of several arrays from the arrays' audits, by name."""
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
            # A line that stands twice for one array is kept twice.
            names = next((names for names in same if name not in names), None)
            if names is None:
                groups.append((finding, [name]))
            else:
                names.append(name)
    groups.sort(key=lambda group: list(CHECKS).index(group[0].check))
    # A line without names is of all arrays that are seen.
    whole = ([*audits], [*known])
    return replace(
        shown,
        target=target,
        findings=[
            each if names in whole else replace(each, found=f"{', '.join(names)}: {each.found}")
            for each, names in groups
        ],
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
