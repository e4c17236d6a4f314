"""A pytest fixture: `pytest_plugins = ["f3ast_tff.audit.fixture"]` in a `conftest.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.findings import Audit


@pytest.fixture(scope="session")
def audited() -> Callable[..., Audit]:
    """Audits a server and fails if a check is wrong: `audited(MyStrategy, fail_on=["weights"])`."""
    return require


def require(target: Any, *, fail_on: Sequence[str] = (), **options: Any) -> Audit:
    """Returns the audit of a server.

    Args:
        target: See `f3ast_tff.audit.audit.audit`.
        fail_on: Checks that must not be wrong; all by default.
        **options: Further arguments of `audit`.

    Raises:
        AssertionError: If one is wrong; names all that are.
    """
    found = audit(target, **options)
    wrong = found.wrong(fail_on)
    assert not wrong, "; ".join(f"{each.check}: {each.found}" for each in wrong)
    return found
