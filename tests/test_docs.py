"""The Python code of docs/ runs, and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.cli.flags import setting_flags
from f3ast_tff.cli.main import main
from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve
from tools import method_table, server_table
from tools.docs_site import components

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
STUDIES = sorted((ROOT / "analysis").glob("*/**/*.md"))


def test_the_page_of_components_names_all_of_them_and_every_setting() -> None:
    page = components.markdown()
    flat, registry = " ".join(page.split()), builtin_registry()
    for component in registry.all():
        assert f"- `{component.name}` ({component.display}): {component.about}." in flat
    for name in setting_flags(registry):
        assert f"`--{name}`" in page
    assert not too_wide(page)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def python_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_example_of_a_component_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "reachable.py"
    path.write_text(python_of("docs/extending.md")[0])
    registry = registry_with([str(path)])
    settings = {"availability": "alternate", "take_turns": 4, "algorithm": "f3ast"}
    configuration = resolve(settings, registry)
    assert configuration.settings["availability_objective"] == "p"
    process = configuration.configs["availability"].build([0.25] * 4, 0)
    assert process.mask(1).tolist() == [False, True, False, False]


def test_the_example_of_a_strategy_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "rarest.py"
    path.write_text(python_of("docs/extending.md")[1])
    settings: dict[str, Any] = {"availability": "always", "rounds": 5, "clients_per_round": 20}
    found = simulate(plugins=[str(path)], algorithm="rarest", rarest_bound=0.5, **settings)
    # No client is selected twice before all were selected once.
    assert sorted(found.selection["selected"].ravel()) == list(range(100))
    assert found.selection["final_counts"].tolist() == [1] * 100


def test_the_example_of_a_task_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "signs.py"
    path.write_text(python_of("docs/extending.md")[2])
    given: dict[str, Any] = {"availability": "always", "rounds": 200, "signs_each": 40}
    found = simulate("signs", plugins=[str(path)], clients_per_round=5, **given)
    assert found.configuration.settings["num_clients"] == 20
    assert found.summary["final"]["test_sample_accuracy"] > 0.9


def test_the_example_of_three_components_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(python_of("docs/extending.md")[3])
    chosen = {"constraint": "weekend:2", "delivery": "fast_half", "client_optimizer": "cut"}
    found = simulate(plugins=[str(path)], availability="always", rounds=7, **chosen)
    assert found.selection["num_selected"].tolist() == [2, 2, 2, 2, 2, 6, 6]
    assert found.selection["num_delivered"].tolist() == [1, 1, 1, 1, 1, 3, 3]
    assert found.metrics["simulated_seconds"].tolist() == [420]


def test_the_examples_of_local_training_are_fedprox_and_feddyn(tmp_path: Path) -> None:
    given: dict[str, Any] = {"engine": "host", "rounds": 4, "num_clients": 20, "plugins": []}
    pull = tmp_path / "pull.py"
    pull.write_text(python_of("docs/own_aggregation.md")[0])
    for path, name, chosen, own in (
        (pull, "pull", {"pull_mu": 0.5}, {"aggregation": "fedprox", "prox_mu": 0.5}),
        (
            ROOT / "examples/plugins/drifting_penalty.py",
            "drifting_penalty",
            {"penalty_alpha": 0.5},
            {"aggregation": "feddyn", "dyn_alpha": 0.5},
        ),
    ):
        plugin = {**given, "plugins": [str(path)], "aggregation": name, **chosen}
        found, expected = simulate("synthetic", **plugin), simulate("synthetic", **given, **own)
        for one, other in zip(found.weights, expected.weights):
            np.testing.assert_array_equal(one, other)


def test_one_class_with_both_halves_takes_turns_and_lends_its_rules(tmp_path: Path) -> None:
    """5 of 20 a round, all there: everybody once in four rounds."""
    path = tmp_path / "fewest_pulled.py"
    path.write_text(python_of("docs/own_aggregation.md")[1])
    given: dict[str, Any] = {
        "engine": "host",
        "rounds": 4,
        "num_clients": 20,
        "clients_per_round": 5,
        "plugins": [str(path)],
    }
    found = simulate("synthetic", "fewest_pulled", availability="always", **given)
    assert sorted(found.selection["selected"].ravel()) == [*range(20)]
    lent = simulate("synthetic", "f3ast+fewest_pulled", **given, fewest_mu=0.5)
    prox = simulate("synthetic", "f3ast+fedprox", **given, prox_mu=0.5)
    for one, other in zip(lent.weights, prox.weights):
        np.testing.assert_array_equal(one, other)


def test_the_tables_of_methods_are_the_code_s() -> None:
    page = server_table.PAGE.read_text()
    assert page == server_table.with_methods(page), "make docs-tables"
    page = method_table.PAGE.read_text()
    assert page == method_table.with_names(page), "make docs-tables"
    assert method_table.with_names(page.replace("| `fedau` |", "| `fedou` |")) == page


@pytest.mark.long
def test_the_server_of_ones_own_prints_what_the_page_says_and_restarts_as_if_it_had_not(
    cwd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    exec("".join(python_of("docs/own_server.md")), names)
    page = (ROOT / "docs/own_server.md").read_text()
    assert f"```\n{capsys.readouterr().out}```" in page
    start = partial(names["F3AST"].start, names["p"], names["K"], seed=0, rate_beta=0.01)
    whole = names["train"](start(), np.zeros(2), 1, 1000)
    assert names["last"] == 400
    np.testing.assert_array_equal(whole[400:], names["models"])
    _sites_that_answer_late_and_one_that_departs(names)


def _sites_that_answer_late_and_one_that_departs(names: dict[str, Any]) -> None:
    """The mean is over the sites' wishes 0, 1, 2, 3; west answers last; north departs at 2000."""
    slow = np.array([0.9, 0.9, 0.9, 0.3])
    strategy = names["F3AST"].start(np.full(4, 0.25), k=3, seed=0, rate_beta=0.01)
    model, models = np.zeros(1), []
    for t in range(1, 2501):
        waits = np.random.default_rng([3, t]).random(4) / slow

        def send(
            sites: list[str], model: np.ndarray, enough: int, waits: np.ndarray = waits
        ) -> dict[str, np.ndarray]:
            places = np.array([names["SITES"].index(each) for each in sites])
            first = places[np.argsort(waits[places])[:enough]]
            return {names["SITES"][k]: model + 0.1 * (k - model) for k in first}

        connected = [each for each in names["SITES"] if t <= 2000 or each != "north"]
        model = names["round_of_sites"](strategy, t, model, connected, send, k=3, enough=2)
        models.append(model[0])
    np.testing.assert_allclose(np.mean(models[1000:2000]), 1.5, atol=0.05)
    assert np.mean(models[2200:]) > 1.7


