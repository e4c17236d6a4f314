"""The Failure Trace Archive's event_trace: nodes of several platforms, and their components."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.core.errors import DataError

HOUR, FIRST = 3600, 1_717_200_000
# Of 20 hours node 1 of platform 0 is on for the first 8, of platform 1 for 6, node 2 for 5.
ROWS = [(1, 0, 0, 8), (1, 1, 10, 16), (2, 0, 15, 20)]


def trace(**more: Any) -> pd.DataFrame:
    found = pd.DataFrame(ROWS, columns=["node_id", "platform_id", "begin", "end"])
    return pd.DataFrame(
        {
            "event_id": range(3),
            "component_id": 0,
            "node_id": found["node_id"],
            "platform_id": found["platform_id"],
            "event_type": 1,
            "event_start_time": FIRST + HOUR * found["begin"],
            "event_stop_time": FIRST + HOUR * found["end"],
        }
    ).assign(**more)


def test_nodes_of_two_platforms_are_two_devices() -> None:
    log = log_of_frame(trace())
    assert log.clients == ("0/1", "0/2", "1/1")
    assert log.masks.mean().tolist() == [8 / 20, 5 / 20, 6 / 20]
    assert "by device = platform_id/node_id, start" in log.read_as
    merged = log_of_frame(trace(), columns="ignore=platform_id")
    assert merged.clients == ("1", "2")
    assert merged.masks.mean().tolist() == [14 / 20, 5 / 20]
    assert log_of_frame(trace(), columns="device=node_id").clients == ("1", "2")


def test_a_node_of_one_platform_keeps_its_name() -> None:
    log = log_of_frame(trace(node_id=[1, 3, 2]))
    assert log.clients == ("1", "2", "3")
    assert log.masks.mean().tolist() == [8 / 20, 5 / 20, 6 / 20]
    assert "by device = node_id, start" in log.read_as


def test_components_of_a_node_are_refused() -> None:
    frame = trace(component_id=[0, 4, 0], platform_id=0)
    with pytest.raises(DataError, match="column 'component_id' tells apart .*, such as 0, 4: keep"):
        log_of_frame(frame)
    log = log_of_frame(frame, columns="ignore=component_id")
    assert log.masks.mean().tolist() == [14 / 20, 5 / 20]
    # Of other nodes, or platforms, a component is no second one of a node.
    assert log_of_frame(trace(component_id=[0, 4, 0])).clients == ("0/1", "0/2", "1/1")
