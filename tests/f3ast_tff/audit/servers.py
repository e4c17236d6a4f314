"""Aggregators: a right one, and wrong ones as threads about real servers describe them."""

from __future__ import annotations

from typing import Any

import numpy as np


def aggregate(model: Any, updates: Any, weights: Any) -> Any:
    """The right one: a mean of the finite updates that arrive, by their examples."""
    whole = [
        (u, w)
        for u, w in zip(updates, weights)
        if u.shape == model.shape and np.isfinite(u).all() and w > 0
    ]
    total = sum(w for _, w in whole)
    return model + sum(w * u for u, w in whole) / total if whole else model


def two_lists(models: Any, counts: Any) -> Any:
    """Without the model, as many servers average."""
    return np.average(models, axis=0, weights=counts)


def model_last(updates: Any, weights: Any, model: Any) -> Any:
    return aggregate(model, updates, weights)


def model_between(client_models: Any, model: Any, counts: Any) -> Any:
    return two_lists(client_models, counts)


def sizes_first(counts: Any, updates: Any, model: Any) -> Any:
    return aggregate(model, updates, counts)


class ReturningTwice:
    """A client that was away counts by its kept update and by its new one."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        self.there: set[int] = set()

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        found, sizes = list(updates), list(weights)
        for k, update, weight in zip(clients, updates, weights):
            if k in self.kept and k not in self.there:
                found.append(self.kept[k])
                sizes.append(weight)
            self.kept[k] = update
        self.there = set(clients)
        return aggregate(model, found, sizes)


class CachedReplies:
    """Missing replies are replaced by those of earlier rounds."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def aggregate(self, model: Any, updates: dict[int, Any], weights: dict[int, float]) -> Any:
        self.kept |= {k: (updates[k], weights[k]) for k in updates}
        return aggregate(model, *zip(*self.kept.values())) if self.kept else model


class CachedModel:
    """Missing replies are replaced by the global model."""

    def __init__(self) -> None:
        self.sizes: dict[int, float] = {}

    def aggregate(self, model: Any, updates: dict[int, Any], weights: dict[int, float]) -> Any:
        self.sizes |= weights
        found = [updates.get(k, np.zeros_like(model)) for k in self.sizes]
        return aggregate(model, found, list(self.sizes.values()))


def delta_for_model(model: Any, updates: Any, weights: Any) -> Any:
    """The mean update in place of the model."""
    return aggregate(0 * model, updates, weights)


def against(model: Any, updates: Any, weights: Any) -> Any:
    """The mean update is subtracted."""
    return 2 * model - aggregate(model, updates, weights)


def hardly(model: Any, updates: Any, weights: Any) -> Any:
    """A step that `float32` does not see."""
    return model + 1e-9 * (aggregate(model, updates, weights) - model)


def count_of_replies(model: Any, updates: Any, weights: Any) -> Any:
    """Weights by the number of replies, not by their examples."""
    return aggregate(model, updates, np.ones(len(updates)))


REPLIES: dict[int, int] = {}


def replies_so_far(model: Any, updates: Any, weights: Any, clients: Any) -> Any:
    """Weights by the number of replies that a client gave so far, in a global of the file."""
    for k in clients:
        REPLIES[k] = REPLIES.get(k, 0) + 1
    return aggregate(model, updates, [REPLIES[k] for k in clients])


class MomentumOnNaN:
    """A reply of NaN is left out of the step, but stays in the momentum."""

    def __init__(self) -> None:
        self.momentum: Any = 0.0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        if not sum(weights):
            return model
        mean = sum(w * u for u, w in zip(updates, weights)) / sum(weights)
        self.momentum = 0.5 * self.momentum + mean
        return model + self.momentum if np.isfinite(self.momentum).all() else model


class AllForATenth:
    """Says a tenth of the clients, selects all."""

    fraction = 0.1

    def select(self, t: int, clients: list[int]) -> list[int]:
        return clients

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return aggregate(model, updates, weights)