def test_the_mistake_shows_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The right weights have mean p_k; divided, the more available client weighs more."""
    (code,) = python_of("docs/mistakes.md")
    names: dict[str, Any] = {}
    exec(code, names)
    assert f"```\n{capsys.readouterr().out}```" in (ROOT / "docs/mistakes.md").read_text()
    np.testing.assert_allclose(names["right"], 0.5, atol=0.02)


def test_the_python_of_the_front_page_runs(cwd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The code runs with 25 rounds, which is one evaluation, instead of 500."""
    (code,) = python_of("README.md")
    short, places = re.subn(r"\brounds=500\b", "rounds=25", code)
    assert places == 1
    exec(short, {})
    assert capsys.readouterr().out.count("over 8 draws") == 1
    assert (cwd / "accuracy.png").is_file()


def commands_of(page: str) -> list[list[str]]:
    """Commands of a page, except those on a file of the reader's."""
    lines = re.findall(r"^f3ast-tff .*$", (ROOT / page).read_text(), flags=re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines if " LOG" not in line]


@pytest.mark.slow
def test_the_commands_of_the_front_page_run(cwd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands run in the page's order, in an empty folder; a method is tried with 2 rounds."""
    commands = commands_of("README.md")
    asked = " ".join(words[1] for words in commands)
    assert asked == "demo report example test try example advise example audit compare"
    said = []
    for words in commands:
        few = ["--rounds=2"] if words[1] == "try" else []
        assert main([*words, *few]) == 0, words
        said.append(capsys.readouterr().out)
    assert (cwd / "report/report.html").is_file()
    verdicts = (ROOT / "README.md").read_text().partition("such as\n\n```\n")[2].partition("```")[0]
    assert verdicts.count("draws.\n") == 2
    assert all(line in said[0] for line in verdicts.splitlines())


def test_every_algorithm_has_its_parameters_on_one_page_of_the_methods() -> None:
    pages = (path.read_text() for path in (ROOT / "docs/methods").glob("*.md"))
    found = [
        name
        for page in pages
        for names in re.findall(r"<!-- parameters: algorithm ([\w ]+) -->", page)
        for name in names.split()
    ]
    missing = set(builtin_registry().names("algorithm")) - set(found)
    assert not missing, f"add to a comment `parameters: algorithm` in docs/methods/: {missing}"
    assert sorted(found) == sorted(builtin_registry().names("algorithm"))


def test_the_methods_of_equal_clients_are_those_of_the_page() -> None:
    text = (ROOT / "docs/methods.md").read_text()
    (listed,) = re.findall(r"paper: 1 / N for ([^.]+), n_k / n for all", " ".join(text.split()))
    methods = builtin_registry().components["algorithm"].items()
    equal = {
        name
        for name, each in methods
        if each.config.client_share == "equal" and not each.config.pooled
    }
    assert set(re.findall(r"`(\w+)`", listed)) == equal


def test_links_lead_to_files() -> None:
    for page in [*PAGES, *STUDIES]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{name_of(page)}: {target}"


def test_tests_that_are_named_exist() -> None:
    for page in PAGES:
        for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text()):
            assert f"def {name}" in (ROOT / file).read_text(), f"{name_of(page)}: {file} {name}"


