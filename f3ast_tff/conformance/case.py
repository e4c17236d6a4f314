"""A component on a small problem, and the finding of a property."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from f3ast_tff.campaigns.isolated_run import run_order
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import ComponentError, Interrupted, ParameterError, RunFolderError
from f3ast_tff.records.provenance import provenance
from f3ast_tff.run.build import Builder
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.round_loop import RunResult
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import Registry
from f3ast_tff.settings.resolve import resolve

# N, K and T of the small problem; few enough that one sees a round through.
CLIENTS, COHORT, ROUNDS = 12, 3, 8
_PROBLEM: Mapping[str, Any] = {"rounds": ROUNDS, "eval_every": 1, "seed": 3, "logger": "csv"}
_SMALLER = ((2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (6, 1), (6, 3), (8, 3))
# Kinds that decide which clients are available, selected or deliver.
_SIZED = ("algorithm", "availability", "delivery")
# Of the few clients that are chosen, some must attack.
_OF_KIND: Mapping[str, Mapping[str, Any]] = {"attack": {"attack_share": 0.5}}
_SMALL: Mapping[str, Any] = {"num_clients": CLIENTS, "size_limit": 60}


class NotDecided(Exception):
    """A property cannot be decided for a component; the message is the reason."""


@dataclass(frozen=True)
class Case:
    """A component on the small problem.

    Attributes:
        kind: Kind of the component.
        name: Its name.
        registry: The components.
        given: Further settings by name.
        folder: An empty folder for runs.
    """

    kind: str
    name: str
    registry: Registry
    folder: Path
    given: Mapping[str, Any] = field(default_factory=dict)

    def configuration(self, **more: Any) -> Configuration:
        """Returns the small problem with the component; `more` are further settings.

        Raises:
            ParameterError: If the component does not take one of them.
        """
        settings = {**_PROBLEM, self.kind: self.name, **_OF_KIND.get(self.kind, {}), **self.given}
        if settings.get("task", "synthetic") == "synthetic":
            settings = {**_SMALL, **settings}
        if "constraint" not in settings:
            settings = {"clients_per_round": COHORT, **settings}
        settings = {**settings, **more}
        if "engine" in settings:
            return resolve(settings, self.registry)
        # The engine of a component without a form in NumPy is the next one.
        try:
            return resolve({**settings, "engine": "host"}, self.registry)
        except ParameterError:
            return resolve({**settings, "engine": "fused"}, self.registry)

    @property
    def num_clients(self) -> int:
        """Number of clients of the small problem."""
        return int(self.given.get("num_clients", CLIENTS))

    def smaller(self) -> Iterator[Case]:
        """Yields smaller problems with the component, the smallest first; none if it has a size."""
        if {"num_clients", "clients_per_round", "constraint", "task"} & {*self.given, self.kind}:
            return
        for n, k in _SMALLER if self.kind in _SIZED else ():
            given = {**self.given, "num_clients": n, "clients_per_round": k}
            yield replace(self, given=given)

    def experiment(self, **more: Any) -> Experiment:
        """Returns new parts of the small problem."""
        return Builder(self.configuration(**more)).experiment()

    def run(self, **more: Any) -> RunResult:
        """Runs the small problem and returns its rows, selections and weights."""
        return run_experiment(self.configuration(**more), with_model=True)

    def stopped_run(self, rounds: int) -> RunResult:
        """Runs it in a folder, is stopped after some rounds, and goes on."""
        configuration = self._in_folder(str(rounds))
        with suppress(Interrupted):
            run_experiment(configuration, configuration.folder, stop=_StopsAfter(rounds))
        return self._gone_on(configuration, "when built again")

    def run_elsewhere(self) -> RunResult:
        """Runs it in another process, in which sets of texts have another order."""
        configuration = self._in_folder("elsewhere")
        order = PlannedRun(configuration.settings.run.run_name, configuration).order
        here = os.environ.get("PYTHONHASHSEED")
        with (
            mock.patch.dict(os.environ, PYTHONHASHSEED="2" if here == "1" else "1"),
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        ):
            outcome = pool.submit(run_order, order, provenance(), "another process").result()
        if outcome.error is not None:
            raise ComponentError(f"in another process: {outcome.error}")
        return self._gone_on(configuration, "in another process")

    def _gone_on(self, configuration: Configuration, again: str) -> RunResult:
        try:
            return run_experiment(configuration, configuration.folder, with_model=True)
        except RunFolderError as error:
            raise ComponentError(f"its data are others {again}") from error

    def _in_folder(self, name: str) -> Configuration:
        run_name = f"{self.kind}_{self.name}_{name}"
        return self.configuration(output_dir=str(self.folder), run_name=run_name)


class _StopsAfter:
    """A `Stop` that is requested after some rounds; blocks have one, which is evaluated."""

    def __init__(self, rounds: int) -> None:
        self._left = rounds

    def hold(self) -> AbstractContextManager[None]:
        """Returns a context that does nothing."""
        return nullcontext()

    def requested(self) -> bool:
        """Returns whether the rounds are done."""
        self._left -= 1
        return self._left < 0


def model_of(result: RunResult) -> np.ndarray:
    """Returns the final weights of a run as one vector; they and all updates must be finite."""
    if result.selection["num_dropped"].any():
        raise NotDecided("updates or messages of the small problem are not finite, and left out")
    if not any(row["update_norm"] for row in result.rows):
        raise NotDecided("no update moves the model of the small problem")
    assert result.trained is not None
    found = np.concatenate([np.ravel(weight) for weight in result.trained.weights])
    if not np.isfinite(found).all():
        raise NotDecided("its model is not finite after the rounds of the small problem")
    return found


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the distance of two models, relative to the longer one."""
    if a.shape != b.shape:
        return np.inf
    longest = max(np.linalg.norm(a), np.linalg.norm(b), np.float64(1e-12))
    return float(np.linalg.norm(a - b) / longest)


# Returns the fault of a component in words; `None` if the property holds.
Check = Callable[[Case], str | None]


@dataclass(frozen=True)
class Property:
    """A property that components of some kinds have.

    Attributes:
        name: Its name in a few words.
        kinds: Kinds that have it.
        about: The comparison, a sentence.
        check: Says whether it holds.
        quick: Whether it takes less than a second.
    """

    name: str
    kinds: tuple[str, ...]
    about: str
    check: Check
    quick: bool = True


@dataclass(frozen=True)
class Finding:
    """The finding of a property about a component.

    Attributes:
        name: Name of the property.
        holds: Whether it holds; `None` if it was not decided.
        said: The fault, or why it was not decided; empty if it holds.
    """

    name: str
    holds: bool | None
    said: str = ""

    @property
    def cause(self) -> str:
        """`said` without the numbers by which a fault differs from property to property."""
        return re.sub(r" \([^(]* show it\)$|s? \d[\d, ]*|\d+", "", self.said)
