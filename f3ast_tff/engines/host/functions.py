"""Local work by a training function of the user's, with checks of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.real_numbers import is_real
from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.engines.host.local_work import LocalResult, LocalStart, example_scores
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.methods.parts.host_memory import flat, leaves_of
from f3ast_tff.methods.parts.memory_rules import start_of
from f3ast_tff.models.training_function import Examples, TrainingFunction, Work

# Rounds in which what a function does to its arguments is checked for every client.
_CHECKED_ROUNDS = 3


@dataclass(frozen=True)
class FunctionWork:
    """See `LocalWork`.

    Attributes:
        parts: Parts of the engine.
        model: The functions.
        like: Initial weights, for their shapes.
    """

    parts: EngineParts
    model: TrainingFunction
    like: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        """Refuses methods that ask for more than the function gives.

        Raises:
            ParameterError: If the method corrects gradients and `train` takes no offset, if it
                pulls clients to their start and `train` takes no pull, or if it looks at a
                client's last step.
        """
        self.model.check_optimizer(self.parts.client_optimizer)
        memory, name = self.parts.aggregation.memory, self.parts.aggregation.own_name
        if memory is None:
            return
        start = start_of(memory)
        for part, does in (
            ("offset", "corrects gradients"),
            ("pull", "pulls to the start"),
            ("trains", "scales gradients"),
        ):
            if getattr(start, part) is not None and not self.model.takes(part):
                allowed = f"{does}, but {self.model.name} has no parameter {part}"
                raise ParameterError("aggregation", name, allowed)
        if memory.last_step:
            allowed = f"reads a client's last step, which {self.model.name} does not return"
            raise ParameterError("aggregation", name, allowed)

    def train(self, round_number: int, ids: np.ndarray, start: LocalStart) -> LocalResult:
        """See `LocalWork.train`; a client without any step is not asked.

        Raises:
            ComponentError: If the function raises, changes its arguments, or returns other shapes
                or numbers that are not finite; names round, client and function.
        """
        updates = np.zeros((len(ids), start.model.shape[-1]), np.float32)
        losses = np.full(len(ids), np.nan)
        models, places = np.broadcast_to(start.model, updates.shape), self.parts.buffer_places
        buffers = models[:, places]
        asked = np.flatnonzero(self.parts.work.num_batches(self.parts.data.train.sizes[ids]))
        for place in asked.tolist():
            more: dict[str, Any] = {}
            if start.offsets is not None:
                more["offset"] = self._read_only(start.offsets[place])
            if start.pulls is not None:
                more["pull"] = float(start.pulls[place])
            if start.trains is not None:
                more["trains"] = self._read_only(start.trains[place])
            work = self._work(round_number, int(ids[place]))
            after, losses[place] = self._trained(
                work, models[place], more, is_first=place == asked[0]
            )
            updates[place] = after - models[place]
            buffers[place] = after[places]
        updates[:, places] = 0
        return LocalResult(updates, losses, buffers)

    def _trained(
        self, work: Work, model: np.ndarray, more: Mapping[str, Any], is_first: bool
    ) -> tuple[np.ndarray, float]:
        """A client's model after training, and its loss."""
        client = self.parts.data.train.name(work.client)
        where = f"round {work.round_number}, client {client}: {self.model.name}"
        examples, given = self._examples(work.client), self._read_only(model)
        trained = _called(where, lambda: self.model.train([*given], examples, work, **more))
        same = np.array_equal(flat(given), model)
        # Foreign code, such as `torch.from_numpy`, writes into read-only arrays; here into copies.
        if is_first or work.round_number <= _CHECKED_ROUNDS:
            pairs = zip(examples, self._examples(work.client))
            same = same and all(np.array_equal(*pair, equal_nan=True) for pair in pairs)
        if not same:
            raise ComponentError(f"{where} changed its arguments: must return new arrays")
        return self._checked(where, *_called(where, lambda: _taken_apart(where, trained)))

    def _read_only(self, vector: np.ndarray) -> list[np.ndarray]:
        copied = vector.copy()
        copied.flags.writeable = False
        return leaves_of(copied, self.like)

    def _examples(self, k: int) -> Examples:
        """A read-only copy of a client's examples."""
        stored, labels = self.parts.data.train.client(k)
        copies = np.array(self.parts.preprocessing.in_numpy(stored, None)), np.array(labels)
        for copy in copies:
            copy.flags.writeable = False
        return Examples(*copies)

    def _work(self, round_number: int, k: int) -> Work:
        work, optimizer = self.parts.work, self.parts.client_optimizer
        return Work(
            client=k,
            round_number=round_number,
            batch_size=work.batch_size,
            epochs=work.epochs,
            steps=work.steps,
            learning_rate=optimizer.rate(round_number),
            optimizer=optimizer,
            order=work.order(round_number, k, int(self.parts.data.train.sizes[k])),
            seed=work.seed,
        )

    def _checked(
        self, where: str, given: Sequence[np.ndarray], loss: float
    ) -> tuple[np.ndarray, float]:
        """The weights as a vector, and the loss."""
        others = [n for n, array in enumerate(given) if not is_real(array.dtype)]
        if others:
            said = f"{where} returned array {others[0]} of {given[others[0]].dtype}"
            raise ComponentError(f"{said}: must be of real numbers")
        found = [array.astype(np.float32) for array in given]
        shapes, wanted = ([array.shape for array in arrays] for arrays in (found, self.like))
        if len(found) != len(wanted):
            raise ComponentError(f"{where} returned {len(found)} arrays: must be {len(wanted)}")
        if shapes != wanted:
            raise ComponentError(f"{where} returned shapes {shapes}: must be {wanted}")
        infinite = [n for n, array in enumerate(found) if not np.isfinite(array).all()]
        if infinite or not np.isfinite(loss):
            what = f"array {infinite[0]}" if infinite else f"loss {loss}"
            raise ComponentError(f"{where} returned {what} that is not finite")
        return flat(found), loss

    def score(self, model: np.ndarray, features: np.ndarray, labels: np.ndarray) -> ExampleScores:
        """See `LocalWork.score`.

        Raises:
            ComponentError: If `predict` raises, or does not return a score per class.
        """
        # Copies: what the functions write does not change the data.
        inputs, labels = np.array(self.parts.preprocessing.in_numpy(features, None)), labels.copy()
        classes = self.parts.data.num_classes
        name = getattr(self.model.predict, "__qualname__", "predict")
        weights = self._read_only(model)
        found = _called(name, lambda: self.model.apply(weights, inputs))
        if found.dtype.kind in "OSU":
            raise ComponentError(f"{name} returned an array of {found.dtype}: must be of numbers")
        scoring = self.parts.scoring
        if scoring is not None and not scoring.classes:
            wanted, fits = [len(labels), "..."], found.shape[:1] == labels.shape[:1]
        else:
            wanted = [*labels.shape, classes]
            fits = found.shape[:-1] == labels.shape and found.shape[-1] >= classes
        if not fits:
            said = ", ".join(map(str, wanted))
            raise ComponentError(f"{name} returned shape {[*found.shape]}: must be [{said}]")
        if scoring is None:
            return example_scores(None, found, labels)
        where = f"model {self.model.name}: loss or score"
        return _called(where, lambda: example_scores(scoring, found, labels))


def _taken_apart(where: str, trained: Any) -> tuple[list[np.ndarray], float]:
    """The arrays and the loss in what a function returned; a generator runs here."""
    try:
        weights, loss = trained
        of_numpy = isinstance(loss, (np.ndarray, np.generic))
        # `float` reads numbers in texts, and drops the imaginary part of NumPy's.
        if isinstance(loss, (str, bytes, bytearray)) or of_numpy and not is_real(loss.dtype):
            raise TypeError("loss is no number")
        return [np.asarray(weight) for weight in weights], float(loss.item() if of_numpy else loss)
    except (OverflowError, TypeError, ValueError) as error:
        said = f"{where} returned {type(trained).__name__}: must be Trained(weights, loss)"
        raise ComponentError(f"{said}; {one_line_of(error)}") from error


def _called(where: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ComponentError:
        raise
    # Any other error of foreign code is reported in one line.
    except Exception as error:
        raise ComponentError(f"{where} raised {one_line_of(error)}") from error
