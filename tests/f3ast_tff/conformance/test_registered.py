"""Every registered component has the properties of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.analysis.studies.theory.optima import RIGHT
from f3ast_tff.conformance.case import Case
from f3ast_tff.conformance.fixed_point import settles_at_the_optimum
from f3ast_tff.conformance.table import KINDS, PROPERTIES, findings
from f3ast_tff.settings import REQUIRED, builtin_registry

ROOT = Path(__file__).parents[3]
REGISTRY = builtin_registry()
# Settings without which a component does not fit the small problem, by kind.
NEEDED: dict[str, dict[str, dict[str, Any]]] = {
    "algorithm": {"sequential_sgd": {"clients_per_round": 1}},
    "availability": {
        name: {"availability_parts": "scarce,smartphones"} for name in ("product", "mix")
    },
    "constraint": {
        name: {"constraint": f"{name}:{values}"}
        for name, values in {
            "cycle": "2,3",
            "hold": "2,3",
            "steps": "1=2,4=3",
            "uniform": "1:3",
            "poisson": "2",
            "markov": "2,3:0.5",
            "bytes": "9000,3000",
        }.items()
    },
    # Aggregations for other weights than those of F3AST.
    "aggregation": {
        name: {"algorithm": name} for name in ("fedlaavg", "mifa", "focus", "fedasync")
    },
}


def components() -> list[tuple[str, str]]:
    """Those that need no file: neither the user's own nor a data set."""
    found = []
    for kind in KINDS:
        for name in REGISTRY.names(kind):
            component = REGISTRY.find(kind, name)
            parameters = component.parameters
            if kind == "task" and not component.config.generates_data:
                continue
            if not any(p.default is REQUIRED and p.is_path for p in parameters):
                found.append((kind, name))
    return found


@pytest.mark.parametrize(
    "quick",
    [
        pytest.param(True, marks=pytest.mark.long, id="quick"),
        pytest.param(False, marks=pytest.mark.slow, id="whole"),
    ],
)
@pytest.mark.parametrize(("kind", "name"), components())
def test_no_property_fails(kind: str, name: str, quick: bool, tmp_path: Path) -> None:
    given = NEEDED.get(kind, {}).get(name, {})
    case = Case(
        kind=kind, name=given.get(kind, name), registry=REGISTRY, folder=tmp_path, given=given
    )
    found = list(findings(case, quick=quick))
    assert not [each for each in found if each.holds is False]
    assert found or kind in ("aggregation", "attack", "model")


SETTLES = [
    name
    for name in REGISTRY.names("algorithm")
    if REGISTRY.find("algorithm", name).config.reaches_optimum
]


@pytest.mark.long
@pytest.mark.parametrize("name", SETTLES)
def test_it_settles_at_the_optimum_of_f(name: str, tmp_path: Path) -> None:
    case = Case("algorithm", name, REGISTRY, tmp_path)
    assert settles_at_the_optimum(case) is None


def test_methods_of_mean_weight_p_declare_it() -> None:
    assert {*RIGHT} <= {*SETTLES}


def test_the_page_lists_the_table() -> None:
    page = " ".join((ROOT / "docs/extending.md").read_text().split())
    for each in PROPERTIES:
        kinds = "all" if set(each.kinds) == set(KINDS) else ", ".join(each.kinds)
        assert f"| {each.name} | {kinds} | {each.about} |" in page
