"""Shows what an availability process does: a short table, and a picture.

f3ast-tff availability --availability=smartphones --rounds=200 --plot=out.png
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags

from f3ast_tff.errors import DataError, SettingError
from f3ast_tff.randomness import generator

from .catalogue import COMBINATORS, ENTRIES, all_parameters, build, parameters_of
from .constraints import constraint_from_text
from .constraints.from_text import FORMS
from .parameter import Parameter
from .preview import preview, report

BAD_INPUT = 2
_OWN = (
    Parameter("availability", str, "home_devices", "who is reachable when", tuple(ENTRIES)),
    Parameter("num_clients", int, 100, "number of clients N"),
    Parameter("rounds", int, 200, "number of rounds"),
    Parameter("seed", int, 0, "seed of all that is drawn"),
    Parameter("shares_spread", float, 1.0, "for uneven: p_k is drawn as lognormal(0, this)"),
    Parameter("communication", str, "", f"K_t to show beside it: {FORMS}"),
    Parameter("plot", str, "", "PNG file to write or replace; its folder must exist"),
)


def main(argv: Sequence[str]) -> int:
    """Parses the command line and shows the process; returns the exit code."""
    if any(arg in ("--help", "-help", "-h", "--helpshort", "--helpfull") for arg in argv[1:]):
        print(_help())
        return 0
    known = {p.name: p for p in (*_OWN, *all_parameters().values())}
    values = flags.FlagValues()
    for parameter in known.values():
        _define(parameter, values)
    try:
        rest = values(list(argv))[1:]
    except (flags.Error, UnicodeDecodeError) as error:
        return _fail(str(error))
    if rest:
        return _fail(f"{rest[0]!r} is not a flag; see --help")
    given = {name: values[name].value for name in known if values[name].value is not None}
    try:
        _show(given)
    except (SettingError, DataError) as error:
        return _fail(str(error))
    return 0


def _show(given: dict) -> None:
    own = {p.name: given.get(p.name, p.default) for p in _OWN}
    for parameter in _OWN:
        parameter.check(own[parameter.name])
    for name, least in (("num_clients", 1), ("rounds", 1), ("seed", 0)):
        if own[name] < least:
            raise SettingError(name, own[name], f"must be at least {least}")
    if not (own["shares_spread"] >= 0 and np.isfinite(own["shares_spread"])):
        raise SettingError("shares_spread", own["shares_spread"], "must be at least 0 and finite")
    name, n, seed = own["availability"], own["num_clients"], own["seed"]
    taken = parameters_of(name, given)
    for other in given.keys() - own.keys() - taken.keys():
        raise SettingError(other, given[other], f"--availability={name} has no such parameter")
    out = Path(own["plot"]) if own["plot"] else None
    if out is not None:
        _check_picture(out)

    shares = generator(seed, "preview shares").lognormal(0, own["shares_spread"], n)
    process = build(name, shares / shares.sum(), seed, given)
    text = own["communication"]
    constraint = constraint_from_text(text, n, seed) if text else None
    seen = preview(process, own["rounds"], constraint)
    parts = f" of {given['availability_parts']}" if name in COMBINATORS else ""
    heading = f"{name}{parts}, {n} clients, {own['rounds']} rounds, seed {seed}"
    print(f"{heading}\n{report(seen)}")
    if out is not None:
        from .picture import draw

        try:
            draw(seen, heading, out)
        except OSError as error:
            raise SettingError("plot", out, f"cannot write: {error.strerror}") from error
        print(f"picture: {out}")


def _check_picture(out: Path) -> None:
    if out.suffix.lower() != ".png":
        raise SettingError("plot", out, "must end in .png")
    if not out.parent.is_dir():
        raise SettingError("plot", out, f"there is no folder {out.parent}")
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingError("plot", out, "needs matplotlib, not installed here")


def _define(parameter: Parameter, values: flags.FlagValues) -> None:
    define = {str: flags.DEFINE_string, int: flags.DEFINE_integer, float: flags.DEFINE_float}
    define[parameter.kind](parameter.name, None, parameter.help, flag_values=values)


def _help() -> str:
    lines = [(__doc__ or "").strip()]
    groups = {"preview": _OWN, **{name: entry.parameters for name, entry in ENTRIES.items()}}
    for group, parameters in groups.items():
        if not parameters:
            continue
        lines += ["", f"{group}:"]
        for parameter in parameters:
            lines += [f"  --{parameter.name}", f"      {_describe(parameter)}"]
    return "\n".join(lines)


def _describe(parameter: Parameter) -> str:
    parts = [parameter.help]
    if parameter.choices:
        parts.append("one of " + ", ".join(parameter.choices))
    if parameter.default is None:
        parts.append("must be given")
    elif parameter.default != "":
        parts.append(f"default: {parameter.default}")
    return "; ".join(parts)


def _fail(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv))
