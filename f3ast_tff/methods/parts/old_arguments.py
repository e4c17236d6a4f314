"""Constructors of release 0.2.0, which took arrays: they still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.registry import builtin_registry


def played_of_arrays(method: Any, values: Sequence[Any], given: Mapping[str, Any]) -> Any:
    """Returns the copy that plays as the object of an old constructor did, and warns.

    Args:
        method: Class of a method.
        values: Arguments of the constructor by position.
        given: Arguments by name.

    Raises:
        TypeError: If these are no arguments of the old constructor.
        ParameterError: If no parameter of the method says the same.
    """
    now, plays = _OLD[method.__name__]
    said = f"{method.__name__} of arrays is {now} now, with the method's parameters"
    goes = "the old arguments go with the next minor release"
    warnings.warn(f"{said}; {goes}", DeprecationWarning, stacklevel=3)
    return plays(method, *values, **given)


def _f3ast(
    method: Any,
    p: np.ndarray,
    rates: Any,
    objective: str = "p_squared",
    random_ties: bool = True,
    fill_unavailable: bool = False,
    divide_by_k: bool = False,
    seed: int = 0,
    weight_bound: float | None = None,
    follow: str = "delivered",
    selected_rates: Any = None,
) -> Any:
    return method.tracking(
        p,
        rates,
        selected_rates,
        seed=seed,
        availability_objective=objective,
        ties="random" if random_ties else "lowest_id",
        short_rounds="fill_unavailable" if fill_unavailable else "available_only",
        divide_by_k=divide_by_k,
        weight_bound=weight_bound,
        rates_follow="both" if selected_rates and follow == "delivered" else follow,
    )


def _clusters(
    method: Any,
    p: np.ndarray,
    clusters: np.ndarray,
    rates: Any,
    objective: str = "p_squared",
    seed: int = 0,
    weight_bound: float | None = None,
    follow: str = "delivered",
) -> Any:
    return method.tracking(
        p,
        ClusterRates(clusters, rates),
        seed=seed,
        availability_objective=objective,
        weight_bound=weight_bound,
        rates_follow=follow,
    )


def _power_of_choice(
    method: Any,
    p: np.ndarray,
    candidates: int,
    seed: int = 0,
    replace: bool = False,
    added: np.ndarray | None = None,
    average_weights: np.ndarray | None = None,
) -> Any:
    sizes = average_weights if added is None else added
    if not (average_weights is None or np.array_equal(average_weights, np.asarray(sizes))):
        raise ParameterError("average_weights", average_weights, "must be the numbers added")
    return method.start(
        p,
        1,
        seed=seed,
        sizes=sizes,
        poc_candidates=candidates,
        poc_pool="with_replacement" if replace else "without_replacement",
        poc_loss="mean" if added is None else "training_loss",
        poc_average="plain" if average_weights is None else "examples",
    )


def _oort_loss(
    method: Any,
    sizes: np.ndarray,
    exploration: float = 0.9,
    decay: float = 0.98,
    least: float = 0.2,
    cutoff: float = 0.95,
    seed: int = 0,
) -> Any:
    return method.start(
        sizes / np.sum(sizes),
        1,
        seed=seed,
        sizes=sizes,
        oort_exploration=exploration,
        oort_exploration_decay=decay,
        oort_exploration_min=least,
        oort_cutoff=cutoff,
    )


def _ca_fed(
    method: Any,
    p: np.ndarray,
    knowledge: Any,
    loss_estimates: Any,
    kappa2: float = 1.0,
    tau: float = 0.0,
    bias_factor: float = 4.0,
    strict: bool = True,
    seed: int = 0,
) -> Any:
    forms = {(4.0, True): "paper", (1.0, False): "released"}
    if (bias_factor, strict) not in forms:
        allowed = "must be 4 with strict, or 1 without (ca_fed_bias paper, released)"
        raise ParameterError("bias_factor", bias_factor, allowed)
    form = forms[bias_factor, strict]
    found = method.knowing(p, knowledge, seed=seed, kappa2=kappa2, tau=tau, ca_fed_bias=form)
    found.kept["losses_"] = loss_estimates
    return found


def _proportional(
    method: Any, p: np.ndarray, average_weights: np.ndarray, replace: bool = False, seed: int = 0
) -> Any:
    return method.start(
        p,
        len(p),
        seed=seed,
        sizes=average_weights,
        baseline_sampling="with_replacement" if replace else "without_replacement",
        baseline_average="examples",
    )


def _uniform(
    method: Any, average_weights: np.ndarray, seed: int = 0, candidates: np.ndarray | None = None
) -> Any:
    n = len(average_weights)
    may = np.ones(n, bool) if candidates is None else candidates
    return (
        builtin_registry()
        .find("algorithm", "fedavg")
        .config.start(
            may / np.count_nonzero(may),
            n,
            seed=seed,
            sizes=average_weights,
            baseline_sampling="uniform",
            baseline_average="examples",
        )
    )


def _switching(method: Any, first: Any, then: Any, switch_round: int) -> Any:
    names = ("baseline_sampling", "baseline_average")
    if not all(hasattr(first, name) for name in names):
        raise ParameterError("first", type(first).__name__, "must be FedAvg")
    given = {name: getattr(first, name) for name in names}
    playing = method.start(
        first.p,
        len(first.p),
        seed=first.seed,
        sizes=first.world.sizes,
        ties=then.ties,
        switch_round=switch_round,
        **given,
    )
    playing.kept[""] = then
    return playing


# What makes the same copy now, and the function from the old arguments to it.
_OLD: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "F3AST": ("F3AST.tracking(p, rates, ...)", _f3ast),
    "ClusterF3AST": ("F3AST.tracking(p, ClusterRates(clusters, rates), ...)", _clusters),
    "FixedPolicy": (
        "FixedPolicy.following(p, rates, policy)",
        lambda method, p, rates, policy, seed=0: method.following(p, rates, policy, seed),
    ),
    "FedAvg": ("FedAvg.start(p, k, ...)", _proportional),
    "Uniform": (
        "Uniform.start(p, k, ...), or with weights FedAvg.start(p, k, sizes=weights, "
        'baseline_sampling="uniform", baseline_average="examples")',
        _uniform,
    ),
    "FedLaAvg": (
        "FedLaAvg.start(p, k, ...)",
        lambda method, p, random_ties=True, seed=0: method.start(
            p, len(p), seed=seed, ties="random" if random_ties else "lowest_id"
        ),
    ),
    "Switching": ("Switching.start(p, k, switch_round=...)", _switching),
    "AllAvailable": (
        "AllAvailable.start(p, k, ...)",
        lambda method, p, seed=0: method.start(p, len(p), seed=seed),
    ),
    "PowerOfChoice": ("PowerOfChoice.start(p, k, ...)", _power_of_choice),
    "OortLoss": ("OortLoss.start(p, k, ...)", _oort_loss),
    "CAFed": ("CAFed.knowing(p, knowledge, ...)", _ca_fed),
    "FedAU": (
        "FedAU.start(p, k, ...)",
        lambda method, p, seed=0, cutoff=None: method.start(
            p, len(p), seed=seed, fedau_cutoff=cutoff or 0
        ),
    ),
    "Unbiased": (
        "Unbiased.knowing(p, knowledge, ...)",
        lambda method, p, knowledge, seed=0: method.knowing(p, knowledge, seed=seed),
    ),
    "AdaFed": (
        "AdaFed.knowing(p, knowledge, ...)",
        lambda method, p, knowledge, seed=0: method.knowing(p, knowledge, seed=seed),
    ),
    "MoreAvailable": (
        "MoreAvailable.knowing(p, knowledge, ...)",
        lambda method, p, knowledge, seed=0, least_pi=0.5: method.knowing(
            p, knowledge, seed=seed, more_available_pi=least_pi
        ),
    ),
    "F3ASTOfCAFed": (
        "F3ASTOfCAFed.knowing(p, knowledge, ...)",
        lambda method, p, knowledge, beta: method.knowing(p, knowledge, rate_beta=beta),
    ),
}
