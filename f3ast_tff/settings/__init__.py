"""Settings: parameters, components, their registry, and the resolver.

From a flag to its component, such as `--rate_beta` to F3AST: a component is a frozen `Config`,
whose fields are its parameters (parameter.py) and which `register` names (component.py). `Registry`
(registry.py) holds all `Config`s of all kinds (kinds.py), plug-ins' included. cli/flags.py makes a
flag of each of their parameters. `resolve` (resolve.py) takes the values given, adds the defaults
and makes one `Config` for each kind: a `Configuration`. `Builder` (run/build.py) calls its `build`,
which returns the part of the experiment.
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
