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


REFUSED: list[tuple[dict[str, Any], Memory | None, str]] = [
    (
        {"num_workers": 2},
        None,
        "num_workers = 2: must not be given with private=head, whose leaves stay with one process",
    ),
    (
        {"test_clients": 3},
        None,
        "test_clients = 3: must not be given with private=head, which scores the clients that "
        "train",
    ),
    (
        {"held_out_clients": 3},
        None,
        "held_out_clients = 3: must not be given with private=head, which scores the clients that "
        "train",
    ),
    (
        {"delivery": "late"},
        None,
        "delivery = late: must not be late with private=head: a client starts from its last "
        "leaves, which would still be under way",
    ),
    (
        {"client_share_of": "present"},
        None,
        "client_share_of = present: must be all with private=head: clients that have left would "
        "keep theirs",
    ),
    (
        {},
        LastSteps(),
        "private = head: must not be given with aggregation own: it reads last steps alone",
    ),
    (
        {},
        Clips(),
        "private = head: must not be given with aggregation own: it clips the sum of all updates",
    ),
]


@pytest.mark.parametrize(("settings", "memory", "told"), REFUSED, ids=lambda value: str(value)[:30])
def test_refused(settings: dict[str, Any], memory: Memory | None, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        given = {"private": "head", **settings}
        check_private(Settings.of(given, is_late="delivery" in settings), "own", memory)
    assert str(caught.value) == told


@pytest.mark.parametrize("memory", [None, Memory()])
def test_taken(memory: Memory | None) -> None:
    others = {"num_workers": None, "delivery": "certain", "client_share_of": "all"}
    check_private(Settings.of({"private": "head", **others}), "own", memory)
