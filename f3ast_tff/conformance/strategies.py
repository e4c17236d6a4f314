"""Properties of an algorithm's strategy, played by hand: who is chosen, with what weight."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.methods.parts.strategy import BaseStrategy, Outcome, Round, no_losses
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.selecting import constraint_of, select_clients, weigh_updates

_ROUNDS = 8
# Rounds of the small problem in which nobody, everybody and one client is there.
_NOBODY, _EVERYBODY, _ONE = 3, 5, 6
# How alike the name of a method must be to one that is called, to be taken for a slip.
_ALIKE = 0.8


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a strategy meets in a round.

    Attributes:
        number: Round t.
        available: Reachable clients, `bool [N]`.
        delivered: Clients whose update would arrive, `bool [N]`.
        losses: Loss of each client, `float64 [N]`.
    """

    number: int
    available: np.ndarray
    delivered: np.ndarray
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class Played:
    """The ids `int [m]` that a strategy chose in a round, and the weights of those delivered."""

    ids: np.ndarray
    weights: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Played) and all(
            np.array_equal(a, b) for a, b in ((self.ids, other.ids), (self.weights, other.weights))
        )

    def __str__(self) -> str:
        return f"{self.ids.tolist()} with weights {np.round(self.weights, 4).tolist()}"


def inputs(num_clients: int) -> list[Inputs]:
    """Returns the rounds of the small problem."""
    found = []
    for t in range(1, _ROUNDS + 1):
        draws = generator(0, "conformance", t)
        available = draws.random(num_clients) < 0.6
        if t in (_NOBODY, _EVERYBODY):
            available[:] = t == _EVERYBODY
        if t == _ONE:
            available[:] = np.arange(num_clients) == 2
        delivered = draws.random(num_clients) < 0.8
        found.append(Inputs(t, available, delivered, draws.random(num_clients) + 0.1))
    return found


class Stage:
    """New strategies of a component, and rounds for them."""

    def __init__(self, case: Case) -> None:
        """Builds the experiment.

        Raises:
            NotDecided: If the method selects with late updates, whose rounds only a run has.
        """
        self._case = case
        self._parts = case.experiment()
        if self._parts.staleness_weight is not None:
            raise NotDecided("its updates may be late, so only whole runs say it")
        self.inputs = inputs(self._parts.num_clients)
        self._first: Any = self._parts.strategy

    def strategy(self) -> Any:
        """Returns a strategy that has seen no round."""
        found, self._first = self._first, None
        return self._case.experiment().strategy if found is None else found

    def now(self, each: Inputs, strategy: Any) -> Round:
        """Returns a round; its mask is the strategy's own copy, which it could change."""
        losses = (lambda ids: each.losses[ids]) if strategy.needs_losses else no_losses
        constraint = constraint_of(self._parts.constraint, each.number)
        return Round(each.number, each.available.copy(), constraint, losses)

    def play(self, strategy: Any, rounds: Sequence[Inputs], asked: int = 1) -> list[Played]:
        """Plays rounds; asks `select` `asked` times in each, of which the last counts."""
        return [self.play_round(strategy, each, asked) for each in rounds]

    def play_round(self, strategy: Any, each: Inputs, asked: int = 1) -> Played:
        """Plays one round, as a run does."""
        now = self.now(each, strategy)
        for _ in range(asked):
            ids = select_clients(strategy, now)
        arrives = each.delivered[ids]
        cohort = weigh_updates(strategy, now, ids, arrives)
        if strategy.needs_outcome:
            losses = np.where(arrives, each.losses[ids], np.nan)
            strategy.observe(each.number, Outcome(ids, arrives, losses))
        return Played(ids, cohort.weights)

    @property
    def parts(self) -> Experiment:
        """The experiment of the first strategy."""
        return self._parts


def same_seed_same_choice(case: Case) -> str | None:
    """Two strategies of one seed choose alike in the same rounds."""
    stage = Stage(case)
    first, again = (stage.play(stage.strategy(), stage.inputs) for _ in range(2))
    t = _differs(first, again)
    if t is None:
        return None
    why = (
        "draws come from now.generator(seed), not from np.random or random, and strategies share "
        "no array, such as a default argument"
    )
    return f"the same seed gave {first[t]} and {again[t]} in round {t + 1}: {why}"


def select_moves_no_state(case: Case) -> str | None:
    """A strategy that is asked twice in a round chooses, and goes on, as one that is asked once."""
    stage = Stage(case)
    once = stage.play(stage.strategy(), stage.inputs)
    t = _differs(once, stage.play(stage.strategy(), stage.inputs, asked=2))
    if t is None:
        return None
    moved = _moved_by_select(stage)
    return (
        f"asked twice in each round it chose other clients or weights in round {t + 1}, "
        f"{once[t]} when asked once: select moves {moved}, which only weigh and observe may"
    )


