"""Errors raised by a plug-in's code, in one line that names the plug-in."""

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter

from f3ast_tff.core.errors import EXPECTED, PluginError
from f3ast_tff.files.messages import one_line_of

# Global of a plug-in's modules that holds the plug-in's name.
MARK = "__f3ast_tff_plugin__"
# JAX's errors for NumPy and `if` on values that are not known yet; their texts are long.
_OF_TRACING = frozenset(
    {"ConcretizationTypeError", "TracerArrayConversionError", "TracerBoolConversionError"}
)
# Python's error for a call, which is raised before any line of the function.
_CALL = re.compile(r"([\w.]+)\(\) (?:takes|missing|got) ")
_TRACED = (
    "as it runs inside a JAX program: use jax.numpy (now.xp in a memory's rules) instead of "
    "NumPy, and where instead of if"
)


@contextmanager
def plugins_named() -> Iterator[None]:
    """Turns an error of a plug-in's code, also `SystemExit`, into an error that names the plug-in.

    Raises:
        PluginError: If an error other than the `EXPECTED` errors comes through a plug-in.
    """
    try:
        yield
    except (*EXPECTED, BrokenPipeError):
        raise
    except BaseException as error:
        frames = [
            (frame, line)
            for frame, line in traceback.walk_tb(error.__traceback__)
            if MARK in frame.f_globals
        ]
        if is_ctrl_c(error):
            raise
        if not frames:
            if (plugin := _called_wrongly(error)) is None:
                raise
            raise PluginError(f"plug-in {plugin}: {error}") from error
        (called, _), (last, line) = frames[0], frames[-1]
        traced = type(error).__name__ in _OF_TRACING
        says = f"{type(error).__name__}, {_TRACED}" if traced else one_line_of(error)
        owner, method = called.f_locals.get("self"), called.f_code.co_name
        found = PluginError(
            f"plug-in {called.f_globals[MARK]}: "
            f"{method if owner is None else f'{type(owner).__name__}.{method}'} raised "
            f"{says} ({last.f_code.co_filename}:{line})"
        )
        # contextlib drops an error whose cause is the StopIteration that it handles.
        raise found from (None if isinstance(error, StopIteration) else error)


def _called_wrongly(error: BaseException) -> str | None:
    """The plug-in whose function takes other arguments than it was given; `None` if none's."""
    found = _CALL.match(str(error)) if isinstance(error, TypeError) else None
    for module in [*sys.modules.values()] if found else ():
        plugin = getattr(module, "__dict__", {}).get(MARK)
        with suppress(AttributeError):
            if found and plugin is not None and attrgetter(found[1])(module):
                return str(plugin)
    return None


def is_ctrl_c(error: BaseException) -> bool:
    """Whether Python raised it for Ctrl-C, as it does while no handler is installed."""
    handled = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(error, KeyboardInterrupt) and not handled
