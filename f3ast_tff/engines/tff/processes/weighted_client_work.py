"""Client work whose update carries the weight that the server gave the client."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import tensorflow_federated as tff

from f3ast_tff.engines.tff.processes.by_client import collect
from f3ast_tff.engines.tff.processes.client_data import ClientBatches


def build_weighted_client_work(
    inner: tff.learning.templates.ClientWorkProcess, batches: ClientBatches
) -> tff.learning.templates.ClientWorkProcess:
    """Wraps any client work over batches into one over `client_data`.

    The inner work must weigh clients uniformly: 1, or 0 for an update that is not finite (TFF
    also sets such an update to zero). The wrapped work multiplies that by the client's weight, so
    that a non-finite update is dropped from the round whatever its weight.

    Args:
        inner: For example `tff.learning.templates.build_model_delta_client_work` with
            `tff.learning.ClientWeighting.UNIFORM`.
        batches: From a client's data to the batches that it trains on.

    Returns:
        Client work; its measurements are `inner` (those of the inner work) and `received` (for each
        client 1, or 0 if its update was not finite, `float32 [m]`).
    """
    data_type = batches.data_type
    state_type, weights_type, _ = inner.next.type_signature.parameter

    @tff.tensorflow.computation(data_type)
    def unpack(client_data: Any) -> Any:
        element = client_data.get_single_element()
        return batches.dataset(element), element["weight"]

    @tff.tensorflow.computation(np.float32, np.float32)
    def multiply(finite: Any, weight: Any) -> Any:
        return finite * weight

    @tff.federated_computation(state_type, weights_type, tff.FederatedType(data_type, tff.CLIENTS))
    def next_fn(state: Any, weights: Any, client_data: Any) -> Any:
        training_data, weight = tff.federated_map(unpack, client_data)
        output = inner.next(state, weights, training_data)
        finite = output.result.update_weight
        weight = tff.federated_map(multiply, (finite, weight))
        result = tff.federated_zip(
            tff.learning.templates.ClientResult(output.result.update, weight)
        )
        measurements = tff.federated_zip(
            OrderedDict(inner=output.measurements, received=collect(finite))
        )
        return tff.templates.MeasuredProcessOutput(output.state, result, measurements)

    return tff.learning.templates.ClientWorkProcess(
        inner.initialize,
        next_fn,
        get_hparams_fn=inner.get_hparams,
        set_hparams_fn=inner.set_hparams,
    )
