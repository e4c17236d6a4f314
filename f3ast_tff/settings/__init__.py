"""Settings: parameters, components, their registry, and the resolver.

A component is a frozen `Config` with its parameters as fields (parameter.py); `register` names it
(component.py). A `Registry` (registry.py) holds the components of all kinds (kinds.py), also of
plug-ins. `resolve` (resolve.py) makes a `Configuration`, the `Config`s of an experiment, from given
values. cli/run.py describes the way of a flag to its component.
"""

from f3ast_tff.settings.component import Component, register
from f3ast_tff.settings.parameter import (
    REQUIRED,
    Derived,
    Parameter,
    Published,
    Reading,
    parameter,
    parameters_of,
)
from f3ast_tff.settings.registry import Registry, builtin_registry

__all__ = [
    "REQUIRED",
    "Component",
    "Derived",
    "Parameter",
    "Published",
    "Reading",
    "Registry",
    "builtin_registry",
    "parameter",
    "parameters_of",
    "register",
]
