"""Settings: parameters, components, their registry, and the resolver.

A component is a frozen `Config` with its parameters as fields (parameter.py); `register` names it
(component.py). A `Registry` (registry.py) holds the components of all kinds (kinds.py), also of
plug-ins. `resolve` (resolve.py) makes a `Configuration`, the `Config`s of an experiment, from given
values. cli/run.py describes the way of a flag to its component.
"""

from f3ast_tff.settings.component import Component as Component
from f3ast_tff.settings.component import register as register
from f3ast_tff.settings.parameter import REQUIRED as REQUIRED
from f3ast_tff.settings.parameter import Derived as Derived
from f3ast_tff.settings.parameter import Parameter as Parameter
from f3ast_tff.settings.parameter import Published as Published
from f3ast_tff.settings.parameter import Reading as Reading
from f3ast_tff.settings.parameter import parameter as parameter
from f3ast_tff.settings.parameter import parameters_of as parameters_of
from f3ast_tff.settings.registry import Registry as Registry
from f3ast_tff.settings.registry import builtin_registry as builtin_registry
