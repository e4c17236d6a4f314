"""Values of a `Memory` in host memory: NumPy tables with a row per client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.process_memory import available_memory_bytes
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    CohortSums,
    Memory,
    RoundContext,
    Values,
    initial_server,
    renewed,
)

# Largest share of the free memory for tables; training needs the rest.
_SHARE_OF_HOST = 0.85
_ITEM_BYTES = np.dtype(np.float32).itemsize


def table_bytes(memory: Memory, num_clients: int, num_weights: int) -> int:
    """Returns the size of all tables in bytes."""
    of_parts = sum(end - first for ranges in memory.parts.values() for first, end in ranges)
    per_client = len(memory.vectors) * num_weights + len(memory.numbers) + of_parts
    return num_clients * per_client * _ITEM_BYTES


def check_room(needed: int, num_clients: int) -> None:
    """Checks that `needed` bytes fit in free memory, to avoid swapping.

    Raises:
        ParameterError: If they do not fit.
    """
    room = _SHARE_OF_HOST * available_memory_bytes()
    if needed > room:
        allowed = (
            f"what is remembered of these clients takes {needed / 2**30:.1f} GiB, "
            f"this machine has {room / 2**30:.1f} to spare"
        )
        raise ParameterError("num_clients", num_clients, allowed)


def initial_tables(memory: Memory, num_clients: int, model: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the tables before the first round; `model` is the initial one.

    A row of zeros takes memory only once it is written.

    Returns:
        `float32 [N, num_weights]` for vectors, `float32 [N]` for numbers and `float32 [N, length]`
        for parts, by name.
    """
    tables = {}
    for name, start in memory.vectors.items():
        tables[name] = np.zeros((num_clients, len(model)), np.float32)
        if start == "model":
            tables[name][:] = model
    for name, ranges in memory.parts.items():
        part = np.concatenate([model[first:end] for first, end in ranges])
        tables[name] = np.tile(part.astype(np.float32), (num_clients, 1))
    return {**tables, **{name: np.zeros(num_clients, np.float32) for name in memory.numbers}}


@dataclass(frozen=True)
class Delivered:
    """Updates of a cohort and the server's step.

    Attributes:
        ids: The cohort, `int [m]`; a client drawn twice has sent the same update twice.
        finite: Whether each update is finite, `bool [m]`.
        updates: D_k, `float32 [m, num_weights]`; read where finite, by a memory of clients.
        steps: Local steps per client, `int [m]`.
        delta: Delta, `float32 [num_weights]`; read by a memory of clients.
        model: The model after the server's step along Delta.
        fine: Whether Delta and that model are finite.
        rates: Client learning rate of each update, `float [m]`, if updates are of several rounds.
        combined: Server values that `Aggregation.combine_round` has changed.
    """

    ids: np.ndarray
    finite: np.ndarray
    updates: np.ndarray
    steps: np.ndarray
    delta: np.ndarray
    model: np.ndarray
    fine: bool
    rates: np.ndarray | None = None
    combined: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Advanced:
    """Result of a round.

    Attributes:
        moves: Whether the server's step counts.
        keeps: Whether the clients' updates are remembered.
        closed: The model after the round, `float32 [num_weights]`.
        fits: Whether the model of `Memory.end_round` was finite.
    """

    moves: bool
    keeps: bool
    closed: np.ndarray
    fits: bool

    @property
    def rejects(self) -> bool:
        """Whether nothing of the round counts, or not its end; see `RoundOutcome.rejected`."""
        return not (self.moves or self.keeps) or not self.fits


