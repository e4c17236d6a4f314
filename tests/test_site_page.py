"""The site in headless Chromium: pages fit, nothing is loaded from elsewhere, the search finds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import f3ast_tff
from tests.analysis.report.chromium import Chromium

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
# The search is in an element's shadow root.
SEARCH = "[...document.querySelectorAll('*')].find(e => e.shadowRoot).shadowRoot"
pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    if not (SITE / "index.html").exists():
        pytest.fail("build/site is not there: make docs")
    with Chromium() as started:
        yield started


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(browser: Chromium, width: int) -> None:
    browser.resize(width)
    too_wide = []
    for page in sorted(SITE.rglob("*.html")):
        browser.open(page)
        found = browser.evaluate("document.documentElement.scrollWidth")
        if found > width:
            too_wide.append((page.name, found))
    assert not too_wide


def test_the_first_page_shows_its_pictures_and_fetches_nothing(browser: Chromium) -> None:
    browser.open(SITE / "index.html")
    # A drawing that is 355 pixels wide by itself, in two forms of which one is shown.
    assert browser.evaluate("[...document.images].map(i => i.naturalWidth > 300)") == [True] * 2
    shown = "[...document.images].filter(i => getComputedStyle(i).display !== 'none').length"
    assert browser.evaluate(shown) == 1
    urls = [event["request"]["url"] for event in browser.said("Network.requestWillBeSent")]
    assert urls
    assert all(url.startswith(("file:", "data:", "blob:")) for url in urls)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("own strategy", "examples/own_strategy.html"),
        ("own availability", "extending.html"),
        ("resume", "running.html"),
        ("Flower", "flower.html"),
        ("GPU", "runtimes.html"),
    ],
)
def test_a_search_finds_its_page_first(
    browser: Chromium, address: str, query: str, page: str
) -> None:
    browser.resize(1280)
    browser.open(f"{address}/index.html")
    eventually(browser, "document.querySelector('.md-search__button')?.click() ?? true")
    typed = (
        f"(() => {{ const input = {SEARCH}.querySelector('input'); input.value = '{query}';"
        "input.dispatchEvent(new Event('input', {bubbles: true})); return true; })()"
    )
    eventually(browser, f"{SEARCH}.querySelector('input') !== null")
    browser.evaluate(typed)
    first = f"{SEARCH}.querySelector('a')?.getAttribute('href')"
    found = eventually(browser, f"({first} ?? '').includes('?h=') && {first}")
    assert found.removeprefix(address + "/").split("?")[0] == page


def eventually(browser: Chromium, script: str) -> str:
    """Waits until the script's value is true, and returns it."""
    deadline = time.monotonic() + 30
    while not (found := browser.evaluate(script)):
        assert time.monotonic() < deadline, script
        time.sleep(0.1)
    return str(found)


def test_a_click_on_a_head_sorts_its_table(browser: Chromium) -> None:
    browser.open(SITE / "kept" / "table9" / "page.html")
    column = "[...document.querySelector('table').tBodies[0].rows].map(r => r.cells[1].innerText)"
    before = browser.evaluate(column)
    for order in (True, False):
        browser.evaluate("document.querySelector('table th:nth-child(2)').click()")
        numbers = [float(cell.split()[0].replace("−", "-")) for cell in browser.evaluate(column)]
        assert numbers == sorted(numbers, reverse=order)
    assert sorted(browser.evaluate(column)) == sorted(before)


def test_the_header_says_the_version() -> None:
    line = f'site_name = "f3ast-tff {f3ast_tff.__version__}"\n'
    assert line in (ROOT / "zensical.toml").read_text()
