"""Methods that a trial compares, and how a server of one's own starts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from f3ast_tff.analysis.study_runs import method_name
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import parameters_of
from f3ast_tff.settings.flags import UsageError, parse_flags
from f3ast_tff.settings.registry import Registry

# From the simplest on: the order decides between methods that are too close to call.
METHODS = (
    "fedavg+baseline_sampling=without_replacement",
    "fedavg_all+mean",
    "f3ast",
    "scaffold",
    "mifa",
)
# Starts of the methods that need neither a memory nor losses; the name is imported from f3ast_tff.
_STARTS: Mapping[tuple[str, str, str], str] = {
    ("f3ast", "sum", ""): 'F3AST.start(p, k={k}, availability_objective="{objective}", seed=0)',
    ("fedavg", "mean", "without_replacement"): "FedAvg.start(p, k={k}, "
    'baseline_sampling="without_replacement", seed=0)',
    ("fedavg", "mean", ""): "FedAvg.start(p, k={k}, seed=0)",
    ("fedavg_all", "mean", ""): "FedAvg.start(p, k={k}, sizes=p, "
    'baseline_sampling="uniform", baseline_average="examples", seed=0)',
}
_OPTIMIZERS = ("client_optimizer", "server_optimizer")


@dataclass(frozen=True)
class Candidate:
    """A method of a trial.

    Attributes:
        text: Name as given, `algorithm`, then `+aggregation` or `+setting=value`.
        settings: Settings of the method, by name.
        aggregation: Name of its aggregation.
        takes_objective: Whether the method has the setting `availability_objective`.

    Examples:
        >>> from f3ast_tff.advice.candidates import candidate
        >>> from f3ast_tff.settings import builtin_registry
        >>> found = candidate("fedavg+baseline_sampling=without_replacement", builtin_registry())
        >>> found.name, found.start(k=3, objective="p")[:30]
        ('FedAvg, without replacement', 'FedAvg.start(p, k=3, baseline_')
    """

    text: str
    settings: Mapping[str, Any]
    aggregation: str
    takes_objective: bool

    @property
    def name(self) -> str:
        """Name in words, as in tables of studies and of runs."""
        texts = {name: str(value) for name, value in self.settings.items()}
        return method_name("synthetic", texts)

    def start(self, k: int, objective: str) -> str | None:
        """Returns the call that starts the method on a server; `None` if no adapter has it.

        Args:
            k: Clients per round.
            objective: `"p"` or `"p_squared"`, for methods that have the choice.
        """
        beyond = {"algorithm", "aggregation", "baseline_sampling"}
        if self.settings.keys() - beyond:
            return None
        sampling = self.settings.get("baseline_sampling", "")
        key = (self.settings["algorithm"], self.aggregation, sampling)
        found = _STARTS.get(key)
        return None if found is None else found.format(k=k, objective=objective)


def candidate(text: str, registry: Registry, flag: str = "methods") -> Candidate:
    """Returns the method of a name such as `f3ast+scaffold` or `fedavg+server_optimizer=adam`.

    Args:
        text: An algorithm; an aggregation may follow, and settings of both and of the optimizers,
            each after a `+`.
        registry: The components, with those of plug-ins.
        flag: Flag that gave the name, for errors.

    Raises:
        ParameterError: If a component or a setting is unknown.
    """
    algorithm, *rest = text.split("+")
    settings: dict[str, Any] = {"algorithm": algorithm}
    for part in rest:
        name, sign, value = part.partition("=")
        settings[name if sign else "aggregation"] = value if sign else name
    found = {}
    for kind in ("algorithm", "aggregation", *_OPTIMIZERS):
        if kind in settings:
            try:
                found[kind] = registry.find(kind, settings[kind])
            except ParameterError as error:
                allowed = f"{kind} {settings[kind]} {error.allowed}"
                raise ParameterError(flag, text, allowed) from error
    config = found["algorithm"].config
    of_method = [found[kind] for kind in ("algorithm", "aggregation") if kind in found]
    optimizers = [each for kind in _OPTIMIZERS for each in registry.components[kind].values()]
    known = {
        each.name: each for part in (*of_method, *optimizers) for each in parameters_of(part.config)
    }
    own = [f"--{name}={value}" for name, value in settings.items() if name not in found]
    try:
        settings |= parse_flags(own, known)
    except UsageError as error:
        raise ParameterError(flag, text, str(error)) from error
    aggregation = str(settings.get("aggregation", config.aggregation))
    return Candidate(text, settings, aggregation, "availability_objective" in known)