class HostMemory:
    """Values of a `Memory`, in host memory."""

    def __init__(self, rules: Memory, p: np.ndarray, model: np.ndarray, server_rate: float) -> None:
        """Creates the tables for shares p, `float64 [N]`, an initial model and the server's rate.

        Raises:
            ParameterError: If the tables do not fit in memory.
        """
        self.rules = rules
        self._p = p.astype(np.float32)
        self._server_rate = np.float32(server_rate)
        check_room(table_bytes(rules, len(p), len(model)), len(p))
        self._tables = initial_tables(rules, len(p), model)
        self._server = initial_server(rules, model, np)

    def now(self, round_number: int, learning_rate: float, model: np.ndarray) -> RoundContext:
        """Returns the values common to all clients of a round."""
        there = np.int32(np.count_nonzero(self._p > 0))
        return RoundContext(
            xp=np,
            round_number=np.int32(round_number),
            learning_rate=np.float32(learning_rate),
            server_rate=self._server_rate,
            model=model,
            num_clients=there,
        )

    @staticmethod
    def after_training(
        now: RoundContext, weights: np.ndarray, steps: np.ndarray, finite: np.ndarray
    ) -> RoundContext:
        """Returns the round with the sums of its cohort.

        Args:
            now: The round.
            weights: Weights of the updates, `float [m]`.
            steps: Local steps of the clients, `int [m]`.
            finite: Whether each update is finite, `bool [m]`.
        """
        entering = weights[finite].astype(np.float32)
        total, of_steps = entering.sum(dtype=np.float32), np.float32(entering @ steps[finite])
        return now._replace(cohort=CohortSums(total, of_steps))

    def _client(self, k: int, steps: int) -> Client:
        kept = {name: table[k] for name, table in self._tables.items()}
        return Client(kept, self._p[k], np.int32(steps))

    def starts(self, ids: np.ndarray, steps: np.ndarray, now: RoundContext) -> list[ClientInit]:
        """Returns the start of each client of a cohort."""
        return [
            self.rules.client(self._client(int(k), int(count)), self._server, now)
            for k, count in zip(ids, steps)
        ]

    def messages(
        self,
        ids: np.ndarray,
        steps: np.ndarray,
        weights: np.ndarray,
        updates: np.ndarray,
        losses: Sequence[ClientLosses],
        now: RoundContext,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns `Memory.message` of each client.

        Args:
            ids: Clients, `int [m]`.
            steps: Their local steps, `int [m]`.
            weights: Their weights in the cohort, `float32 [m]`.
            updates: scale_k D_k + shift_k, `float32 [m, num_weights]`.
            losses: Losses of each client.
            now: The round.

        Returns:
            Vectors, `float32 [m, num_weights]`, and factors of the weights, `float32 [m]`.
        """
        vectors, factors = np.empty_like(updates), np.ones(len(ids), np.float32)
        now = now._replace(server=self._server)
        for place, (k, count) in enumerate(zip(ids.tolist(), steps.tolist())):
            client = self._client(k, count)._replace(weight=weights[place], id=np.int32(k))
            sent = self.rules.message(client, updates[place], losses[place], now)
            vectors[place], factors[place] = sent
        return vectors, factors

    def before_round(self, ids: np.ndarray) -> tuple[Values, Values]:
        """Returns the server's values, and those kept for some clients, `[m, ...]`."""
        return dict(self._server), {name: table[ids] for name, table in self._tables.items()}

    def correction(self, now: RoundContext) -> np.ndarray:
        """Returns the term added to Delta, `float32 [num_weights]`."""
        found = self.rules.correction(self._server, now)
        return np.zeros_like(now.model) if found is None else np.asarray(found, np.float32)

    def aggregated(self, delta: np.ndarray, now: RoundContext) -> np.ndarray:
        """Returns `Memory.aggregated` of the sum or mean, `float [num_weights]`."""
        return np.asarray(self.rules.aggregated(delta, self._server, now), delta.dtype)

    def mean(self, normalise: bool, now: RoundContext) -> bool:
        """Returns whether the cohort's weights are divided by their sum."""
        return bool(self.rules.mean(normalise, now))

    def advance(self, delivered: Delivered, now: RoundContext) -> Advanced:
        """Applies the round's updates; see `Memory`."""
        present = bool(delivered.finite.any())
        noted, server = self._noted(delivered, now)
        steps = bool(self.rules.steps(server, now, present))
        moves = steps and delivered.fine
        keeps = present and (delivered.fine or not steps)
        model = delivered.model if moves else now.model
        if keeps:
            self._server = server
            for k, kept in noted.items():
                settled = self.rules.after_server_step(kept, delivered.delta, model, now)
                for name in self.rules.settled_averages:
                    self._renew(
                        self._server, name, k, before=self._tables[name][k], after=settled[name]
                    )
                for name, value in settled.items():
                    self._tables[name][k] = value
        server, closed = self.rules.end_round(self._server, model, now)
        fits = bool(np.isfinite(closed).all())
        if fits:
            self._server, model = server, np.asarray(closed, np.float32)
        return Advanced(moves, keeps, model, fits)

    def _noted(self, delivered: Delivered, now: RoundContext) -> tuple[dict[int, Values], Values]:
        """Values kept per client, and the server's values, after the updates."""
        noted: dict[int, Values] = {}
        server = {**self._server, **delivered.combined}
        if not self.rules.by_client:
            return noted, server
        ids, first = np.unique(delivered.ids, return_index=True)
        for k, place in zip(ids.tolist(), first.tolist()):
            if not delivered.finite[place]:
                continue
            client = self._client(k, int(delivered.steps[place]))
            update = delivered.updates[place]
            of_client = now._replace(cohort=None)
            if delivered.rates is not None:
                of_client = of_client._replace(learning_rate=np.float32(delivered.rates[place]))
            kept = self.rules.after_client(client, update, self._server, of_client)
            noted[k] = {n: np.asarray(kept[n], np.float32) for n in client.kept}
            for name in self.rules.totals:
                change = noted[k][name] - client.kept[name]
                server[f"total_{name}"] = np.float32(server[f"total_{name}"] + change)
            for name in self.rules.averages:
                self._renew(server, name, k, before=client.kept[name], after=noted[k][name])
        return noted, server

    def _renew(self, server: Values, name: str, k: int, before: Any, after: Any) -> None:
        """Replaces client k's vector in an average."""
        names = (f"average_{name}", f"average_{name}_error")
        pair = (server[names[0]], server[names[1]])
        server[names[0]], server[names[1]] = renewed(
            pair, share=self._p[k], before=before, after=after
        )

    def evaluated(self, model: np.ndarray) -> np.ndarray:
        """Returns the model to score, `float32 [num_weights]`; see `Memory.evaluated`."""
        return np.asarray(self.rules.evaluated(self._server, model), np.float32)

    def own_model(self, k: int, model: np.ndarray) -> np.ndarray:
        """Returns client k's model for its own examples; see `Memory.own_model`.

        Args:
            k: The client.
            model: The model of `evaluated`, `float32 [num_weights]`.
        """
        kept = {name: table[k] for name, table in self._tables.items()}
        return np.asarray(self.rules.own_model(kept, self._server, model, np), np.float32)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint, without copying it."""
        return {
            **{f"server_{name}": np.asarray(value) for name, value in self._server.items()},
            **{f"client_{name}": table for name, table in self._tables.items()},
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores a result of `state` with checked shapes."""
        self._server = {name: state[f"server_{name}"] for name in self._server}
        for name in list(self._tables):
            # Freed first, so that only one table is in memory. Rounds write into the new table.
            del self._tables[name]
            saved = state.pop(f"client_{name}")
            self._tables[name] = saved if saved.flags.writeable else saved.copy()


def flat(leaves: Sequence[Any]) -> np.ndarray:
    """Concatenates arrays to `[num_weights]`."""
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def leaves_of(values: np.ndarray, like: Sequence[Any]) -> list[np.ndarray]:
    """Cuts `[num_weights]` into arrays of the shapes of `like`."""
    ends = np.cumsum([int(np.prod(leaf.shape)) for leaf in like])
    parts = np.split(values, ends[:-1])
    return [part.reshape(leaf.shape) for part, leaf in zip(parts, like)]
