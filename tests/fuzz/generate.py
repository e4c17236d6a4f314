"""Random hostile input: choices that hypothesis draws, and shrinks where a case fails."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from f3ast_tff.settings import Parameter

SEED_VARIABLE = "F3AST_FUZZ_SEED"
COUNT_VARIABLE = "F3AST_FUZZ_COUNT"

# fmt: off
TEXTS = (
    "", " ", ".", "..", "/", "../..", "a/b", "~", "~nobody/x", "-", "--", "-1", "null", "None",
    "true", "a\nb", "a\tb", "\x1b[2J", "\x00", "\u202eabc", "\ud800", "ü" * 40, "x" * 300,
    "x" * 5000, "%s%n", "{}", "$HOME", "a,b,c", ",", ":", "::", "1:2:3", "cycle:", "cycle:0",
    "cycle:5,x", "hold:3,4", "steps:1=3,5=4", "uniform:2:4", "uniform:4:2", "poisson:nan",
    "poisson:3", "markov:2,4:0.5", "markov:2,4:7", "bytes:1e6", "bytes:-1", "bytes:inf", "10",
    "9" * 5000, "cycle:" + "9" * 5000, "steps:1=3,99999999999999=4", "poisson:1e300",
    "uniform:1:99999999999999", "hold:3,99999999999999", "markov:2,4:1e-300", "bytes:1e300",
    "scarce,uneven", "scarce,scarce", "always,nowhere", "0.5,0.5", "0.5,-0.5", "nan,1", "1e999",
)
# fmt: on
# fmt: off
NUMBERS = (
    "0", "1", "2", "3", "7", "-1", "0.5", "1.5", "1e-300", "1e300", "-1e300", "nan", "inf",
    "-inf", "1e999", "9" * 30, "9" * 5000, "0x10", "1_000", "2147483648", "9223372036854775808",
    "4294967296", "100000000000000", "", " 1", "1,2", "one", "0.1", "0.999999999", "1e-9",
)
# fmt: on


class _TooLong(BaseException):
    """A case hangs."""


def count(default: int) -> int:
    """Returns the number of cases to try."""
    return int(os.environ.get(COUNT_VARIABLE, default))


def try_cases(check: Callable[[random.Random], object], default: int, most_s: float = 60.0) -> None:
    """Calls a check with the choices of each case, and ends one that takes longer than `most_s`.

    The same cases each time; `F3AST_FUZZ_SEED` draws others. What a check notes
    (`hypothesis.note`) is printed of the smallest case that fails.
    """

    @settings(max_examples=count(default), suppress_health_check=[*HealthCheck])
    @hypothesis.given(st.randoms(use_true_random=False))
    def case(rng: random.Random) -> None:
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, most_s)
        try:
            check(rng)
        except _TooLong:
            raise AssertionError(f"a case takes more than {most_s} s") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    if SEED_VARIABLE in os.environ:
        case = hypothesis.seed(int(os.environ[SEED_VARIABLE]))(case)
    case()


def _too_long(signum: int, frame: object) -> None:
    raise _TooLong


def often(rng: random.Random, share: float) -> bool:
    """Whether a case is one of a share of all; `random()` draws its bounds too often for that."""
    return rng.randrange(1000) >= 1000 * (1 - share)


def value_of(parameter: Parameter, rng: random.Random) -> str:
    """Returns a value in command-line form, valid in most cases."""
    if parameter.choices and not often(rng, 0.1):
        return rng.choice(parameter.choices)
    if parameter.kind is bool:
        return rng.choice(["true", "false", "maybe"])
    if parameter.kind is str:
        return rng.choice(TEXTS)
    if not often(rng, 0.25):
        low = parameter.minimum if parameter.minimum is not None else parameter.above or 0
        high = min(parameter.maximum or 20, parameter.below or 20, 20)
        drawn = rng.uniform(low, max(low, high))
        return str(round(drawn)) if parameter.kind is int else repr(drawn)
    return rng.choice(NUMBERS)


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {}


def _damage(function: Callable[[Path, random.Random], None]) -> Callable[..., None]:
    DAMAGES[function.__name__] = function
    return function


@_damage
def cut(path: Path, rng: random.Random) -> None:
    """Cuts a file short."""
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


@_damage
def flip(path: Path, rng: random.Random) -> None:
    """Changes some bytes."""
    content = bytearray(path.read_bytes() or b" ")
    for _ in range(rng.choice([1, 1, 3, 30])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)


@_damage
def digit(path: Path, rng: random.Random) -> None:
    """Changes a digit, so that the file stays well-formed."""
    content = bytearray(path.read_bytes())
    places = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if places:
        content[rng.choice(places)] = rng.randrange(48, 58)
    path.write_bytes(content)


@_damage
def replace(path: Path, rng: random.Random) -> None:
    """Replaces the content."""
    deep = b"[" * 100_000
    huge = b'{"rounds": ' + b"9" * 5000 + b"}"
    pool = [b"", b"null", b"[]", b"{}", b'"\\ud800"', deep, huge, b"\xff\xfe\x00", b"\0" * 100]
    path.write_bytes(rng.choice([*pool, b"a,b\n1,2\n", b"PK\x03\x04" + b"x" * 50]))


@_damage
def remove(path: Path, rng: random.Random) -> None:
    """Removes the file."""
    path.unlink()


@_damage
def folder(path: Path, rng: random.Random) -> None:
    """Replaces the file by a folder."""
    path.unlink()
    path.mkdir()


@_damage
def pipe(path: Path, rng: random.Random) -> None:
    """Replaces the file by a named pipe."""
    path.unlink()
    os.mkfifo(path)


@_damage
def link(path: Path, rng: random.Random) -> None:
    """Replaces the file by a link: to nothing, to itself, or to a device that never ends."""
    path.unlink()
    path.symlink_to(rng.choice(["nowhere", path.name, "/dev/zero"]))


@_damage
def double(path: Path, rng: random.Random) -> None:
    """Repeats the content."""
    path.write_bytes(path.read_bytes() * 2)
