"""The table of properties, and its row for one component."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from f3ast_tff.conformance import (
    aggregations,
    expected_weights,
    fixed_point,
    processes,
    runs,
    scores,
    strategies,
    training,
)
from f3ast_tff.conformance.case import Case, Finding, NotDecided, Property
from f3ast_tff.core.errors import (
    ComponentError,
    DataError,
    EngineError,
    ParameterError,
    PluginError,
)
from f3ast_tff.files.plugin_errors import plugins_named

_ALGORITHM, _AGGREGATION = ("algorithm",), ("aggregation",)
_PROCESSES = ("availability", "constraint", "delivery")
_OF_ROUNDS = (*_ALGORITHM, *_AGGREGATION, *_PROCESSES, "attack")
_ALL = (*_OF_ROUNDS, "score_of", "task", "model", "client_optimizer", "server_optimizer")

PROPERTIES = (
    Property(
        "same seed, same choice", _ALGORITHM,
        "Two strategies of one seed choose the same clients with the same weights.",
        strategies.same_seed_same_choice,
    ),
    Property(
        "select moves no state", _ALGORITHM,
        "Asked twice in each round, `select` chooses, and goes on, as if asked once.",
        strategies.select_moves_no_state,
    ),
    Property(
        "state is whole", _ALGORITHM,
        "Restored from `state()` after any round, it goes on as if not stopped; else the "
        "attribute that was lost is named.",
        strategies.state_is_whole,
    ),
    Property(
        "inputs stay", _ALGORITHM,
        "The mask that it is handed is as before after a round.",
        strategies.leaves_inputs_alone,
    ),
    Property(
        "weights at least 0", _ALGORITHM, "No weight is negative.",
        strategies.weights_are_not_negative,
    ),
    Property(
        "unbiased if it says so", _ALGORITHM,
        "Over all sets of 5 independent clients a client's weights of round 1 are p_k on average, "
        "if `unbiased` says so; else it is said what they are.",
        expected_weights.weights_are_unbiased,
    ),
    Property(
        "settles where it says", _ALGORITHM,
        "On quadratics the model settles at the optimum of F if `reaches_optimum` says so, with "
        "clients there for different shares of time; else it is said where.",
        fixed_point.settles_at_the_optimum, quick=False,
    ),
    Property(
        "steps as long as it says", _ALGORITHM,
        "If all clients have one update, the mean step is `step_scale` times that update; else it "
        "is said how many times, such as K times by a sum for a mean.",
        fixed_point.steps_as_long_as_it_says, quick=False,
    ),
    Property(
        "function of the round", _PROCESSES,
        "Round t asked for alone is round t after the rounds before it.",
        processes.function_of_the_round,
    ),
    Property(
        "another seed", (*_ALGORITHM, *_PROCESSES),
        "Two seeds have other rounds or choices, not those of the round after; undecided if they "
        "have the same: right if nothing is drawn.",
        processes.another_seed,
    ),
    Property(
        "masks are handed over", ("availability",),
        "Neither a caller that writes into a mask nor the next round changes a mask.",
        processes.masks_are_handed_over,
    ),
    Property(
        "long-run shares", ("availability",),
        "Over 2000 rounds each client is available for the share that `stationary` says.",
        processes.shares_are_stationary,
    ),
    Property(
        "limits as it says", ("constraint",),
        "Over 2000 rounds K_t is at most `largest_k`, and in the mean what `mean_k` says.",
        processes.limits_are_as_said,
    ),
    Property(
        "order of the asked", ("delivery",),
        "The same clients, asked in another order, deliver after the same seconds; what never "
        "arrives is not delivered, and something arrives.",
        processes.order_of_the_asked,
    ),
    Property(
        "data by draw", ("task",),
        "Data of one `data_seed` are the same when asked for again; another one's are others if "
        "`generates_data` says so.",
        training.data_by_draw,
    ),
    Property(
        "forms agree", ("client_optimizer", "server_optimizer"),
        "From the same gradients, also 0, `in_numpy` and `in_jax` take the same finite steps, "
        "also after another rate.",
        training.forms_agree,
    ),
    Property(
        "example by itself", ("model",),
        "Outputs of an example do not depend on the others of its batch.",
        training.example_by_itself, quick=False,
    ),
    Property(
        "finite stays finite", _AGGREGATION,
        "Finite updates (zero, equal, drawn, very large, very small), one or more, and a client "
        "of weight 0, give a finite Delta.",
        aggregations.finite_stays_finite,
    ),
    Property(
        "order does not matter", _AGGREGATION,
        "The same clients in another order give the same model, up to rounding; so do weights "
        "twice as large to a `combine` with `normalise`.",
        aggregations.order_does_not_matter, quick=False,
    ),
    Property(
        "score of the clients", ("score_of",),
        "The same clients in another order have the same finite score, and their own scores stay; "
        "undecided if a better accuracy lowers it and no direction is declared.",
        scores.score_of_the_clients,
    ),
    Property(
        "a run repeats", _ALL,
        "Two runs of one seed, the second also in another process, have the same selections, "
        "weights and model, bit for bit, and the same scores.",
        runs.run_repeats, quick=False,
    ),
    Property(
        "a run goes on", _ALL,
        "A run that stops after 1, 3 or 6 of 8 rounds and goes on ends as an unbroken one.",
        runs.run_goes_on, quick=False,
    ),
    Property(
        "engines agree", _ALL,
        "The engines host and fused choose the same clients, and end within .001 of each other.",
        runs.engines_agree, quick=False,
    ),
    Property(
        "parameters reach", _ALL,
        "Another value of each of its own parameters changes a run; undecided if none tried does.",
        runs.parameters_reach, quick=False,
    ),
)  # fmt: skip
KINDS = _ALL


def findings(case: Case, quick: bool = False) -> Iterator[Finding]:
    """Yields what each property says of a component, as soon as it is known.

    Args:
        case: The component on the small problem.
        quick: Whether to leave out what takes more than a second.

    Raises:
        ParameterError: If the small problem does not fit the component: a setting must be given.
    """
    case.configuration()
    for each in PROPERTIES:
        if case.kind in each.kinds and not (quick and not each.quick):
            yield finding(each, case)


def finding(each: Property, case: Case) -> Finding:
    """Returns what a property says of a component; a fault on the smallest problem that has it."""
    found, error = _found(each, case)
    if found.holds is not False or not each.quick:
        return found
    for smaller in case.smaller():
        small, other = _found(each, smaller)
        if small.holds is False and type(other) is type(error):
            n, k = smaller.given["num_clients"], smaller.given["clients_per_round"]
            return replace(small, said=f"{small.said} ({n} clients and K = {k} show it)")
    return found


def _found(each: Property, case: Case) -> tuple[Finding, Exception | None]:
    """What a property says, and the error that said it."""
    try:
        with plugins_named():
            fault = each.check(case)
    except (NotDecided, ParameterError) as error:
        # A task brings its own settings, and a constraint K_t.
        own = case.kind in ("task", "constraint") and not case.given
        wrong = own and isinstance(error, ParameterError)
        return Finding(each.name, False if wrong else None, str(error)), error
    except (ComponentError, DataError, EngineError, PluginError) as error:
        return Finding(each.name, False, str(error)), error
    return Finding(each.name, fault is None, fault or ""), None
