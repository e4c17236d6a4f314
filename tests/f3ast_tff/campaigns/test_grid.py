"""From a campaign file to its runs, and messages about wrong files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.grid_file import CampaignError, find_grid_file
from f3ast_tff.core.errors import ParameterError

WriteGrid = Callable[..., Path]
SMALL = """
about = "algorithms, rates and seeds"

[settings]
rounds = 5
availability = "scarce"

[grid]
algorithm = ["fedavg", "f3ast"]
rate_beta = [0.1, 0.25]
seed = "3-5"
"""


def test_every_combination_is_a_run_in_the_order_of_the_file(write_grid: WriteGrid) -> None:
    """An axis only multiplies the runs of algorithms that have the setting: FedAvg has no rates."""
    campaign = plan(write_grid(SMALL), {"output_dir": "somewhere"})
    assert (campaign.name, campaign.about) == ("mine", "algorithms, rates and seeds")
    assert campaign.folder == Path("somewhere/mine")
    names = [run.name for run in campaign.runs]
    assert len(names) == 3 + 2 * 3
    assert names[:4] == ["fedavg-seed3", "fedavg-seed4", "fedavg-seed5", "f3ast-rate_beta0.1-seed3"]
    assert "rate_beta" not in campaign.runs[0].settings
    last = campaign.runs[-1]
    assert last.folder == Path("somewhere/mine/runs/f3ast-rate_beta0.25-seed5")
    expected = {
        **{"algorithm": "f3ast", "rate_beta": 0.25, "seed": 5, "rounds": 5, "batch_size": 20},
        **{"availability": "scarce", "run_name": last.name, "output_dir": "somewhere/mine/runs"},
    }
    assert {name: last.settings[name] for name in expected} == expected


def test_a_setting_given_for_every_run_takes_the_place_of_an_axis(write_grid: WriteGrid) -> None:
    """Run names stay those of the axis, so that a part can run first."""
    whole = {run.name: run for run in plan(write_grid(SMALL), {}).runs}
    part = plan(write_grid(SMALL), {"algorithm": "f3ast", "seed": 4}).runs
    assert [run.name for run in part] == ["f3ast-rate_beta0.1-seed4", "f3ast-rate_beta0.25-seed4"]
    assert all(whole[run.name] == run for run in part)
    shorter = plan(write_grid(SMALL), {"rounds": 2}).runs
    assert [run.name for run in shorter] == list(whole)
    assert {run.settings["rounds"] for run in shorter} == {2}


def test_other_seeds(write_grid: WriteGrid) -> None:
    runs = plan(write_grid(SMALL), {"rate_beta": 0.1, "seed": [5, 6]}).runs
    assert [run.settings["seed"] for run in runs] == [5, 6, 5, 6]
    assert [run.name for run in runs[1:3]] == ["fedavg-seed6", "f3ast-rate_beta0.1-seed5"]
    (other,) = plan(write_grid("[settings]\nseed = 1"), {"seed": 7}).runs
    assert other.settings["seed"] == 7


def test_variants_multiply_the_grid_and_differ_in_several_settings(write_grid: WriteGrid) -> None:
    text = """
        [grid]
        seed = [0, 1]
        [[variants]]
        name = "mild"
        algorithm = "fedavg"
        client_lr = 1
        server_lr = 0.5
        [[variants]]
        name = "both"
        availability = ["scarce", "always"]
        client_lr = 0.25
        [[variants]]
        algorithm = "poc"
        poc_candidates = 12
    """
    runs = plan(write_grid(text), {}).runs
    assert [run.name for run in runs] == [
        "mild-seed0",
        "mild-seed1",
        "both-scarce-seed0",
        "both-scarce-seed1",
        "both-always-seed0",
        "both-always-seed1",
        "poc-poc_candidates12-seed0",
        "poc-poc_candidates12-seed1",
    ]
    first = runs[0].settings
    assert (first["algorithm"], first["client_lr"], first["server_lr"]) == ("fedavg", 1.0, 0.5)
    assert type(first["client_lr"]) is float
    assert runs[2].settings["server_lr"] == 1.0


def test_a_setting_holds_for_the_runs_that_have_it(write_grid: WriteGrid) -> None:
    """The file, a variant or an override may set it; if no run has it, it is refused."""
    text = """
        [settings]
        {shared}
        [[variants]]
        algorithm = ["fedavg", "f3ast"]
        {own}
    """
    for shared, own, given in (
        ("rate_beta = 0.25", "", {}),
        ("", "rate_beta = 0.25", {}),
        ("", "", {"rate_beta": 0.25}),
    ):
        path = write_grid(text.format(shared=shared, own=own))
        runs = plan(path, given).runs
        assert [run.settings["algorithm"] for run in runs] == ["fedavg", "f3ast"]
        assert [run.settings.get("rate_beta") for run in runs] == [None, 0.25]
    with pytest.raises(ParameterError, match="poc_candidates = 5: applies to no run of this camp"):
        plan(path, {"poc_candidates": 5})


def test_an_override_may_leave_settings_of_the_file_without_their_component(
    write_grid: WriteGrid,
) -> None:
    text = "[settings]\nscarce_q = 0.5\navailability = 'scarce'\n[grid]\nrate_beta = [0.1, 0.2]"
    assert len(plan(write_grid(text), {}).runs) == 2
    (run,) = plan(write_grid(text), {"availability": "always", "algorithm": "fedavg"}).runs
    assert run.name == "run"
    assert not {"scarce_q", "rate_beta"} & run.settings.keys()


def test_runs_that_overrides_make_the_same_are_one(write_grid: WriteGrid) -> None:
    """A method given for all variants runs once per draw, though they are named by other things."""
    variants = [
        "[[variants]]\nalgorithm = 'f3ast'\naggregation = 'sum'\nclient_lr = 0.1",
        "[[variants]]\nalgorithm = 'fedavg'\nclient_lr = 0.2",
    ]
    path = write_grid("\n".join(["[grid]\ndraw = '0-1'", *variants]))
    assert len(plan(path, {}).runs) == 4
    given = {"algorithm": "unbiased", "aggregation": "sum", "client_lr": 0.3}
    runs = plan(path, given).runs
    assert [run.settings["seed"] for run in runs] == [0, 1]
    assert plan(path, {**given, "draw": 1}).runs[0].name == runs[1].name


def test_names_of_components_may_have_any_case(write_grid: WriteGrid) -> None:
    text = '[settings]\navailability = "{}"\n[grid]\nalgorithm = ["{}"]'
    lower, upper = (
        plan(write_grid(text.format(*names)), {})
        for names in (("scarce", "f3ast"), ("Scarce", "F3AST"))
    )
    assert lower == upper


def test_a_name_of_two_halves_names_its_run(write_grid: WriteGrid) -> None:
    runs = plan(write_grid('[grid]\nalgorithm = ["f3ast", "f3ast+scaffold"]\n'), {}).runs
    assert [run.name for run in runs] == ["f3ast", "f3ast+scaffold"]
    assert [run.settings["aggregation"] for run in runs] == ["sum", "scaffold"]


def test_a_file_beside_the_grid_is_found_from_any_folder(
    write_grid: WriteGrid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in the present folder comes first."""
    text = '[settings]\navailability = "table"\ntable_file = "mask.csv"\nnum_clients = 2\n'
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = write_grid(text + "clients_per_round = 1\n")
    (tmp_path / "mask.csv").write_text("1,0\n0,1\n")
    (run,) = plan(path, {}).runs
    assert run.settings["table_file"] == str(tmp_path / "mask.csv")
    (here / "mask.csv").write_text("1,1\n0,1\n")
    (run,) = plan(path, {}).runs
    assert run.settings["table_file"] == "mask.csv"


