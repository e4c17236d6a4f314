"""Whether an address is of a Ray cluster, known in seconds; Ray itself would try for minutes."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from typing import Any

from f3ast_tff.engines.distributed.ray_watch import client_server
from f3ast_tff.errors import ParameterError

LOCAL = "local"
_AUTO = "auto"
_ANSWER_S = 5.0
_HOST_PORT = re.compile(r"(ray://)?(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]+)(:([0-9]{1,5}))?/?")
_PORTS = range(1, 65536)
# Of HTTP/2, on which gRPC is built: the client's first bytes, and an empty SETTINGS frame.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_FRAME_HEADER_BYTES, _SETTINGS = 9, 4
_CLIENT_METHOD = "/ray.rpc.RayletDriver/ClusterInfo"


def check_form(address: str) -> None:
    """Checks how an address is written.

    Raises:
        ParameterError: If it is none of those that `ray_connection.connect` takes.
    """
    if address in (LOCAL, _AUTO):
        return
    found = _HOST_PORT.fullmatch(address)
    needs_port = found is not None and found[1] is None
    if found is None or (needs_port and not found[4]) or int(found[4] or 1) not in _PORTS:
        allowed = f"must be {LOCAL}, {_AUTO}, HOST:PORT or ray://HOST:PORT"
        raise ParameterError("ray_address", address, allowed)


def check_answers(address: str) -> None:
    """Checks that a Ray cluster answers at an address of a good form.

    Raises:
        OSError: If nothing answers, or something that is not Ray.
        ParameterError: If `auto` leads to an address that is none.
    """
    # Behind TLS only Ray itself can tell.
    if address == LOCAL or os.environ.get("RAY_USE_TLS", "0") in ("1", "true"):
        return
    if address == _AUTO:
        address = _noted_address()
        check_form(address)
    place = client_server(address)
    if place is not None:
        _check_http2(place)
        _check_client_server(place)
        return
    host, _, port = address.rpartition(":")
    _check_http2((host.strip("[]"), int(port)))
    _check_head(address)


def _noted_address() -> str:
    """Where Ray would look: `RAY_ADDRESS`, else what a cluster noted here, which may be gone."""
    from ray._private.services import get_ray_address_from_environment

    return str(get_ray_address_from_environment(_AUTO, None))


def _check_http2(place: tuple[str, int]) -> None:
    with socket.create_connection(place, _ANSWER_S) as connection:
        connection.sendall(_PREFACE)
        answer = b""
        try:
            while len(answer) < _FRAME_HEADER_BYTES:
                more = connection.recv(_FRAME_HEADER_BYTES - len(answer))
                if not more:
                    break
                answer += more
        except socket.timeout as error:
            raise OSError(f"what listens there has not answered for {_ANSWER_S:g} s") from error
    if len(answer) < _FRAME_HEADER_BYTES or answer[3] != _SETTINGS:
        raise OSError("what listens there is not Ray")


def _check_head(address: str) -> None:
    from ray._raylet import GcsClient  # type: ignore[attr-defined]
    from ray.exceptions import RpcError

    try:
        GcsClient(address=address)
    except RpcError as error:
        raise OSError("what listens there is not the head of a Ray cluster") from error


def _check_client_server(place: tuple[str, int]) -> None:
    # Ray's client is built on it.
    import grpc

    host, port = place
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        call: Callable[..., Any] = channel.unary_unary(_CLIENT_METHOD)
        try:
            call(b"", timeout=_ANSWER_S, metadata=(("client_id", "probe"),))
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise OSError("what listens there is not the server of Ray's client") from error
