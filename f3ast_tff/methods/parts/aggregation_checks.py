"""Settings that do not go with an aggregation that remembers or combines; imported for these."""

from __future__ import annotations

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.methods.parts.memory_rules import start_of
from f3ast_tff.settings.configuration import Settings


def check_aggregation(
    name: str, memory: Memory | None, *, stacks: bool, settings: Settings
) -> None:
    """Refuses engines, workers, deliveries and optimizers that the rules do not go with.

    Args:
        name: Name of the aggregation.
        memory: Its memory, if any.
        stacks: Whether it has a rule `combine`.
        settings: All settings.

    Raises:
        ParameterError: Names the setting.
    """
    if stacks:
        _check_stacks(name, memory, settings)
    if memory is None:
        return
    if memory.by_client and settings.num_workers is not None:
        does = "changes each client's update" if memory.has_messages else "sets each client's start"
        does = "remembers each client" if memory.keeps_clients else does
        allowed = f"must not be given with aggregation {name}, which {does}"
        raise ParameterError("num_workers", settings.num_workers, allowed)
    start = start_of(memory)
    kinds = {
        "model": "models",
        "offset": "corrections of their gradients",
        "pull": "a pull to the model",
        "trains": "a choice of coordinates",
    }
    what = [kind for part, kind in kinds.items() if getattr(start, part) is not None]
    if what and settings.is_late:
        allowed = (
            f"must not be late with aggregation {name}, whose rule has clients start from "
            f"{what[0]} of the round that their update arrives in"
        )
        raise ParameterError("delivery", settings.delivery, allowed)
    if start.trains is not None and settings.engine == "tff":
        allowed = f"must be host or fused with aggregation {name}, which scales gradients (trains)"
        raise ParameterError("engine", "tff", allowed)
    if memory.start_loss and settings.is_late:
        allowed = f"must not be late with aggregation {name}, which reads losses at the start"
        raise ParameterError("delivery", settings.delivery, allowed)
    if memory.reads_gradients:
        because = f"with aggregation {name}, which reads gradients off a client's update"
        require_plain_sgd(settings, "client", because)


def _check_stacks(name: str, memory: Memory | None, settings: Settings) -> None:
    """Refuses what does not go with stacked updates."""
    does = f"aggregation {name}, which combines the updates of a cohort at once"
    if settings.num_workers is not None:
        allowed = f"must not be given with {does}: workers send sums"
        raise ParameterError("num_workers", settings.num_workers, allowed)
    if settings.is_late and settings.engine == "fused":
        allowed = f"must not be late on engine fused with {does}: it sums late updates; host can"
        raise ParameterError("delivery", settings.delivery, allowed)
    if memory is not None and memory.echo_clip is not None:
        raise ParameterError("aggregation", name, "must have no combine with an echo_clip")


def require_plain_sgd(settings: Settings, side: str, because: str) -> None:
    """Refuses optimizers whose step is not learning rate times direction.

    Args:
        settings: All settings.
        side: `"client"` or `"server"`.
        because: End of the message.

    Raises:
        ParameterError: If the side's optimizer is not SGD, or has momentum.
    """
    optimizer, momentum = {
        "client": (settings.client_optimizer, settings.client_momentum),
        "server": (settings.server_optimizer, settings.server_momentum),
    }[side]
    if optimizer != "sgd":
        raise ParameterError(f"{side}_optimizer", optimizer, f"must be sgd {because}")
    if momentum:
        raise ParameterError(f"{side}_momentum", momentum, f"must be 0 {because}")
