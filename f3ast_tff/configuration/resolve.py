"""From settings given to all settings, checked before anything slow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from f3ast_tff.availability.catalogue import (
    COMBINATORS,
    ENTRIES,
    all_parameters,
    parameters_of,
    part_names,
)
from f3ast_tff.availability.constraints.from_text import is_byte_budget
from f3ast_tff.configuration import readings
from f3ast_tff.configuration.published import published
from f3ast_tff.configuration.registry import ALGORITHMS
from f3ast_tff.configuration.setting import DERIVED, check
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.configuration.tasks import TASKS
from f3ast_tff.datasets import default_data_dir
from f3ast_tff.errors import SettingError


def resolve(given: Mapping[str, Any]) -> Settings:
    """Resolves and checks settings.

    Args:
        given: Values by name; `None` or absence means not given.

    Returns:
        All settings: those given, then the reading's, the task's published values and defaults.

    Raises:
        SettingError: On the first value that is not allowed.
    """
    specs = {spec.name: spec for spec in fields(Settings)}
    for name, value in given.items():
        if name not in specs:
            raise SettingError(name, value, "there is no such setting")
    values: dict[str, Any] = {
        name: given.get(name) if given.get(name) is not None else spec.metadata["default"]
        for name, spec in specs.items()
    }
    if given.get("algorithm") in ALGORITHMS and ALGORITHMS[given["algorithm"]].pooled:
        values.update(_pooled(given))
    for deciding in ("task", "algorithm", "availability", "reading"):
        check(specs[deciding], values[deciding])
    for name in specs:
        if values[name] is DERIVED:
            values[name] = _derived(name, values)
        check(specs[name], values[name])
        _check_of_algorithm(name, given.get(name), values)
        _check_of_task(specs[name], given.get(name), values)
        _check_of_availability(name, given.get(name), values)
    _check_of_engine(given, values)
    settings = Settings(**values)
    _check_together(settings)
    return settings


def _pooled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of one client that is always there; refuses others."""
    only = {"availability": "always", "clients_per_round": 1}
    for name, value in only.items():
        if given.get(name) not in (None, value):
            allowed = f"must be {value} for {given['algorithm']}, which has one client"
            raise SettingError(name, given[name], allowed)
    if given.get("communication") is not None:
        allowed = f"is not of {given['algorithm']}, which has one client"
        raise SettingError("communication", given["communication"], allowed)
    return only