def test_a_file_with_nothing_in_it_is_one_run_of_the_defaults(write_grid: WriteGrid) -> None:
    (run,) = plan(write_grid(""), {}).runs
    assert run.name == "run"
    assert run.settings["algorithm"] == "f3ast"


def test_values_unfit_for_a_folder(write_grid: WriteGrid) -> None:
    text = '[grid]\nconstraint = ["cycle:2,5", "steps:1=4,9=2", "3"]'
    names = [run.name for run in plan(write_grid(text), {}).runs]
    assert len(set(names)) == 3
    assert all("/" not in name and ":" not in name for name in names)
    assert names[2] == "constraint-3"
    assert names == [run.name for run in plan(write_grid(text), {}).runs]


def test_a_file_may_stand_for_another(write_grid: WriteGrid) -> None:
    write_grid(SMALL, "original")
    path = write_grid('about = "the same"\nsame_runs_as = "original"', "copy")
    campaign = plan(path, {})
    assert campaign.name == "original"
    assert len(campaign.runs) == 9
    write_grid('about = "the same"\nsame_runs_as = "copy"', "original")
    with pytest.raises(CampaignError, match="original.toml: same_runs_as = 'copy': must be one of"):
        plan(path, {})


WRONG: list[tuple[str, ...]] = [
    ("[grid\n", "is not TOML"),
    (f"[settings]\nclient_lr = {'1' * 400}", "client_lr = 1", "must be finite"),
    ('plugins = "first.py"\n', "plugins = 'first.py': must be a list"),
    ('plugins = ["none.py"]\n', "mine.toml: plugin = ", "none.py: not found"),
    ("[gird]\n", "gird = {}", "must be one of about, plugins, settings"),
    ("about = 3", "about = 3: must be a text"),
    ("grid = 3", "grid = 3: must be a table, [grid]"),
    ("[variants]\nseed = 1", "variants", "[[variants]]"),
    ("[[variants]]\nname = 1", "[[variants]] name = 1: must be a text"),
    (
        "[settings]\nround = 3",
        "[settings] round = 3: there is no such setting; did you mean rounds?",
    ),
    ("[grid]\nseeds = [3]", "[grid] seeds = 3: there is no such setting; did you mean seed?"),
    (
        '[settings]\nrate_beta = 0.5\n[grid]\nalgorithm = ["fedavg", "poc"]',
        "[settings] rate_beta = 0.5: applies to no run of this campaign",
    ),
    (
        '[settings]\nalgorithm = "fedavg"\n[grid]\nrate_beta = [0.1, 0.5]',
        "[grid] rate_beta = [0.1, 0.5]: applies to no run of this campaign",
    ),
    (
        '[[variants]]\nalgorithm = "fedavg"\nrate_beta = 0.5\n[[variants]]\nalgorithm = "f3ast"',
        "[[variants]] rate_beta = 0.5: applies to no run of this campaign",
    ),
    ('[settings]\nrun_name = "x"', "run_name = 'x'", "the campaign's to say"),
    ('[grid]\noutput_dir = ["x"]', "output_dir", "the campaign's to say"),
    ('[settings]\nrounds = "x"', "rounds = 'x': must be an integer"),
    ("[grid]\nalgorithm = [1]", "algorithm = [1]: must be a text"),
    ("[settings]\nrounds = 2.5", "rounds = 2.5: must be an integer"),
    ("[settings]\nrounds = true", "rounds = True: must be an integer"),
    ("[settings]\nseed = [1, 2]", "[settings] seed = [1, 2]: must be an"),
    ('[grid]\nseed = "9-0"', "[grid] seed = '9-0': must be a range"),
    ('[grid]\nalgorithm = ["0-9"]', "[grid] algorithm = '0-9': must be one of"),
    ("[grid]\nseed = []", "[grid] seed = []: must name at least one value"),
    ("[grid]\nseed = [1, 1]", "[grid] seed = [1, 1]: names a value twice"),
    (
        '[grid]\nalgorithm = ["fedavg", "fedsgd"]',
        "[grid] algorithm = 'fedsgd': ",
        "must be one of fedavg, ",
    ),
    ("[settings]\nrounds = 0", "[settings] rounds = 0: must be at least 1"),
    ("[[variants]]\nrate_beta = 2.0", "[[variants]] rate_beta = 2.0: must be above 0 and below 1"),
    (
        "[settings]\nnum_clients = 5\n[grid]\nseed = [0]",
        "run seed0: clients_per_round = 10: K must be at most num_clients, 5",
    ),
    ("[settings]\nseed = 1\n[grid]\nseed = [1]", "[grid] seed: is in another table too"),
    (
        '[[variants]]\nname = "x"\nseed = 1\n[[variants]]\nname = "x"\nseed = 2',
        "two runs would be named x",
    ),
    (
        '[[variants]]\nname = "x"\nseed = 1\n[[variants]]\nname = "y"\nseed = 1',
        "x and y have the same settings",
    ),
    ('[grid]\ndraw = "0-1"\nseed = "0-1"', "seed = 0: must not be given with draw"),
    ('[grid]\nseed = "0-999"\ndata_seed = "0-999"', "1000000 runs, must be at most 20000"),
    ('[grid]\nseed = "0-1"\n[[value]]\nrate = 1', "[[value]] rate = [1]: no setting"),
    ('[grid]\nseed = "0-1"\n[[value]]\nseed = "x"', "[[value]] seed = 'x': must be a range"),
    # Ranges are counted before they are listed.
    *[
        (f'[grid]\nseed = "{values}"', "[grid] seed = ", " must be ")
        for values in ("0-100000000000000", "0-" + "9" * 5000, "5-4", "9" * 5000)
    ],
    # The other file must be in the same folder.
    *[
        (
            f'about = "x"\nsame_runs_as = {json.dumps(other)}',
            "same_runs_as = ",
            ": must be the name of",
        )
        for other in ("../up", "a/b", "", "..", ".hidden", 3, "x" * 300)
    ],
]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[0][:40])
def test_what_is_wrong_is_one_line_that_names_the_place(
    row: tuple[str, ...], write_grid: WriteGrid
) -> None:
    text, *says = row
    path = write_grid(text)
    with pytest.raises(CampaignError) as caught:
        plan(path, {})
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    for words in says:
        assert words in message


