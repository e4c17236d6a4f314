"""Runtimes that execute the rounds of a TFF learning process.

In this process, TFF's map-reduce form splits a process into TensorFlow computations: prepare, work,
zero, accumulate, merge, report, update. Each is imported once and called as a function. A client's
dataset is passed directly (as its variant tensor), without serialisation, and rounds need no
tracing. Beyond the arithmetic a round costs a few milliseconds per client: calls, and the dataset's
iterator. A process built with TFF's default `LoopImplementation.DATASET_REDUCE` costs about 100 ms
more per client, because TensorFlow then prepares the training step anew for each client.
`DATASET_ITERATOR` avoids this, and TFF requires it on GPUs.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.errors import EngineError
from f3ast_tff.engines.tff.functions import Layout, TffFunction, find_device
from f3ast_tff.files.process_memory import return_free_memory


class TffRuntime(ABC):
    """Base of runtimes: each executes one `tff.learning.templates.LearningProcess`."""

    @abstractmethod
    def initialize(self) -> Any:
        """Returns the state before the first round, as `process.initialize()`."""

    @abstractmethod
    def next(self, state: Any, client_data: Sequence[Any]) -> Any:
        """Executes a round, as `process.next`.

        Args:
            state: State from `initialize` or from the previous round; not changed.
            client_data: A `tf.data.Dataset` per client, of the type that the process takes.

        Returns:
            A `tff.learning.templates.LearningProcessOutput`: the state after the round and its
            metrics, NumPy leaves.

        Raises:
            EngineError: If the round could not be completed.
        """

    @abstractmethod
    def statistics(self) -> dict[str, Any]:
        """Returns the runtime's entries in `summary.json`."""

    @abstractmethod
    def close(self) -> None:
        """Releases processes and devices; the runtime cannot be used afterwards."""


_PARTS = ("prepare", "work", "zero", "accumulate", "merge", "report", "update")
# Least time between returns of memory; a return takes milliseconds, as long as a small client.
_SECONDS_BETWEEN_RETURNS = 1.0
_SECURE = ("secure_sum_bitwidth", "secure_sum_max_input", "secure_modular_sum_modulus")


