"""Models of several arrays: a list or a dict of them for the server, one vector for the audit.

The audit sees one array at a time, which holds its vector. Each other array holds the vector too,
shifted by its place, so that arrays that a server swaps are noticed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError

ARRAY, LAYERS, DICT = "array", "layers", "dict"
FORMS = (ARRAY, LAYERS, DICT)
# Shape of each array in turn for a vector of 4 m numbers; -1 is m.
_SHAPES: tuple[tuple[int, ...], ...] = ((-1, 4), (-1,), (2, -1))
_ONE_NUMBER = (1,)
_NAMES = ("body.weight", "body.bias", "head.weight", "head.bias")
_OF_DICTS = ("dict", "mapping")
_OF_LISTS = ("list", "tuple", "sequence", "ndarrays")


@dataclass(frozen=True)
class Form:
    """How a server's model is made of arrays.

    Attributes:
        kind: One of `FORMS`.
        names: Names of a dict's arrays.
        seen: Place of the array that the audit sees.
    """

    kind: str = ARRAY
    names: tuple[str, ...] = _NAMES
    seen: int = 0

    @property
    def words(self) -> str:
        """The model in words; `""` for one array."""
        if self.kind == ARRAY:
            return ""
        if self.kind == LAYERS:
            return f"a list of {len(self.names)} arrays"
        return f"a dict of {', '.join(self.names)}"

    @property
    def seen_names(self) -> list[str]:
        """Names of the arrays that the audit sees in turn, as its report has them."""
        if self.kind == ARRAY:
            return []
        shapes = zip(self._said, self._shapes)
        return [name for name, shape in shapes if shape != _ONE_NUMBER]

    @property
    def _said(self) -> list[str]:
        if self.kind == LAYERS:
            return [f"model[{n}]" for n in range(len(self.names))]
        return list(self.names)

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        if self.names == _NAMES:
            return [*_SHAPES, _ONE_NUMBER]
        return [_SHAPES[n % len(_SHAPES)] for n in range(len(self.names))]

    def split(self, vector: np.ndarray, size: int) -> Any:
        """Returns the arrays of a vector, each a copy.

        Args:
            vector: The array that is seen; in a broken reply of another size, or of size 0 for an
                array less.
            size: Size of the model's vector.
        """
        if self.kind == ARRAY:
            return vector.copy()
        found = []
        for n, shape in enumerate(self._shapes):
            turned = np.roll(np.resize(vector, size), n - self.seen)
            found.append(turned[:1].copy() if shape == _ONE_NUMBER else turned.reshape(shape))
        if vector.size != size:
            found[self.seen] = vector.copy()
        arrays = dict(zip(self.names, found))
        if not vector.size:
            del arrays[self.names[self.seen]]
        return arrays if self.kind == DICT else list(arrays.values())

    def join(self, returned: Any, size: int) -> np.ndarray:
        """Returns the vector of the arrays that a server returned.

        Raises:
            TypeError: If it is no model of this kind.
            ValueError: If an array is missing, more than the model's, or of another shape.
        """
        if returned is None:
            raise TypeError("returns None: must return the model")
        if self.kind == ARRAY:
            found = np.asarray(returned, float)
            if found.shape != (size,):
                raise ValueError(f"returns shape {found.shape} for a model of {(size,)}")
            return found
        arrays = [np.asarray(each, float) for each in self._in_order(returned)]
        whole = Form(LAYERS, self.names).split(np.zeros(size), size)
        for name, array, like in zip(self._said, arrays, whole):
            if array.shape != like.shape:
                raise ValueError(f"returns shape {array.shape} for {name} of {like.shape}")
        return arrays[self.seen].reshape(-1)

    def _in_order(self, returned: Any) -> list[Any]:
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


def form_said_by(aggregate: Callable[..., Any], model: str, updates: str) -> Form:
    """Returns the form of the model that an aggregation takes.

    The annotation of the model says it, else that of the updates, else how the code uses them.

    Args:
        aggregate: The aggregation.
        model: Name of its parameter for the model.
        updates: Name of its parameter for the updates or models.
    """
    said = inspect.signature(aggregate).parameters
    of_model, of_updates = (_text(said[name].annotation) for name in (model, updates))
    inner = of_updates.partition("[")[2]
    # Values of a dict by client.
    inner = inner.partition(",")[2] if _is(of_updates, _OF_DICTS) else inner
    for text in (of_model, inner):
        if _is(text, _OF_DICTS):
            return Form(DICT)
        if _is(text, _OF_LISTS):
            return Form(LAYERS)
        if _is(text, ("array", "tensor")):
            return Form(ARRAY)
    try:
        return Form(_used(inspect.getsource(aggregate), model, updates))
    except (OSError, TypeError):
        # Code that was typed in has no source.
        return Form(ARRAY)


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
