"""Settings: parameters, components, their registry, and the resolver."""

from f3ast_tff.settings.component import Component, register
from f3ast_tff.settings.defaults import REQUIRED, Derived, Published, Reading
from f3ast_tff.settings.parameter import Parameter, parameter, parameters_of
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
