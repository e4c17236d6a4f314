"""Properties of a component in whole runs: repeated, made longer, and on two engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided, distance, model_of
from f3ast_tff.conformance.strategies import alike
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.run.round_loop import RunResult
from f3ast_tff.settings import REQUIRED, Parameter
from f3ast_tff.settings.kinds import KINDS, has_jax

# Rounds after which a run is stopped.
_STOPS = (1, 3, 6)
# Relative distance of two engines' models after the rounds of the small problem.
_CLOSE = 1e-3
# The most that rounding is taken to become by then, if the first round agrees.
_MAGNIFIED = 0.1


def run_repeats(case: Case) -> str | None:
    """Two runs of one seed have the same selections, weights and model, bit for bit.

    A plug-in is also run in another process.
    """
    first = case.run()
    fault = _difference(case.run(), first, "the first of two equal runs")
    if fault or not case.configuration().plugins:
        return fault
    fault = _difference(case.run_elsewhere(), first, "a run in another process")
    return fault and f"{fault}: sets of texts, and hash() of a text, are others there"


def run_goes_on(case: Case) -> str | None:
    """A run that stops after 1, 3 or 6 rounds and goes on ends as one that was not stopped."""
    whole = case.run()
    for stop in _STOPS:
        of = f"an unbroken run, if stopped after round {stop}"
        if found := _difference(whole, case.stopped_run(stop), of):
            return found
    return None


def engines_agree(case: Case) -> str | None:
    """The engines host and fused choose the same clients, and end close to each other."""
    if not has_jax():
        raise NotDecided("needs JAX, which is not installed")
    try:
        host, fused = (case.run(engine=engine) for engine in ("host", "fused"))
    except ParameterError as error:
        raise NotDecided(str(error)) from error
    if not np.array_equal(host.selection["selected"], fused.selection["selected"]):
        return f"engine fused chooses other clients than host in {_first_round(host, fused)}"
    off = distance(model_of(host), model_of(fused))
    if off <= _CLOSE:
        return None
    first = distance(*(model_of(case.run(engine=each, rounds=1)) for each in ("host", "fused")))
    said = f"engine fused ends {off:.2g} off host, {first:.2g} after the first round"
    if first <= _CLOSE and off <= _MAGNIFIED:
        raise NotDecided(f"{said}: a choice such as the largest numbers may magnify rounding")
    return said


def parameters_reach(case: Case) -> str | None:
    """Another value of each parameter changes the run."""
    component, of_all = case.registry.find(case.kind, case.name), KINDS[case.kind].base_class
    plain, idle = case.run(), []
    for parameter in component.parameters:
        if hasattr(of_all, parameter.name):
            continue
        values = [] if parameter.is_path else _others(parameter, case.configuration().settings)
        if not any(_changes(plain, case, {parameter.name: value}) for value in values):
            idle.append(parameter.name)
    if idle:
        raise NotDecided(f"no other value that was tried changed a run: {', '.join(idle)}")
    return None


def _changes(plain: RunResult, case: Case, given: Mapping[str, Any]) -> bool:
    try:
        return _difference(plain, case.run(**given), "") is not None
    except ParameterError:
        return False


def _others(parameter: Parameter, settings: Mapping[str, Any]) -> list[Any]:
    """A few other allowed values of a parameter."""
    now = settings.get(parameter.name)
    if parameter.choices:
        return [choice for choice in parameter.choices if choice != now]
    if isinstance(now, bool):
        return [not now]
    if parameter.default is REQUIRED or not isinstance(now, (int, float)):
        return []
    tried: list[Any] = [now * 2, now / 2, now + 1, now / 20]
    if isinstance(now, int):
        tried = [2 * now, now + 1, now - 1]
    found = []
    for value in tried:
        try:
            found.append(parameter.checked(value))
        except ParameterError:
            continue
    return [value for value in found if value != now]


def _difference(first: RunResult, second: RunResult, of: str) -> str | None:
    """Where two runs differ, in words."""
    if not alike(first.selection["selected"], second.selection["selected"]):
        return f"it chooses other clients than {of} in {_first_round(first, second)}"
    if not alike(first.selection["weights"], second.selection["weights"]):
        return f"its weights are others than those of {of}"
    a, b = model_of(first), model_of(second)
    if not np.array_equal(a, b, equal_nan=True):
        return f"its model ends {distance(a, b):.2g} off that of {of}, with the same clients"
    for (name, score), other in zip(first.rows[-1].items(), second.rows[-1].values()):
        if name.startswith("test_") and not np.isclose(score, other, rtol=1e-6, equal_nan=True):
            return f"its {name} is {score:.6g}, of {of} {other:.6g}, with the same model"
    return None


def _first_round(first: RunResult, second: RunResult) -> str:
    a, b = (each.selection["selected"] for each in (first, second))
    if a.shape != b.shape:
        return "some round"
    return f"round {int(np.flatnonzero((a != b).any(axis=1))[0]) + 1}"
