"""The examples in docstrings run, and there are some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("f3ast_tff", "availability", "datasets", "analysis")
# TFF takes seconds to import; the module's own tests run its example.
ELSEWHERE = {"f3ast_tff.engines.tff.functions"}


def modules_with_examples() -> list[str]:
    """Returns the modules whose docstrings have examples, by import path, but for `ELSEWHERE`."""
    found = []
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if ">>>" in path.read_text():
                parts = path.relative_to(ROOT).with_suffix("").parts
                found.append(".".join(parts if folder == "f3ast_tff" else ("f3ast_tff", *parts)))
    return sorted(set(found) - ELSEWHERE)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
