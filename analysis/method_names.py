"""Names of methods and other components in tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from f3ast_tff.settings import builtin_registry

# Name of the algorithm fedavg_all with the aggregation mean.
PLAIN_MEAN = "Plain mean"
# Settings whose value alone says which form of a method it is: `FedAvg, without replacement`.
FORMS = ("baseline_sampling",)
# Place of a component that is unknown here.
_LAST = 1000


def display_of(kind: str, name: str) -> str:
    """Returns the name of one of this version's components in tables; others go by their name."""
    component = builtin_registry().components[kind].get(name)
    return name if component is None else component.display


def order_of(kind: str, name: str) -> int:
    """Returns the place of one of this version's components among its kind; others come last."""
    known = builtin_registry().components
    component = known[kind].get(name) if kind in known else None
    return _LAST if component is None else component.order


def own_aggregation(algorithm: str) -> str | None:
    """Returns the aggregation of one of this version's algorithms; `None` for others."""
    component = builtin_registry().components["algorithm"].get(algorithm)
    return None if component is None else component.config.aggregation


def without_own_aggregation(settings: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """Returns settings without the aggregation if it is the algorithm's own."""
    own = own_aggregation(algorithm)
    return {n: v for n, v in settings.items() if n != "aggregation" or v != own}


def is_plain_mean(settings: Mapping[str, Any]) -> bool:
    """Whether a method takes the weighted mean of clients drawn from all available."""
    return (settings.get("algorithm"), settings.get("aggregation")) == ("fedavg_all", "mean")


def algorithm_label(settings: Mapping[str, Any]) -> str:
    """Returns the name of a method's algorithm in tables; see `PLAIN_MEAN`."""
    plain = is_plain_mean(settings)
    return PLAIN_MEAN if plain else display_of("algorithm", settings["algorithm"])


def method_label(name: str, settings: Mapping[str, Any]) -> str:
    """Returns a method in few words: its name, then settings that tell it apart.

    A text needs no setting's name: `FedAvg, without replacement`, `F3AST, Mean`.
    """
    parts = [name]
    for setting, value in settings.items():
        word = str(value).replace("_", " ")
        if setting == "aggregation":
            parts += [] if name == PLAIN_MEAN else [display_of("aggregation", str(value))]
        elif setting == "clients_per_round":
            parts.append(f"K = {word}")
        else:
            plain = isinstance(value, str) and value[:1].isalpha()
            parts.append(word if plain else f"{setting} {word}")
    return ", ".join(parts)
