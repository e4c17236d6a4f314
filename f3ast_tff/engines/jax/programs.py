"""A round as programs for XLA: without tables of clients, with them, and of the server alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from f3ast_tff.engines.jax.client_tables import ClientTables
from f3ast_tff.engines.jax.devices import at_precision
from f3ast_tff.engines.jax.round import FusedRound, Remembered
from f3ast_tff.engines.jax.server_step import ServerState


class RoundPrograms:
    """Programs of one composition; compiled at first use.

    Attributes:
        round: `FusedRound.__call__`.
        round_with_tables: From the state, the tables (donated), the client of each lane and what
            follows `packed` and `remembered` in a round, to a round's results and the tables.
        finish: `FusedRound.finish`.
    """

    def __init__(
        self, fused_round: FusedRound, matmul_precision: str, on_trace: Callable[[], None]
    ) -> None:
        """Takes the round, the precision of its products, and a callback at each compilation."""

        def traced_round(*arguments: Any) -> Any:
            on_trace()
            return fused_round(*arguments)

        def with_tables(
            state: ServerState, values: Any, client: Any, remembered: Remembered, *rest: Any
        ) -> Any:
            on_trace()
            kept = ClientTables.gather(values, client)
            *work, by_client = rest
            arguments = (*work, remembered._replace(kept=kept), by_client)
            state, outcome, by_lane, clients = fused_round(state, *arguments)
            return state, outcome, by_lane, ClientTables.scatter(values, client, clients)

        self.round = jax.jit(at_precision(matmul_precision, traced_round), static_argnums=7)
        self.round_with_tables = jax.jit(
            at_precision(matmul_precision, with_tables), static_argnums=9, donate_argnums=1
        )
        self.finish = jax.jit(at_precision(matmul_precision, fused_round.finish))
