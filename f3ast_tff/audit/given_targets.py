"""The target of a text or an object: a function, an object, a Flower strategy, a method's name."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from f3ast_tff.audit.arrays import ONE_ARRAY, Form, form_named
from f3ast_tff.audit.functions import function_target
from f3ast_tff.audit.targets import FOREIGN, OBJECTIVES, Target, is_aggregation, required
from f3ast_tff.audit.world import EXAMPLES
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.settings.parameter import nearest
from f3ast_tff.settings.registry import registry_with


def target_of(
    given: Any,
    arguments: Mapping[str, Any] | None = None,
    objective: str | None = None,
    model: str | None = None,
) -> Target:
    """Returns the target of an object or of a text.

    Args:
        given: `module:name`, `file.py:name` or `file.py`: a function, class, object or file with
            `aggregate`, or a Flower strategy; the name of a method of this package; or the object.
        arguments: Arguments of a class or of a function that makes a server. A text
            `module:name` among them stands for that object, of a class an instance.
        objective: Objective that it states, of `OBJECTIVES`; by default that of its kind.
        model: How the model is made of arrays, as `arrays.form_named` takes it; by default as a
            function's annotations and code say, and one array of a strategy that treats all alike.

    Raises:
        ParameterError: If it cannot be imported, or needs arguments; names them.
    """
    if objective is not None and objective not in OBJECTIVES:
        raise ParameterError("objective", objective, f"must be one of {', '.join(OBJECTIVES)}")
    form = None if model is None else form_named(model)
    named = {key: _value(value) for key, value in (arguments or {}).items()}
    # With a dot it is a module, or a file.
    is_method = isinstance(given, str) and not {":", "."} & {*given}
    found = (_method if is_method else _target)(given, named, form)
    return found if objective is None else replace(found, objective=objective)


def _target(given: Any, arguments: Mapping[str, Any], form: Form | None) -> Target:
    text = given if isinstance(given, str) else ""
    name = text.rpartition(":")[2] or getattr(given, "__name__", type(given).__name__)
    found = imported(text) if text else given
    if inspect.ismodule(found) and not hasattr(found, "aggregate"):
        raise ParameterError("target", text, f"has no aggregate; name one of {_defined(found)}")
    if _is_of_flower(found) and type(found).__name__ == "ServerApp":
        raise ParameterError("target", text, "is a ServerApp; name the class of its strategy")
    maker = _maker(found, arguments, name)
    if text and (inspect.ismodule(found) or inspect.isfunction(found) and is_aggregation(found)):
        # Globals of the file are the state of its functions: a new server has them anew.
        return function_target(name, lambda: imported(text, anew=True), found, form)
    example = maker()
    if _is_of_flower(example):
        from f3ast_tff.audit.flower import flower_target

        return flower_target(name, maker, example, form)
    return function_target(name, maker, example, form)


def _method(name: str, arguments: Mapping[str, Any], form: Form | None) -> Target:
    """A method of this package, or of a plug-in, behind the Flower adapter.

    Its arguments are the method's parameters, `k`, clients per round (half of all by default), and
    `plugin`, the file that defines it.
    """
    given, num_clients = dict(arguments), len(EXAMPLES)
    registry = registry_with([str(given.pop("plugin"))] if "plugin" in given else [])
    names = registry.names("algorithm")
    if name not in names:
        hint = f"did you mean {near}? It " if (near := nearest(name, names)) else ""
        allowed = f"{hint}must be module:name, file.py:name, file.py, or a method's name: "
        raise ParameterError("target", name, allowed + ", ".join(names))
    if importlib.util.find_spec("flwr") is None:
        allowed = "is audited behind the Flower adapter: pip install 'f3ast-tff[flower]'"
        raise ParameterError("target", name, allowed)
    from f3ast_tff.audit.flower import flower_target
    from f3ast_tff.flower import AvailabilityStrategy

    config = registry.find("algorithm", name).config
    k = int(given.pop("k", num_clients // 2))
    if name == "f3ast":
        # The default suits thousands of rounds.
        given.setdefault("rate_beta", 0.01)

    def maker() -> Any:
        method = config.start(EXAMPLES / EXAMPLES.sum(), k, seed=0, sizes=EXAMPLES, **given)
        return AvailabilityStrategy(method, num_clients, k, evaluate_every=0)

    found = flower_target(name, maker, maker(), form or ONE_ARRAY)
    # A baseline corrects nothing: it is the mean of the clients that it finds.
    if found.objective == "all" and not config.corrects:
        found = replace(found, objective="present")
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    return replace(found, kind=f"method{f' ({shown})' if shown else ''} behind the Flower adapter")


def imported(text: str, *, anew: bool = False) -> Any:
    """Returns the object `module:name`, `file.py:name`, or the file's module.

    Args:
        text: The place.
        anew: Whether to execute the module again, beside the one that is imported.

    Raises:
        ParameterError: If there is none; says why.
    """
    place, _, name = text.rpartition(":") if ":" in text else (text, "", "")
    try:
        module = _of_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        if anew and not place.endswith(".py"):
            module = _executed(module.__spec__)
    except FOREIGN as error:
        said = f"cannot be imported: {one_line_of(error)}"
        raise ParameterError("target", text, said) from error
    found = module
    for part in filter(None, name.split(".")):
        if not hasattr(found, part):
            there = [each for each in vars(module) if not each.startswith("_")]
            names = ", ".join(each for each in there if callable(getattr(module, each)))
            raise ParameterError("target", text, f"has no {part}; there are {names or 'none'}")
        found = getattr(found, part)
    return found


def _of_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    # Imports beside the file work as in a script.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return _executed(importlib.util.spec_from_file_location(path.stem, path))
    finally:
        sys.path.remove(str(path.parent.resolve()))


def _executed(spec: Any) -> Any:
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    # Dataclasses look for their module by its name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
    return module


def _defined(module: Any) -> str:
    public = {name: each for name, each in vars(module).items() if not name.startswith("_")}
    own = [n for n, each in public.items() if getattr(each, "__module__", "") == module.__name__]
    # Those of a package come from its modules.
    names = [n for n in own or public if callable(public[n])]
    return ", ".join(names) or "its functions or classes; it defines none"


def _value(value: Any) -> Any:
    if not isinstance(value, str) or ":" not in value:
        return value
    found = imported(value)
    return found() if inspect.isclass(found) else found


def _maker(given: Any, arguments: Mapping[str, Any], name: str) -> Callable[[], Any]:
    """A function that makes the server's object anew."""
    if not callable(given) or (not inspect.isclass(given) and is_aggregation(given)):
        if arguments:
            raise ParameterError("args", ", ".join(arguments), f"{name} takes none: it is no class")
        # An object is copied while it is new.
        return lambda: copy.deepcopy(given) if hasattr(given, "__dict__") else given
    missing = [each for each in required(given) if each not in arguments]
    if missing:
        allowed = f"needs arguments: --args={','.join(f'{each}=...' for each in missing)}"
        if inspect.isfunction(given):
            allowed += "; if it is the aggregation, it must take model, updates and weights"
        raise ParameterError("target", name, allowed)
    try:
        given(**copy.deepcopy(dict(arguments)))
    except FOREIGN as error:
        said, taken = f"cannot be made: {one_line_of(error)}", inspect.signature(given).parameters
        said += f"; it takes {', '.join(taken)}" if {*arguments} - {*taken} else ""
        raise ParameterError("target", name, said) from error
    return lambda: given(**copy.deepcopy(dict(arguments)))


def _is_of_flower(example: Any) -> bool:
    return any(each.__module__.startswith("flwr.") for each in type(example).__mro__)
