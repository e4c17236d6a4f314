"""A SuperLink with SuperNodes on the loopback, whose processes can be killed and come back."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[3]
APP = Path(__file__).parent / "network_app"
_BIN = Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def end(process: subprocess.Popen[bytes] | None, how: int = signal.SIGKILL) -> None:
    """Ends a process, and with SIGKILL those that it has started."""
    if process is None or process.poll() is not None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        for each in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.kill()
    process.wait()


class Network:
    """The processes; each writes to a log in `folder`."""

    def __init__(self, folder: Path, num_nodes: int) -> None:
        self._folder, self._ports = folder, [free_port() for _ in range(num_nodes + 1)]
        self._link: subprocess.Popen[bytes] | None = None
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        home = folder / "home"
        home.mkdir()
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "net"\n[superlink.net]\n'
            f'address = "127.0.0.1:{self._ports[-1]}"\ninsecure = true\n'
        )
        self._environment = {
            **os.environ,
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "PYTHONPATH": str(ROOT),
            "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
        }

    def __enter__(self) -> Network:
        self.start_link()
        for k in range(len(self._ports) - 1):
            self.start_node(k)
        return self

    def __exit__(self, *_: Any) -> None:
        for process in (*self._nodes.values(), self._link):
            end(process)

    def _started(self, log: str, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / log).open("ab") as file:
            return subprocess.Popen(
                [str(_BIN / words[0]), *words[1:]],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def start_link(self) -> None:
        """Starts the link, which knows what it knew before, and waits until it answers."""
        port = self._ports[-1]
        database = str(self._folder / "link.db")
        words = ("flower-superlink", "--insecure", "--port", str(port), "--database", database)
        self._link = self._started("link.log", *words, "--disable-runtime-dependency-installation")
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.1)
        raise TimeoutError("the SuperLink does not start")

    def kill_link(self) -> None:
        """Kills the link, and with it the server."""
        end(self._link)

    def start_node(self, k: int) -> None:
        where = ("--superlink", f"127.0.0.1:{self._ports[-1]}", "--port", str(self._ports[k]))
        words = ("flower-supernode", "--insecure", *where, "--node-config", f"partition-id={k}")
        self._nodes[k] = self._started(f"node{k}.log", *words)

    def end_node(self, k: int, how: int = signal.SIGKILL) -> None:
        """Kills a node; with SIGTERM it takes its leave."""
        end(self._nodes[k], how)

    def start_server(self, folder: Path, **settings: Any) -> None:
        """Sends the app to the link."""
        given = {"folder": f'"{folder}"', **settings}
        config = " ".join(f"{name}={value}" for name, value in given.items())
        subprocess.run(
            [str(_BIN / "flwr"), "run", str(APP), "net", "--run-config", config],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=120,
            check=True,
        )

    def servers(self) -> list[psutil.Process]:
        """The processes of server apps."""
        if self._link is None or self._link.poll() is not None:
            return []
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for each in psutil.Process(self._link.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any("flwr-serverapp" in word for word in each.cmdline()):
                        found.append(each)
        return found

    def kill_servers(self) -> None:
        for server in self.servers():
            with contextlib.suppress(psutil.NoSuchProcess):
                server.kill()