def test_notebooks_are_kept_with_outputs_and_small() -> None:
    for path in (ROOT / "examples").glob("*.ipynb"):
        assert '"output_type"' in path.read_text(), path.name
        assert path.stat().st_size < 200_000, path.name


def too_wide(page: str) -> list[str]:
    """Breakable lines above 100 columns, and table cells above 160 characters."""
    found, block = [], None
    for line in page.splitlines():
        if line.lstrip().startswith("```"):
            block = line.strip("` ") if block is None else None
            continue
        if block is None and line.startswith("|"):
            found += [cell for cell in re.split(r"(?<!\\)\|", line) if len(cell.strip()) > 160]
            continue
        if block is None:
            breaks = not line.startswith(("![", "[![", "<!--"))
        else:
            # Other blocks hold equations or printed output: only their commands count.
            is_code = block in ("sh", "python", "toml")
            breaks = is_code or line.startswith(("f3ast-tff ", "python -m "))
        if breaks and len(line) > 100 and len(line.split()) > 1:
            found.append(line)
    return found


def test_lines_have_100_columns_and_cells_160_characters() -> None:
    found = {name_of(page): too_wide(page.read_text()) for page in [*PAGES, *STUDIES]}
    assert not {name: lines for name, lines in found.items() if lines}


def test_too_wide_sees_text_commands_and_cells() -> None:
    words = " ".join(["word"] * 40)
    long = [words, f"| {words} |", f"```sh\n{words}\n```", f"```\nf3ast-tff {words}\n```"]
    fits = [f"| {words[:150]} | {words[:150]} |", f"```math\n{words}\n```", f"```\n{words}\n```"]
    assert all(len(too_wide(text)) == 1 for text in long)
    assert not any(map(too_wide, fits))
