"""Headless Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

FLAGS = ("--disable-quic", "--disable-gpu")
DOMAINS = ("Page", "Network", "Runtime", "Log")
EVENTS = (
    "Log.entryAdded",
    "Network.loadingFailed",
    "Network.requestWillBeSent",
    "Page.javascriptDialogOpening",
    "Runtime.exceptionThrown",
)
WAIT_MS = 60_000


class Chromium:
    """A browser with one page; leaving `with Chromium() as browser:` ends it."""

    def __init__(self) -> None:
        """Starts the browser; without Chromium a test fails."""
        # Imported here: other environments collect these tests without running them.
        from playwright.sync_api import sync_playwright

        program = shutil.which(os.environ.get("CHROMIUM", "chromium"))
        if program is None:
            pytest.fail("Chromium is not there: apt-get install chromium, or set CHROMIUM")
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=program, args=FLAGS, chromium_sandbox=False, timeout=WAIT_MS
        )
        self._page = self._browser.new_page(viewport={"width": 1280, "height": 1000})
        self._page.set_default_timeout(WAIT_MS)
        self._events: list[tuple[str, dict[str, Any]]] = []
        session = self._page.context.new_cdp_session(self._page)
        for name in EVENTS:
            session.on(name, lambda event, name=name: self._events.append((name, event)))
        for domain in DOMAINS:
            session.send(f"{domain}.enable")

    def open(self, page: Path | str) -> None:
        """Opens a file or an address, and waits until it and its pictures are loaded."""
        self._events.clear()
        self._page.goto(page if isinstance(page, str) else page.as_uri())

    def resize(self, width: int) -> None:
        """Sets the width of the layout, in CSS pixels."""
        self._page.set_viewport_size({"width": width, "height": 1000})

    def evaluate(self, script: str) -> Any:
        """Runs a script in the page, and returns its value."""
        return self._page.evaluate(script)

    def said(self, method: str) -> list[dict[str, Any]]:
        """Returns the parameters of all past events of a kind, one of `EVENTS`."""
        assert method in EVENTS
        return [event for name, event in self._events if name == method]

    def __enter__(self) -> Chromium:
        """Returns itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the browser."""
        self._browser.close()
        self._playwright.stop()
