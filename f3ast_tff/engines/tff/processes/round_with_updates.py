"""A round whose clients' updates come back one by one, for a server that remembers them."""

from __future__ import annotations

from typing import Any

import tensorflow_federated as tff

from f3ast_tff.engines.tff.processes.learning_process import Parts


def build_round_with_updates(parts: Parts) -> tff.Computation:
    """Composes the round of `compose_learning_process`, with the updates as a further result.

    A `LearningProcess` cannot return what is placed at clients, hence a computation.

    Args:
        parts: Of the learning process, whose state it takes and returns.

    Returns:
        `(state@SERVER, client_data@CLIENTS) -> (LearningProcessOutput, ClientResult@CLIENTS)`;
        clients are in the order of their data. An update that is not finite comes back as zeros
        with weight 0.
    """
    templates = tff.learning.templates
    state_type = parts.compose().initialize.type_signature.result
    data_type = parts.client_work.next.type_signature.parameter[2]

    @tff.federated_computation(state_type, data_type)
    def round_fn(state: Any, client_data: Any) -> Any:
        sent = parts.distributor.next(state.distributor, state.global_model_weights)
        worked = parts.client_work.next(state.client_work, sent.result, client_data)
        aggregated = parts.aggregator.next(
            state.aggregator, worked.result.update, worked.result.update_weight
        )
        moved = parts.finalizer.next(state.finalizer, state.global_model_weights, aggregated.result)
        new_state = tff.federated_zip(
            templates.LearningAlgorithmState(
                moved.result, sent.state, worked.state, aggregated.state, moved.state
            )
        )
        metrics = tff.federated_zip(
            {
                "distributor": sent.measurements,
                "client_work": worked.measurements,
                "aggregator": aggregated.measurements,
                "finalizer": moved.measurements,
            }
        )
        return templates.LearningProcessOutput(new_state, metrics), worked.result

    return round_fn
