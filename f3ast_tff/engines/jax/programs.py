"""A round and its scores as programs for XLA, shared by runs of one composition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from f3ast_tff.core.values import is_value
from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.engines.jax.devices import at_precision
from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.engines.jax.round import FusedRound, RoundInputs
from f3ast_tff.engines.jax.server_step import ServerState

if TYPE_CHECKING:
    from f3ast_tff.engines.jax.late import Arrived, LateUpdates
    from f3ast_tff.methods.parts.memory import Values


class StackPrograms(NamedTuple):
    """Programs of rounds whose updates are combined on the host.

    Attributes:
        train: `FusedRound.train`, given tables and rows, which are not changed.
        finish: `FusedRound.finish`, with tables, which are donated and returned.
    """

    train: Any
    finish: Any


class LatePrograms(NamedTuple):
    """Programs of rounds with late updates.

    Attributes:
        start: `FusedLateRound.start`; the kept updates are donated and returned.
        enter: `FusedLateRound.enter`, with tables.
    """

    start: Any
    enter: Any


class RoundPrograms:
    """Programs of one composition; compiled at first use, once for each shape of data.

    A round takes a memory's `tables`, if any, and the row of each lane's client in them, `int32
    [waves, lanes]`. Tables are donated and returned.

    Attributes:
        round: `FusedRound.__call__`, with tables.
        finish: `FusedRound.finish`.
        losses: `ByLane` of `FusedRound.train`, without a memory; nothing is added up.
        score: Function of weights, features, labels and rows `int32 [n]`, which returns
            the sums of these rows, in the order of `score_names`.
        score_names: Names of the sums.
        traces: Number of times that a round or a score was traced, and so compiled.
    """

    def __init__(self, fused_round: FusedRound, matmul_precision: str) -> None:
        """Takes the round and the precision of its matrix products."""
        self.traces = 0
        self._round = fused_round
        self._precision = matmul_precision
        self.score_names: tuple[str, ...] = fused_round.sgd.sums.names

        def score(weights: Tree, features: Any, labels: Any, rows: Any) -> Any:
            self.traces += 1
            inputs = fused_round.sgd.preprocessing.in_jax(features[rows], None)
            outputs = fused_round.sgd.model.apply(weights, inputs)
            sums = fused_round.sgd.sums(outputs, labels[rows])
            return jnp.stack(jax.tree_util.tree_leaves(sums))

        def losses(state: ServerState, inputs: RoundInputs) -> Any:
            self.traces += 1
            return fused_round.train(state, inputs, by_client=True).by_lane

        self.losses = self._jitted(losses, **fused_round.sgd.jit_options)
        self.round = self._with_tables(fused_round, **fused_round.sgd.jit_options)
        self.finish = self._jitted(fused_round.finish)
        self.score = self._jitted(score)

    @cached_property
    def own_model(self) -> Any:
        """Function of the scored model, the server's values and a client's to the client's model.

        See `Memory.own_model`.
        """
        memory = self._round.aggregation.memory
        assert memory is not None

        def own_model(weights: Tree, server: Values, kept: Values) -> Tree:
            model, unravel = ravel_pytree(weights)
            return unravel(memory.own_model(kept, server, model, jnp))

        return self._jitted(own_model)

    @cached_property
    def late(self) -> LatePrograms:
        """The programs of rounds with late updates."""
        from f3ast_tff.engines.jax.late import FusedLateRound

        late_round = FusedLateRound(self._round)

        def start(state: ServerState, inputs: RoundInputs, slots: Any, *, kept: LateUpdates) -> Any:
            self.traces += 1
            return late_round.start(state, inputs, slots, kept)

        return LatePrograms(
            start=self._jitted(start, donate_argnames="kept", **self._round.sgd.jit_options),
            enter=self._with_tables(late_round.enter),
        )

    @cached_property
    def stacked(self) -> StackPrograms:
        """The programs of rounds whose updates are combined on the host."""
        fused_round = self._round

        def train(state: ServerState, inputs: RoundInputs, tables: Any, row: Any) -> Any:
            self.traces += 1
            return fused_round.train(state, _gathered(inputs, tables, row), by_client=True)

        def finish(state: ServerState, totals: Any, *, tables: Any, row: Any, **more: Any) -> Any:
            state, outcome, clients = fused_round.finish(state, totals, **more)
            if tables:
                from f3ast_tff.engines.jax.client_tables import ClientTables

                tables = ClientTables.scatter(tables, row, clients)
            return state, outcome, tables

        return StackPrograms(
            train=self._jitted(train, **fused_round.sgd.jit_options),
            finish=self._jitted(finish, donate_argnames="tables"),
        )

    def _with_tables(self, of_clients: Callable[..., Any], **options: Any) -> Any:
        """The program of a round that reads and changes the tables of a memory."""

        def function(
            state: ServerState,
            inputs: RoundInputs | Arrived,
            *more: Any,
            tables: dict[str, Any],
            row: Any,
            by_client: bool,
        ) -> Any:
            self.traces += 1
            if not tables:
                *done, _ = of_clients(state, inputs, *more, by_client=by_client)
                return (*done, {})
            from f3ast_tff.engines.jax.client_tables import ClientTables

            inputs = _gathered(inputs, tables, row)
            *done, clients = of_clients(state, inputs, *more, by_client=by_client)
            return (*done, ClientTables.scatter(tables, row, clients))

        return self._jitted(
            function, static_argnames="by_client", donate_argnames="tables", **options
        )

    def _jitted(self, function: Callable[..., Any], **options: Any) -> Any:
        return jax.jit(at_precision(self._precision, function), **options)


def _gathered(inputs: Any, tables: dict[str, Any], row: Any) -> Any:
    """The inputs of a round with the memory of its clients, if any."""
    if not tables or inputs.memory_inputs is None:
        return inputs
    from f3ast_tff.engines.jax.client_tables import ClientTables

    kept = ClientTables.gather(tables, row)
    return inputs._replace(memory_inputs=inputs.memory_inputs._replace(kept=kept))


def programs_of(fused_round: FusedRound, matmul_precision: str) -> RoundPrograms:
    """Returns the programs of a composition; an unchanged composition reuses the last programs.

    So runs that differ only in data, availability or seed are traced and compiled once. A part that
    is no frozen dataclass, such as an object of a notebook, may change while its identity stays; a
    composition with such parts gets new programs.

    Args:
        fused_round: The composition.
        matmul_precision: Precision of matrix products.
    """
    if is_value(fused_round):
        return latest_programs(fused_round, matmul_precision)
    return RoundPrograms(fused_round, matmul_precision)


latest_programs = lru_cache(maxsize=1)(RoundPrograms)


class FusedScorer:
    """Scores rows of a split that lives on the device."""

    def __init__(
        self, programs: RoundPrograms, features: Any, labels: Any, examples_at_once: int
    ) -> None:
        """Takes the programs, and the split's arrays on the device.

        Args:
            programs: Programs of the composition.
            features: Features of the split, on the device.
            labels: Labels of the split, on the device.
            examples_at_once: Largest number of examples per call.
        """
        self._programs = programs
        self._features = features
        self._labels = labels
        # All calls have one shape, for one compilation.
        self._chunk = max(1, min(examples_at_once, len(labels)))

    def rows(self, weights: Tree, rows: np.ndarray) -> ExampleScores:
        """Scores examples under a model.

        Args:
            weights: The model.
            rows: Rows of the split, `int [n]`.
        """
        chunks = max(1, -(-len(rows) // self._chunk))
        padded = np.resize(rows.astype(np.int32), chunks * self._chunk)
        parts = [
            self._programs.score(weights, self._features, self._labels, chunk)
            for chunk in padded.reshape(-1, self._chunk)
        ]
        values = np.concatenate([np.asarray(part) for part in parts], axis=1).astype(np.float64)
        return ExampleScores.of(dict(zip(self._programs.score_names, values[:, : len(rows)])))
