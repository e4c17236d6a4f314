"""Kubernetes' conditions of nodes: of all rows, those of the type Ready say who is there."""

from __future__ import annotations

from dataclasses import replace

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.log_columns import Given
from f3ast_tff.availability.logs.log_table import LogTable

_READY = "ready"
_TYPES = frozenset({_READY, *("memorypressure", "diskpressure", "pidpressure"), "outofdisk"}) | {
    *("networkunavailable", "configok")
}


def with_ready(table: LogTable, given: Given) -> LogTable:
    """Returns the rows of the type Ready of a table of conditions; other tables as they are.

    A node that is short of memory has a row `MemoryPressure,True`, and may still be there.

    Args:
        table: The table.
        given: What the user says: columns that decide nothing.
    """
    for column in table.frame.columns:
        if table.form or str(column) in given.ignored or not traits.is_readable(table, column):
            continue
        found = table.coded(column)
        if len(found.words) > 1 and _READY in found.words and _TYPES.issuperset(found.words):
            rows = found.of_rows([word == _READY for word in found.words], False)
            form = f"Kubernetes' conditions of nodes, of {column} {_READY.title()}"
            return replace(table, frame=table.frame[rows], form=form, _coded={})
    return table