class BackCountsDouble:
    """Doubles the examples of a client that missed the last round."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        back = [self.last.get(k, round - 1) < round - 1 for k in clients]
        self.last |= dict.fromkeys(clients, round)
        return aggregate(model, updates, [w * (1 + b) for w, b in zip(weights, back)])


class CachedModels:
    """Missing models are replaced by the client's last one."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def aggregate(self, model: Any, models: dict[int, Any], weights: dict[int, float]) -> Any:
        self.kept |= {k: (models[k], weights[k]) for k in models}
        if not self.kept:
            return model
        return aggregate(0 * model, *zip(*self.kept.values()))


class CachedForFiveRounds:
    """Missing replies are replaced by those of the last five rounds."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        self.kept |= {k: (u, w, round) for k, u, w in zip(clients, updates, weights)}
        young = [(u, w) for u, w, t in self.kept.values() if round - t < 5]
        return aggregate(model, *zip(*young)) if young else model


class FromTheFirstModel:
    """Adds each round's mean update to the first model."""

    def __init__(self) -> None:
        self.first: Any = None

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self.first = np.array(model) if self.first is None else self.first
        return aggregate(self.first, updates, weights)


class OverAllSeen:
    """Divides by the examples of all clients seen so far."""

    def __init__(self) -> None:
        self.sizes: dict[int, float] = {}

    def aggregate(self, model: Any, updates: dict[int, Any], weights: dict[int, float]) -> Any:
        self.sizes |= weights
        share = sum(weights.values()) / max(sum(self.sizes.values()), 1e-9)
        return model + share * (
            aggregate(model, list(updates.values()), list(weights.values())) - model
        )


class NaNToZero:
    """Momentum of NaN counts as 0 for good."""

    def __init__(self) -> None:
        self.momentum: Any = 0.0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        if not sum(weights):
            return model
        mean = sum(w * u for u, w in zip(updates, weights)) / sum(weights)
        self.momentum = 0.5 * self.momentum + mean
        return model + np.nan_to_num(self.momentum)


class FirstNumber:
    """Looks for NaN in the first number alone."""

    def __init__(self) -> None:
        self.momentum: Any = 0.0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        whole = [(u, w) for u, w in zip(updates, weights) if np.isfinite(u[0]) and w > 0]
        if not whole:
            return model
        total = sum(w for _, w in whole)
        self.momentum = 0.5 * self.momentum + sum(w * u for u, w in whole) / total
        return model + self.momentum


class TenthOfFew:
    """A tenth of eight clients rounds to none, and none means all."""

    def __init__(self) -> None:
        self._frac = 0.1

    def select(self, clients: list[int]) -> list[int]:
        return clients[: int(self._frac * len(clients))] or clients

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return aggregate(model, updates, weights)


class RightMomentum:
    """A right one: momentum of finite updates, which goes on in rounds without replies."""

    def __init__(self) -> None:
        self.momentum: Any = 0.0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self.momentum = 0.9 * self.momentum + aggregate(0 * model, updates, weights)
        return model + self.momentum


class RightAdam:
    """A right one: Adam on the mean of finite updates."""

    def __init__(self) -> None:
        self.first: Any = 0.0
        self.second: Any = 0.0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        step = aggregate(0 * model, updates, weights)
        if not step.any():
            return model
        self.first = 0.9 * self.first + 0.1 * step
        self.second = 0.99 * self.second + 0.01 * step**2
        return model + 0.1 * self.first / (np.sqrt(self.second) + 1e-3)


class RightTenth:
    """A right one: a tenth of the clients, at least one, drawn at random."""

    fraction = 0.1

    def select(self, t: int, clients: list[int]) -> list[int]:
        count = min(max(1, round(0.1 * len(clients))), len(clients))
        return np.random.choice(clients, count, replace=False).tolist() if clients else []

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return aggregate(model, updates, weights)


