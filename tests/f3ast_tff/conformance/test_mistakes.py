"""Mistakes in plug-ins: each is named by the property that it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.conformance.case import Case, Finding
from f3ast_tff.conformance.table import PROPERTIES, finding, findings
from f3ast_tff.settings.registry import registry_with
from tests.f3ast_tff.conformance.mistakes import DOUBTS, MISTAKES
from tests.f3ast_tff.conformance.right_plugins import SOURCES


def found_in(path: Path, kind: str, quick: bool, tmp_path: Path) -> list[Finding]:
    registry = registry_with([str(path)])
    case = Case(kind=kind, name="mine", registry=registry, folder=tmp_path / "runs")
    return list(findings(case, quick))


def written(tmp_path: Path, kind: str, replaced: str = "") -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCES[kind].replace("REPLACED", replaced))
    return path


@pytest.mark.parametrize("mistake", [*MISTAKES, *DOUBTS])
def test_a_mistake_is_named(mistake: str, tmp_path: Path) -> None:
    kind, name, code, broken, words = {**MISTAKES, **DOUBTS}[mistake]
    path = written(tmp_path, kind, f"\n{code}\n\nMine.{name} = {name}\n")
    case = Case(kind, "mine", registry_with([str(path)]), tmp_path / "runs")
    (asked,) = (each for each in PROPERTIES if each.name == broken)
    found = finding(asked, case)
    assert found.holds is (False if mistake in MISTAKES else None), found
    assert all(each in found.said for each in words), found


@pytest.mark.parametrize("kind", SOURCES)
def test_without_a_mistake_nothing_fails(kind: str, tmp_path: Path) -> None:
    quick = kind not in ("attack", "model")
    found = found_in(written(tmp_path, kind), kind, quick, tmp_path)
    assert found and not [each for each in found if each.holds is False]


@pytest.mark.long
@pytest.mark.parametrize(
    ("weigh", "declared", "holds"),
    [
        ("self.p[ids[delivered]] / delivered.sum()", "None", None),
        ("self.p[ids[delivered]] / delivered.sum()", "True", False),
        # Each client is chosen in half of the rounds in which it is there, more or less: 1 / r.
        ("self.p[ids[delivered]] * now.number / self.counts[ids[delivered]]", "True", True),
    ],
)
def test_where_the_model_settles(
    weigh: str, declared: str, holds: bool | None, tmp_path: Path
) -> None:
    code = (
        "def weigh(self, now, ids, delivered):\n"
        "    self.counts[ids[delivered]] += 1\n"
        f"    return Cohort(ids[delivered], {weigh})\n"
        f"Mine.weigh, MineConfig.reaches_optimum = weigh, {declared}\n"
    )
    found = found_with(code, "settles where it says", tmp_path)
    assert found.holds is holds, found.said
    assert holds or "towards clients that are often there" in found.said


@pytest.mark.long
@pytest.mark.parametrize(
    ("weight", "declared", "holds", "said"),
    [
        # Weights of sum 1; and 1 for each update, so that the sum is their number.
        ("self.p[ids[delivered]] / self.p[ids[delivered]].sum()", "1", True, ""),
        ("np.ones(delivered.sum())", "1", False, "times their update, though step_scale=1 is"),
        ("np.ones(delivered.sum())", "None", None, "times their update; step_scale is not"),
    ],
)
def test_how_long_a_step_is(
    weight: str, declared: str, holds: bool | None, said: str, tmp_path: Path
) -> None:
    code = (
        "def weigh(self, now, ids, delivered):\n"
        f"    return Cohort(ids[delivered], {weight})\n"
        f"Mine.weigh, MineConfig.step_scale = weigh, {declared}\n"
    )
    found = found_with(code, "steps as long as it says", tmp_path)
    assert found.holds is holds and said in found.said, found.said


def found_with(code: str, name: str, folder: Path, **given: Any) -> Finding:
    """Finding of a property on the algorithm that more code changes, under some settings."""
    path = written(folder, "algorithm")
    path.write_text(path.read_text() + code)
    case = Case("algorithm", "mine", registry_with([str(path)]), folder, given)
    (asked,) = (each for each in PROPERTIES if each.name == name)
    return finding(asked, case)


def chosen(weight: str) -> str:
    """Chooses one of those there by chance, and weighs it."""
    return (
        "def select(self, now):\n"
        "    there = np.flatnonzero(now.available)\n"
        "    return now.generator(self.seed).permutation(there)[: now.constraint.k]\n"
        "def weigh(self, now, ids, delivered):\n"
        "    there = now.available.sum()\n"
        f"    return Cohort(ids[delivered], self.p[ids[delivered]] * {weight})\n"
        "Mine.select, Mine.weigh = select, weigh\n"
    )


# A client of the pi below is there with probability pi; of n, min(K, n) are chosen.
_RIGHT = "there / min(there, now.constraint.k) / PI[ids[delivered]]"


@pytest.mark.parametrize(
    ("weight", "declared", "holds"),
    [
        (_RIGHT, "True", True),
        (_RIGHT, "None", None),
        (f"1.2 * {_RIGHT}", "True", False),
        ("1 / PI[ids[delivered]]", "True", False),
        ("1 / PI[ids[delivered]]", "False", True),
    ],
)
def test_unbiased(weight: str, declared: str, holds: bool | None, tmp_path: Path) -> None:
    pi = "PI = np.array([0.9, 0.5, 0.4, 0.7, 0.2])\n"
    law = (
        SOURCES["availability"]
        .replace("REPLACED", "")
        .replace("Mine", "Law")
        .replace('"mine"', '"law"')
    )
    law = law.replace(
        "return Law(len(p), seed)", "return IndependentAvailability(PI[:len(p)], seed)"
    )
    more = f"from f3ast_tff.availability import IndependentAvailability\n{pi}{law}"
    code = f"{more}{chosen(weight)}MineConfig.unbiased = {declared}\n"
    found = found_with(code, "unbiased if it says so", tmp_path, availability="law")
    assert found.holds is holds, found.said
    assert holds or "weight" in found.said


def test_a_fault_is_said_of_the_smallest_problem(tmp_path: Path) -> None:
    # Wrong from the third client on.
    code = (
        "def weigh(self, now, ids, delivered):\n"
        "    return Cohort(ids[delivered], np.where(ids[delivered] > 1, -1.0, 1.0))\n"
        "Mine.weigh = weigh\n"
    )
    path = written(tmp_path, "algorithm", code)
    found = {each.name: each for each in found_in(path, "algorithm", True, tmp_path)}
    assert "(3 clients and K = 1 show it)" in found["weights at least 0"].said
    case = Case("algorithm", "mine", registry_with([str(path)]), tmp_path, {"num_clients": 5})
    (least,) = (each for each in PROPERTIES if each.name == "weights at least 0")
    assert "show it" not in finding(least, case).said


def test_an_error_of_its_code_is_a_finding(tmp_path: Path) -> None:
    code = "\ndef select(self, now): return self.nothing\n\nMine.select = select\n"
    found = found_in(written(tmp_path, "algorithm", code), "algorithm", True, tmp_path)
    assert {each.holds for each in found} == {False}
    assert "AttributeError" in found[0].said and "mine.py" in found[0].said
