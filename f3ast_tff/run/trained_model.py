"""A trained model for use: predictions for examples in the form in which its task stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.client_names import client_name, client_names, listed
from f3ast_tff.core.errors import ComponentError, ParameterError, RunFolderError
from f3ast_tff.core.federated_data import DATA_OBJECT
from f3ast_tff.core.preprocessing import AsStored, Preprocessing
from f3ast_tff.methods.parts.host_memory import flat, leaves_of
from f3ast_tff.methods.parts.memory import Ranges
from f3ast_tff.methods.parts.personal import OWN, with_part
from f3ast_tff.models import Model
from f3ast_tff.settings import Registry
from f3ast_tff.settings.registry import registry_with

_MAX_SHAPES = 4


@dataclass(frozen=True, eq=False)
class PrivateLeaves:
    """The private leaves of all clients.

    Attributes:
        table: A row per client, `float32 [N, length]`.
        ranges: Their coordinates in the model as one vector, as rising ranges (first, end).
        names: Names of the clients, `[N]`; `None` for their numbers.
    """

    table: np.ndarray
    ranges: Ranges
    names: np.ndarray | None = None

    @classmethod
    def of_state(
        cls, state: Mapping[str, np.ndarray], ranges: Ranges, names: np.ndarray | None
    ) -> PrivateLeaves:
        """Returns those of an engine's `state`, copied."""
        return cls(np.array(state[f"client_{OWN}"], np.float32), ranges, names)

    def weights_of(self, client: Any, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the weights of a client, by name or number.

        Raises:
            ParameterError: If there is no such client.
        """
        many = len(self.table)
        names = [str(k) for k in range(many)] if self.names is None else client_names(self.names)
        name = client_name(client)
        if name not in names:
            known = listed(names) if self.names is not None else f"0 to {many - 1}"
            raise ParameterError("client", client, f"must be one of {known}")
        own = with_part(flat(weights), self.ranges, self.table[names.index(name)], np)
        return leaves_of(own, weights)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model with its weights, and the names of its inputs and classes.

    Attributes:
        config: `Config` of the model, which builds the network for a shape of inputs.
        preprocessing: From stored features to inputs.
        num_classes: Number of classes C; of outputs, if labels are values.
        weights: The weights, in the order of `Model.initial_weights`.
        features: Names of the columns of the features, in order; empty if they have none.
        labels: Names of the classes, in order; empty for classes 0 .. C - 1.
        values: Whether labels are values, not classes.
        private: Leaves that stay with each client, if any; `weights` then has their first values,
            and only a client's own model (`personal`) predicts.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff import FederatedData, simulate
        >>> table = {"client": list("abcd") * 10, "label": ["ill", "well"] * 20}
        >>> frame = pd.DataFrame({**table, "pulse": [1.0, -1.0] * 20})
        >>> given = {"clients_per_round": 4, "rounds": 3, "availability": "always"}
        >>> run = simulate(FederatedData.from_frame(frame), client_lr=0.5, **given)
        >>> run.trained.predict(pd.DataFrame({"pulse": [2.0, -3.0]})).tolist()
        ['ill', 'well']
    """

    config: Any
    preprocessing: Preprocessing
    num_classes: int
    weights: Sequence[np.ndarray]
    features: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    values: bool = False
    private: PrivateLeaves | None = None

    def __repr__(self) -> str:
        """The model, its shapes of weights and its classes, in a line."""
        shapes = ", ".join(str(weight.shape) for weight in self.weights[:_MAX_SHAPES])
        more = ", ..." if len(self.weights) > _MAX_SHAPES else ""
        name = type(self.config).__name__
        what = "outputs" if self.values else "classes"
        return f"TrainedModel({name}, {what}={self.num_classes}, weights={shapes}{more})"

    def personal(self, client: Any) -> TrainedModel:
        """Returns the model of a client: the shared leaves, and its own private ones.

        Args:
            client: Its name, or its number if clients have no names.

        Raises:
            ParameterError: If the model has no private leaves, or there is no such client.
        """
        if self.private is None:
            allowed = "must not be asked for: the model has no private leaves, all share one"
            raise ParameterError("personal", client, allowed)
        own = self.private.weights_of(client, self.weights)
        return replace(self, weights=own, private=None)

    def probabilities(self, examples: Any) -> np.ndarray:
        """Returns the probabilities of the classes, `float32 [n, C]`, or `[n, length, C]`.

        Args:
            examples: Features as the task stores them, `[n, ...]`; or a DataFrame with the columns
                `features`.

        Raises:
            ParameterError: If a column is missing, the examples have another shape, an entry is no
                finite number, or labels are values.
        """
        if self.values:
            allowed = "must be outputs or predict: the model's labels are values"
            raise ParameterError("probabilities", type(self.config).__name__, allowed)
        return self._applied(examples, softmax=True)

    def outputs(self, examples: Any) -> np.ndarray:
        """Returns the model's outputs, `float32 [n, ...]`: logits of the classes, or values.

        Args:
            examples: See `probabilities`.

        Raises:
            ParameterError: If a column is missing, the examples have another shape, or an entry is
                no finite number.
        """
        return self._applied(examples, softmax=False)

    def _applied(self, examples: Any, softmax: bool) -> np.ndarray:
        if self.private is not None:
            allowed = "is the shared part of clients' models: personal(client) is a client's own"
            raise ParameterError("trained", type(self.config).__name__, allowed)
        stored = self._stored(examples)
        model = self._model(stored)
        size = max(1, model.examples_at_once)
        numpy = self.config.in_numpy and self.config.lora is None
        form = self._in_numpy if numpy else self._in_jax
        apply = form(model, softmax)
        parts = [apply(stored[first : first + size]) for first in range(0, len(stored), size)]
        return np.concatenate(parts) if parts else np.zeros((0, self.num_classes), np.float32)

    def _in_numpy(self, model: Model, softmax: bool) -> Callable[[np.ndarray], np.ndarray]:
        """Probabilities or outputs of stored features, in NumPy."""

        def apply(stored: np.ndarray) -> np.ndarray:
            # Copies: a model's function may write into its arguments.
            weights = [weight.copy() for weight in self.weights]
            inputs = np.array(self.preprocessing.in_numpy(stored, None))
            logits: np.ndarray = model.apply(weights, inputs)
            if not softmax:
                return logits.astype(np.float32, copy=False)
            chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
            found: np.ndarray = chances / chances.sum(axis=-1, keepdims=True)
            return found.astype(np.float32, copy=False)

        return apply

    def _in_jax(self, model: Model, softmax: bool) -> Callable[[np.ndarray], np.ndarray]:
        """Probabilities or outputs of stored features, in JAX."""
        import jax

        last = jax.nn.softmax if softmax else lambda outputs: outputs
        apply = jax.jit(lambda weights, rows: last(model.apply(weights, rows)))
        # Not NumPy arrays, which rows of the program cannot index.
        weights = [jax.numpy.asarray(weight) for weight in self.weights]
        return lambda stored: apply(weights, self.preprocessing.in_jax(stored, None))

    def predict(self, examples: Any) -> np.ndarray:
        """Returns the most probable classes: names of `labels`, or `int64` without names.

        If labels are values, these are the `outputs`.

        Raises:
            ParameterError: See `outputs`.
        """
        if self.values:
            return self.outputs(examples)
        classes = self.probabilities(examples).argmax(axis=-1)
        return np.array(self.labels)[classes] if self.labels else classes

    def _stored(self, examples: Any) -> np.ndarray:
        if hasattr(examples, "columns"):
            missing = [name for name in self.features if name not in examples.columns]
            if missing or not self.features:
                allowed = f"must have the columns {', '.join(self.features)}"
                if not self.features:
                    allowed = "must be an array: the run's features have no names"
                raise ParameterError("examples", f"columns {list(examples.columns)}", allowed)
            examples = examples[list(self.features)]
        try:
            stored = np.asarray(examples, np.float32 if hasattr(examples, "columns") else None)
        except (TypeError, ValueError) as error:
            raise ParameterError("examples", type(examples).__name__, str(error)) from error
        if stored.ndim == 0 or stored.dtype.kind not in "biuf":
            found = f"{type(examples).__name__} of {stored.dtype}"
            raise ParameterError("examples", found, "must be numbers, [n, ...]")
        infinite = np.argwhere(~np.isfinite(stored))
        if len(infinite):
            value, row = stored[tuple(infinite[0])], infinite[0][0]
            raise ParameterError("examples", value, f"must be finite, as in training: row {row}")
        return stored

    def _model(self, stored: np.ndarray) -> Model:
        shape = stored.shape[1:]
        try:
            inputs = self.preprocessing.output_shape(shape)
            model: Model = self.config.build(inputs, self.num_classes)
            if self.config.lora is not None:
                from f3ast_tff.models.low_rank import with_lora

                model = with_lora(model, self.config)
            self.config.check_inputs(stored, self.num_classes)
            wanted = [weight.shape for weight in model.initial_weights(0)]
        except (TypeError, ValueError, IndexError) as error:
            raise ParameterError("examples", f"shape [n, {_said(shape)}]", str(error)) from error
        found = [weight.shape for weight in self.weights]
        if wanted != found:
            allowed = "is of other inputs than the run's: the weights do not fit"
            raise ParameterError("examples", f"shape [n, {_said(shape)}]", allowed)
        return model


def _said(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def saved_model(
    folder: Path, config: Mapping[str, Any], weights: Sequence[np.ndarray]
) -> TrainedModel:
    """Returns the model of a run's folder, from the content of its `config.json`.

    Raises:
        RunFolderError: If task or model were given as objects, or by a plug-in that is gone, or if
            clients keep private leaves.
    """
    settings, task = config["settings"], config["components"]["task"]
    if settings.get("private") is not None:
        said = "its clients keep private leaves: simulate(..., folder=...) again returns their"
        raise RunFolderError(f"{folder}: {said} models, trained.personal(client)")
    try:
        registry = registry_with([each["source"] for each in config["plugins"] if each["source"]])
        model = _config(registry, "model", settings)
        # Data given as an object are inputs as they are.
        own = settings["task"] == DATA_OBJECT
        preprocessing = (
            AsStored()
            if own
            else _config(registry, "task", settings).preprocessing(settings["seed"])
        )
    except (ComponentError, ParameterError) as error:
        raise RunFolderError(f"{folder}: its model cannot be built here: {error}") from error
    names: dict[str, Any] = {n: tuple(each) for n, each in config.get("columns", {}).items()}
    outputs = config.get("scoring", {}).get("outputs")
    many, values = task["num_classes"] if outputs is None else outputs, outputs is not None
    return TrainedModel(model, preprocessing, many, weights, **names, values=values)


def _config(registry: Registry, kind: str, settings: Mapping[str, Any]) -> Any:
    component = registry.find(kind, settings[kind])
    names = [p.name for p in component.parameters]
    # An older run lacks some.
    return component.config(**{name: settings[name] for name in names if name in settings})