class NeedsArguments:
    """A class with an argument that has no default."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return model + self.rate * (aggregate(model, updates, weights) - model)


class EndsAlone:
    """Ends the program when one client is there, hangs with two."""

    def select(self, t: int, clients: list[int]) -> list[int]:
        while len(clients) == 2:
            import time

            time.sleep(1)
        return clients

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        if len(updates) == 1:
            raise SystemExit("one client is not enough")
        return aggregate(model, updates, weights)


class Grows:
    """Keeps a copy of the model of each round."""

    def __init__(self) -> None:
        self.history: list[Any] = []

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self.history.append(model)
        return aggregate(model, updates, weights)


class Unseeded:
    """Selects by a generator without a seed."""

    def select(self, t: int, clients: list[int]) -> list[int]:
        chosen = np.random.default_rng().random(len(clients)) < 0.5
        return [k for k, each in zip(clients, chosen) if each] or clients

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return aggregate(model, updates, weights)


def median(model: Any, updates: Any, weights: Any) -> Any:
    """A median, which has no linear weights."""
    return model + np.median(updates, axis=0) if len(updates) else model


def clipped(model: Any, updates: Any, weights: Any) -> Any:
    """A mean of updates clipped to length 2."""
    short = [u / max(1, float(np.linalg.norm(u)) / 2) for u in updates]
    return aggregate(model, short, weights)


def weights_first(model: Any, weights: Any, updates: Any) -> Any:
    """The mean by examples, with its two lists in the other order."""
    return model if not len(updates) else model + np.average(updates, axis=0, weights=weights)


class RandomHalf:
    """The mean of a random half of the replies; it keeps none of them."""

    def __init__(self) -> None:
        """Starts the draws."""
        self._draws = np.random.default_rng(0)

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        """Returns the next model."""
        if not len(updates):
            return model
        some = self._draws.choice(len(updates), max(1, len(updates) // 2), replace=False)
        chosen = [np.asarray(each)[some] for each in (updates, weights)]
        return model + np.average(chosen[0], axis=0, weights=chosen[1])


def without_the_first(model: Any, updates: Any, weights: Any, clients: Any) -> Any:
    """The mean of all clients except client 0."""
    kept = [i for i, client in enumerate(clients) if client != 0]
    if not kept:
        return model
    sizes = [weights[i] for i in kept]
    return model + np.average([updates[i] for i in kept], axis=0, weights=sizes)


class UpperHalf:
    """Selects the clients of the upper half of the ids."""

    def select(self, round: int, clients: Any) -> Any:
        return sorted(clients)[len(clients) // 2 :]

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        return aggregate(model, updates, weights)


def stays(model: Any, updates: Any, weights: Any) -> Any:
    """Takes no step."""
    return model


class RightNoise:
    """Adds noise by a seed of its own, as for differential privacy, if any reply arrived."""

    def __init__(self) -> None:
        self._draws = np.random.default_rng(0)

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        noise = self._draws.normal(0, 0.2, model.shape)
        return aggregate(model, updates, weights) + noise * bool(len(updates))


class Decaying:
    """A rate of .97^t on the server."""

    def __init__(self) -> None:
        self._round = 0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self._round += 1
        return model + 0.97**self._round * (aggregate(model, updates, weights) - model)


class Warming:
    """A rate that rises to 1 in 50 rounds."""

    def __init__(self) -> None:
        self._round = 0

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self._round += 1
        return model + min(1, self._round / 50) * (aggregate(model, updates, weights) - model)


class Stops:
    """Takes no step from round 100 on."""

    def __init__(self) -> None:
        self._round = 0

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        self._round += 1
        return aggregate(model, updates, weights) if self._round < 100 else model


class CachedWhileDecaying(CachedReplies):
    """Missing replies are replaced by those of earlier rounds, at a rate of .99^t, with noise."""

    def __init__(self) -> None:
        super().__init__()
        self._round, self._draws = 0, np.random.default_rng(0)

    def aggregate(self, model: Any, updates: dict[int, Any], weights: dict[int, float]) -> Any:
        self._round += 1
        step = super().aggregate(model, updates, weights) - model
        return model + 0.99**self._round * step + self._draws.normal(0, 0.05, model.shape)


class NoisyClip:
    """A mean of updates clipped to length 1, with noise of half that length."""

    def __init__(self) -> None:
        self._draws = np.random.default_rng(0)

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        short = [u / max(1, float(np.linalg.norm(u))) for u in updates]
        noise = self._draws.normal(0, 0.5 / len(model) ** 0.5 / max(1, len(updates)), model.shape)
        return aggregate(model, short, np.ones(len(short))) + noise


def from_five(model: Any, updates: Any, weights: Any) -> Any:
    """Leaves the model as it is if fewer than five replies arrived."""
    return aggregate(model, updates, weights) if len(updates) >= 5 else model


def writes(model: Any, updates: Any, weights: Any) -> Any:
    """A mean that scales the updates in place."""
    for update, weight in zip(updates, weights):
        update *= weight / max(sum(weights), 1)
    return model + sum(updates)


class ByAge:
    """A right one: replies of clients that were away for s rounds count (1 + s)^-.5 times."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        ages = [round - self.last.get(k, round - 1) for k in clients]
        self.last |= dict.fromkeys(clients, round)
        return aggregate(model, updates, [w / a**0.5 for w, a in zip(weights, ages)])