def _check_of_engine(given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuses settings that the engine, or its runtime, would pass over in silence."""
    tff, workers = values["engine"] == "tff", values["num_workers"]
    for name in ("tff_runtime", "tff_clients_at_once"):
        if given.get(name) is not None and not tff:
            raise SettingError(name, given[name], "is of --engine=tff")
    if tff and workers is not None and values["tff_runtime"] != "ray":
        raise SettingError("num_workers", workers, "needs --tff_runtime=ray with --engine=tff")
    if values["ray_address"] is not None and workers is None:
        raise SettingError("ray_address", values["ray_address"], "is of --num_workers")
    waits = workers is not None or (tff and values["tff_runtime"] == "worker")
    if values["round_timeout"] is not None and not waits:
        allowed = "is of --num_workers or --engine=tff with TFF's worker"
        raise SettingError("round_timeout", values["round_timeout"], allowed)
    if tff and values["tff_runtime"] == "worker" and values["device"] == "gpu":
        allowed = "TFF's worker trains on the CPU alone: --tff_runtime=tf"
        raise SettingError("device", "gpu", allowed)
    if given.get("tff_clients_at_once") is not None and values["tff_runtime"] != "worker":
        allowed = "is of --tff_runtime=worker; the others train one client after the other"
        raise SettingError("tff_clients_at_once", given["tff_clients_at_once"], allowed)
    if ALGORITHMS[values["algorithm"]].aggregation == "latest":
        algorithm = values["algorithm"]
        if workers is not None:
            raise SettingError("num_workers", workers, f"is not of {algorithm}")
        if tff and values["tff_runtime"] != "worker":
            allowed = f"must be worker for {algorithm}, which needs each client's update"
            raise SettingError("tff_runtime", values["tff_runtime"], allowed)


def _check_of_task(spec: Field, value: Any, values: Mapping[str, Any]) -> None:
    tasks, task = spec.metadata["tasks"], values["task"]
    if value is not None and tasks and task not in tasks:
        raise SettingError(spec.name, value, f"is of {', '.join(tasks)}; the task is {task}")


def _check_of_algorithm(name: str, value: Any, values: Mapping[str, Any]) -> None:
    """The rule that CA-Fed's authors ran stands for F3AST, and for nothing else."""
    algorithm = values["algorithm"]
    if name == "f3ast_rule" and value == "ca_fed" and ALGORITHMS[algorithm].selection != "f3ast":
        raise SettingError(name, value, f"is of f3ast, f3ast_adam; the algorithm is {algorithm}")


def _check_of_availability(name: str, value: Any, values: Mapping[str, Any]) -> None:
    of_it = parameters_of(values["availability"], values)
    if value is not None and name in all_parameters() and name not in (*of_it, *readings.READINGS):
        allowed = f"is not of the availability, {values['availability']}"
        raise SettingError(name, value, allowed)
    if value is None and name in of_it and name not in readings.READINGS:
        of_it[name].check(values[name])


def _derived(name: str, values: Mapping[str, Any]) -> Any:
    if name == "run_name":
        parts = [values[key] for key in ("task", "algorithm", "availability", "reading")]
        return "-".join([*parts, f"seed{values['seed']}"])
    if name == "data_dir":
        return str(default_data_dir())
    if name == "num_workers":
        return 2 if values["tff_runtime"] == "ray" else None
    if name == "switch_round":
        return values["rounds"] // 2 + 1
    if name == "model":
        return TASKS[values["task"]].models[0]
    if name in readings.READINGS:
        value = readings.value_of(name, values["reading"])
        if name == "availability_objective" and value is None:
            return "p" if _positively_correlated(values) else "p_squared"
        return value
    if name == "ridge" and values["model"] != "softmax_regression":
        return 0.0
    server_optimizer = ALGORITHMS[values["algorithm"]].server_optimizer
    if name == "server_optimizer":
        return server_optimizer
    return published(values["task"], name, values["server_optimizer"])


def _positively_correlated(values: Mapping[str, Any]) -> bool:
    """Whether clients are available together; combined ones are if those of a part are."""
    names = [values["availability"]]
    if names[0] in COMBINATORS and values["availability_parts"] is not None:
        names = part_names(values["availability_parts"])
    return any(ENTRIES[name].process.positively_correlated for name in names)


def _check_communication(settings: Settings) -> None:
    """Refuses what a selection would pass over in silence."""
    selection, text = ALGORITHMS[settings.algorithm].selection, settings.communication
    by_bytes = text is not None and is_byte_budget(text)
    if selection == "fixed_policy":
        if text is not None:
            allowed = "f3ast_fixed has its policy for a fixed K: --clients_per_round"
            raise SettingError("communication", text, allowed)
        _must_be(settings, "aggregate", "sum", "for f3ast_fixed")
    if selection == "proportional" and by_bytes:
        _must_be(settings, "baseline_sampling", "without_replacement", "under a budget in bytes")
    if selection == "f3ast" and by_bytes:
        _must_be(settings, "short_rounds", "available_only", "under a budget in bytes")
    if selection == "f3ast" and settings.rate_clusters is not None:
        for name, value in (
            ("aggregate", "sum"),
            ("ties", "random"),
            ("short_rounds", "available_only"),
        ):
            _must_be(settings, name, value, "with rate_clusters")
    if selection == "f3ast" and settings.f3ast_rule == "ca_fed":
        if settings.rate_clusters is not None:
            allowed = "must not be given with f3ast_rule=ca_fed"
            raise SettingError("rate_clusters", settings.rate_clusters, allowed)
        for name, value in (("aggregate", "sum"), ("short_rounds", "available_only")):
            _must_be(settings, name, value, "with f3ast_rule=ca_fed")


def _must_be(settings: Settings, name: str, value: Any, when: str) -> None:
    if getattr(settings, name) != value:
        raise SettingError(name, getattr(settings, name), f"must be {value} {when}")


def _check_together(settings: Settings) -> None:
    k, n = settings.clients_per_round, settings.num_clients
    if k > n:
        raise SettingError("clients_per_round", k, f"must be at most num_clients, {n}")
    if settings.rate_clusters is not None and settings.rate_clusters > n:
        allowed = f"must be at most num_clients, {n}"
        raise SettingError("rate_clusters", settings.rate_clusters, allowed)
    _check_communication(settings)
    if settings.algorithm == "ca_fed" and settings.loss_minima == "trained":
        _must_be(settings, "model", "softmax_regression", "with loss_minima=trained")
        if not settings.ridge > 0:
            raise SettingError("ridge", settings.ridge, "must be above 0 with loss_minima=trained")
    models = TASKS[settings.task].models
    if settings.model not in models:
        allowed = f"must be one of {', '.join(models)} for {settings.task}"
        raise SettingError("model", settings.model, allowed)
    if settings.ridge and settings.model != "softmax_regression":
        raise SettingError("ridge", settings.ridge, f"must be 0 for {settings.model}")
    if settings.algorithm == "poc" and settings.poc_candidates < k:
        raise SettingError(
            "poc_candidates", settings.poc_candidates, f"must be at least clients_per_round, {k}"
        )
    if not settings.run_name or "/" in settings.run_name or settings.run_name in (".", ".."):
        raise SettingError("run_name", settings.run_name, "must be the name of one folder")
