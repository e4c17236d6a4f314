"""The typed settings; plug-ins, input files and data in a run's identity."""

from __future__ import annotations

import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.build import Builder
from f3ast_tff.run.run_experiment import write_config
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli
from tests.fake_engine import use_fake_engine

PLUGIN = '''
from dataclasses import dataclass

from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.availability import ScarceConfig
from f3ast_tff.settings import register
from f3ast_tff.optimizers.sgd import ClientSgdConfig


@register("availability", "my_scarce", about="mine")
@dataclass(frozen=True)
class Availability(ScarceConfig):
    """Mine."""


@register("algorithm", "my_fedavg", about="mine")
@dataclass(frozen=True)
class Algorithm(FedAvg):
    """Mine."""


@register("client_optimizer", "my_sgd", about="mine")
@dataclass(frozen=True)
class Optimizer(ClientSgdConfig):
    """Mine."""
'''


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"algorithm": "my_fedavg"}, ["algorithm"]),
        ({"availability": "my_scarce"}, ["availability"]),
        ({"availability": "mix", "availability_parts": "always,my_scarce"}, ["availability"]),
        ({"client_optimizer": "my_sgd"}, ["client_optimizer"]),
        ({"algorithm": "my_fedavg", "availability": "my_scarce"}, ["algorithm", "availability"]),
    ],
)
def test_a_plug_in_is_recorded_with_the_kinds_in_use(
    given: dict[str, Any], kinds: list[str], tmp_path: Path
) -> None:
    """Kinds are no part of the identity, which already has the settings."""
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    configuration = resolve(given, registry_with([str(file)]))
    (entry,) = configuration.describe()["plugins"]
    assert entry["kinds"] == kinds
    assert configuration.identity["plugins"] == {"mine": entry["sha256"]}


def test_a_plug_in_that_is_not_in_use_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    configuration = resolve({}, registry_with([str(file)]))
    assert configuration.describe()["plugins"] == []
    assert "plugins" not in configuration.identity


def test_each_attribute_is_a_kind_or_a_parameter_of_its_type() -> None:
    declared, types = builtin_registry().parameters(), typing.get_type_hints(Settings)
    for field in fields(Settings)[2:]:
        if field.name not in KINDS:
            found = declared[field.name]
            absent = field.default is None
            expected = found.kind | None if found.optional or absent else found.kind
            assert types[field.name] == expected, field.name
    assert KINDS.keys() <= types.keys()


def test_attributes_and_names_have_the_same_values() -> None:
    settings = resolve({"algorithm": "fedbuff", "buffer_size": 3, "rounds": 7}).settings
    assert settings.is_late and settings.delivery == settings["delivery"] == "late"
    assert settings.buffer_size == settings["buffer_size"] == 3
    assert settings.training.rounds == settings["rounds"] == 7
    assert settings.num_workers is settings["num_workers"] is None
    assert len(settings) == len([*settings]) and repr(settings) == repr({**settings})


def test_without_the_component_the_attribute_is_at_its_default() -> None:
    settings = resolve({"engine": "host"}).settings
    assert "buffer_size" not in settings and settings.buffer_size is None
    with pytest.raises(KeyError):
        settings["buffer_size"]


def test_a_run_from_before_a_setting_goes_on() -> None:
    """A setting that older runs lack is in the identity once it is given."""
    assert not {"train", "factors", "lora", "client_half"} & resolve({}).identity.keys()
    assert resolve({"train": "head"}).identity["train"] == "head"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.npy"
    np.save(path, np.ones((3, 8)))
    return path


def command(table: Path, *more: str) -> int:
    folder = table.parent / "runs"
    flags = ("--availability=table", "--num_clients=8", "--clients_per_round=2", "--rounds=2")
    # Otherwise the table would be measured, and the objective logged.
    flags = (*flags, "--availability_objective=p")
    files = (f"--table_file={table}", f"--output_dir={folder}", "--run_name=run")
    return main(["f3ast-tff", "run", *flags, *files, *more])


def test_another_content_is_refused_and_another_place_is_not(
    table: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_engine(monkeypatch)
    assert command(table) == 0
    moved = table.rename(table.with_name("moved.npy"))
    assert "already finished" in cli.said(command(moved)).out
    np.save(moved, np.zeros((3, 8)))
    err = cli.said(command(moved), 2).err
    assert f"the content of table_file is not that of {table} then" in err
    assert len(err.splitlines()) == 1


def test_the_default_name_of_a_run_has_the_name_of_the_file(tmp_path: Path) -> None:
    paths = [tmp_path / "one.npy", tmp_path / "two.npy", tmp_path / "moved" / "one.npy"]
    given = [{"availability": "table", "table_file": str(path)} for path in paths]
    one, two, moved = (resolve(settings).settings["run_name"] for settings in given)
    assert one == moved == "synthetic-f3ast-table-paper-table_file-one.npy-seed0"
    assert two == "synthetic-f3ast-table-paper-table_file-two.npy-seed0"


def test_a_file_that_cannot_be_read_is_refused_by_its_flag(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.npy", "not found"), (tmp_path, "Is a directory")):
        settings = {"availability": "table", "table_file": str(path)}
        with pytest.raises(ParameterError, match=f"table_file = {path}: .*{reason}"):
            _ = resolve(settings).identity


def test_a_run_goes_on_with_the_same_data_alone(tmp_path: Path) -> None:
    """The hash changes, as if a distributor's file or its prepared data had changed.

    A run without a checkpoint starts over, so that other data are its first.
    """
    configuration = resolve({"rounds": 3})
    folder, data = RunFolder(tmp_path / "run", configuration.identity), Builder(configuration).data
    for digest in ("b" * 64, "a" * 64, "a" * 64):
        write_config(folder, configuration, {}, digest, data)
    assert (folder.config() or {})["data_sha256"] == "a" * 64
    folder.file("checkpoints").mkdir()
    folder.file("checkpoints/round_00000001.npz").touch()
    with pytest.raises(RunFolderError, match="the data of task synthetic have changed"):
        write_config(folder, configuration, {}, "b" * 64, data)
    folder.close()


def test_the_digest_of_data_sees_every_array() -> None:
    def digest(features: list[list[float]], labels: list[int], clients: list[int]) -> str:
        return FederatedData.from_arrays(features, labels, clients, test=None).sha256()

    first = digest([[0.0], [1.0]], [0, 1], [0, 1])
    assert digest([[0.0], [1.0]], [0, 1], [0, 1]) == first
    others = [
        digest([[0.0], [1.5]], [0, 1], [0, 1]),
        digest([[0.0], [1.0]], [1, 1], [0, 1]),
        digest([[0.0], [1.0]], [0, 1], [0, 0]),
    ]
    assert len({first, *others}) == 4
