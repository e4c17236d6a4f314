"""Listening sockets of processes: what can be reached, and from where."""

from __future__ import annotations

import ipaddress
import os

import psutil


def listening(pid: int | None = None) -> set[tuple[str, int]]:
    """Returns address and port of each TCP socket on which a process or a descendant listens.

    Args:
        pid: The process; `None` for this one.
    """
    process = psutil.Process(os.getpid() if pid is None else pid)
    found = set()
    for each in (process, *process.children(recursive=True)):
        for connection in each.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                found.add((connection.laddr.ip, connection.laddr.port))
    return found


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an IP address; also of IPv4 mapped into IPv6."""
    found = ipaddress.ip_address(address)
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback
