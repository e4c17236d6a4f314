"""Aggregators of models of several arrays, as they are written: right ones and wrong ones."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
State = dict[str, np.ndarray]


def by_examples(
    model: list[np.ndarray], updates: list[list[np.ndarray]], weights: Any
) -> list[np.ndarray]:
    """FedAvg, array by array."""
    total = sum(weights)
    if not total:
        return model
    return [
        array + sum(w * update[i] for w, update in zip(weights, updates)) / total
        for i, array in enumerate(model)
    ]


def with_zip(model: Any, updates: Any, weights: Any) -> Any:
    """The same without annotations."""
    if not sum(weights):
        return model
    return [
        array + np.average(np.stack(layer), axis=0, weights=weights)
        for array, layer in zip(model, zip(*updates))
    ]


def in_place(model: list[np.ndarray], updates: list[list[np.ndarray]], weights: Any) -> Any:
    """The same, written into the model's arrays."""
    for update, weight in zip(updates, weights):
        for array, change in zip(model, update):
            array += change * (weight / max(sum(weights), 1))
    return model


def tuples(model: tuple[np.ndarray, ...], updates: Any, weights: Any) -> Any:
    """The same, returned as a tuple."""
    return tuple(by_examples(list(model), updates, weights))


def by_client(model: State, updates: dict[int, State], weights: dict[int, float]) -> State:
    """The same, of states by client."""
    total = max(sum(weights.values()), 1)
    return {
        name: value + sum(weights[k] * state[name] for k, state in updates.items()) / total
        for name, value in model.items()
    }


def mean_of_states(model: dict[str, np.ndarray], models: list[State], weights: Any) -> Any:
    """Each client alike."""
    if not models:
        return model
    return {name: np.mean([state[name] for state in models], axis=0) for name in model}


class FedProx:
    """The mean of the clients' states by their examples."""

    def aggregate(self, global_state: OrderedDict, models: Any, num_samples: Any) -> Any:
        total = sum(num_samples)
        if not total:
            return global_state
        found = OrderedDict()
        for key in global_state:
            found[key] = sum(state[key] * n / total for state, n in zip(models, num_samples))
        return found


def fednova(
    model: list[np.ndarray], updates: list[list[np.ndarray]], weights: Any, taus: Any
) -> list[np.ndarray]:
    """Updates divided by the clients' local steps."""
    if not sum(weights):
        return model
    p, taus = np.asarray(weights) / sum(weights), np.asarray(taus)
    return [
        array + (p @ taus) * sum(w * u[i] / tau for w, u, tau in zip(p, updates, taus))
        for i, array in enumerate(model)
    ]


class Momentum:
    """Momentum of each array."""

    def __init__(self) -> None:
        self.velocity: list[Any] = []

    def aggregate(self, model: Arrays, updates: list[Arrays], weights: Any) -> Arrays:
        if not sum(weights) or not np.isfinite([np.sum(each[0]) for each in updates]).all():
            return model
        self.velocity = self.velocity or [np.zeros_like(array) for array in model]
        for i in range(len(model)):
            step = sum(w * update[i] for w, update in zip(weights, updates)) / sum(weights)
            self.velocity[i] = 0.9 * self.velocity[i] + step
            model[i] = model[i] + self.velocity[i]
        return model


def clipped_by_array(model: State, updates: list[State], weights: Any) -> State:
    """Each array of an update is clipped to length 2."""
    found, total = {}, max(sum(weights), 1)
    for name, value in model.items():
        step = np.zeros_like(value)
        for update, weight in zip(updates, weights):
            length = float(np.linalg.norm(update[name]))
            step += weight / total * update[name] * min(1.0, 2 / (length + 1e-12))
        found[name] = value + step
    return found


def personal_head(model: State, updates: list[State], weights: Any) -> State:
    """The head stays with the clients."""
    total = max(sum(weights), 1)
    return {
        name: value
        if name.startswith("head")
        else value + sum(w * update[name] for w, update in zip(weights, updates)) / total
        for name, value in model.items()
    }


def first_by_examples(
    model: list[np.ndarray], updates: list[list[np.ndarray]], weights: Any
) -> list[np.ndarray]:
    """The first array by examples, the others each client alike."""
    if not sum(weights):
        return model
    return [
        array + np.average([u[i] for u in updates], axis=0, weights=None if i else weights)
        for i, array in enumerate(model)
    ]


