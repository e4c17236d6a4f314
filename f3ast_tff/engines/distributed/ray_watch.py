"""Whether a Ray cluster still answers, found out before Ray ends this process without a word."""

from __future__ import annotations

import socket
import threading
from typing import Any
from urllib.parse import urlsplit

Place = tuple[str, int]
_CLIENT_PORT = 10001
_EVERY_S = 1.0
# Ray itself gives a head 60 s to come back.
_HEAD_SILENT_S = 10.0


class RayWatch:
    """Tries the two ports that a process cannot do without; when one is silent, lets go of Ray.

    Through Ray's client (`ray://`) there is one, that of its server, which may be far away. A
    process that calls Ray after its node is gone is ended by Ray at once: hence `check`.

    Attributes:
        in_use: Held by whoever calls Ray, so that it is not let go of at that moment.
        lost: What does not answer, in words; `None` while all do.
    """

    def __init__(self, ray: Any, address: str) -> None:
        """Starts watching.

        Args:
            ray: The module, connected.
            address: As it was given to `ray_connection.connect`.
        """
        self._ray = ray
        self._node: Place | None = None
        server = client_server(address)
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
        """Returns `lost`, after a look at the node of this process: a process of this machine."""
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
        """Ends the watch; whoever calls must not hold `in_use`."""
        self._stopped.set()
        self._thread.join()


def client_server(address: str) -> Place | None:
    """Returns the place of the server of Ray's client in `ray://HOST:PORT`, else `None`."""
    if not address.startswith("ray://"):
        return None
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or _CLIENT_PORT


def _answers(place: Place) -> bool:
    try:
        socket.create_connection(place, _EVERY_S).close()
    except OSError:
        return False
    return True
