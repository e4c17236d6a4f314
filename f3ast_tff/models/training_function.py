"""Local training as a function of one's own, in any framework; the engine `host` calls it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.real_numbers import as_floats, is_real, start_in_float32
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.models.model import ModelConfig


class Examples(NamedTuple):
    """A client's training examples, read-only copies.

    Attributes:
        features: Model inputs, `[n, ...]`; not augmented.
        labels: Labels, `int [n]`, or `[n, length]` with negative labels for pads; or values,
            `float32 [n, ...]`.
    """

    features: np.ndarray
    labels: np.ndarray


class Trained(NamedTuple):
    """Result of a client's training.

    Attributes:
        weights: Weights after training, arrays of the given weights' shapes.
        loss: Mean loss of the batches trained on, weighted by examples.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Trained
        >>> def train(weights, examples, work):  # Changes nothing.
        ...     return Trained(weights, loss=0.0)
        >>> train([np.zeros(3)], examples=None, work=None).loss
        0.0
    """

    weights: Sequence[np.ndarray]
    loss: float


@dataclass(frozen=True)
class Work:
    """A client's work in a round.

    Attributes:
        client: Client k.
        round_number: Round t, from 1.
        batch_size: Examples per batch.
        epochs: Passes over the examples; not used when `steps` is set.
        steps: Number of full batches; `None` to train by epochs.
        learning_rate: Client learning rate of the round.
        optimizer: The run's client optimizer (`f3ast_tff.optimizers`), for functions that follow
            it; its `clip_norm` includes that of the method.
        order: Order in which the suite's engines visit the examples, `int32 [segments, length]`.
        seed: Seed of the run.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.models import Work
        >>> from f3ast_tff.optimizers import Sgd
        >>> given = {"client": 3, "round_number": 1, "batch_size": 2, "epochs": 1, "steps": None}
        >>> order = np.array([[4, 0, 2, 1, 3]])
        >>> work = Work(**given, learning_rate=0.1, optimizer=Sgd(0.1), order=order, seed=0)
        >>> [batch.tolist() for batch in work.batches]
        [[4, 0], [2, 1], [3]]
    """

    client: int
    round_number: int
    batch_size: int
    epochs: int
    steps: int | None
    learning_rate: float
    optimizer: Any
    order: np.ndarray
    seed: int

    @property
    def batches(self) -> list[np.ndarray]:
        """Examples of each batch of the suite's engines, `int32 [at most batch_size]`."""
        starts = range(0, self.order.shape[1], self.batch_size)
        return [row[first : first + self.batch_size] for row in self.order for first in starts]

    @cached_property
    def generator(self) -> np.random.Generator:
        """The training's generator, at first the same for the same seed, round and client."""
        return generator(self.seed, "training function", self.round_number, self.client)


