from __future__ import annotations

import pytest

from f3ast_tff.engines.distributed.ray_watch import Place, client_server


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
    assert client_server(address) == place
