"""The setting `private`: what does not go with leaves that stay with the clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import is_late
from f3ast_tff.methods.parts.memory import Memory


def check_private(settings: Mapping[str, Any], name: str, memory: Memory | None) -> None:
    """Refuses what does not go with private leaves.

    Args:
        settings: All settings, with `private`.
        name: Name of the aggregation.
        memory: Its memory, if any.

    Raises:
        ParameterError: If a setting contradicts it.
    """
    value = settings["private"]
    refused = {
        "num_workers": "whose leaves stay with one process",
        "test_clients": "which scores the clients that train",
        "held_out_clients": "which scores the clients that train",
    }
    for setting, why in refused.items():
        if settings.get(setting) is not None:
            allowed = f"must not be given with private={value}, {why}"
            raise ParameterError(setting, settings[setting], allowed)
    if is_late(settings):
        allowed = (
            f"must not be late with private={value}: a client starts from its last leaves, which "
            "would still be under way"
        )
        raise ParameterError("delivery", settings["delivery"], allowed)
    if settings.get("client_share_of") == "present":
        allowed = f"must be all with private={value}: clients that have left would keep theirs"
        raise ParameterError("client_share_of", "present", allowed)
    if memory is not None and (memory.last_step or memory.echo_clip is not None):
        why = "reads last steps alone" if memory.last_step else "clips the sum of all updates"
        raise ParameterError(
            "private", value, f"must not be given with aggregation {name}: it {why}"
        )