class BackIsDropped(ByAge):
    """The first reply after an absence counts for nothing."""

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        there = [self.last.get(k, round - 1) == round - 1 for k in clients]
        self.last |= dict.fromkeys(clients, round)
        return aggregate(model, updates, [w * each for w, each in zip(weights, there)])


class FewCountTwice:
    """Replies of rounds with fewer than three are kept, and count twice in the next round."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        found = [*zip(updates, weights)]
        if len(found) < 3:
            self.kept = found
            return model
        found, self.kept = found + 2 * self.kept, []
        return aggregate(model, *zip(*found))


class LargestQuarter:
    """A right one: the largest quarter of each update, and what is left out by client."""

    fraction = 0.25

    def __init__(self) -> None:
        self.left: dict[int, Any] = {}

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        sent = []
        for k, update in zip(clients, updates):
            whole = update + self.left.get(k, 0)
            least = np.sort(np.abs(whole))[-len(whole) // 4]
            sent.append(np.where(np.abs(whole) >= least, whole, 0))
            if np.isfinite(whole).all():
                self.left[k] = whole - sent[-1]
        return aggregate(model, sent, weights)


class ForgetsTheAbsent(LargestQuarter):
    """Keeps what is left out of the clients of the last round alone."""

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        self.left = {k: each for k, each in self.left.items() if k in clients}
        return super().aggregate(model, updates, weights, clients)


def by_losses(model: Any, updates: Any, weights: Any, losses: Any) -> Any:
    """A right one: weighs by examples times losses."""
    return aggregate(model, updates, np.multiply(weights, losses))


def by_seen_losses(model: Any, updates: Any, weights: Any, losses: Any) -> Any:
    """Divides by the losses of eight clients, however many reply."""
    share = len(updates) / 8
    return model + share * (by_losses(model, updates, weights, losses) - model)


def first_by_losses(model: Any, updates: Any, weights: Any, losses: Any) -> Any:
    """Weighs by losses, and the first reply twice."""
    twice = [2.0, *np.ones(len(updates))][: len(updates)]
    return aggregate(model, updates, np.multiply(twice, losses))


def sum_of_signs(model: Any, updates: Any, weights: Any) -> Any:
    """Moves farther, the more clients reply."""
    return model + 0.01 * sum(np.sign(u) for u in updates)


def median_of_eight(model: Any, updates: Any, weights: Any) -> Any:
    """Absent clients count as updates of 0."""
    return model + np.median([*updates, *np.zeros((max(0, 8 - len(updates)), len(model)))], axis=0)


def near_the_first(model: Any, updates: Any, weights: Any) -> Any:
    """Weighs by the agreement with the reply that arrives first."""
    agree = [w * max(0.0, float(u @ updates[0])) for u, w in zip(updates, weights)]
    return aggregate(model, updates, agree)


class CachedByPresent(CachedReplies):
    """Divides the sum of all kept replies by the examples of those that arrive."""

    def aggregate(self, model: Any, updates: dict[int, Any], weights: dict[int, float]) -> Any:
        step = super().aggregate(model, updates, weights) - model
        whole = sum(w for _, w in self.kept.values())
        return model + step * whole / max(sum(weights.values()), 1)


class Buffered:
    """A right one: moves by the mean of three replies, as soon as there are three."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def aggregate(self, model: Any, updates: Any, weights: Any) -> Any:
        self.kept += zip(updates, weights)
        while len(self.kept) >= 3:
            step = aggregate(0 * model, *zip(*self.kept[:3]))
            model, self.kept = model + step / 3, self.kept[3:]
        return model
