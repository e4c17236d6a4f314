"""Names of devices."""

from __future__ import annotations

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.tff.functions import find_device

pytestmark = pytest.mark.tff


@pytest.mark.parametrize("name", ["cpu", "/CPU:0", "/device:CPU:0", "cpu:0"])
def test_names_of_the_first_cpu(name: str) -> None:
    assert find_device(name) == "/device:CPU:0"


@pytest.mark.parametrize("name", ["/GPU:77", "/CPU:9", "tpu", "", "//"])
def test_absent_device_is_refused_with_what_is_there(name: str) -> None:
    with pytest.raises(ParameterError, match="device = .*must be.*/device:CPU:0"):
        find_device(name)
