"""What identifies an object given in Python: its `identity`, its values, or the object alone."""

from __future__ import annotations

import hashlib
import inspect
import uuid
from typing import Any
from weakref import WeakKeyDictionary

from f3ast_tff.core.values import is_value
from f3ast_tff.methods.parts.selecting_method import is_playing
from f3ast_tff.settings.component import without_note

# Digests of objects that nothing else identifies, for as long as they exist.
_THEMSELVES: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def identity_of(value: Any) -> tuple[str, bool]:
    """Returns the SHA-256 that identifies an object, and whether it does so in every process.

    It is of the object's `identity`, a text; or of a registered `Config`, its class's source
    included; or of a frozen dataclass of plain values. Any other object is identified by nothing
    else, and only as long as it exists.
    """
    new = _sha256(uuid.uuid4().hex)
    if is_playing(value):
        # It equals every copy with its parameters, and has arrays of its own.
        return new, False
    found = _lasting(value)
    if found is not None:
        return found, True
    try:
        return _THEMSELVES.setdefault(value, new), False
    except TypeError:
        # It has no hash, or no weak reference.
        return new, False


def _lasting(value: Any) -> str | None:
    own = None if inspect.isclass(value) else getattr(value, "identity", None)
    if own is not None and not callable(own):
        return _sha256(str(own))
    subject = value if inspect.isclass(value) else type(value)
    name = f"{subject.__module__}.{subject.__qualname__}"
    if "component" in vars(subject):
        return _sha256(name, _source(subject), repr(without_note(value)))
    return _sha256(name, repr(value)) if is_value(value) else None


def _sha256(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""
