"""Connects to an existing Ray cluster, or starts one on this machine."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from f3ast_tff.core.errors import ParameterError

LOCAL, _AUTO = "local", "auto"
_HOST_PORT = re.compile(r"(ray://)?(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]+)(:([0-9]{1,5}))?/?")
_PORTS = range(1, 65536)
# Host and port.
Place = tuple[str, int]
_CLIENT_PORT = 10001
_ANSWER_S = 5.0
_EVERY_S = 1.0
# Silence of a head after which it counts as lost; Ray itself waits 60 s.
_HEAD_SILENT_S = 10.0
# Silences Ray's long messages about a lost node; callers print one line instead.
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": "."}
# Read also by the processes of a local cluster, to shorten their logs.
_QUIET_BACKEND = {"RAY_BACKEND_LOG_LEVEL": "fatal"}
# Address of a node that listens only there; by default Ray listens on every network interface.
_LOOPBACK = "127.0.0.1"


def connect(address: str, num_cpus: int | None = None) -> Any:
    """Connects to a cluster; does nothing if this process is already connected.

    A local cluster is forked from this process, so connect before importing a framework with
    threads. Only processes of this machine reach a local cluster.

    Args:
        address: `local` for a cluster on this machine only; `auto` for the cluster that this
            machine is part of; `HOST:PORT` of a cluster's head; `ray://HOST:PORT` of the server of
            Ray's client, for a machine outside the cluster.
        num_cpus: Cores of a local cluster, by default all cores of the machine.

    Returns:
        The module `ray`.

    Raises:
        ParameterError: If Ray is not installed, or no cluster answers at `address` within 20 s.
    """
    _check_form(address)
    try:
        with _environment(_QUIET):
            import ray
    except ImportError as error:
        allowed = "needs Ray, not installed here: pip install 'f3ast-tff[ray]'"
        raise ParameterError("ray_address", address, allowed) from error
    if ray.is_initialized():
        return ray
    # Ray sets its level anew.
    logging.getLogger("ray.util.client.logsclient").disabled = True
    where: dict[str, Any] = {}
    if address == LOCAL:
        where = {"num_cpus": num_cpus, "include_dashboard": False, "_node_ip_address": _LOOPBACK}
    try:
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            stack.enter_context(_environment(_QUIET_BACKEND))
            # Ray's client announces that it will be quiet.
            stack.enter_context(_no_stderr())
            _check_answers(address)
            # A warning about a default of future versions.
            warnings.filterwarnings("ignore", "Tip: In future versions of Ray", FutureWarning)
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **where)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        allowed = f"no Ray cluster can be reached there: {reason}"
        raise ParameterError("ray_address", address, allowed) from error
    return ray


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _no_stderr() -> Iterator[None]:
    """Redirects stderr of the whole process, also of code outside Python."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _check_form(address: str) -> None:
    if address in (LOCAL, _AUTO):
        return
    found = _HOST_PORT.fullmatch(address)
    needs_port = found is not None and found[1] is None
    if found is None or (needs_port and not found[4]) or int(found[4] or 1) not in _PORTS:
        allowed = f"must be {LOCAL}, {_AUTO}, HOST:PORT or ray://HOST:PORT"
        raise ParameterError("ray_address", address, allowed)


def _check_answers(address: str) -> None:
    """Raises `OSError` if no process listens there; Ray would try for minutes."""
    if address == LOCAL:
        return
    if address == _AUTO:
        # `RAY_ADDRESS`, else the address that a cluster, perhaps gone, has left on this machine.
        from ray._private.services import get_ray_address_from_environment

        address = str(get_ray_address_from_environment(_AUTO, None))
        _check_form(address)
    place = _client_server(address)
    if place is None:
        host, _, port = address.rpartition(":")
        place = (host.strip("[]"), int(port))
    socket.create_connection(place, _ANSWER_S).close()


def _client_server(address: str) -> Place | None:
    """Host and port in `ray://HOST:PORT`, the server of Ray's client; `None` for other forms."""
    if not address.startswith("ray://"):
        return None
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or _CLIENT_PORT


class RayWatch:
    """Probes the two ports that a process depends on; disconnects from Ray if one is silent.

    With Ray's client (`ray://`) there is one port, of its server, which may be far away. Ray ends a
    process at once if it calls Ray after its node is gone, so call `check` first.

    Attributes:
        in_use: Lock held by callers of Ray, so that the watch does not disconnect meanwhile.
        lost: Description of the parts that do not answer; `None` while all answer.
    """

    def __init__(self, ray: Any, address: str) -> None:
        """Starts watching.

        Args:
            ray: The connected module.
            address: Address given to `connect`.
        """
        self._ray = ray
        self._node: Place | None = None
        server = _client_server(address)
        if server is not None:
            self._head = server
        else:
            context = ray.get_runtime_context()
            host, _, port = context.gcs_address.rpartition(":")
            self._head = (host, int(port))
            (self._node,) = (
                (node["NodeManagerAddress"], int(node["NodeManagerPort"]))
                for node in ray.nodes()
                if node["NodeID"] == context.get_node_id()
            )
        self.in_use = threading.Lock()
        self.lost: str | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="Ray watch", daemon=True)
        self._thread.start()

    def check(self) -> str | None:
        """Probes the node of this process, which is on this machine; returns `lost`."""
        if self.lost is None and self._node is not None and not _answers(self._node):
            self.lost = "the node that this run is attached to is gone"
        return self.lost

    def _watch(self) -> None:
        silent_s = 0.0
        while not self._stopped.wait(_EVERY_S):
            silent_s = 0.0 if _answers(self._head) else silent_s + _EVERY_S
            if silent_s >= _HEAD_SILENT_S:
                self.lost = f"its head has not answered for {silent_s:g} s"
            if self.check() is not None:
                with self.in_use:
                    self._ray.shutdown()
                return

    def stop(self) -> None:
        """Ends the watch; the caller must not hold `in_use`."""
        self._stopped.set()
        self._thread.join()


def _answers(place: Place) -> bool:
    try:
        socket.create_connection(place, _EVERY_S).close()
    except OSError:
        return False
    return True
