"""The command line: flags, `--help`, flag files, and FedLaAvg's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from absl import flags

from f3ast_tff.cli.flags import CAMPAIGN, parse, setting_flags
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli
from tests.f3ast_tff.campaigns.campaigns import PLUGIN

FLAGS = setting_flags(builtin_registry())


def test_only_what_was_given_is_given() -> None:
    assert parse([]).settings == {}
    given = parse(["--rounds=7", "--client_lr", "0.5", "--algorithm=poc", "--run_name=x"])
    assert given.settings == {"rounds": 7, "client_lr": 0.5, "algorithm": "poc", "run_name": "x"}
    assert parse(["--campaign=table9", "--list"]).campaign == {"campaign": "table9", "list": True}


@pytest.mark.parametrize("name", FLAGS)
def test_every_setting_is_a_flag_of_its_kind(name: str) -> None:
    value = FLAGS[name].kind(3)
    given = parse([f"--{name}={value}"]).settings
    assert given == {name: value}
    assert type(given[name]) is FLAGS[name].kind


def test_every_parameter_of_every_component_is_a_setting() -> None:
    names = {p.name for c in builtin_registry().all() for p in c.parameters}
    names |= {p.name for config in GROUPS.values() for p in parameters_of(config)}
    assert set(FLAGS) == {*names, *KINDS}


def test_no_flag_is_left_behind() -> None:
    """Flags have a separate `FlagValues`, so that none is defined for the whole process."""
    parse(["--rounds=7"])
    assert "rounds" not in flags.FLAGS


@pytest.mark.parametrize("flag", ["--help=all", "--helpfull"])
def test_help_lists_every_component_and_setting(flag: str, cli: Cli) -> None:
    out, err = cli.said(main(["f3ast-tff", "run", "--rounds=0", flag]))
    assert err == ""
    listed = [line.strip()[2:] for line in out.splitlines() if line.startswith("  --")]
    # A parameter of components of two kinds is listed under both.
    twice = {name for name in listed if listed.count(name) > 1}
    assert all(len({c.kind for c in builtin_registry().takers(name)}) > 1 for name in twice)
    assert set(listed) == {*FLAGS, *CAMPAIGN, "plugin", "flagfile"}
    flat = " ".join(out.split())
    for component in builtin_registry().all():
        assert f"{component.name} {component.about}" in flat
    assert "R2: paper False, released True" in flat
    assert "default: 0.001" in flat
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize(
    "words", [["--plugin=FILE"], ["--plugin", "FILE"], ["-plugin=FILE"], ["--flagfile=FLAGS"]]
)
def test_help_lists_a_plugin_however_it_is_given(
    words: list[str], tmp_path: Path, cli: Cli
) -> None:
    plugin, flagfile = tmp_path / "first.py", tmp_path / "study.flags"
    plugin.write_text(PLUGIN.replace("WEIGHT", "0.5"))
    flagfile.write_text(f"--plugin={plugin}\n")
    given = [word.replace("FILE", str(plugin)).replace("FLAGS", str(flagfile)) for word in words]
    assert "--first_weight" in cli.out("run", *given, "--help=all")


def test_flagfile_is_read_and_the_command_line_comes_last(tmp_path: Path) -> None:
    path = tmp_path / "cell.flags"
    path.write_text("# Table II, one cell\n--algorithm=poc\n--rounds=7\n\n--seed=3\n")
    expected = {"algorithm": "poc", "rounds": 7, "seed": 3}
    assert parse([f"--flagfile={path}"]).settings == expected
    assert parse(["--flagfile", str(path)]).settings == expected
    assert parse([f"--flagfile={path}", "--seed=4"]).settings["seed"] == 4


def test_flagfiles_stand_beside_one_another_and_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner.flags").write_text("--rounds=7\n")
    (tmp_path / "outer.flags").write_text("--flagfile=inner.flags\n--seed=3\n")
    assert parse([f"--flagfile={tmp_path / 'outer.flags'}"]).settings == {"rounds": 7, "seed": 3}
    monkeypatch.chdir(tmp_path)
    built_in = parse(["--flagfile=fedlaavg_table2_fedlaavg_always"]).settings
    assert built_in["algorithm"] == "fedlaavg"
    assert built_in["task"] == "cifar10_one_class"
    (tmp_path / "inner.flags").write_text("--flagfile=outer.flags\n")
    with pytest.raises(ParameterError, match="includes itself"):
        parse(["--flagfile=outer.flags"])


@pytest.mark.parametrize(
    ("files", "lines", "allowed"),
    [(12, 10, "more than 10000 flags"), (1500, 1, "nested 20 deep"), (1, 10**6, "bytes, more")],
)
def test_flag_files_that_name_each_other_end_soon(
    files: int, lines: int, allowed: str, tmp_path: Path
) -> None:
    for i in range(files):
        word = f"--flagfile={i + 1}.flags" if i + 1 < files else "--rounds=7"
        (tmp_path / f"{i}.flags").write_text(f"{word}\n" * lines)
    with pytest.raises(ParameterError, match=allowed):
        parse([f"--flagfile={tmp_path / '0.flags'}"])


FOLDER = Path(__file__).resolve().parents[3] / "f3ast_tff/flagfiles"
TABLE_2 = [(a, w) for a in ("fedavg", "fedlaavg") for w in ("always", "alternating")]


def resolved(name: str, *more: str) -> SimpleNamespace:
    given = parse([f"--flagfile={FOLDER / name}.flags", *more]).settings
    return SimpleNamespace(**resolve(given).settings)


def test_these_are_all_files() -> None:
    cells = {f"fedlaavg_table2_{algorithm}_{world}" for algorithm, world in TABLE_2}
    more = {"table2", "table2_sequential_sgd", "fig2_fedavg_then_fedlaavg", "fig3_fedlaavg"}
    found = {path.stem for path in FOLDER.glob("fedlaavg_*.flags")}
    assert found == cells | {f"fedlaavg_{name}" for name in more}


@pytest.mark.parametrize(("algorithm", "world"), TABLE_2)
def test_table_2(algorithm: str, world: str) -> None:
    s = resolved(f"fedlaavg_table2_{algorithm}_{world}")
    assert (s.task, s.algorithm, s.availability) == ("cifar10_one_class", algorithm, world)
    assert (s.num_clients, s.clients_per_round, s.batch_size) == (1000, 100, 5)
    if world == "alternating":
        assert (s.alternating_period, s.alternating_ratio) == (10, 0.5)


def test_methods_of_figure_2_train_alike() -> None:
    federated = [
        "fig2_fedavg_then_fedlaavg",
        *(f"table2_{algorithm}_{world}" for algorithm, world in TABLE_2),
    ]
    settings = [resolved(f"fedlaavg_{name}") for name in ("table2_sequential_sgd", *federated)]
    # Batches are from Sec. 5.1; steps, rate and decay are the defaults of the authors' code.
    assert {(s.batch_size, s.client_lr, s.client_lr_decay, s.rounds) for s in settings} == {
        (5, 0.01, 0.9999, 40_000)
    }
    pooled, *others = settings
    assert {(s.local_steps, s.clients_per_round, s.client_share) for s in others} == {
        (10, 100, "examples")
    }
    assert pooled.local_steps == 10 * 100


def test_figure_3_varies_one_setting() -> None:
    s = resolved("fedlaavg_fig3_fedlaavg", "--num_clients=200", "--clients_per_round=20")
    assert (s.algorithm, s.num_clients, s.clients_per_round) == ("fedlaavg", 200, 20)
    assert resolved("fedlaavg_fig3_fedlaavg", "--alternating_period=15").alternating_period == 15


def test_the_switch_is_in_the_run() -> None:
    s = resolved("fedlaavg_fig2_fedavg_then_fedlaavg")
    assert s.algorithm == "fedavg_then_fedlaavg" and 1 < s.switch_round < s.rounds
