"""Servers that are plain functions: `aggregate(model, updates, weights)`."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from f3ast_tff.audit.arrays import ONE_ARRAY, Form, forms_of, is_by_client
from f3ast_tff.audit.forms import form_that_works
from f3ast_tff.audit.targets import FOREIGN, Target, is_aggregation, required
from f3ast_tff.audit.world import WEIGHTS, Model, Reply, World
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import one_line_of

_CLIENTS, _ROUND = ("clients", "ids", "client_ids"), ("round", "t", "server_round")
_STEPS = ("steps", "taus", "tau", "num_steps", "local_steps")
_LOSSES = ("losses", "loss", "train_losses", "client_losses")
_MORE = (*_CLIENTS, *_ROUND, *_STEPS, *_LOSSES)
NOT_FINITE = "returns a model that is not finite"
# Names of the clients' models, such as client_states and w_locals, and of their updates.
_MODELS = re.compile(r"(?!.*(update|delta|change|grad|diff)).*(model|state|param|local|_weights)")
_OF_CLIENTS = re.compile(r"(clients?|local)_\w+s$|\w+_(locals|updates)$")
_UPDATES = ("updates", "deltas", "changes", "replies", "results", "client_updates")
# Examples of the clients.
_SIZES = ("weights", "sizes", "counts", "examples", "num_examples", "num_samples", "n", "ns")
# Names of the share of the clients that train, without "_" in front and in any case.
_FRACTIONS: tuple[str, ...] = ("fraction", "frac", "client_fraction", "fraction_train")
_FRACTIONS += ("fraction_fit", "sample_fraction", "join_ratio", "participation")


class FunctionServer:
    """Rounds around an aggregation: all clients that are there train, or those it selects.

    Attributes:
        takes_models: Whether it takes the clients' models in place of their updates.
        writes: Whether it wrote into the updates that it got.
    """

    def __init__(self, held: Any, form: Form = ONE_ARRAY) -> None:
        """Takes a function, or an object with `aggregate` and perhaps `select`."""
        self.held, self._form, self.writes = held, form, False
        self._aggregate = held if _is_function(held) else held.aggregate
        self._select = getattr(held, "select", None)
        names = list(inspect.signature(self._aggregate).parameters)
        self._weights_first = _has_weights_first(names)
        self.takes_models = bool(_MODELS.match(names[1 + self._weights_first]))
        self._more = [name for name in names[3:] if name in _MORE]
        self._by_client = _takes_mappings(self._aggregate)

    @property
    def knows_clients(self) -> bool:
        """Whether the aggregation is told which client a reply is of."""
        return self._by_client or any(name in _CLIENTS for name in self._more)

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays rounds; an error is noted, and the model stays."""
        now, arrays = np.array(model[WEIGHTS], float), {}
        for t in range(1, rounds + 1):
            there = sorted(world.nodes().values())
            try:
                chosen = there if self._select is None else _selected(self._select, t, there)
                replies = world.ask(chosen, {WEIGHTS: now.astype(np.float32)})
                found = self._form.join(self._aggregated(now, replies, t), now.size)
                if not replies and not np.isfinite(found[self._form.key]).all():
                    raise FloatingPointError(f"{NOT_FINITE} for no replies")
                now, arrays = found[self._form.key], found
            except FOREIGN as error:
                world.trace.errors[world.round] = one_line_of(error)
            world.close({**model, **arrays, WEIGHTS: now})

    def _aggregated(self, now: np.ndarray, replies: list[Reply], t: int) -> Any:
        clients = [reply.client for reply in replies]
        sent: Any = [np.array(reply.model[WEIGHTS], float) for reply in replies]
        if not self.takes_models:
            starts = [np.array(reply.sent[WEIGHTS], float) for reply in replies]
            sent = [s - w if s.shape == w.shape else s for s, w in zip(sent, starts)]
        sent = [self._form.split(each, now.size) for each in sent]
        told: Any = [[each.examples, each.steps, each.loss] for each in replies]
        # PyTorch multiplies tensors of one precision.
        told = np.array(told, np.float32 if self._form.tensors else float).reshape(-1, 3).T
        if self._by_client:
            sent = dict(zip(clients, sent))
            told = [dict(zip(clients, each)) for each in told.tolist()]
        weights, steps, losses = told
        told = dict.fromkeys(_CLIENTS, clients) | dict.fromkeys(_STEPS, steps)
        told |= dict.fromkeys(_LOSSES, losses)
        more = {name: told.get(name, t) for name in self._more}
        whole, before = self._form.split(now, now.size), copy.deepcopy(sent)
        two = (weights, sent) if self._weights_first else (sent, weights)
        found = self._aggregate(whole, *two, **more)
        self.writes |= not _same(before, sent)
        return found


