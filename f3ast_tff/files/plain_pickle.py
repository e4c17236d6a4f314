"""Reads pickles of plain values without `pickle`, because a pickle is a program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar


class PlainPickle:
    """A stack machine, as `pickletools` describes it, with few opcodes.

    It accepts the opcodes that Python's protocols 2 to 5 write for dictionaries, lists, tuples,
    texts, bytes and numbers, and refuses all others. A subclass adds opcodes by `actions`.

    Attributes:
        actions: The action of each opcode.
        keys: Allowed types of a dictionary's keys.
    """

    actions: ClassVar[Mapping[bytes, Callable[[Any], object]]]
    keys: ClassVar[tuple[type, ...]] = (bytes, str, int)

    def __init__(self, content: bytes, most_opcodes: int) -> None:
        """Takes the content of a file.

        Args:
            content: Bytes of the file.
            most_opcodes: Largest number of opcodes; it keeps tiny objects from filling memory.
        """
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self._content = content
        self._place = 0
        self._marks: list[int] = []
        self._most_opcodes = most_opcodes

    def load(self) -> Any:
        """Returns the value that the file holds.

        Raises:
            ValueError: If it is damaged, or has too many opcodes or an unknown opcode.
        """
        try:
            return self._run()
        except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
            raise ValueError(f"it cannot be unpickled ({error})") from error

    def _run(self) -> Any:
        actions = self.actions
        for _ in range(self._most_opcodes):
            code = self.take(1)
            if code == b".":
                return self.stack.pop()
            action = actions.get(code)
            if action is None:
                raise ValueError(f"it has the opcode {code!r}")
            action(self)
        raise ValueError("it has too many opcodes")

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        found = self._content[self._place : self._place + size]
        if len(found) < size:
            raise ValueError("it is cut short")
        self._place += size
        return found

    def line(self, longest: int) -> str:
        """Returns the rest of the line, in ASCII, cut after `longest` characters."""
        end = self._content.find(b"\n", self._place, self._place + longest)
        line = self.take(end - self._place if end >= 0 else len(self._content))
        self.take(1)
        return line.decode("ascii")

    def number(self, form: str) -> Any:
        """Returns the next number, in a format of `struct`."""
        (number,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return number

    def push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self.stack.append(value)

    def string(self, form: str, text: bool = False) -> None:
        """Puts a string on the stack; `form` is the `struct` format of its length."""
        size = self.number(form)
        if size < 0:
            raise ValueError("it has a string of negative length")
        raw = self.take(size)
        self.push(raw.decode() if text else raw)

    def _tuple(self, size: int) -> None:
        parts = [self.stack.pop() for _ in range(size)]
        self.push(tuple(reversed(parts)))

    def _marked(self) -> list[Any]:
        mark = self._marks.pop()
        found = self.stack[mark:]
        del self.stack[mark:]
        return found

    def _append(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise ValueError("it appends to something else than a list")
        self.stack[-1].extend(values)

    def _set(self, items: list[Any]) -> None:
        keys, values = items[::2], items[1::2]
        if not isinstance(self.stack[-1], dict) or len(keys) != len(values):
            raise ValueError("it sets items of something else than a dictionary")
        if not all(isinstance(key, self.keys) for key in keys):
            names = " or ".join(kind.__name__ for kind in self.keys)
            raise ValueError(f"it has a key that is no {names}")
        self.stack[-1].update(zip(keys, values))

    def _memo(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def _recall(self, place: int) -> None:
        if place not in self.memo:
            raise ValueError(f"it refers to value {place}, which it does not have")
        self.push(self.memo[place])


PLAIN_ACTIONS: Mapping[bytes, Callable[[Any], object]] = MappingProxyType(
    {
        b"\x80": lambda r: r.number("<B"),  # The protocol's version.
        b"\x95": lambda r: r.take(8),  # A frame's length.
        b"(": lambda r: r._marks.append(len(r.stack)),
        b"}": lambda r: r.push({}),
        b"]": lambda r: r.push([]),
        b")": lambda r: r.push(()),
        b"N": lambda r: r.push(None),
        b"\x88": lambda r: r.push(True),
        b"\x89": lambda r: r.push(False),
        b"K": lambda r: r.push(r.number("<B")),
        b"M": lambda r: r.push(r.number("<H")),
        b"J": lambda r: r.push(r.number("<i")),
        b"\x8a": lambda r: r.push(int.from_bytes(r.take(r.number("<B")), "little", signed=True)),
        b"G": lambda r: r.push(r.number(">d")),
        b"U": lambda r: r.string("<B"),
        b"T": lambda r: r.string("<i"),
        b"C": lambda r: r.string("<B"),
        b"B": lambda r: r.string("<I"),
        b"X": lambda r: r.string("<I", text=True),
        b"\x8c": lambda r: r.string("<B", text=True),
        b"\x85": lambda r: r._tuple(1),
        b"\x86": lambda r: r._tuple(2),
        b"\x87": lambda r: r._tuple(3),
        b"t": lambda r: r.push(tuple(r._marked())),
        b"a": lambda r: r._append([r.stack.pop()]),
        b"e": lambda r: r._append(r._marked()),
        b"s": lambda r: r._set([r.stack.pop(), r.stack.pop()][::-1]),
        b"u": lambda r: r._set(r._marked()),
        b"q": lambda r: r._memo(r.number("<B")),
        b"r": lambda r: r._memo(r.number("<I")),
        b"\x94": lambda r: r._memo(len(r.memo)),
        b"h": lambda r: r._recall(r.number("<B")),
        b"j": lambda r: r._recall(r.number("<I")),
    }
)
PlainPickle.actions = PLAIN_ACTIONS
