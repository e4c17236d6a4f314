"""The page in a real browser; `make test-page` runs it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.synthetic_runs import write_run
from f3ast_tff.cli.report import main
from tests.analysis.report.chromium import Chromium

pytestmark = pytest.mark.page


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
                        **{"rounds": 1000, "availability": "smartphones"},
                    },
                )
        write_run(
            folder / "runs" / f"switched{seed}",
            {**{"seed": seed, "rounds": 1000, "availability": "smartphones"}, "divide_by_k": True},
        )
    # More columns than fit beside the paper's five.
    for availability in (
        "home_devices",
        "stationary",
        "staircase",
        "sine",
        "interleaved_sine",
        "alternating",
    ):
        for algorithm in ("fedavg", "f3ast"):
            given = {"algorithm": algorithm, "availability": availability, "rounds": 1000}
            write_run(folder / "runs" / f"{algorithm}-{availability}", given)
    out = folder / "report"
    assert main(["report", f"--runs={folder / 'runs'}", f"--out={out}"]) == 0
    # Moved away from its pictures: the page must need no other file.
    alone = folder / "alone"
    alone.mkdir()
    return Path(shutil.copy(out / "report.html", alone))


@pytest.fixture(scope="module")
def browser(report: Path) -> Iterator[Chromium]:
    with Chromium() as started:
        started.open(report)
        yield started


def test_every_picture_is_decoded(browser: Chromium) -> None:
    sizes = browser.evaluate("[...document.images].map(i => [i.naturalWidth, i.alt.length])")
    # Differences, curves, accuracy against K, selections and rates.
    assert len(sizes) >= 6
    assert all(width > 300 and alt > 20 for width, alt in sizes)


def test_no_request_leaves_the_page(browser: Chromium, report: Path) -> None:
    urls = [event["request"]["url"] for event in browser.said("Network.requestWillBeSent")]
    assert report.as_uri() in urls
    assert all(url == report.as_uri() or url.startswith("data:") for url in urls)
    assert browser.said("Network.loadingFailed") == []
    errors = [event["entry"] for event in browser.said("Log.entryAdded")]
    assert errors == []
    assert browser.said("Runtime.exceptionThrown") == []


def test_tables_and_headings_are_there(browser: Chromium) -> None:
    heads = browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert heads[:3] == ["Is one better?", "Summary", "Runs: Synthetic"]
    for start in ("Table III", "Table IV", "Table VII", "Table VIII", "Fig. 4"):
        assert any(head.startswith(start) for head in heads)
    rows = browser.evaluate("[...document.querySelectorAll('table')].map(t => t.rows.length)")
    assert len(rows) > 10
    assert min(rows) > 1
    # Each column, row and group of rows has a heading.
    bare = "[...document.querySelectorAll('tr')].filter(r => !r.querySelector('th[scope]')).length"
    assert browser.evaluate(bare) == 0
    text = browser.evaluate("document.body.innerText")
    for words in ("F3AST", "not enough runs", "R2 divide_by_k"):
        assert words in text


def test_links_lead_somewhere(browser: Chromium) -> None:
    dead = browser.evaluate(
        "[...document.links].filter(a => !document.getElementById(a.hash.slice(1))).length"
    )
    assert dead == 0
    assert browser.evaluate("document.querySelectorAll('#s1 table a').length") > 3


OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"
# Cells and pictures that extend beyond the window's edge.
HIDDEN = """
[...document.querySelectorAll('td, th, img')]
  .filter(e => e.getBoundingClientRect().right > innerWidth).length
"""


def test_nothing_overflows_at_two_widths(browser: Chromium) -> None:
    """Every table and figure fits into 1280 pixels, and into 390, where rows are cards."""
    browser.evaluate(OPEN)
    for width in (1280, 390):
        browser.resize(width)
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert browser.evaluate(HIDDEN) == 0, width
    browser.resize(1280)


def test_a_curve_tells_run_round_and_value(browser: Chromium) -> None:
    """The pointer is on the last point of the first line."""
    said = browser.evaluate(
        """(() => {
          const plot = document.querySelector('img[alt*="against the round"]').parentNode;
          const panel = JSON.parse(plot.dataset.panels)[0], trace = panel.traces[0];
          const [left, top, right, bottom] = panel.box, last = trace.x.length - 1;
          const share = (value, [low, high]) => (value - low) / (high - low);
          const u = left + (right - left) * share(trace.x[last], panel.x);
          const v = bottom - (bottom - top) * share(trace.y[last], panel.y);
          const box = plot.getBoundingClientRect();
          plot.dispatchEvent(new PointerEvent('pointermove', {
            clientX: box.left + u * box.width, clientY: box.top + v * box.height }));
          return [plot.querySelector('.tip').innerText, trace.label, trace.runs, trace.y[last]];
        })()"""
    )
    text, label, runs, value = said
    assert text.split("\n")[:2] == [label, runs]
    assert text.split("\n")[2].startswith(f"round 1000: {value}")
