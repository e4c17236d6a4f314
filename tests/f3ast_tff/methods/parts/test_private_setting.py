"""What does not go with leaves that stay with the clients."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.methods.parts.private_setting import check_private
from f3ast_tff.settings.configuration import Settings


class LastSteps(Memory):
    last_step = True


class Clips(Memory):
    echo_clip = 1.0


SCORED = "must not be given with private=head, which scores the clients that train"
OWN = "must not be given with aggregation own"


@pytest.mark.parametrize(
    ("name", "value", "memory", "told"),
    [
        (
            *("num_workers", 2, None),
            "must not be given with private=head, whose leaves stay with one process",
        ),
        ("test_clients", 3, None, SCORED),
        ("held_out_clients", 3, None, SCORED),
        (
            *("delivery", "late", None),
            "must not be late with private=head: a client starts from its last leaves, which would "
            "still be under way",
        ),
        (
            *("client_share_of", "present", None),
            "must be all with private=head: clients that have left would keep theirs",
        ),
        ("private", "head", LastSteps(), f"{OWN}: it reads last steps alone"),
        ("private", "head", Clips(), f"{OWN}: it clips the sum of all updates"),
    ],
)
def test_refused(name: str, value: Any, memory: Memory | None, told: str) -> None:
    given = {"private": "head", name: value}
    with pytest.raises(ParameterError) as caught:
        check_private(Settings.of(given, is_late=name == "delivery"), "own", memory)
    assert str(caught.value) == f"{name} = {value}: {told}"


@pytest.mark.parametrize("memory", [None, Memory()])
def test_taken(memory: Memory | None) -> None:
    others = {"num_workers": None, "delivery": "certain", "client_share_of": "all"}
    check_private(Settings.of({"private": "head", **others}), "own", memory)
