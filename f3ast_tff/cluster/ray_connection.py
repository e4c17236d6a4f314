"""The way to a Ray cluster: one that is there, or one of this machine alone."""

from __future__ import annotations

import logging
import socket
import warnings
from typing import Any

from f3ast_tff.errors import SettingError

LOCAL = "local"
_ANSWER_S = 5.0


def connect(address: str, num_cpus: int | None = None) -> Any:
    """Connects to a cluster; does nothing if this process is connected already.

    A local cluster is forked off this process: before any framework with threads is imported.

    Args:
        address: `local` for processes of this machine alone; `auto` for the cluster that this
            machine is part of; `HOST:PORT` of a cluster's head, or `ray://HOST:PORT`.
        num_cpus: Cores of a local cluster, by default the machine's.

    Returns:
        The module `ray`.

    Raises:
        SettingError: If Ray is not installed, or no cluster answers there.
    """
    try:
        import ray
    except ImportError as error:
        allowed = "needs Ray, not installed here: pip install 'f3ast-tff[ray]'"
        raise SettingError("ray_address", address, allowed) from error
    if ray.is_initialized():
        return ray
    where = {"num_cpus": num_cpus} if address == LOCAL else {}
    try:
        _check_reachable(address)
        with warnings.catch_warnings():
            # Of a default of future versions.
            warnings.filterwarnings("ignore", "Tip: In future versions of Ray", FutureWarning)
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=False if address == LOCAL else None,
                **where,
            )
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        allowed = f"no Ray cluster can be reached there: {reason}"
        raise SettingError("ray_address", address, allowed) from error
    return ray


def _check_reachable(address: str) -> None:
    """Tries the port for a moment, as Ray would for more than a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), _ANSWER_S).close()