def state_is_whole(case: Case) -> str | None:
    """A strategy restored from `state()` after any round goes on like one that was not stopped."""
    stage = Stage(case)
    whole = stage.play(stage.strategy(), stage.inputs)
    for stop in range(1, len(whole)):
        before = stage.strategy()
        stage.play(before, stage.inputs[:stop])
        after = stage.strategy()
        state = before.state()
        kept = copied(state)
        after.restore(state)
        lost = _differing(vars(before), vars(after))
        t = _differs(whole[stop:], stage.play(after, stage.inputs[stop:]))
        if t is not None:
            what = " and ".join(lost) or "something outside its attributes"
            found = whole[stop + t]
            return (
                f"stopped after round {stop}, it goes on otherwise in round {stop + t + 1}, where "
                f"it had {found}: {what} is not restored; saved_arrays and saved_parts name "
                f"{', '.join(kept) or 'nothing'}{_slip(before)}"
            )
        stage.play_round(before, stage.inputs[stop])
        if not alike(kept, copied(state)):
            return "the arrays of state() are not copies: later rounds change them"
    return None


def other_choice(case: Case) -> str | None:
    """Another seed gives other choices; a method that draws nothing has the same."""
    stages = [Stage(replace(case, given={**case.given, "seed": seed})) for seed in (3, 4)]
    if _differs(*(stage.play(stage.strategy(), stage.inputs) for stage in stages)) is None:
        raise NotDecided("two seeds choose the same: right only if it draws nothing")
    return None


def leaves_inputs_alone(case: Case) -> str | None:
    """The mask is as before after a round."""
    stage = Stage(case)
    strategy = stage.strategy()
    for each in stage.inputs:
        now = stage.now(each, strategy)
        ids = select_clients(strategy, now)
        if not np.array_equal(now.available, each.available):
            return f"select changed now.available in round {each.number}: work on a copy"
        weigh_updates(strategy, now, ids, each.delivered[ids])
        if not np.array_equal(now.available, each.available):
            return f"weigh changed now.available in round {each.number}: work on a copy"
    return None


def weights_are_not_negative(case: Case) -> str | None:
    """Weights are at least 0."""
    stage = Stage(case)
    for t, played in enumerate(stage.play(stage.strategy(), stage.inputs), 1):
        if len(played.weights) and played.weights.min() < 0:
            return f"weight {played.weights.min():.4g} in round {t}: such an update is undone"
    return None


def _differs(first: Sequence[Played], second: Sequence[Played]) -> int | None:
    pairs = enumerate(zip(first, second, strict=True))
    return next((t for t, (a, b) in pairs if a != b), None)


def _moved_by_select(stage: Stage) -> str:
    """The attributes that differ after `select`, in words."""
    strategy = stage.strategy()
    found: dict[str, None] = {}
    for each in stage.inputs:
        before = copied(vars(strategy))
        select_clients(strategy, stage.now(each, strategy))
        found.update(dict.fromkeys(_differing(before, vars(strategy))))
        stage.play_round(strategy, each)
    return " and ".join(found) or "something outside the strategy's attributes"


def copied(value: Any) -> Any:
    """A copy of arrays, numbers and texts in containers and parts; others are left out."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {name: copied(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [copied(each) for each in value]
    if isinstance(value, (SavedState, Arrivals, RoundConstraint)):
        return copied(vars(value))
    return value


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of attributes whose arrays, numbers or texts differ."""
    names = [*before, *(name for name in after if name not in before)]
    return [n for n in names if not alike(copied(before.get(n)), copied(after.get(n)))]


def alike(a: Any, b: Any) -> bool:
    """Whether copies have the same numbers and texts."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
    if isinstance(a, dict) and isinstance(b, dict):
        return [*a] == [*b] and all(alike(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    plain = (bool, int, float, str, np.generic, type(None))
    same = type(a) is type(b)
    # NaN is no other number than NaN.
    return bool(a == b or (same and a != a)) if isinstance(a, plain) else same


def _slip(strategy: Any) -> str:
    """A hint at a method whose name is almost one that is called."""
    known = [name for name in dir(BaseStrategy) if not name.startswith("_")]
    for name, value in vars(type(strategy)).items():
        near = difflib.get_close_matches(name, known, 1, _ALIKE)
        if inspect.isfunction(value) and near and name not in known:
            return f". Is {name} meant to be {near[0]}?"
    return ""
