"""Listening sockets of processes: addresses and ports."""

from __future__ import annotations

import ipaddress
import os

import psutil


def listening(pid: int | None = None) -> set[tuple[str, int]]:
    """Returns the address and port of each TCP socket that a process or its descendants listen on.

    Args:
        pid: Process id; `None` for this process.
    """
    process = psutil.Process(os.getpid() if pid is None else pid)
    found = set()
    for each in (process, *process.children(recursive=True)):
        for connection in each.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                found.add((connection.laddr.ip, connection.laddr.port))
    return found


def is_loopback(address: str) -> bool:
    """Whether an IP address is reachable from this machine only; IPv4 mapped into IPv6 counts."""
    found = ipaddress.ip_address(address)
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback
