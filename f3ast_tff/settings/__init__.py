"""Settings: parameters, components, their registry, and the resolver.

The way of a flag to its component, such as `--rate_beta` to F3AST: A component is a frozen `Config`
with its parameters as fields (parameter.py); `register` names it (component.py). `Registry`
(registry.py) holds the `Config`s of all kinds (kinds.py), also of plug-ins. cli/flags.py makes a
flag for each parameter. `resolve` (resolve.py) takes the given values, adds the defaults and makes
one `Config` for each kind: a `Configuration`. `Builder` (run/build.py) calls `Config.build`, which
returns the part of the experiment.
"""

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
