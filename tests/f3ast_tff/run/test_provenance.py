"""The origin of a result."""

from __future__ import annotations

import json
import platform

import numpy as np
import pytest

from f3ast_tff.run.provenance import provenance


def test_versions_are_those_in_use() -> None:
    got = provenance()
    assert got["python"] == platform.python_version()
    assert got["packages"]["numpy"] == np.__version__
    assert json.loads(json.dumps(got)) == got


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    got = provenance()
    assert got["git_commit"] is None
    assert got["git_modified"] is False
