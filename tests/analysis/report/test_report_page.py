"""The page in a real browser; `make test-page` runs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from f3ast_tff.command_line.report import main
from tests.analysis.report.chromium import Chromium
from tests.benchmarks.synthetic_runs import write_run

pytestmark = pytest.mark.page
PROGRAM = os.environ.get("CHROMIUM", "chromium")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    for seed in range(2):
        for algorithm in ("fedavg", "f3ast", "poc"):
            for k in (5, 10):
                write_run(
                    folder / "runs" / f"{algorithm}{k}{seed}",
                    {
                        **{"algorithm": algorithm, "seed": seed, "clients_per_round": k},
                        **{"rounds": 40, "availability": "smartphones"},
                    },
                )
        write_run(
            folder / "runs" / f"switched{seed}",
            {
                **{"seed": seed, "rounds": 40, "availability": "smartphones"},
                "aggregate": "sum_over_k",
            },
        )
    out = folder / "report"
    assert main(["report", f"--runs={folder / 'runs'}", f"--out={out}"]) == 0
    # Moved away from its pictures: it must need no other file.
    alone = folder / "alone"
    alone.mkdir()
    return Path(shutil.copy(out / "report.html", alone))


@pytest.fixture(scope="module")
def browser(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if shutil.which(PROGRAM) is None:
        pytest.fail(f"{PROGRAM} is not there: apt-get install chromium, or set CHROMIUM")
    with Chromium(PROGRAM, tmp_path_factory.mktemp("profile")) as started:
        started.open(report)
        yield started


def test_every_picture_is_decoded(browser: Chromium) -> None:
    sizes = browser.evaluate("[...document.images].map(i => [i.naturalWidth, i.alt.length])")
    # Curves for each K, accuracy against K, selections and rates.
    assert len(sizes) == 5
    assert all(width > 300 and alt > 20 for width, alt in sizes)


def test_no_request_leaves_the_page(browser: Chromium, report: Path) -> None:
    urls = [event["request"]["url"] for event in browser.said("Network.requestWillBeSent")]
    assert report.as_uri() in urls
    assert all(url == report.as_uri() or url.startswith("data:") for url in urls)
    assert browser.said("Network.loadingFailed") == []
    errors = [event["entry"] for event in browser.said("Log.entryAdded")]
    assert errors == []


def test_tables_and_headings_are_there(browser: Chromium) -> None:
    heads = browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    for start in ("Table III", "Table IV", "Table VII", "Table VIII", "Table IX", "Fig. 4"):
        assert any(head.startswith(start) for head in heads)
    rows = browser.evaluate("[...document.querySelectorAll('table')].map(t => t.rows.length)")
    assert len(rows) > 10
    assert min(rows) > 1
    text = browser.evaluate("document.body.innerText")
    for words in ("F3AST", "not run", "not enough runs", "paper 0.141", "R2 aggregate"):
        assert words in text


def test_links_lead_to_sections_and_nothing_is_cut_off(browser: Chromium) -> None:
    dead = browser.evaluate(
        "[...document.links].filter(a => !document.getElementById(a.hash.slice(1))).length"
    )
    assert dead == 0
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
