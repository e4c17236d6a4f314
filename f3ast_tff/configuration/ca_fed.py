"""CA-Fed's strategies and their benchmarks from settings, and what their server knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.availability import AvailabilityProcess, IndependentAvailability
from f3ast_tff.configuration.tasks import MODELS, TASKS
from f3ast_tff.errors import SettingError
from f3ast_tff.estimation import (
    Activity,
    ActivityPrior,
    EstimatedActivity,
    KnownActivity,
    LossEstimates,
    trained_minima,
)
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.selection import AdaFed, CAFed, CAFedF3AST, MoreAvailable, Strategy, Unbiased

if TYPE_CHECKING:
    from f3ast_tff.configuration.settings import Settings


def activity(s: Settings, world: AvailabilityProcess, with_eigenvalue: bool = False) -> Activity:
    """Returns what the server knows of who is available: the truth, or an estimator of it.

    The estimator has seen `--activity_history` rounds that the run does not reach.

    Raises:
        SettingError: If the truth is asked for and the availability process has none.
    """
    if s.activity == "estimated":
        prior = ActivityPrior.uniform(s.num_clients)
        if s.activity_history:
            rounds = range(s.rounds + 1, s.rounds + 1 + s.activity_history)
            prior = prior.after(np.array([world.mask(t) for t in rounds]))
        return EstimatedActivity(prior)
    eigenvalue = getattr(world, "eigenvalue", None)
    if eigenvalue is None and isinstance(world, IndependentAvailability) and not world.periodic:
        eigenvalue = np.zeros(s.num_clients)
    if world.stationary is None or (with_eigenvalue and eigenvalue is None):
        allowed = f"is not known of {s.availability}: --activity=estimated"
        raise SettingError("activity", s.activity, allowed)
    return KnownActivity(world.stationary, eigenvalue)


def unbiased(s: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess) -> Strategy:
    """Returns CA-Fed's benchmark "Unbiased"."""
    return Unbiased(p, activity(s, world), s.seed)


def more_available(
    s: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess
) -> Strategy:
    """Returns CA-Fed's benchmark "More available"."""
    return MoreAvailable(p, activity(s, world), s.seed, least_pi=s.more_available_pi)


def adafed(s: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess) -> Strategy:
    """Returns AdaFed as CA-Fed's authors ran it."""
    return AdaFed(p, activity(s, world), s.seed)


def ca_fed(s: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess) -> Strategy:
    """Returns CA-Fed."""
    return CAFed(
        p,
        activity(s, world, with_eigenvalue=True),
        LossEstimates(len(p), s.loss_beta, minima=_minima(s)),
        s.kappa2,
        s.tau,
        bias_factor=4.0 if s.ca_fed_bias == "paper" else 1.0,
        strict=s.ca_fed_bias == "paper",
        seed=s.seed,
    )


def _minima(s: Settings) -> np.ndarray | None:
    if s.loss_minima == "running":
        return None
    task = TASKS[s.task]
    data = task.data(s)
    model = MODELS[s.model](s, data)
    if not isinstance(model, SoftmaxRegression):
        raise SettingError("loss_minima", s.loss_minima, f"must be running for {s.model}")
    return trained_minima(model, task.inputs(s), data.train)


def f3ast(s: Settings, p: np.ndarray, sizes: np.ndarray, world: AvailabilityProcess) -> Strategy:
    """Returns the rule that CA-Fed's authors ran under the name F3AST."""
    return CAFedF3AST(p, activity(s, world), s.rate_beta)
