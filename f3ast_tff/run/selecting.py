"""Selection and weights of a round; checks the results of components against their protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy, facts_of

_MAX_NAMED = 5
_STATE = "must be arrays of numbers or texts by name, or a checkpoint could not be read back"


def read_only(array: np.ndarray) -> np.ndarray:
    """Returns a copy that cannot be written to; later changes of the array do not reach it.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.run.selecting import read_only
        >>> mine = np.array([1, 2])
        >>> theirs = read_only(mine)
        >>> mine[0] = 7
        >>> theirs.tolist(), theirs.flags.writeable
        ([1, 2], False)
    """
    copied = array.copy()
    copied.flags.writeable = False
    return copied


class Constraint(Protocol):
    """The sets of available clients that may take part in a round."""

    def limit(self, round_number: int) -> RoundConstraint:
        """Returns the communication constraint of the round."""
        ...


def state_of(strategy: Strategy) -> dict[str, np.ndarray]:
    """Returns a strategy's part of a checkpoint.

    Raises:
        ComponentError: If it is no mapping of names to arrays that NumPy can write without pickle.
    """
    state: Any = strategy.state()
    where = f"algorithm {_name(strategy)}: state returned"
    if not isinstance(state, Mapping):
        raise ComponentError(f"{where} {type(state).__name__}: {_STATE}")
    found = {}
    for name, value in state.items():
        try:
            found[name] = np.asanyarray(value)
        except ValueError:
            raise ComponentError(f"{where} a ragged {name!r}: {_STATE}") from None
        if not isinstance(name, str) or found[name].dtype.hasobject:
            raise ComponentError(f"{where} {name!r}, {type(value).__name__}: {_STATE}")
    return found


def constraint_of(constraint: Constraint, round_number: int) -> RoundConstraint:
    """Returns the communication constraint of a round.

    Raises:
        ComponentError: If the component returns anything else.
    """
    found = constraint.limit(round_number)
    if not isinstance(found, RoundConstraint):
        raise ComponentError(
            f"constraint {_name(constraint)}: limit({round_number}) returned {found!r}: "
            "must be a RoundConstraint"
        )
    return found


def select_clients(strategy: Strategy, now: Round) -> np.ndarray:
    """Returns the clients of a round, `int [m]`, as a read-only copy.

    Raises:
        ParameterError: If `now.available` is not `bool [N]`, where N is the length of the
            strategy's p, if it has one.
        ComponentError: If the strategy returns no ids of clients, clients that are not available,
            a client twice, or more clients than the constraint allows. `BaseStrategy.may_select`
            lists exceptions.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import F3AST, Round, RoundConstraint, select_clients
        >>> strategy = F3AST.start([0.5, 0.3, 0.2], k=2)
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(2))
        >>> sorted(select_clients(strategy, now).tolist())
        [0, 2]
    """
    _check_arguments(strategy, now)
    _check_mask("available", now.available, facts_of(strategy).num_clients)
    ids = strategy.select(now)
    if breach := next(_breaches(strategy, now, ids), ""):
        raise refused(strategy, "select", now, f"returned {breach}")
    # The strategy may keep its array and change it.
    return read_only(ids)


def _check_arguments(strategy: Any, now: Any) -> None:
    if not (hasattr(strategy, "select") and hasattr(strategy, "weigh")):
        raise ParameterError("strategy", strategy, "must be a Strategy, with select and weigh")
    if not isinstance(now, Round):
        raise ParameterError("now", now, "must be a Round")


def _check_mask(name: str, mask: Any, length: int | None) -> None:
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.ndim == 1:
        if length is None or len(mask) == length:
            return
        given = f"{len(mask)} entries"
    else:
        given = f"{type(mask).__name__} {mask}"
    wanted = "[N]" if length is None else f"[{length}]"
    raise ParameterError(name, given, f"must be an array of bool {wanted}, one per client")


def _breaches(strategy: Strategy, now: Round, ids: Any) -> Iterator[str]:
    """Yields what is wrong with ids of selected clients, in words; the first one alone is sure."""
    yield from _wrong_ids(ids, len(now.available))
    if len(ids):
        allowed = facts_of(strategy).may_select
        away = ids[~now.available[ids]]
        if len(away) and "unavailable" not in allowed:
            yield f"{_listed(away)}, not available in this round"
        distinct, times = np.unique(ids, return_counts=True)
        if len(distinct) < len(ids) and "repeated" not in allowed:
            yield f"{_listed(distinct[times > 1])} more than once"
        excess = now.constraint.excess(ids)
        if excess is not None and "too_many" not in allowed:
            yield excess


def _wrong_ids(ids: Any, num_clients: int) -> Iterator[str]:
    if not isinstance(ids, np.ndarray) or ids.ndim != 1:
        yield f"{type(ids).__name__}: must be an array of client ids"
    elif len(ids) and ids.dtype.kind not in "iu":
        yield f"ids of dtype {ids.dtype}: must be integers"
    elif len(ids) and not 0 <= ids.min() <= ids.max() < num_clients:
        wrong = ids.min() if ids.min() < 0 else ids.max()
        yield f"client {wrong}: must be in 0 .. {num_clients - 1}"


def _listed(ids: np.ndarray) -> str:
    """Names clients, the first five of many."""
    some = ", ".join(map(str, ids[:_MAX_NAMED].tolist()))
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    return f"client{'s' if len(ids) > 1 else ''} {some}{more}"


def weigh_updates(strategy: Strategy, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
    """Returns the cohort of the delivered clients; moves the strategy by one round.

    Args:
        strategy: The strategy that has selected the clients.
        now: The round.
        ids: Selected clients, `int [m]`.
        delivered: Whether each client's update arrives, `bool [m]`.

    Raises:
        ComponentError: If the strategy returns another cohort, or weights that are not finite.
        ParameterError: If `delivered` is not `bool [m]`, or the clients cannot have been selected
            in this round.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import F3AST, Round, RoundConstraint, weigh_updates
        >>> strategy = F3AST.start([0.5, 0.3, 0.2], k=2, rate_beta=0.1)
        >>> now = Round(1, np.ones(3, bool), RoundConstraint(2))
        >>> cohort = weigh_updates(strategy, now, np.array([0, 2]), np.array([True, False]))
        >>> cohort.ids.tolist(), cohort.weights.round(3).tolist()  # The update of client 2 is lost.
        ([0], [0.5])
    """
    _check_arguments(strategy, now)
    if breach := next(_breaches(strategy, now, ids), ""):
        raise ParameterError("ids", ids, f"has {breach}")
    return weigh_selected(strategy, now, ids, delivered)


def weigh_selected(
    strategy: Strategy, now: Round, ids: np.ndarray, delivered: np.ndarray
) -> Cohort:
    """Weighs ids that `select_clients` has checked; else the same as `weigh_updates`.

    The strategy gets copies, and the cohort holds copies: what it writes changes no record.
    """
    _check_mask("delivered", delivered, len(ids))
    cohort = strategy.weigh(now, read_only(ids), read_only(delivered))
    if not isinstance(cohort, Cohort):
        reason = f"must return a Cohort of ids and weights, not {type(cohort).__name__}"
        raise refused(strategy, "weigh", now, reason)
    if not np.array_equal(cohort.ids, ids[delivered]):
        raise refused(strategy, "weigh", now, "must return the cohort of the clients delivered")
    weights = cohort.weights
    if weights.dtype.kind not in "fiu":
        reason = f"returned weights of dtype {weights.dtype}: must be numbers"
        raise refused(strategy, "weigh", now, reason)
    infinite = ~np.isfinite(weights)
    if infinite.any():
        whose = _listed(cohort.ids[infinite])
        reason = f"returned weights that are not finite, {weights[infinite][0]} for {whose}"
        raise refused(strategy, "weigh", now, reason)
    gone = cohort.forgets
    if gone is not None and (breach := next(_wrong_ids(gone, len(now.available)), "")):
        raise refused(strategy, "weigh", now, f"forgets {breach}")
    return replace(cohort, ids=read_only(cohort.ids), weights=read_only(weights))


def refused(strategy: Strategy, method: str, now: Round, reason: str) -> ComponentError:
    """Returns the error of a strategy that breaks its protocol in a round."""
    return ComponentError(f"algorithm {_name(strategy)}: {method} in round {now.number} {reason}")


def _name(part: Any) -> str:
    return type(part).__name__
