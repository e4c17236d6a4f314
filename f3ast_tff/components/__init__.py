"""Components: a strategy, an availability process, a task ..., each declared in one file."""

from f3ast_tff.components.component import Component, register
from f3ast_tff.components.defaults import REQUIRED, Derived, Published, Reading
from f3ast_tff.components.parameter import Parameter, parameter, parameters_of
from f3ast_tff.components.registry import Registry, builtin_registry

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
