"""What `config.json` notes of a run that goes on."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest

from f3ast_tff.configuration import execute
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.training.run_folder import RunFolder


def test_another_number_of_cores_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configuration = resolve({"rounds": 2})
    said = []
    with closing(RunFolder(tmp_path / "run", configuration.identity)) as folder:
        for here in (4, 4, 2, 2, 4, 1):
            monkeypatch.setattr(execute, "cores", lambda n=here: n)
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                execute.write_config(folder, configuration, {}, "a" * 64)
            said.append([record.getMessage() for record in caplog.records])
        config = folder.config()
    assert config is not None and config["cores"] == [4, 2, 1]
    assert [len(messages) for messages in said] == [0, 0, 1, 0, 0, 1]
    assert said[2][0].startswith("the number of cores was 4 and is now 2: weights may differ")


@pytest.mark.parametrize("cores", [None, [], "4", {"a": 1}])
def test_a_run_that_notes_no_cores_goes_on(tmp_path: Path, cores: object) -> None:
    configuration = resolve({"rounds": 2})
    with closing(RunFolder(tmp_path / "run", configuration.identity)) as folder:
        written = {"settings": {}, "identity": configuration.identity, "cores": cores}
        folder.write_json("config.json", written)
        execute.write_config(folder, configuration, {}, "a" * 64)
        config = folder.config()
    assert config is not None and config["cores"] == cores