@dataclass(frozen=True, eq=False)
class TrainingFunction:
    """A model of three functions; the engine `host` trains it, whatever runs inside.

    `train` must not change its arguments, whose arrays are read-only copies (`torch.tensor` takes
    one without a warning, `torch.from_numpy` warns), and each function must return the same for the
    same arguments: a resumed run calls it again.

    Attributes:
        initial: Function from the seed to the initial weights, arrays of floating-point numbers.
        train: Function `train(weights, examples, work) -> Trained`, called for a client of a
            cohort. A parameter `offset` gets arrays like the weights to add to every gradient
            (SCAFFOLD); a parameter `pull` gets a number: every step is along
            g + offset + pull (w - weights) (FedProx). A parameter `trains` gets arrays like the
            weights, factors of that sum: 1, or 0 for coordinates that stay (setting `train`).
            Methods that need a missing parameter are refused.
        predict: Function from weights and inputs `[n, ...]` to logits, or log-probabilities,
            `[n, classes]`; or to values.
        convex: Whether the loss is convex in the weights; F3AST's first rates depend on it (R1).
        labels_sequences: See `ModelConfig`.
        examples_at_once: See `Model`.
        leaves: Names of the weights' arrays, in order, for settings that name some of them, such
            as `private`; empty for no names.
        identity: Text that stands for the functions; change it with them. With it a run that
            breaks off can be resumed.
        loss: Loss that evaluations report, in NumPy, see `Model`; `train` has its own. By default
            cross-entropy.
        scores: Further scores, in NumPy, see `Model`.
        buffer_leaves: Leaves that are buffers, such as running means: names, or numbers from 0. No
            method changes them; the server takes the mean of buffers that arrive. By default the
            leaves named as PyTorch, Keras and Flax name theirs, such as `running_var`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Trained, TrainingFunction, simulate
        >>> def train(weights, examples, work):  # Moves to the mean of each class's features.
        ...     centers, loss = weights[0].copy(), 1.0
        ...     for c in np.unique(examples.labels):
        ...         mean = examples.features[examples.labels == c].mean(axis=0)
        ...         centers[c] += work.learning_rate * (mean - centers[c])
        ...     return Trained([centers], loss)
        >>> def predict(weights, x):
        ...     return -((x[:, None] - weights[0]) ** 2).sum(axis=2)
        >>> model = TrainingFunction(lambda seed: [np.zeros((10, 60))], train, predict)
        >>> result = simulate(model=model, rounds=5, client_lr=0.5)
        >>> result.summary["engine"], [weight.shape for weight in result.weights]
        ('host', [(10, 60)])
    """

    initial: Callable[[int], Sequence[np.ndarray]]
    train: Callable[..., Trained]
    predict: Callable[[Sequence[np.ndarray], np.ndarray], np.ndarray]
    convex: bool = False
    labels_sequences: bool = False
    examples_at_once: int = 8192
    identity: str | None = None
    leaves: tuple[str, ...] = ()
    loss: Callable[[Any, Any], Any] | None = None
    scores: Mapping[str, Any] | None = None
    buffer_leaves: Sequence[str | int] | None = None

    engines: ClassVar[tuple[str, ...]] = ("host",)
    in_numpy: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name of `train`, for errors."""
        return getattr(self.train, "__qualname__", type(self.train).__name__)

    def takes(self, parameter: str) -> bool:
        """Whether `train` has a parameter of this name, such as `offset` or `pull`."""
        return parameter in inspect.signature(self.train).parameters

    def check_optimizer(self, optimizer: Any) -> None:
        """Refuses a client optimizer that `train` does not follow; by default none.

        Raises:
            ParameterError: If `train` would pass over the optimizer.
        """

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights; none without `leaves`."""
        return list(self.leaves)

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns `initial(seed)`, `float32`.

        Raises:
            ParameterError: If `initial` raises, there are no arrays, or not as many as `leaves`, or
                one is not of finite floating-point numbers; names it.
        """
        try:
            found = [np.asarray(weight) for weight in self.initial(seed)]
        except Exception as error:
            said = f"initial must return arrays; it raised {one_line_of(error)}"
            raise ParameterError("model", self.name, said) from error
        if not found:
            raise ParameterError("model", self.name, "initial must return arrays")
        names: Sequence[Any] = self.leaf_names() or range(len(found))
        if len(names) != len(found):
            allowed = f"has {len(names)} leaves: must be {len(found)}, the arrays of initial"
            raise ParameterError("model", self.name, allowed)
        pairs = zip(names, found)
        return [start_in_float32(self.name, f"array {n} of initial", w) for n, w in pairs]

    def apply(self, weights: Any, inputs: Any) -> Any:
        """See `Model.apply`, in NumPy: `predict`, see `as_floats`.

        Raises:
            ComponentError: If `predict` returns no real numbers.
        """
        found = np.asarray(self.predict(weights, inputs))
        if not is_real(found.dtype):
            name = getattr(self.predict, "__qualname__", "predict")
            raise ComponentError(f"{name} returned {found.dtype}: must be real numbers")
        return as_floats(found)

    def penalty(self, weights: Any) -> Any:
        """See `Model.penalty`: none, as `train` has its own loss."""
        return 0.0

    def keras_model(self) -> Any:
        """Refuses, as there is no Keras form of the model.

        Raises:
            ParameterError: Always.
        """
        allowed = f"must be host: the model {self.name} is a training function"
        raise ParameterError("engine", "tff", allowed)


@dataclass(frozen=True)
class TrainingFunctionConfig(ModelConfig):
    """Base of the `Config` of a training function: it runs on the engine `host`.

    Local training counts as part of a method: its runs are compared with runs of other models.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.models import TrainingFunction, TrainingFunctionConfig
        >>> @dataclass(frozen=True)
        ... class StillConfig(TrainingFunctionConfig):
        ...     def build(self, input_shape, num_classes):
        ...         initial = lambda seed: [np.zeros((*input_shape, num_classes))]
        ...         predict = lambda weights, x: x @ weights[0]
        ...         return TrainingFunction(initial, lambda w, x, work: (w, 0.0), predict)
        >>> StillConfig().engines, StillConfig().in_numpy
        (('host',), True)
    """

    engines: ClassVar[tuple[str, ...]] = ("host",)
    in_numpy: ClassVar[bool] = True
    trains_itself: ClassVar[bool] = True
