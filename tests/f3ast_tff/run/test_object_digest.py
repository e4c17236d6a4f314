"""Digests of objects: what changes a result changes them, and nothing else does."""

import io
import linecache
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import Markov
from f3ast_tff.run.object_digest import object_digest

STEP = 0.1


def reads_a_global(t: int) -> float:
    return STEP * t


class Base:
    def step(self) -> float:
        return STEP


class Process(Base):
    """An object that cannot be pickled as it is."""

    def __init__(self, offset: int) -> None:
        self.shifted = lambda t: t + offset


@pytest.mark.parametrize("value", [reads_a_global, Process(1)], ids=["function", "base class"])
def test_a_global_that_the_code_reads_counts(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = object_digest(value)
    assert object_digest(value) == before
    monkeypatch.setitem(globals(), "STEP", 0.9)
    assert object_digest(value) != before


def test_equal_objects_have_one_digest() -> None:
    assert object_digest(Process(1)) == object_digest(Process(1)) != object_digest(Process(2))
    assert object_digest(np.ones(3)) == object_digest(np.ones(3)) != object_digest(np.zeros(3))


@pytest.mark.parametrize("text_of_python_c", ["", "import sys"])
def test_code_without_a_source(text_of_python_c: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [text_of_python_c] if text_of_python_c else []
    # Python 3.13 keeps the text of `python -c`, such as of pytest's workers, in this way.
    monkeypatch.setitem(linecache.cache, "<string>", (1, None, lines, "<string>"))
    made: list[Callable[[int], int]] = []
    for text in ("n + 1", "n + 1", "n + 2"):
        names: dict[str, Any] = {"__name__": "typed_in"}
        exec(f"def added(n): return {text}", names)
        made.append(names["added"])
    digests = [object_digest(function) for function in made]
    assert digests[0] == digests[1] != digests[2]


def test_functions_that_call_each_other() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n > 0 and even(n - 1)

    assert object_digest(even) == object_digest(even)


def test_an_object_that_contains_itself() -> None:
    digests = []
    for offset in (1, 1, 2):
        process: Any = Process(offset)
        process.itself = process
        digests.append(object_digest(process))
    assert digests[0] == digests[1] != digests[2]


def test_an_object_that_cannot_be_read_has_another_digest_each_time() -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    assert object_digest(stream) != object_digest(stream)


def test_installed_code_counts_by_name() -> None:
    assert object_digest(Markov) == object_digest(Markov)


def test_attributes_that_are_set_later_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = object_digest(Process(1))
    monkeypatch.setattr(Process, "scale", MappingProxyType({"a": 1.0}), raising=False)
    first = object_digest(Process(1))
    monkeypatch.setattr(Process, "scale", MappingProxyType({"a": 5.0}))
    assert len({before, first, object_digest(Process(1))}) == 3
    assert object_digest(Process(1)) == object_digest(Process(1))


def test_two_lambdas_of_one_line() -> None:
    one, two, three = (lambda n: n + 1), (lambda n: n + 2), (lambda n: n + 1)  # noqa: E731
    assert object_digest(one) == object_digest(three) != object_digest(two)
