"""`compare`: methods beside each other, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.counted_warnings import warnings_counted
from f3ast_tff.run.session import is_interactive
from f3ast_tff.run.simulate_arguments import check_folder, methods_named, seeds_of
from f3ast_tff.simulation import Simulation, frame_of, simulate

if TYPE_CHECKING:
    from f3ast_tff.analysis.results_frame import Results


@warnings_counted()
def compare(
    methods: Mapping[str, Any],
    seeds: Iterable[int] | None = None,
    folder: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Results:
    """Compares methods.

    Args:
        methods: Methods by name. Each is a result of `simulate` or a list of them, an `algorithm`
            of `simulate` to run, or a mapping of settings to run.
        seeds: Seeds of the methods to run, see `simulate`.
        folder: Folder for a folder of runs per method, by its name; `None` writes no files.
        **settings: Settings of all methods to run.

    Returns:
        A frame of all runs with methods `plot()` and `differences()`; in a notebook, or at Python's
        prompt, Ctrl-C (Interrupt) returns the finished runs.

    Raises:
        ParameterError: If there is no method, or `simulate` refuses a setting.

    Examples:
        >>> from f3ast_tff import compare
        >>> found = compare({"FedAvg": "fedavg", "F3AST": "f3ast"}, seeds=[0, 1], rounds=2)
        >>> found.differences(baseline="FedAvg")[["a", "b", "draws"]].values.tolist()
        [['F3AST', 'FedAvg', 2]]
    """
    from f3ast_tff.analysis.results_frame import Results

    check_folder(folder)
    if not methods_named(methods):
        raise ParameterError("methods", methods, "must hold at least one, by name")
    for name in () if folder is None else methods:
        if Path(name).name != name or name == "..":
            raise ParameterError("methods", name, "must be the name of a folder, without /")
    each = None if seeds is None else seeds_of(seeds)
    found: dict[str, list[Any]] = {}
    for name, given in methods.items():
        ready = list(given) if isinstance(given, (list, tuple)) else [given]
        if ready and all(isinstance(one, (Simulation, Results)) for one in ready):
            found[name] = ready
        else:
            own = given if isinstance(given, Mapping) else {"algorithm": given}
            place = {} if folder is None else {"folder": Path(folder) / name}
            try:
                made = simulate(**{"seeds": each, **settings, **place, **own})
            except KeyboardInterrupt:
                if found and is_interactive():
                    break
                raise
            if isinstance(made, Simulation) and made.was_stopped:
                break
            found[name] = [made]
            if isinstance(made, Results) and len(made.runs) < len(each or ()):
                break
    return frame_of(found)
