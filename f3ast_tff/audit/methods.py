"""A method of this package, or of a plug-in, by its name: behind the Flower adapter."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from f3ast_tff.audit.arrays import ONE_ARRAY, Form
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.world import EXAMPLES
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.parameter import nearest
from f3ast_tff.settings.registry import registry_with

# Parameters of `AlgorithmConfig.start`, and of a plug-in's file.
_CLIENTS, _PLUGIN = "k", "plugin"


def method_target(name: str, arguments: Mapping[str, Any], form: Form | None = None) -> Target:
    """Returns the target of a method behind `f3ast_tff.flower.AvailabilityStrategy`.

    Args:
        name: Name of the method, such as `f3ast`.
        arguments: Its parameters; `k`, clients per round, half of all by default; `plugin`, the
            file that defines it.
        form: How the model is made of arrays; one array by default.

    Raises:
        ParameterError: If there is no such method, Flower is not installed, or a parameter is not
            allowed.
    """
    given, num_clients = dict(arguments), len(EXAMPLES)
    registry = registry_with([str(given.pop(_PLUGIN))] if _PLUGIN in given else [])
    if name not in registry.names("algorithm"):
        near = nearest(name, registry.names("algorithm"))
        hint = f"did you mean {near}? It " if near else ""
        allowed = f"{hint}must be module:name, file.py:name, file.py, or a method's name: "
        raise ParameterError("target", name, allowed + ", ".join(registry.names("algorithm")))
    if importlib.util.find_spec("flwr") is None:
        allowed = "is audited behind the Flower adapter: pip install 'f3ast-tff[flower]'"
        raise ParameterError("target", name, allowed)
    from f3ast_tff.audit.flower import flower_target
    from f3ast_tff.flower import AvailabilityStrategy

    config = registry.find("algorithm", name).config
    k = int(given.pop(_CLIENTS, num_clients // 2))
    if name == "f3ast":
        # The default suits thousands of rounds.
        given.setdefault("rate_beta", 0.01)

    def maker() -> Any:
        method = config.start(EXAMPLES / EXAMPLES.sum(), k, seed=0, sizes=EXAMPLES, **given)
        return AvailabilityStrategy(method, num_clients, k, evaluate_every=0)

    found = flower_target(name, maker, maker(), form or ONE_ARRAY)
    # A baseline corrects nothing: it is the mean of the clients that it finds.
    if found.objective == "all" and not config.corrects:
        found = replace(found, objective="present")
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    return replace(found, kind=f"method{f' ({shown})' if shown else ''} behind the Flower adapter")
