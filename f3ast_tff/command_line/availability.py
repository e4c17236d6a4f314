"""`f3ast-tff availability`: what an availability process does, as a table and a picture."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from absl import flags

from f3ast_tff.availability.combined import build_process
from f3ast_tff.availability.constraints import CommunicationConstraint
from f3ast_tff.availability.constraints.constraint import constraint_from_text, is_count
from f3ast_tff.availability.label_distribution import drawn_labels
from f3ast_tff.availability.mask_files import FORMS, write_masks
from f3ast_tff.availability.picture import draw
from f3ast_tff.availability.preview import preview, report
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.command_line.failures import fail
from f3ast_tff.command_line.parameter_flags import (
    PLUGIN,
    PLUGIN_HELP,
    define_flags,
    define_plugin_flag,
    flag_lines,
    plugins_given,
)
from f3ast_tff.components import (
    REQUIRED,
    Derived,
    Parameter,
    Published,
    Reading,
    Registry,
    parameter,
    parameters_of,
)
from f3ast_tff.components.component import component_of
from f3ast_tff.components.registry import registry_with
from f3ast_tff.configuration.describe import by_takers, parameter_text
from f3ast_tff.errors import ComponentError, DataError, ParameterError
from f3ast_tff.randomness import generator
from f3ast_tff.training.selecting import available_clients

USAGE = """
Shows who is available when, and how often.

f3ast-tff availability --availability=smartphones --num_clients=100 --rounds=200 --plot=out.png
f3ast-tff availability --availability=smartphones --num_clients=100 --rounds=200 --write=masks.npz
"""
_HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")
_KIND = "availability"
_KINDS = (_KIND, "communication")


@dataclass(frozen=True)
class Options:
    """What the command takes beside the parameters of availability processes."""

    availability: str = parameter("home_devices", "who is reachable when")
    num_clients: int = parameter(100, "number of clients N", minimum=1, maximum=10**7)
    rounds: int = parameter(200, "number of rounds", minimum=1)
    seed: int = parameter(0, "seed of all draws", minimum=0)
    shares_spread: float = parameter(1.0, "for uneven: p_k ~ lognormal(0, this)", minimum=0)
    labels_alpha: float = parameter(
        0.1, "for processes by labels: 100 labels a client, shares ~ Dirichlet(this)", above=0
    )
    num_classes: int = parameter(10, "for processes by labels: number of classes", minimum=1)
    communication: str = parameter("", "K_t to show beside it, as 10 or cycle:5,10")
    plot: str = parameter("", "PNG file to write or replace; its folder must exist", is_path=True)
    write: str = parameter(
        "",
        "file of who is available when to write or replace, .csv, .npy or .npz; its folder must "
        "exist",
        is_path=True,
    )


def main(argv: Sequence[str]) -> int:
    """Parses the command line and shows the process; returns the exit code.

    Args:
        argv: The program's name, and its arguments.
    """
    words = list(argv[1:])
    values = flags.FlagValues()
    try:
        registry = registry_with(plugins_given(words))
        if any(word in _HELP for word in words):
            print(_help(registry))
            return 0
        define_flags(_parameters(registry), values)
        define_plugin_flag(values)
        rest = values(["", *words])[1:]
        if rest:
            return fail(f"{rest[0]!r} is not a flag; see --help")
        given = {name: values[name].value for name in _parameters(registry)}
        _show({n: value for n, value in given.items() if value is not None}, registry)
    except (flags.Error, UnicodeDecodeError, ComponentError, DataError, ParameterError) as error:
        return fail(error)
    return 0


def _parameters(registry: Registry) -> dict[str, Parameter]:
    """All parameters that are flags, by name."""
    components = (c for kind in _KINDS for c in registry.components[kind].values())
    found = {p.name: p for component in components for p in component.parameters}
    return {**found, **{p.name: p for p in parameters_of(Options)}}


def _show(given: Mapping[str, Any], registry: Registry) -> None:
    options = _made(Options, given, {})
    out = Path(options.plot) if options.plot else None
    if out is not None:
        _check_picture(out)
    masks = Path(options.write) if options.write else None
    if masks is not None:
        _check_place("write", masks, FORMS)
    config = _process_config(options, given, registry)
    n, rounds, seed = options.num_clients, options.rounds, options.seed
    constraint = _constraint(options, given, registry)
    shares = generator(seed, "preview shares").lognormal(0, options.shares_spread, n)
    labels = None
    if config.needs_labels:
        labels = drawn_labels(n, options.num_classes, options.labels_alpha, seed)
    process = build_process(config, shares / shares.sum(), seed, labels)
    seen = preview(process, rounds, constraint)
    names = ",".join(component_of(part).name for part in getattr(config, "parts", ()))
    name = component_of(config).name + (f" of {names}" if names else "")
    heading = f"{name}, {n} clients, {rounds} rounds, seed {seed}"
    print(f"{heading}\n{report(seen)}")
    if out is not None:
        try:
            draw(seen, heading, out)
        except OSError as error:
            raise ParameterError("plot", out, f"cannot write: {error.strerror or error}") from error
        print(f"picture: {out}")
    if masks is not None:
        rows = (available_clients(process, n, t) for t in range(1, rounds + 1))
        try:
            write_masks(masks, rows, (rounds, n))
        except OSError as error:
            raise ParameterError(
                "write", masks, f"cannot write: {error.strerror or error}"
            ) from error
        together = any(c.positively_correlated for c in (config, *getattr(config, "parts", ())))
        print(f"masks: {masks}; read by --availability=table --table_file={masks}")
        print(f"F3AST as here: --availability_objective={'p' if together else 'p_squared'}")


def _constraint(
    options: Options, given: Mapping[str, Any], registry: Registry
) -> CommunicationConstraint | None:
    text, n, seed = options.communication, options.num_clients, options.seed
    if not text:
        return None
    if is_count(text):
        return constraint_from_text(text, n, seed, registry)
    name, _, arguments = text.partition(":")
    config = registry.find("communication", name).config
    made = replace(_made(config, given, {}), arguments=arguments)
    made.check({"num_clients": n})
    return made.build(n, seed, 0)


def _process_config(
    options: Options, given: Mapping[str, Any], registry: Registry
) -> AvailabilityConfig:
    """The chosen process's `Config`, with those of its parts, checked."""
    chosen = registry.find(_KIND, options.availability)
    configs = [chosen.config]
    if hasattr(chosen.config, "part_names"):
        names = chosen.config.part_names(given, registry.names(_KIND))
        configs += [registry.find(_KIND, name).config for name in names]
    takers = [Options, *configs]
    if options.communication and not is_count(options.communication):
        name = options.communication.partition(":")[0]
        takers.append(registry.find("communication", name).config)
    taken = {p.name for config in takers for p in parameters_of(config)}
    for name in given:
        if name not in taken:
            others = [c for c in registry.takers(name) if c.kind in _KINDS]
            names = " or ".join(c.name for c in others if c.kind == others[0].kind)
            allowed = f"only applies with --{others[0].kind}={names}"
            raise ParameterError(name, given[name], allowed)
    known = {field.name: getattr(options, field.name) for field in fields(options)}
    config, *parts = [_made(config, given, known) for config in configs]
    if hasattr(config, "part_names"):
        config = replace(config, parts=tuple(parts))
    for part in (config, *parts):
        part.check(known)
    return config


