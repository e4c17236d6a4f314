"""Models of several arrays: a list or a dict of them for the server, one vector for the audit.

The audit sees one array at a time, which holds its vector. Each other array holds the vector too,
shifted by its place, so that arrays that a server swaps are noticed.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from f3ast_tff.audit.world import WEIGHTS
from f3ast_tff.core.errors import ParameterError

# Arrays by name.
Arrays = dict[str, np.ndarray]
ARRAY, LAYERS, DICT = "array", "layers", "dict"
FORMS = (ARRAY, LAYERS, DICT)
# Shape of each array in turn for a vector of 4 m numbers; -1 is m.
_SHAPES: tuple[tuple[int, ...], ...] = ((-1, 4), (-1,), (2, -1))
NAMES = ("body.weight", "body.bias", "head.weight", "head.bias")
_OF_DICTS = ("dict", "mapping")
_OF_LISTS = ("list", "tuple", "sequence", "ndarrays")


@dataclass(frozen=True)
class Form:
    """How a server's model is made of arrays.

    Attributes:
        kind: One of `FORMS`.
        names: Names of a dict's arrays.
        seen: Place of the array that the audit sees.
        base: First arrays of a strategy that has its own, which the audit's numbers are added to;
            an array of more numbers repeats them.
        tensors: Whether arrays are PyTorch's tensors.
    """

    kind: str = ARRAY
    names: tuple[str, ...] = NAMES
    seen: int = 0
    base: tuple[np.ndarray, ...] = field(default=(), compare=False)
    tensors: bool = False

    @property
    def words(self) -> str:
        """The model in words; `""` for one array."""
        what = "tensor" if self.tensors else "array"
        if self.kind == ARRAY:
            return "a tensor" if self.tensors else ""
        if self.base:
            return f"its own {len(self.base)} initial {what}s"
        if self.kind == LAYERS:
            return f"a list of {len(self.names)} {what}s"
        return f"a dict of {', '.join(self.names)}{', tensors' if self.tensors else ''}"

    @property
    def keys(self) -> tuple[str, ...]:
        """Names under which the arrays are sent, as Flower's records have them."""
        if self.kind == ARRAY:
            return (WEIGHTS,)
        return tuple(map(str, range(len(self.names)))) if self.kind == LAYERS else self.names

    @property
    def key(self) -> str:
        """Key of the array that is seen."""
        return self.keys[self.seen]

    def parts(self, size: int = 4) -> dict[str, Form]:
        """Returns the forms in which each array of `size` numbers or more is seen, by its name."""
        if self.kind == ARRAY:
            return {}
        return {
            name: replace(self, seen=n)
            for n, name in enumerate(self._said)
            if math.prod(self._shape(n, size)) >= size
        }

    @property
    def _said(self) -> Sequence[str]:
        """Names in the report."""
        return self.names if self.kind == DICT else [f"model[{key}]" for key in self.keys]

    def _shape(self, n: int, size: int) -> tuple[int, ...]:
        if self.base:
            return self.base[n].shape
        if self.kind == ARRAY:
            return (size,)
        if self.names == NAMES and n == len(_SHAPES):
            return (1,)
        return np.empty(size).reshape(_SHAPES[n % len(_SHAPES)]).shape

    def whole(self, vector: np.ndarray) -> Arrays:
        """Returns the arrays of a vector, each a copy, by their keys."""
        found = {}
        for n, key in enumerate(self.keys):
            shape = self._shape(n, vector.size)
            found[key] = self._placed(vector, n, shape)
            if self.base:
                found[key] = (self.base[n] + found[key]).astype(self.base[n].dtype)
        return found

    def _placed(self, vector: np.ndarray, n: int, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers of array n for those of the one that is seen."""
        return np.resize(np.roll(vector, n - self.seen), shape)

    def split(self, vector: np.ndarray, size: int) -> Any:
        """Returns the arrays of a vector as a function takes them.

        Of a broken reply the vector has another size than the model, or 0 for an array less.
        """
        arrays: dict[str, Any] = self.whole(np.resize(vector, size))
        self._spoil(arrays, vector, size)
        if self.tensors:
            import torch

            arrays = {key: torch.from_numpy(np.float32(each)) for key, each in arrays.items()}
        if self.kind == ARRAY:
            return arrays[WEIGHTS]
        return arrays if self.kind == DICT else list(arrays.values())

    def replied(self, sent: Arrays, start: np.ndarray, end: np.ndarray) -> Arrays:
        """Returns a client's reply to arrays with the vector `start`: each moves as the one seen.

        Its vector `end` may be of another size, as for `split`.
        """
        moved = end - start if end.shape == start.shape else np.zeros_like(start)
        found = {
            key: (sent[key] + self._placed(moved, n, sent[key].shape)).astype(sent[key].dtype)
            for n, key in enumerate(self.keys)
            if key in sent
        }
        self._spoil(found, end, start.size)
        return found

    def _spoil(self, arrays: Arrays, vector: np.ndarray, size: int) -> None:
        if vector.size != size:
            arrays[self.key] = vector.copy()
        if not vector.size:
            del arrays[self.key]

    def vectors(self, arrays: Mapping[str, Any], size: int) -> Arrays:
        """Returns the vector of each array by its key; other keys are left out.

        Raises:
            ValueError: If an array has another shape.
        """
        found = {}
        for n, key in enumerate(self.keys):
            if key not in arrays:
                continue
            array = np.asarray(arrays[key])
            if array.shape != (like := self._shape(n, size)):
                what = "a model" if self.kind == ARRAY else self._said[n]
                raise ValueError(f"returns shape {array.shape} for {what} of {like}")
            array = array - self.base[n] if self.base else array
            found[key] = np.roll(np.resize(array, size), self.seen - n)
        return found

    def join(self, returned: Any, size: int) -> Arrays:
        """Returns the vector of each array that a function returned, by its key.

        Raises:
            TypeError: If it is no model of this kind.
            ValueError: If an array is missing, more than the model's, or of another shape.
        """
        if returned is None:
            raise TypeError("returns None: must return the model")
        arrays = self._in_order(returned)
        # Tensors may have a gradient.
        plain = [each.detach() if hasattr(each, "detach") else each for each in arrays]
        return self.vectors({k: np.asarray(v, float) for k, v in zip(self.keys, plain)}, size)

    def _in_order(self, returned: Any) -> list[Any]:
        if self.kind == ARRAY:
            return [returned]
        allowed: Any = Mapping if self.kind == DICT else (list, tuple, np.ndarray)
        if not isinstance(returned, allowed):
            raise TypeError(f"returns {type(returned).__name__}: must return {self.words}")
        if self.kind == LAYERS:
            if len(returned) != len(self.names):
                raise ValueError(f"returns {len(returned)} arrays for a model of {len(self.names)}")
            return list(returned)
        if {*returned} != {*self.names}:
            came = ", ".join(map(str, returned)) or "none"
            raise ValueError(f"returns arrays {came}, not {', '.join(self.names)}")
        return [returned[name] for name in self.names]


ONE_ARRAY = Form()


def form_named(text: str) -> Form:
    """Returns the form that a setting names: of `FORMS`, or names of a dict's arrays with commas.

    Raises:
        ParameterError: If it is neither.
    """
    names = tuple(each.strip() for each in text.split(","))
    if len(names) > 1 and all(names) and len({*names}) == len(names):
        return Form(DICT, names)
    if text not in FORMS:
        allowed = f"must be {', '.join(FORMS)}, or different names of a dict's arrays, with commas"
        raise ParameterError("model", text, allowed)
    return Form(text)


def forms_of(aggregate: Callable[..., Any], model: str, updates: str) -> list[Form]:
    """Returns the forms that the model of an aggregation may have, the likeliest first.

    The annotation of the model says it, else that of the updates, else how the code uses them; of
    code that says nothing of these any form.

    `model` and `updates` are names of its parameters.

    Raises:
        ParameterError: If the model is a module of PyTorch.
    """
    said = inspect.signature(aggregate).parameters
    of_model, of_updates = (_text(said[name].annotation) for name in (model, updates))
    inner = of_updates.partition("[")[2]
    # Values of a dict by client.
    inner = inner.partition(",")[2] if _is(of_updates, _OF_DICTS) else inner
    endings = {DICT: _OF_DICTS, LAYERS: _OF_LISTS, ARRAY: ("array", "tensor")}
    kinds = [kind for text in (of_model, inner) for kind in endings if _is(text, endings[kind])]
    try:
        source = inspect.getsource(aggregate)
    except (OSError, TypeError):
        # Code that was typed in has no source.
        source = ""
    if re.search(rf"\b{model}\.(state_dict|load_state_dict|parameters)\(", source):
        allowed = f"takes a module: let {model} be its state_dict, a dict[str, torch.Tensor]"
        raise ParameterError("target", aggregate.__name__, allowed)
    used = _used(source, model, updates)
    kinds = kinds[:1] or [used, *(kind for kind in FORMS if kind != used)]
    if "tensor" in of_model + of_updates:
        return [Form(kind, tensors=True) for kind in kinds]
    its_globals: Iterable[str] = getattr(inspect.unwrap(aggregate), "__globals__", {})
    tensors = (False, True) if "torch" in source + " ".join(its_globals) else (False,)
    return [Form(kind, tensors=each) for each in tensors for kind in kinds]


def is_by_client(annotation: Any) -> bool:
    """Whether an annotation says a dict by client, rather than a list of dicts."""
    text = _text(annotation)
    return any(word in text for word in _OF_DICTS) and not _is(text, _OF_LISTS)


def _used(source: str, model: str, updates: str) -> str:
    by_name = (
        rf"\b{model}\.(items|keys|values|get)\(",
        rf"\b{model}\[\s*['\"]",
        # For k in the model, with anything at k.
        rf"\bfor (\w+) in {model}\b(?s:.)*\w\[\1\]",
        rf"\w\[(\w+)\](?s:.)*\bfor \1 in {model}\b",
    )
    by_place = (
        rf"\bzip\(\s*\*\s*{updates}\b",
        rf"\b(zip|enumerate)\(\s*{model}\b",
        rf"\bfor \w+ in (range\(len\({model}\)\)|{model}\b)",
    )
    for kind, patterns in ((DICT, by_name), (LAYERS, by_place)):
        if any(re.search(pattern, source) for pattern in patterns):
            return kind
    return ARRAY


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return (annotation if isinstance(annotation, str) else str(annotation)).lower()


def _is(text: str, endings: tuple[str, ...]) -> bool:
    """Whether the outermost type in an annotation's text ends so, such as `typing.OrderedDict`."""
    found = re.match(r"\s*(?:<class ')?(?:\w+\.)*(\w+)", text)
    return found is not None and found[1].endswith(endings)