def _same(a: Any, b: Any) -> bool:
    """Whether two lists or dicts of arrays, or of such, are the same."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def _has_weights_first(names: Sequence[str]) -> bool:
    """Whether weights come before updates, as the names of an aggregation's parameters say."""
    return names[1] in _SIZES and bool(names[2] in _UPDATES or _MODELS.match(names[2]))


def _selected(select: Callable[..., Any], t: int, there: list[int]) -> list[int]:
    arguments = (t, list(there)) if len(required(select)) > 1 else (list(there),)
    return [int(k) for k in select(*arguments)]


def _takes_mappings(aggregate: Callable[..., Any]) -> bool:
    """Whether `updates` is by client, as its annotation or a use of `.items()` and such says."""
    said = inspect.signature(aggregate).parameters
    names = list(said)
    name = names[1 + _has_weights_first(names)]
    if is_by_client(said[name].annotation):
        return True
    try:
        source = inspect.getsource(aggregate)
    except (OSError, TypeError):
        return False
    return re.search(rf"\b{name}\.(items|values|keys|get)\(", source) is not None


def function_target(
    name: str, maker: Callable[[], Any], example: Any, form: Form | None = None
) -> Target:
    """Returns the target of a function, or of an object with `aggregate`, that `maker` returns.

    Raises:
        ParameterError: If it is neither.
    """
    if not _is_function(example) and not callable(getattr(example, "aggregate", None)):
        allowed = (
            "must be aggregate(model, updates, weights), an object with such a method, or a Flower "
            f"strategy; it is of type {type(example).__name__}"
        )
        raise ParameterError("target", name, allowed)
    if not _is_function(example) and not is_aggregation(example.aggregate):
        raise ParameterError("target", name, "its aggregate must take model, updates and weights")
    aggregate = example if _is_function(example) else example.aggregate
    more = set(list(inspect.signature(aggregate).parameters)[3:]) & set(required(aggregate))
    if unknown := sorted(more - {*_MORE}):
        allowed = f"needs {', '.join(unknown)}; after model, updates and weights may come "
        raise ParameterError("target", name, allowed + "clients, round, steps and losses")
    names = list(inspect.signature(aggregate).parameters)
    sizes_first = names[0] in _SIZES and names[1] not in _SIZES and _MODELS.match(names[2])
    if names[0] in _UPDATES or _OF_CLIENTS.match(names[0]) or sizes_first:
        allowed = f"takes {', '.join(names[:3])}: must be model, updates and weights, in this order"
        raise ParameterError("target", name, allowed)
    updates = names[1 + _has_weights_first(names)]
    forms = forms_of(aggregate, names[0], updates) if form is None else [form]
    if forms[0].tensors and importlib.util.find_spec("torch") is None:
        allowed = "takes tensors: pip install torch, or convert arrays within it, --model=array"
        raise ParameterError("target", name, allowed)
    said = {name.strip("_").lower(): name for name in dir(example)}
    fractions = [getattr(example, said[each]) for each in _FRACTIONS if each in said]
    server = FunctionServer(example)
    found = Target(
        name,
        kind=f"aggregate(model, {'models' if server.takes_models else 'updates'}, weights)",
        make=lambda: FunctionServer(maker()),
        # Without a selection of its own it may be of anything, such as of numbers that are sent.
        fraction=next((f for f in fractions if isinstance(f, float) and "select" in said), None),
        knows_clients=server.knows_clients,
        versions=dict(getattr(example, "versions", {})),
    )
    return form_that_works(found, lambda form: FunctionServer(maker(), form), forms)


def _is_function(held: Any) -> bool:
    return callable(held) and not hasattr(held, "aggregate") and is_aggregation(held)
