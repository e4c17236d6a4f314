"""A round and its scores as programs for XLA, shared by runs of one composition."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from f3ast_tff.engines.jax.client_tables import ClientTables
from f3ast_tff.engines.jax.cross_entropy import label_sums
from f3ast_tff.engines.jax.devices import at_precision
from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.engines.jax.round import FusedRound, Remembered
from f3ast_tff.engines.jax.server_step import ServerState


class RoundPrograms:
    """Programs of one composition; compiled at first use, once for each shape of data.

    Attributes:
        round: `FusedRound.__call__`.
        round_with_tables: From the state, the tables (donated), the client of each lane and what
            follows `packed` and `remembered` in a round, to a round's results and the tables.
        finish: `FusedRound.finish`.
        score: From weights, features, labels and rows `int32 [n]` to `label_sums` of these rows.
        traces: How often a round or a score was traced, and so compiled.
    """

    def __init__(self, fused_round: FusedRound, matmul_precision: str) -> None:
        """Takes the round and the precision of its matrix products."""
        self.traces = 0

        def traced_round(*arguments: Any) -> Any:
            self.traces += 1
            return fused_round(*arguments)

        def with_tables(
            state: ServerState, values: Any, client: Any, remembered: Remembered, *rest: Any
        ) -> Any:
            self.traces += 1
            kept = ClientTables.gather(values, client)
            *work, by_client = rest
            arguments = (*work, remembered._replace(kept=kept), by_client)
            state, outcome, by_lane, clients = fused_round(state, *arguments)
            return state, outcome, by_lane, ClientTables.scatter(values, client, clients)

        def score(weights: Tree, features: Any, labels: Any, rows: Any) -> Any:
            self.traces += 1
            inputs = fused_round.preprocessing.in_jax(features[rows], None)
            return jnp.stack(label_sums(fused_round.model.apply(weights, inputs), labels[rows]))

        self.round = jax.jit(at_precision(matmul_precision, traced_round), static_argnums=7)
        self.round_with_tables = jax.jit(
            at_precision(matmul_precision, with_tables), static_argnums=9, donate_argnums=1
        )
        self.finish = jax.jit(at_precision(matmul_precision, fused_round.finish))
        self.score = jax.jit(at_precision(matmul_precision, score))


def programs_of(fused_round: FusedRound, matmul_precision: str) -> RoundPrograms:
    """Returns the programs of a composition, those of the last one if it was the same.

    Runs that differ by data, availability or seed alone then trace and compile nothing. A part
    that is no frozen dataclass, such as an object of a notebook, may change behind its identity:
    such a composition has programs of its own.

    Args:
        fused_round: The composition.
        matmul_precision: Precision of matrix products.
    """
    parts = [getattr(fused_round, field.name) for field in fields(fused_round)]
    if all(map(_is_value, parts)):
        return latest_programs(fused_round, matmul_precision)
    return RoundPrograms(fused_round, matmul_precision)


latest_programs = lru_cache(maxsize=1)(RoundPrograms)


def _is_value(part: Any) -> bool:
    """Whether an object is a frozen dataclass of its very class, down to its fields."""
    declared = vars(type(part)).get("__dataclass_params__")
    if declared is None:
        return isinstance(part, (bool, int, float, str, tuple, type(None)))
    own = [getattr(part, field.name) for field in fields(part)]
    return bool(declared.frozen) and all(map(_is_value, own))
