"""Home Assistant's entities: of all sensors of a device, those that say whether it is there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from f3ast_tff.availability.logs.log_columns import HOME_ASSISTANT
from f3ast_tff.availability.logs.log_states import name_words
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError

# What says whether a device is there: a domain, or else the last word of the names.
_TRACKERS = ("device_tracker", "person")
_THERE = frozenset({"connectivity", "presence", "connected", "online", "reachable", "availability"})


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
    there = [kind for kind in kinds if kind.partition(".")[0] in _TRACKERS] or [
        kind for kind in kinds if not name_words(kind).isdisjoint(_THERE)
    ]
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
        ends = not others or any(len(each & devices[domain, word]) > 1 for each in others)
        kinds[f"{domain}.*_{word}" if ends else domain].add(entity)
    return kinds


def _parts(entity: str) -> tuple[str, str, str]:
    """Domain, device and last word of an entity such as `sensor.phone_battery`."""
    domain, _, name = entity.rpartition(".")
    device, _, word = name.rpartition("_")
    return domain, device, word
