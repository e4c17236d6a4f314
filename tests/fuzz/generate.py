"""Random hostile input, a function of (seed, number)."""

from __future__ import annotations

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from f3ast_tff.settings import Parameter

DEFAULT_SEED = 20_240_501
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


def seed() -> int:
    """Returns the seed of this run of the fuzzers; printed, so that a failure can be repeated."""
    found = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    print(f"{SEED_VARIABLE}={found}")
    return found


def count(default: int) -> int:
    """Returns the number of cases to try."""
    return int(os.environ.get(COUNT_VARIABLE, default))


def cases(name: str, default: int) -> Iterator[tuple[int, random.Random]]:
    """Yields the number and the generator of each case."""
    base = seed()
    for number in range(count(default)):
        yield number, random.Random(f"{base} {name} {number}")


def value_of(parameter: Parameter, rng: random.Random) -> str:
    """Returns a value in command-line form, valid in most cases."""
    if parameter.choices and rng.random() < 0.9:
        return rng.choice(parameter.choices)
    if parameter.kind is bool:
        return rng.choice(["true", "false", "maybe"])
    if parameter.kind is str:
        return rng.choice(TEXTS)
    if rng.random() < 0.75:
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


class _TooLong(BaseException):
    """A case hangs."""


class Failures:
    """Collects the cases that fail, each ended after some seconds."""

    def __init__(self, most_s: float = 60.0) -> None:
        """Takes the longest time of a case."""
        self._most_s = most_s
        self._found: list[str] = []

    @contextmanager
    def case(self, number: int, what: object) -> Iterator[None]:
        """Notes any exception of a case."""
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, self._most_s)
        try:
            yield
        except (Exception, SystemExit, _TooLong) as error:
            steps = traceback.extract_tb(error.__traceback__)[-4:]
            where = " < ".join(f"{Path(s.filename).name}:{s.lineno}" for s in reversed(steps))
            text = f"case {number}: {what!r:.1500}: {type(error).__name__}: {error!s:.600} {where}"
            self._found.append(text)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def check(self) -> None:
        """Fails if a case has failed."""
        assert not self._found, f"{len(self._found)} cases failed:\n" + "\n".join(self._found)


def _too_long(signum: int, frame: object) -> None:
    raise _TooLong