SEEDS = '[grid]\nseed = "0-999"'


@pytest.mark.parametrize(
    ("text", "given", "error", "says"),
    [
        (SMALL, {"algorithm": "fedsgd"}, ParameterError, "algorithm = fedsgd: .*must be"),
        (SMALL, {"rounds": 0}, ParameterError, "rounds = 0: .*must be"),
        (SMALL, {"run_name": "x"}, ParameterError, "run_name = x: runs of a campaign are named by"),
        (
            '[grid]\ndraw = "0-1"',
            {"seed": 5, "draw": 3},
            ParameterError,
            "seed = 5: must not be given with",
        ),
        # Lists on the command line are axes too: a new axis, and one that replaces the file's.
        (SEEDS, {"rate_beta": [0.1] * 21}, CampaignError, "21000 runs, must be at most"),
        (SEEDS, {"seed": [0] * 20_001}, CampaignError, "20001 runs, must be at most"),
    ],
)
def test_an_override_that_does_not_fit_the_file(
    text: str, given: dict[str, Any], error: type[Exception], says: str, write_grid: WriteGrid
) -> None:
    with pytest.raises(error, match=says):
        plan(write_grid(text), given)


def test_deep_nesting_is_refused(write_grid: WriteGrid) -> None:
    with pytest.raises(CampaignError, match="nested too deeply|is not TOML"):
        plan(write_grid("x = " + "[" * 100_000), {})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="cannot be read: No such file"):
        plan(tmp_path / "mine.toml", {})


@pytest.mark.parametrize("name", ["...toml", "..toml"])
def test_a_file_that_names_no_folder_is_no_campaign(name: str, tmp_path: Path) -> None:
    """`...toml` without its suffix is `..`."""
    (tmp_path / name).write_text("[settings]\nrounds = 1\n")
    with pytest.raises(ParameterError, match="must have a name before"):
        find_grid_file(str(tmp_path / name))
    with pytest.raises(ParameterError, match="not found"):
        find_grid_file(str(tmp_path / f"{'x' * 300}.toml"))


def test_what_is_worth_most_comes_first(write_grid: WriteGrid) -> None:
    text = """
    [grid]
    algorithm = ["fedavg", "f3ast"]
    draw = "0-2"

    [[value]]
    algorithm = "f3ast"
    draw = "1-2"

    [[value]]
    draw = 1
    """
    names = [run.name for run in plan(write_grid(text), {}).runs]
    assert names[:3] == ["f3ast-draw1", "f3ast-draw2", "fedavg-draw1"]
    assert names[3:] == ["fedavg-draw0", "fedavg-draw2", "f3ast-draw0"]
