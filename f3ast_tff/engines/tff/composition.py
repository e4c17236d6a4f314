"""What a TFF learning process is made of, as a value that can cross to another process."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow_federated as tff

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.tff.client_feed import batch_spec, stored_spec
from f3ast_tff.engines.tff.cross_entropy import MeanCrossEntropy
from f3ast_tff.engines.tff.processes.client_data import ClientBatches
from f3ast_tff.engines.tff.processes.client_start import ClientStart
from f3ast_tff.engines.tff.processes.learning_process import Parts, build_parts
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.models import Model
from f3ast_tff.optimizers import Optimizer
from f3ast_tff.preprocessing import Preprocessing


@dataclass(frozen=True)
class TffComposition:
    """See `build_parts`.

    Attributes:
        model: See `EngineParts`, as for the others.
        preprocessing: From stored features to what the model reads.
        work: Local training of a client.
        client_optimizer: Of the local steps.
        server_optimizer: Of the step along the aggregate.
        aggregation: From the weighted updates to the aggregate.
    """

    model: Model
    preprocessing: Preprocessing
    work: LocalTraining
    client_optimizer: Optimizer
    server_optimizer: Optimizer
    aggregation: Aggregation

    @classmethod
    def of(cls, parts: EngineParts) -> TffComposition:
        """Returns the composition of an engine."""
        local = (parts.model, parts.preprocessing, parts.work, parts.client_optimizer)
        server = (parts.server_optimizer, parts.aggregation)
        return cls(*local, *server)

    @property
    def start(self) -> ClientStart:
        """What crosses to clients beside their data."""
        num_weights = sum(weight.size for weight in self.model.initial_weights(0))
        return ClientStart.of(self.aggregation.memory, num_weights)

    def parts(self, examples: ClientExamples) -> Parts:
        """Returns the parts, for clients that hold such examples, of which the types count."""

        def model_fn() -> tff.learning.models.VariableModel:
            return tff.learning.models.from_keras_model(
                self.model.keras_model(),
                loss=MeanCrossEntropy(),
                input_spec=batch_spec(examples, self.preprocessing),
                metrics=[],
            )

        return build_parts(
            model_fn,
            ClientBatches(stored_spec(examples), self.work, self.preprocessing, self.start),
            self.client_optimizer,
            self.server_optimizer,
            self.aggregation,
        )
