"""The Failure Trace Archive's event_trace: devices are nodes of platforms, and have components."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.log_columns import FAILURE_TRACES, Given, plain_name
from f3ast_tff.availability.logs.log_reading import OF_RUN
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError


def with_nodes(table: LogTable, given: Given) -> LogTable:
    """Returns an event_trace with a device per node of each platform; other tables as they are.

    Nodes are numbered within their platform. Where a node's number comes in one platform alone, it
    is the device's name.

    Args:
        table: The table.
        given: What the user says: a column of devices, or columns that decide nothing.

    Raises:
        DataError: If a device has several components, each with states of its own.
    """
    if table.form != FAILURE_TRACES or "device" in given.columns:
        return table
    ignored = {plain_name(column) for column in given.ignored}
    there = {plain_name(c): c for c in table.frame.columns if plain_name(c) not in ignored}
    if "platformid" in there:
        table = _by_platform(table, there["platformid"])
    if "componentid" in there:
        _refuse_components(table, there["componentid"], given)
    return table


def _by_platform(table: LogTable, platform: Any) -> LogTable:
    node = table.roles["device"]
    if traits.is_of_device(table, platform, table.coded(node).codes):
        return table
    both = f"{platform}/{node}"
    names = table.pairs(platform, node)
    frame = table.frame.drop(columns=[platform, node]).assign(**{both: names})
    return replace(table, frame=frame, roles={**table.roles, "device": both}, _coded={})


def _refuse_components(table: LogTable, component: Any, given: Given) -> None:
    if traits.is_of_device(table, component, table.coded(table.roles["device"]).codes):
        return
    some = listed(traits.values_of(table, component)[:2])
    raise DataError(
        f"{table.name}: column {component!r} tells apart components of a node, such as {some}: "
        f"keep the rows of one, or say by {given.flag({'ignore': component})} {OF_RUN} that a node "
        "is online while any of them is"
    )
