"""The way to a Ray cluster: one that is there, or one of this machine alone."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from f3ast_tff.engines.distributed.ray_probe import LOCAL, check_answers, check_form
from f3ast_tff.errors import ParameterError

# Ray writes pages of its own to the terminal when a node is lost; callers say it in a line.
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": "."}
# Processes of a cluster of our own read this as well: their logs are as short.
_QUIET_BACKEND = {"RAY_BACKEND_LOG_LEVEL": "fatal"}
# A node of this address listens on it alone; Ray's own choice is every network interface.
_LOOPBACK = "127.0.0.1"


def connect(address: str, num_cpus: int | None = None) -> Any:
    """Connects to a cluster; does nothing if this process is connected already.

    A local cluster is forked off this process: before any framework with threads is imported. Only
    processes of this machine reach it.

    Args:
        address: `local` for processes of this machine alone; `auto` for the cluster that this
            machine is part of; `HOST:PORT` of a cluster's head; `ray://HOST:PORT` of the server of
            Ray's client, from a machine that is not part of it.
        num_cpus: Cores of a local cluster, by default the machine's.

    Returns:
        The module `ray`.

    Raises:
        ParameterError: If Ray is not installed, or no cluster answers there within 20 s.
    """
    check_form(address)
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
        where = {
            "num_cpus": num_cpus,
            "include_dashboard": False,
            "_node_ip_address": _LOOPBACK,
        }
    try:
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            stack.enter_context(_environment(_QUIET_BACKEND))
            # It announces that it will be quiet.
            stack.enter_context(_no_stderr())
            check_answers(address)
            # Of a default of future versions.
            warnings.filterwarnings("ignore", "Tip: In future versions of Ray", FutureWarning)
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                **where,
            )
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
    """Also for what is not Python."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
