"""An address without a Ray cluster is reported within seconds."""

from __future__ import annotations

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.distributed.ray_connection import (
    Place,
    _check_answers,
    _check_form,
    _client_server,
)


@pytest.mark.parametrize(
    "address",
    ["local", "auto", "10.0.0.1:6379", "head:1", "ray://head", "ray://head:10001", "[::1]:6379"],
)
def test_good_forms(address: str) -> None:
    _check_form(address)


@pytest.mark.parametrize(
    "address",
    ["", "head", "http://head:80", "head:0", "head:65536", "head:x", "ray://", "ray://head:99999"]
    + ["head:1\n", "a b:1", "ray://head:1/x", "x" * 9000],
)
def test_other_forms_are_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="ray_address = "):
        _check_form(address)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("ray://head:10002", ("head", 10002)),
        ("ray://head", ("head", 10001)),
        ("ray:6379", None),
        ("127.0.0.1:6379", None),
        ("auto", None),
    ],
)
def test_place_of_the_client_server(address: str, place: Place | None) -> None:
    assert _client_server(address) == place


def test_auto_looks_where_ray_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that ended leaves its address behind; Ray itself would try it for minutes."""
    services = pytest.importorskip("ray._private.services")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(services, "find_gcs_addresses", set)
    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: "127.0.0.1:1")
    with pytest.raises(OSError, match="refused"):
        _check_answers("auto")
    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: None)
    with pytest.raises(OSError, match="Could not find any running Ray instance"):
        _check_answers("auto")
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:1")
    with pytest.raises(ParameterError, match="ray_address = http://127.0.0.1:1: must be local"):
        _check_answers("auto")
