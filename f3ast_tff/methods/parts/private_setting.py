"""The setting `private`: what does not go with leaves that stay with the clients."""

from __future__ import annotations

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.settings.configuration import Settings


def check_private(settings: Settings, name: str, memory: Memory | None) -> None:
    """Refuses what does not go with private leaves.

    Args:
        settings: All settings, with `private`.
        name: Name of the aggregation.
        memory: Its memory, if any.

    Raises:
        ParameterError: If a setting contradicts it.
    """
    value, trained = settings.training.private, "which scores the clients that train"
    for setting, given, why in (
        ("num_workers", settings.num_workers, "whose leaves stay with one process"),
        ("test_clients", settings.test_clients, trained),
        ("held_out_clients", settings.held_out_clients, trained),
    ):
        if given is not None:
            allowed = f"must not be given with private={value}, {why}"
            raise ParameterError(setting, given, allowed)
    if settings.is_late:
        allowed = (
            f"must not be late with private={value}: a client starts from its last leaves, which "
            "would still be under way"
        )
        raise ParameterError("delivery", settings.delivery, allowed)
    if settings.selection.client_share_of == "present":
        allowed = f"must be all with private={value}: clients that have left would keep theirs"
        raise ParameterError("client_share_of", "present", allowed)
    if memory is not None and (memory.last_step or memory.echo_clip is not None):
        why = "reads last steps alone" if memory.last_step else "clips the sum of all updates"
        raise ParameterError(
            "private", value, f"must not be given with aggregation {name}: it {why}"
        )
