"""Rows of several kinds of one device: those that say whether it is there.

Kubernetes' conditions of nodes, and Home Assistant's sensors.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.log_columns import HOME_ASSISTANT, Given
from f3ast_tff.availability.logs.log_states import name_words
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError

_READY = "ready"
_TYPES = frozenset({_READY, *("memorypressure", "diskpressure", "pidpressure"), "outofdisk"}) | {
    *("networkunavailable", "configok")
}
# What says whether a device is there, the likeliest first: a domain, or the last word of a name.
_TRACKERS = ("device_tracker", "person")
_THERE = frozenset({"connectivity", "presence", "connected", "online", "reachable", "availability"})


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


def with_trackers(table: LogTable) -> LogTable:
    """Returns the rows of the entities that say whether devices are there; other tables as is.

    Raises:
        DataError: If entities of several kinds say so, or none; names the kinds.
    """
    if table.form != HOME_ASSISTANT:
        return table
    found = table.coded(table.roles["device"])
    kinds = _kinds(found.texts)
    if len(kinds) < 2:
        return table
    by_domain = [[k for k in kinds if k.partition(".")[0] == domain] for domain in _TRACKERS]
    by_end = [kind for kind in kinds if not name_words(kind).isdisjoint(_THERE)]
    there = next(filter(None, [*by_domain, by_end]), [])
    others = listed([kind for kind in kinds if kind not in there])
    if len(there) != 1:
        said = f"it has entities of several kinds, {listed(list(kinds))}: keep the rows of one"
        raise DataError(f"{table.name}: {HOME_ASSISTANT}: {said}")
    rows = found.of_rows([text in kinds[there[0]] for text in found.texts], False)
    form = f"{HOME_ASSISTANT}, of {there[0]}, without {others}"
    return replace(table, frame=table.frame[rows], form=form, _coded={})


def _kinds(entities: list[str]) -> dict[str, set[str]]:
    """Entities by kind: their domain, with their last word if it does not tell devices apart."""
    parts = {entity: _parts(entity) for entity in entities}
    devices: dict[tuple[str, str], set[str]] = defaultdict(set)
    for domain, device, word in parts.values():
        devices[domain, word].add(device)
    kinds: dict[str, set[str]] = defaultdict(set)
    for entity, (domain, _, word) in parts.items():
        others = [devices[each] for each in devices if each[0] == domain and each[1] != word]
        # Phones may be called pixel_7 and pixel_8.
        several = any(len(each & devices[domain, word]) > 1 for each in others)
        ends = several or not others or word in _THERE
        kinds[f"{domain}.*_{word}" if ends else domain].add(entity)
    return kinds


def _parts(entity: str) -> tuple[str, str, str]:
    """Domain, device and last word of an entity such as `sensor.phone_battery`."""
    domain, _, name = entity.rpartition(".")
    device, _, word = name.rpartition("_")
    return domain, device, word
