"""What a TFF learning process is made of, as a value that can cross to another process."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow_federated as tff

from f3ast_tff.engines.tff.client_feed import batch_spec, stored_spec
from f3ast_tff.engines.tff.cross_entropy import MeanCrossEntropy
from f3ast_tff.engines.tff.processes.client_data import ClientBatches
from f3ast_tff.engines.tff.processes.learning_process import Parts, build_parts
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.local_training import LocalWork
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.preprocessing import Inputs


@dataclass(frozen=True)
class TffComposition:
    """See `build_parts`.

    Attributes:
        model: The network.
        work: Local work of a client.
        inputs: From features to what the model reads.
        client_optimizer: Of the local steps.
        server_optimizer: Of the step along the aggregate.
        aggregation: `"sum"`, `"mean"` or `"latest"`.
    """

    model: Model
    work: LocalWork
    inputs: Inputs
    client_optimizer: Optimizer
    server_optimizer: Optimizer
    aggregation: str

    def parts(self, examples: ClientExamples) -> Parts:
        """Returns the parts, for clients that hold such examples, of which the types count."""

        def model_fn() -> tff.learning.models.VariableModel:
            return tff.learning.models.from_keras_model(
                self.model.keras_model(),
                loss=MeanCrossEntropy(),
                input_spec=batch_spec(examples, self.inputs),
                metrics=[],
            )

        return build_parts(
            model_fn,
            ClientBatches(stored_spec(examples), self.work, self.inputs),
            self.client_optimizer,
            self.server_optimizer,
            self.aggregation,
        )
