"""`f3ast-tff availability`: an availability process as a table and a picture."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from f3ast_tff.availability.combined import build_process
from f3ast_tff.availability.labelled import drawn_labels
from f3ast_tff.availability.logs.mask_files import FORMS, masks_digest, read_masks, write_masks
from f3ast_tff.availability.preview import preview, report
from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.cli.flags import plugins_given, setting_flags
from f3ast_tff.cli.help_pages import by_takers, component_lines, parameter_lines, parameter_text
from f3ast_tff.core.errors import ComponentError, DataError, ParameterError
from f3ast_tff.core.randomness import MAX_SEED, generator
from f3ast_tff.files.exit_codes import fail, written
from f3ast_tff.files.messages import show
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import check_repeats
from f3ast_tff.settings import Parameter, Registry, parameter, parameters_of
from f3ast_tff.settings.component import component_of, parts_of
from f3ast_tff.settings.flag_help import flag_lines
from f3ast_tff.settings.flags import PLUGIN, PLUGIN_HELP, UsageError, parse_flags, wants_help
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve

USAGE = """
Shows who is available when, and how often.

f3ast-tff availability --availability=smartphones --num_clients=100 --rounds=200 --plot=out.png
f3ast-tff availability --availability=smartphones --num_clients=100 --rounds=200 --write=masks.npz
f3ast-tff availability --availability=uneven --task=synthetic --data_seed=3 --seed=3 --rounds=1000
f3ast-tff availability LOG.csv  # short for --availability=table --table_file=LOG.csv
"""
_KIND = "availability"
_KINDS = (_KIND, "constraint")


@dataclass(frozen=True)
class Options:
    """Flags of the command, besides the parameters of availability processes."""

    availability: str = parameter("home_devices", "who is reachable when")
    num_clients: int | None = parameter(
        None, "number of clients N; default: as in a table, else 100", minimum=1, maximum=10**7
    )
    rounds: int = parameter(200, "number of rounds", minimum=1, maximum=10**6)
    seed: int = parameter(0, "seed of all draws", minimum=0, maximum=MAX_SEED)
    shares_spread: float = parameter(1.0, "for uneven: p_k ~ lognormal(0, this)", minimum=0)
    labels_alpha: float = parameter(
        0.1, "for processes by labels: 100 labels a client, shares ~ Dirichlet(this)", minimum=1e-4
    )
    num_classes: int = parameter(
        10, "for processes by labels: number of classes", minimum=1, maximum=10**4
    )
    task: str = parameter(
        "",
        "task whose data say the clients' shares and labels, as in its runs; with it every "
        "setting of a run is a flag",
    )
    constraint: str = parameter("", "K_t to show beside it, as 10 or cycle:5,10")
    plot: str = parameter("", "PNG file to write or replace; its folder must exist", is_path=True)
    write: str = parameter(
        "",
        "file of who is available when to write or replace, .csv, .npy or .npz; its folder must "
        "exist",
        is_path=True,
    )


def main(argv: Sequence[str]) -> int:
    """Parses the command line and shows the process; returns the exit code."""
    words = list(argv[1:])
    if words and not words[0].startswith("-") and Path(words[0]).suffix:
        words[:1] = ["--availability=table", f"--table_file={words[0]}"]
    try:
        registry = registry_with(plugins_given(words))
        if wants_help(words):
            show(_help(registry))
        else:
            _show(parse_flags(words, _parameters(registry, words), plugins=True), registry)
    except (ComponentError, DataError, ParameterError, UsageError) as error:
        return fail(error)
    return 0


def _parameters(registry: Registry, words: Sequence[str]) -> dict[str, Parameter]:
    """All parameters that are flags, by name."""
    components = (c for kind in _KINDS for c in registry.components[kind].values())
    found = {p.name: p for component in components for p in component.parameters}
    if any(word.lstrip("-").partition("=")[0] == "task" for word in words):
        found = setting_flags(registry)
    return {**found, **{p.name: p for p in parameters_of(Options)}}


def _show(given: Mapping[str, Any], registry: Registry) -> None:
    options = Options(
        **{p.name: p.checked(given.get(p.name, p.default)) for p in parameters_of(Options)}
    )
    out = Path(options.plot) if options.plot else None
    if out is not None:
        _check_picture(out)
    masks = Path(options.write) if options.write else None
    if masks is not None:
        _check_place("write", masks, FORMS)
    resolved = resolve(_settings(options, given), registry)
    configs, settings = resolved.configs, resolved.settings
    rounds, seed, config = options.rounds, options.seed, configs[_KIND]
    if options.task:
        world = Builder(resolved).world
        process, n, constraint = world.availability, world.num_clients, world.constraint
    else:
        n = settings["num_clients"]
        shares = generator(seed, "preview shares").lognormal(0, options.shares_spread, n)
        labels = None
        if config.needs_labels:
            labels = drawn_labels(n, options.num_classes, options.labels_alpha, seed)
        process = build_process(config, shares / shares.sum(), seed, labels)
        constraint = configs["constraint"].build(n, seed, 0)
        check_repeats("availability", process, lambda t: available_clients(process, n, t))
    seen = preview(process, rounds, constraint if options.constraint else None)
    names = ",".join(component_of(part).name for part in parts_of(config))
    name = component_of(config).name + (f" of {names}" if names else "")
    heading = f"{name}, {n} clients, {rounds} rounds, seed {seed}"
    show(f"{heading}\n{report(seen)}")
    if out is not None:
        from f3ast_tff.analysis.availability_picture import draw

        with written("plot", out):
            draw(seen, heading, out)
        show(f"picture: {out}")
    if masks is not None:
        rows = (available_clients(process, n, t) for t in range(1, rounds + 1))
        with written("write", masks):
            write_masks(masks, rows, (rounds, n))
        show(f"masks: {masks}; read by --availability=table --table_file={masks}")
        show(f"SHA-256 of the masks as .csv: {masks_digest(read_masks(masks))}")
        if objective := settings.get("availability_objective"):
            show(f"F3AST as here: --availability_objective={objective}")


def _settings(options: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an experiment with this availability."""
    own = {parameter.name for parameter in parameters_of(Options)}
    settings = {name: value for name, value in given.items() if name not in own}
    if options.constraint:
        settings["constraint"] = options.constraint
    elif "clients_per_round" not in given:
        # The task's default may be too large for a few clients.
        settings["clients_per_round"] = 1
    common = ["availability", "num_clients", "rounds", "seed"]
    if options.task:
        common.append("task")
    return {**settings, **{name: getattr(options, name) for name in common}}


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
        lines += flag_lines(p.name, text)
        if p.name == _KIND:
            lines += component_lines(_KIND, registry)
    lines += flag_lines(PLUGIN, PLUGIN_HELP)
    for kind in _KINDS:
        for takers, parameters in by_takers(registry, kind).items():
            lines += ["", f"with --{kind}={', '.join(takers)}:" if takers else "all:"]
            lines += parameter_lines(parameters, registry)
    return "\n".join(lines)