class InProcessRuntime(TffRuntime):
    """A `TffRuntime` without a child process.

    Clients train in turn, and each update is added to the sum at once, so the memory of a round
    does not depend on the size of the cohort. `next` is `prepare`, `accumulate` and `finish`. A
    cohort may also be split, each part accumulated on any machine, and the accumulators merged in
    any order (the sums then differ in rounding).

    Examples:
        >>> import tensorflow as tf
        >>> import tensorflow_federated as tff
        >>> from f3ast_tff.engines.tff.runtime import InProcessRuntime
        >>> spec = tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])
        >>> def model():
        ...     dense = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        ...     error = tf.keras.losses.MeanSquaredError()
        ...     return tff.learning.models.from_keras_model(dense, error, spec)
        >>> sgd = tff.learning.optimizers.build_sgdm(0.1)
        >>> process = tff.learning.algorithms.build_weighted_fed_avg(model, sgd)
        >>> runtime = InProcessRuntime(process, device="cpu")
        >>> client = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1])))
        >>> output = runtime.next(runtime.initialize(), [client, client])
        >>> int(output.metrics["client_work"]["train"]["num_examples"])
        8
        >>> [weight.shape for weight in output.state.global_model_weights.trainable]
        [(2, 1), (1,)]
    """

    def __init__(
        self, process: tff.learning.templates.LearningProcess, device: str = "auto"
    ) -> None:
        """Splits the process into parts and imports these.

        Args:
            process: A process with a map-reduce form in TFF: one broadcast, one aggregation.
            device: See `functions.find_device`.

        Raises:
            ParameterError: If there is no such device.
            ValueError: If the process uses secure aggregation, or has no map-reduce form.
        """
        self.device = find_device(device)
        initial, form = _taken_apart(process)
        for name in _SECURE:
            if tff.types.contains(getattr(form, name).type_signature.result, _is_tensor):
                raise ValueError(
                    f"the process aggregates with {name.rsplit('_', 1)[0]}: secure aggregation "
                    "needs TFF's worker, in this process only plain aggregation runs"
                )
        self._data_type = form.work.type_signature.parameter[0]
        if not isinstance(self._data_type, tff.SequenceType):
            raise ValueError(f"a client's data must be one sequence, not {self._data_type}")
        state_type, metrics_type = process.next.type_signature.result
        self._state = Layout(state_type.member)
        self._metrics = Layout(metrics_type.member)
        self._initial = TffFunction(initial, self.device)
        self._parts = {name: TffFunction(getattr(form, name), self.device) for name in _PARTS}
        self._known_specs: set[str] = set()
        self._memory_returned = time.monotonic()

    def initialize(self) -> Any:
        return self._state.pack(_on_host(self._initial([])))

    def next(self, state: Any, client_data: Sequence[tf.data.Dataset]) -> Any:
        """Executes a round in this process.

        Raises:
            EngineError: If TensorFlow fails (out of memory, for example).
            TypeError: If a dataset is not of the process's type.
        """
        # Tensors throughout, because copies on the host would take the memory of several models.
        total = self._accumulate(self._call("prepare", self._state.flatten(state)), client_data)
        return self.finish(state, total)

    def prepare(self, state: Any) -> list[np.ndarray]:
        """Returns the arrays that the server sends to clients: the model, and any others."""
        return _on_host(self._call("prepare", self._state.flatten(state)))

    def accumulate(
        self, prepared: Sequence[np.ndarray], client_data: Sequence[tf.data.Dataset]
    ) -> list[np.ndarray]:
        """Trains clients and accumulates their messages.

        Args:
            prepared: Result of `prepare`.
            client_data: See `next`; may be empty.

        Returns:
            The accumulator, as leaves of a value of the process's type.
        """
        return _on_host(self._accumulate([tf.convert_to_tensor(p) for p in prepared], client_data))

    def _accumulate(
        self, sent: Sequence[tf.Tensor], client_data: Sequence[tf.data.Dataset]
    ) -> list[tf.Tensor]:
        total = self._call("zero", [])
        for dataset in client_data:
            self._check(dataset)
            update = self._call("work", [tf.data.experimental.to_variant(dataset), *sent])
            total = self._call("accumulate", [*total, *update])
            # The size of a model: free it before the next client trains.
            del update
            self._return_free_memory()
        return total

    def _return_free_memory(self) -> None:
        """Returns memory now and then; the allocator keeps some 100 MiB freed by a ResNet."""
        now = time.monotonic()
        if now - self._memory_returned > _SECONDS_BETWEEN_RETURNS:
            return_free_memory(collect=False)
            self._memory_returned = now

    def merge(self, one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the accumulator of both parts' clients; see `accumulate`."""
        return _on_host(self._call("merge", [*one, *other]))

    def finish(self, state: Any, accumulator: Sequence[Any]) -> Any:
        """Makes the server's step along an accumulator of the whole cohort; see `next`.

        Args:
            state: The state given to `prepare`.
            accumulator: Result of workers' `accumulate`, or of `merge`.
        """
        report = self._call("report", accumulator)
        leaves = _on_host(self._call("update", [*self._state.flatten(state), *report]))
        return tff.learning.templates.LearningProcessOutput(
            self._state.pack(leaves[: len(self._state)]),
            self._metrics.pack(leaves[len(self._state) :]),
        )

    def statistics(self) -> dict[str, Any]:
        return {"tff_runtime": "tf", "tff_device": self.device}

    def close(self) -> None:
        """Releases the functions."""
        self._parts.clear()

    def _call(self, part: str, leaves: Sequence[Any]) -> list[tf.Tensor]:
        if part not in self._parts:
            raise EngineError("the in-process TFF runtime is closed")
        try:
            return self._parts[part](leaves)
        except tf.errors.OpError as error:
            first_line = error.message.splitlines()[0] if error.message else type(error).__name__
            raise EngineError(f"TFF's {part} failed on {self.device}: {first_line}") from error

    def _check(self, dataset: tf.data.Dataset) -> None:
        spec = str(dataset.element_spec)
        if spec not in self._known_specs:
            given = tff.SequenceType(tff.types.tensorflow_to_type(dataset.element_spec))
            if not self._data_type.is_assignable_from(given):
                raise TypeError(f"a client's data must be {self._data_type}, not {given}")
            self._known_specs.add(spec)


@lru_cache(maxsize=1)
def _taken_apart(process: tff.learning.templates.LearningProcess) -> tuple[Any, Any]:
    """The computation of the first state, and the map-reduce form of a round."""
    mapreduce = tff.backends.mapreduce
    return (
        mapreduce.get_state_initialization_computation(process.initialize),
        mapreduce.get_map_reduce_form_for_computation(process.next),
    )


def _is_tensor(of_type: tff.Type) -> bool:
    return isinstance(of_type, tff.TensorType)


def _on_host(tensors: Sequence[tf.Tensor]) -> list[np.ndarray]:
    return [tensor.numpy() for tensor in tensors]
