"""Names in the setting `logger`."""

from __future__ import annotations

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.logger_names import logger_names


def test_names_are_checked() -> None:
    assert logger_names("CSV, tensorboard,csv") == ["csv", "tensorboard"]
    with pytest.raises(ParameterError, match="'comet' is none of them"):
        logger_names("csv,comet")


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install 'f3ast-tff\[wandb\]'"):
        logger_names("wandb")
