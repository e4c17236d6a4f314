"""What identifies an object: an identity of its own, a registered class, values, or itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, simulate
from f3ast_tff.availability import FixedK, ScarceConfig, Table
from f3ast_tff.core.errors import RunFolderError
from f3ast_tff.models import SmallCNN
from f3ast_tff.run.object_identity import identity_of
from f3ast_tff.settings import register

SMALL: dict[str, Any] = {"num_clients": 6, "clients_per_round": 2, "rounds": 2}


class Present:
    """Everyone is there."""

    num_clients = 6
    positively_correlated = True

    def mask(self, round_number: int) -> np.ndarray:
        return np.ones(6, bool)


class Named(Present):
    identity = "everyone, version 1"


@register("availability", "mine", about="a component outside all registries")
@dataclass(frozen=True)
class MineConfig(ScarceConfig):
    pass


def test_an_object_is_itself_as_long_as_it_exists() -> None:
    one, other = Present(), Present()
    assert identity_of(one) == identity_of(one) != identity_of(other)
    assert not identity_of(one)[1]
    unhashable: list[int] = []
    assert identity_of(unhashable) != identity_of(unhashable)


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (Named(), Named(), FixedK(clients_per_round=3)),
        (MineConfig(), MineConfig(scarce_q=0.2), MineConfig(scarce_q=0.3)),
        (MineConfig, MineConfig, ScarceConfig),
        (FixedK(clients_per_round=2), FixedK(clients_per_round=2), FixedK(clients_per_round=3)),
        (Table(np.eye(3)), Table(np.eye(3)), Table(1 - np.eye(3))),
    ],
    ids=["own identity", "registered", "class", "values", "table"],
)
def test_equal_objects_have_one_identity(value: Any, equal: Any, other: Any) -> None:
    assert identity_of(value) == identity_of(equal) != identity_of(other)
    assert identity_of(value)[1]


def test_data_are_identified_by_their_content() -> None:
    data = FederatedData.from_arrays(np.eye(3), [0, 1, 0], [0, 0, 1], test=None)
    again = FederatedData.from_arrays(np.eye(3), [0, 1, 0], [0, 0, 1], test=None)
    assert identity_of(data) == identity_of(again) != identity_of(replace(data, num_classes=3))


def test_a_run_with_an_object_without_identity_is_not_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = Present()
    simulate(availability=process, folder=tmp_path / "own", **SMALL)
    assert "availability present given as an object without identity: this run" in caplog.text
    with pytest.raises(RunFolderError, match="holds a run that cannot be resumed: availability"):
        simulate(availability=process, folder=tmp_path / "own", **SMALL)


def test_a_run_with_an_identity_is_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = simulate(availability=Named(), folder=tmp_path / "named", **SMALL)
    again = simulate(availability=Named(), folder=tmp_path / "named", **SMALL)
    assert "cannot be resumed" not in caplog.text
    score = "test_sample_loss"
    assert again.summary["final"][score] == first.summary["final"][score]


def test_a_network_of_values_is_identified_by_them() -> None:
    one, again, other = (SmallCNN((4, 4), hidden) for hidden in (8, 8, 9))
    assert identity_of(one) == identity_of(again) != identity_of(other)
    assert identity_of(one)[1]