def _made(config: type, given: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """The `Config` with what is given, the paper's readings and defaults."""
    values: dict[str, Any] = {}
    for p in parameters_of(config):
        value = (
            given[p.name] if p.name in given else _default(p.name, p.default, {**known, **values})
        )
        values[p.name] = p.checked(value)
    return config(**values)


def _default(name: str, default: Any, known: Any) -> Any:
    if isinstance(default, Reading):
        return _default(name, default.paper, known)
    if isinstance(default, Published):
        return _default(name, default.fallback, known)
    if isinstance(default, Derived):
        try:
            return default.compute(known)
        except KeyError as error:
            allowed = f"must be given: without an experiment, its default has no {error}"
            raise ParameterError(name, "", allowed) from error
    return None if default is REQUIRED else default


def _check_picture(out: Path) -> None:
    _check_place("plot", out, (".png",))
    if importlib.util.find_spec("matplotlib") is None:
        raise ParameterError("plot", out, "needs matplotlib, not installed here")


def _check_place(name: str, out: Path, suffixes: Sequence[str]) -> None:
    if out.suffix.lower() not in suffixes:
        raise ParameterError(name, out, f"must end in {' or '.join(suffixes)}")
    if not out.parent.is_dir():
        raise ParameterError(name, out, f"there is no folder {out.parent}")


def _help(registry: Registry) -> str:
    lines = [USAGE.strip(), ""]
    for p in parameters_of(Options):
        text = parameter_text(p, registry)
        if p.name == _KIND:
            text += f"; one of {', '.join(registry.names(_KIND))}"
        lines += flag_lines(p.name, text)
    lines += flag_lines(PLUGIN, PLUGIN_HELP)
    for kind in _KINDS:
        for takers, parameters in by_takers(registry, kind).items():
            lines += ["", f"with --{kind}={', '.join(takers)}:" if takers else "all:"]
            for p in parameters:
                lines += flag_lines(p.name, parameter_text(p, registry))
    return "\n".join(lines)
