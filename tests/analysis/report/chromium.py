"""Headless Chromium, driven over its DevTools pipe."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1000",
    "--remote-debugging-pipe",
)
WAIT_S = 60.0


class Chromium:
    """A browser with one page; leaving `with Chromium(...) as browser:` ends it."""

    def __init__(self, profile: Path) -> None:
        """Starts the browser with its state in `profile`, a new folder.

        Without Chromium a test fails.
        """
        program = os.environ.get("CHROMIUM", "chromium")
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not there: apt-get install chromium, or set CHROMIUM")
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # Chromium reads commands from 3 and answers on 4; numbers above both cannot clash.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]

        def connect() -> None:
            for number, end in enumerate(ends, start=3):
                os.dup2(end, number)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4, *ends),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (commands, answers, *ends):
            os.close(end)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable", self._session)

    def open(self, page: Path | str) -> None:
        """Opens a file or an address, and waits until it and its pictures are loaded."""
        url = page if isinstance(page, str) else page.as_uri()
        self.events.clear()
        self._call("Page.navigate", self._session, url=url)
        deadline = time.monotonic() + WAIT_S
        while not self.said("Page.loadEventFired"):
            self.events.append(self._next(deadline))

    def resize(self, width: int) -> None:
        """Sets the width of the layout, in CSS pixels."""
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", self._session, **size)

    def evaluate(self, script: str) -> Any:
        """Runs a script in the page, and returns its value."""
        found = self._call("Runtime.evaluate", self._session, expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def said(self, method: str) -> list[dict[str, Any]]:
        """Returns the parameters of all past events of a kind."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def _call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + WAIT_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                assert "result" in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError(f"Chromium did not answer within {WAIT_S:.0f} s")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError(f"Chromium ended with code {self._process.wait()}")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))

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
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
