"""Names in the setting `logger`."""

from __future__ import annotations

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.logger_names import logger_names


def test_names_are_checked() -> None:
    assert logger_names("CSV, tensorboard,csv") == ["csv", "tensorboard"]
    with pytest.raises(ParameterError, match="'comet' is none of them"):
        logger_names("csv,comet")