class CachedHead:
    """In the last two arrays missing replies are replaced by those of earlier rounds."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def aggregate(
        self, model: list[np.ndarray], updates: dict[int, Any], weights: dict[int, float]
    ) -> list[np.ndarray]:
        self.kept |= {k: (updates[k], weights[k]) for k in updates}
        now = by_examples(model, [*updates.values()], [*weights.values()])
        kept = by_examples(model, *map(list, zip(*self.kept.values()))) if self.kept else model
        return now[:2] + kept[2:]


def one_less(model: list[np.ndarray], updates: Any, weights: Any) -> Any:
    return by_examples(model, updates, weights)[:-1]


def flat(model: list[np.ndarray], updates: Any, weights: Any) -> Any:
    return [array.ravel() for array in by_examples(model, updates, weights)]


def forgets(model: State, updates: Any, weights: Any) -> Any:
    return {name: value for name, value in model.items() if name != "head.bias"}


def one_array(model: State, updates: Any, weights: Any) -> Any:
    return model["body.bias"] + 1


def own_names(model: State, updates: list[State], weights: Any) -> State:
    """Knows its arrays by name; the second stays with the clients."""
    total = max(sum(weights), 1)
    step = sum(w * update["fc.weight"] for w, update in zip(weights, updates)) / total
    return {"fc.weight": model["fc.weight"] + step, "fc.bias": model["fc.bias"]}


class EverySecond:
    """Gathers replies, and moves its model in each second round."""

    first = False

    def __init__(self) -> None:
        self.gathered: list[Any] = []
        self.steps = self.first

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self.gathered += [pair for pair in zip(updates, weights) if np.isfinite(pair[0]).all()]
        now, self.steps = self.steps, not self.steps
        total = sum(w for _, w in self.gathered)
        if not now or not total:
            return model
        step = sum(w * update for update, w in self.gathered) / total
        self.gathered = []
        return model + step


class EveryOdd(EverySecond):
    """The same from the first round on."""

    first = True


class EverySecondOfSeen(EverySecond):
    """The same, and wrong: the mean by the number of replies."""

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return super().aggregate(model, updates, np.ones(len(updates)))


def buffered(model: Any, updates: Any, weights: Any, accuracies: Any) -> Any:
    """Needs what the audit's clients do not reply."""
    return model


def by_number(model, updates, weights):  # type: ignore[no-untyped-def]
    total = max(sum(weights), 1)
    return [
        model[i] + sum(w * u[i] for w, u in zip(weights, updates)) / total
        for i in range(len(model))
    ]


def median_by_number(model, updates, weights):  # type: ignore[no-untyped-def]
    return [model[i] + np.median([u[i] for u in updates]) for i in range(len(model))]


def median_of_arrays(model: list[np.ndarray], updates: list[Arrays], weights: Any) -> Any:
    """An annotation is not asked for again, though the code has the word torch."""
    return median_by_number(model, updates, weights)


def floats_by_number(model, updates, weights):  # type: ignore[no-untyped-def]
    return [float(model[i]) + np.mean([float(u[i]) for u in updates]) for i in range(len(model))]


def unsaid_names(model, updates, weights):  # type: ignore[no-untyped-def]
    names, total = list(model), max(sum(weights), 1)
    steps = [sum(w * u[name] for w, u in zip(weights, updates)) / total for name in names]
    return dict(zip(names, (model[name] + step for name, step in zip(names, steps))))


def of_tensors(
    model: dict[str, torch.Tensor],  # type: ignore[name-defined]  # noqa: F821
    updates: Any,
    weights: Any,
) -> Any:
    total = float(sum(weights))
    return {
        name: value.clone().add_(sum(w * u[name] for w, u in zip(weights, updates)).div(total))
        for name, value in model.items()
    }


def of_module(net: Any, models: Any, weights: Any) -> Any:
    return net.load_state_dict(models[0].state_dict())


def three_steps(model: State, updates: list[State], weights: Any) -> State:
    """A server's rate of 3, also for buffers."""
    arrays = [list(each.values()) for each in updates]
    steps = by_examples([0 * array for array in model.values()], arrays, weights)
    return {name: array + 3 * step for (name, array), step in zip(model.items(), steps)}


class AdamOfAll:
    """Adam, also for buffers."""

    def __init__(self) -> None:
        self._moments: dict[str, Any] = {}

    def aggregate(self, model: State, updates: list[State], weights: Any) -> State:
        found = {}
        for name, array in three_steps(
            {n: 0 * a for n, a in model.items()}, updates, weights
        ).items():
            first, second = self._moments.get(name, (0, 0))
            self._moments[name] = first, second = 0.9 * first + 0.1 * array, second + array**2
            found[name] = model[name] + 0.01 * first / (np.sqrt(second) + 1e-3)
        return found
