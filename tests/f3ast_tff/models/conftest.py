"""Fixtures shared by the tests of models."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def tf() -> Any:
    """TensorFlow, for tests marked `tff`."""
    import tensorflow

    return tensorflow
