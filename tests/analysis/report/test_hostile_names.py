"""A report on runs with hostile names, in a real browser; `make test-page` runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic_runs import write_run
from f3ast_tff.cli.report import main
from tests.analysis.report.chromium import Chromium

pytestmark = pytest.mark.page
RUN = "hacked = 1"
HOSTILE = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f"' onmouseover='{RUN}' x='",
    f"<svg onload={RUN}>",
    f"<a href=javascript:{RUN}>x</a>",
    "&lt;b&gt; {{ 7 * 7 }} {% raw %}",
    "a\nb\tc",
    "right \u202eto left\u202c",
    "$\\frac{1}{0}$ $",
)


def spoil(folder: Path, text: str) -> None:
    """Puts a text wherever a run can choose words: names of a plug-in, settings, a warning."""
    path = folder / "config.json"
    config: dict[str, Any] = json.loads(path.read_text())
    for kind in ("algorithm", "availability", "task"):
        config["components"][kind].update(display=f"{text} {kind}", about=text)
    config["plugins"] = [{"name": text, "source": text, "sha256": "0", "kinds": ["algorithm"]}]
    config["settings"].update({"own": text, text: text, "algorithm": text, "run_name": text})
    path.write_text(json.dumps(config))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for number, text in enumerate(HOSTILE):
        for seed in range(2):
            run = folder / "runs" / f"run{number}{seed}"
            write_run(run, {"seed": seed, "rounds": 300, "algorithm": "fedavg"})
            spoil(run, text)
            if (number, seed) == (0, 1):
                (run / "summary.json").write_text("{")
            # Commands refuse such names, but a folder can have any.
            run.rename(run.with_name(f"{text.replace('/', '|')} {seed}"))
    out = folder / "report"
    assert main(["report", f"--runs={folder / 'runs'}", f"--out={out}"]) == 0
    return out / "report.html"


@pytest.fixture(scope="module")
def browser(page: Path) -> Iterator[Chromium]:
    with Chromium() as started:
        started.open(page)
        yield started


def test_nothing_of_a_name_runs_or_is_fetched(browser: Chromium, page: Path) -> None:
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.evaluate(
        "document.querySelectorAll('*').forEach(e => e.dispatchEvent(new Event('mouseover')))"
    )
    assert browser.evaluate("typeof hacked") == "undefined"
    assert browser.evaluate("document.scripts.length") == 1
    foreign = "document.querySelectorAll('[onerror],[onload],[onmouseover],body svg[onload]')"
    assert browser.evaluate(f"{foreign}.length") == 0
    assert browser.evaluate("[...document.links].every(a => a.hash)") is True
    urls = [event["request"]["url"] for event in browser.said("Network.requestWillBeSent")]
    assert all(url == page.as_uri() or url.startswith("data:") for url in urls)
    assert browser.said("Log.entryAdded") == browser.said("Runtime.exceptionThrown") == []
    assert browser.said("Page.javascriptDialogOpening") == []


def test_names_are_shown_as_they_are(browser: Chromium) -> None:
    text = browser.evaluate("document.body.textContent")
    for name in HOSTILE[1:7]:
        assert name in text, name


def test_no_name_reverses_the_text_that_follows(browser: Chromium) -> None:
    assert (
        browser.evaluate("/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)")
        is False
    )


def test_markdown_has_no_tag_of_a_name(page: Path) -> None:
    text = page.with_suffix(".md").read_text()
    for part in ("<script", "<img", "<svg", "<a href", "\u202e"):
        assert part not in text, part
