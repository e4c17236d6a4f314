"""What `config.json` notes of a run that goes on, and what is said at a run's end."""

from __future__ import annotations

import logging
import math
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


@pytest.mark.parametrize(
    ("client_lr", "says"),
    [
        (0.01, []),
        (1e3, ["round 3: the model is no better than a guess among 10 classes: sample loss "]),
    ],
)
def test_a_model_no_better_than_a_guess_is_said(
    client_lr: float, says: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 3, "availability": "always"}
    configuration = resolve({**given, "client_lr": client_lr})
    with caplog.at_level(logging.WARNING):
        result = execute.execute(configuration, None, None, {})
    assert (result.summary["final"]["test_sample_loss"] < math.log(10)) is not bool(says)
    messages = [record.getMessage() for record in caplog.records]
    assert [message[: len(said)] for message, said in zip(messages, says, strict=True)] == says
    assert all(message.endswith("ln 10 is 2.3026") for message in messages)


@pytest.mark.parametrize("loss", [math.nan, math.inf, None])
def test_a_loss_that_is_not_finite(loss: float | None, caplog: pytest.LogCaptureFixture) -> None:
    final = {"round": 7, "test_sample_loss": loss}
    execute.warn_of_a_guess(None, final)
    assert not caplog.records
    execute.warn_of_a_guess(4, final)
    (record,) = caplog.records
    assert "sample loss not finite, ln 4 is 1.3863" in record.getMessage()
