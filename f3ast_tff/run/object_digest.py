"""The digest of an object given in Python: of its content and of the code that it runs."""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import pickle
import sys
import sysconfig
import uuid
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

_LIBRARIES = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_INSTALLED = tuple(f"{folder}{os.sep}" for folder in (*_LIBRARIES, Path(__file__).parents[1]))


def object_digest(value: Any) -> str:
    """Returns the SHA-256 of an object, of its code, and of the globals that this code reads.

    It is the same for the same code in another process, if the object holds no set of texts. Code
    of installed packages counts by its name. An object that cannot be pickled, such as an open
    file, has another digest each time, so its run never resumes another run.
    """
    if isinstance(value, np.ndarray):
        content = f"{value.dtype.str} {value.shape} ".encode() + value.tobytes()
        return hashlib.sha256(content).hexdigest()
    # Without pickle's memo equal parts are written alike, whether they are one object or two. Only
    # an object that contains itself needs the memo.
    for fast in (True, False):
        stream = io.BytesIO()
        try:
            _Content(stream, fast).dump(value)
            return hashlib.sha256(stream.getvalue()).hexdigest()
        except (pickle.PicklingError, AttributeError, TypeError, ValueError):
            pass
    return hashlib.sha256(uuid.uuid4().bytes).hexdigest()


class _Content(pickle.Pickler):
    """Writes functions and classes by what they say; nobody reads it back."""

    def __init__(self, stream: io.BytesIO, fast: bool) -> None:
        super().__init__(stream, protocol=4)
        self.fast = fast
        self._met: set[int] = set()

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return str, (value.__name__,)
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        if not (inspect.isfunction(value) or inspect.isclass(value)) or _is_installed(value):
            return NotImplemented
        if id(value) in self._met:
            return str, (value.__qualname__,)
        self._met.add(id(value))
        if inspect.isfunction(value):
            return tuple, (_of_function(value),)
        members = [getattr(member, "__func__", member) for member in vars(value).values()]
        functions = [_of_function(member) for member in members if inspect.isfunction(member)]
        # Attributes that were set later differ from the source.
        values = {
            name: member
            for name, member in vars(value).items()
            if not (name.startswith(("__", "_abc_")) or hasattr(type(member), "__get__"))
        }
        described = [value.__qualname__, list(value.__bases__), _source(value), functions, values]
        return tuple, (described,)


def _is_installed(value: Any) -> bool:
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    if file is None:
        return value.__module__ in sys.builtin_module_names
    return file.startswith(_INSTALLED)


def _of_function(function: Any) -> list[Any]:
    variables = inspect.getclosurevars(function)
    # All code run by `exec` or `python -c` is of the file "<string>". Python 3.13 takes the text of
    # `python -c` for the source of each.
    typed_in = function.__code__.co_filename == "<string>"
    # The source of a lambda is its whole line, which may hold others.
    told_apart = not typed_in and function.__name__ != "<lambda>"
    code = (told_apart and _source(function)) or _compiled(function.__code__)
    defaults = [function.__defaults__, function.__kwdefaults__]
    return [code, defaults, dict(variables.nonlocals), dict(variables.globals)]


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""


def _compiled(code: Any) -> list[Any]:
    constants = [_compiled(each) if inspect.iscode(each) else each for each in code.co_consts]
    return [code.co_code, constants, code.co_names]
