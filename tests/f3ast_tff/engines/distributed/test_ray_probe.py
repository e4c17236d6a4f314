"""Addresses where no Ray cluster is are told in seconds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from f3ast_tff.engines.distributed import ray_probe
from f3ast_tff.engines.distributed.ray_probe import check_answers, check_form
from f3ast_tff.errors import ParameterError


@pytest.mark.parametrize(
    "address",
    ["local", "auto", "10.0.0.1:6379", "head:1", "ray://head", "ray://head:10001", "[::1]:6379"],
)
def test_good_forms(address: str) -> None:
    check_form(address)


@pytest.mark.parametrize(
    "address",
    ["", "head", "http://head:80", "head:0", "head:65536", "head:x", "ray://", "ray://head:99999"]
    + ["head:1\n", "a b:1", "ray://head:1/x", "x" * 9000],
)
def test_other_forms_are_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="ray_address = "):
        check_form(address)


@pytest.fixture(params=[b"HTTP/1.0 400 Bad request\r\n\r\n", b"", None])
def stranger(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server that answers with something else, that hangs up, or that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if request.param is None:
                        done.wait(5)
                    else:
                        connection.sendall(request.param)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        done.set()


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_a_stranger_is_told(form: str, stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_probe, "_ANSWER_S", 0.2)
    with pytest.raises(OSError, match="what listens there|reset"):
        check_answers(form.format(stranger))


def test_auto_looks_where_ray_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is gone leaves its address behind, which Ray itself tries for minutes."""
    services = pytest.importorskip("ray._private.services")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(services, "find_gcs_addresses", set)
    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: "127.0.0.1:1")
    with pytest.raises(OSError, match="refused"):
        check_answers("auto")
    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: None)
    with pytest.raises(OSError, match="Could not find any running Ray instance"):
        check_answers("auto")
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:1")
    with pytest.raises(ParameterError, match="ray_address = http://127.0.0.1:1: must be local"):
        check_answers("auto")
