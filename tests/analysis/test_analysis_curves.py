"""Curves of runs against rounds, simulated time and bytes."""

from __future__ import annotations

from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis import curves
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.curves import draw_curves, has_clock, trace_of
from f3ast_tff.analysis.line_styles import looks_of, styles_of
from f3ast_tff.analysis.report.claims import column_of
from f3ast_tff.analysis.report.published_tables import published_tables
from f3ast_tff.analysis.run_groups import (
    CONDITION,
    RunGroup,
    arranged,
    comparable_groups,
    describe,
    group_runs,
)
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.cli.compare import main
from f3ast_tff.settings import builtin_registry
from tests.analysis.conftest import MakeRun


def arrange(folder: Path) -> tuple[list[RunGroup], list[str]]:
    runs = [run for run in load_runs(folder) if run.summary is not None]
    return arranged(group_runs(runs)[0])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[matplotlib.figure.Figure]:
    """Figures that would be saved; saving itself takes long."""
    figures: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(curves, "save", lambda figure, path: figures.append(figure))
    return figures


def test_lines_bands_and_words(
    make_run: MakeRun, tmp_path: Path, drawn: list[matplotlib.figure.Figure]
) -> None:
    make_run("a0", 0.4, algorithm="poc", seed=0)
    make_run("a1", 0.8, algorithm="poc", seed=1)
    make_run("b0", 0.3, algorithm="fedavg", seed=0)
    draw_curves(*arrange(tmp_path), tmp_path / "out.png", num_unfinished=1)
    (figure,) = drawn
    samples, users = figure.axes
    labels = (samples.get_ylabel(), users.get_ylabel(), samples.get_xlabel())
    assert labels == ("test sample accuracy", "test user accuracy", "round")
    assert [line.get_label() for line in samples.lines] == ["FedAvg", "Power-of-Choice"]
    np.testing.assert_array_equal(samples.lines[1].get_xdata(), [2, 4])
    np.testing.assert_allclose(samples.lines[1].get_ydata(), [0.25, 0.6])
    np.testing.assert_allclose(users.lines[1].get_ydata(), [0.125, 0.3])
    # Only Power-of-Choice has a band: 0.4 and 0.8 deviate by 0.2; 0.08 / 1 = 0.2828^2.
    (band,) = samples.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(0.6 + 0.08**0.5)
    title = figure.get_suptitle()
    assert title.startswith("synthetic, always, reading paper, 2 clients a round, 4 rounds")
    assert title.endswith("1 unfinished left out")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FedAvg", "Power-of-Choice"]


@pytest.mark.parametrize(
    ("score", "labels"),
    [
        ("user_loss", ["test sample loss", "test user loss"]),
        ("worst_accuracy", ["test worst accuracy"]),
    ],
)
def test_the_score_that_is_asked_for(
    score: str, labels: list[str], make_run: MakeRun, tmp_path: Path
) -> None:
    path = make_run("a", 0.4) / "metrics.csv"
    pd.read_csv(path).assign(test_worst_accuracy=0.1).to_csv(path, index=False)
    figure = draw_curves(*arrange(tmp_path), None, score=score)
    assert [panel.get_ylabel() for panel in figure.axes] == labels


def test_bands_are_over_draws_of_the_data(
    make_run: MakeRun, tmp_path: Path, drawn: list[matplotlib.figure.Figure]
) -> None:
    """Draw means are 0.5 (of 0.4 and 0.6) and 0.7: mean 0.6, deviation 0.2 / sqrt 2."""
    for draw, seed, accuracy in ((0, 0, 0.4), (0, 1, 0.6), (1, 0, 0.7)):
        make_run(f"a{draw}{seed}", accuracy, data_seed=draw, seed=seed)
    draw_curves(*arrange(tmp_path), tmp_path / "out.png")
    samples = drawn[0].axes[0]
    np.testing.assert_allclose(samples.lines[0].get_ydata(), [0.25, 0.6])
    (band,) = samples.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(0.6 + 0.2 / 2**0.5)
    assert "mean of 2 draws of the data, band" in drawn[0].get_suptitle()


def test_a_row_of_panels_for_each_condition(
    make_run: MakeRun, tmp_path: Path, drawn: list[matplotlib.figure.Figure]
) -> None:
    make_run("a", availability="scarce", algorithm="poc")
    make_run("b", availability="always", algorithm="fedavg")
    draw_curves(*arrange(tmp_path), tmp_path / "out.png")
    (figure,) = drawn
    assert [panel.get_title() for panel in figure.axes] == ["always", "always", "scarce", "scarce"]
    assert "always" not in figure.get_suptitle()


def test_a_sweep_has_a_colour_for_each_value(make_run: MakeRun, tmp_path: Path) -> None:
    """Both methods share one scale; a method without the setting keeps its own style."""
    for beta in (0.1, 0.01, 0.001):
        make_run(f"a{beta}", algorithm="f3ast", rate_beta=beta)
    make_run("b", algorithm="f3ast_adam", rate_beta=0.01)
    make_run("c", algorithm="poc")
    groups, _ = arrange(tmp_path)
    told = {g: {"rate_beta": g.setting("rate_beta")} for g in groups if g.has("rate_beta")}
    looks = looks_of(groups, told, always=True)
    assert [look.label for look in looks.values()] == [
        *(f"F3AST, rate_beta {beta}" for beta in (0.001, 0.01, 0.1)),
        "F3AST+Adam, rate_beta 0.01",
        "Power-of-Choice",
    ]
    low, middle, high, adam, poc = looks.values()
    assert len({low.color, middle.color, high.color}) == 3
    assert adam.color == middle.color and adam.dashes != middle.dashes
    assert (poc.color, poc.dashes, poc.marker) == styles_of(["poc"])["poc"]
    # By default, a method with a single line keeps the method's own style.
    alone = looks_of(groups, told)
    assert {look.label for look in alone.values()} >= {"F3AST+Adam", "F3AST, rate_beta 0.1"}


def test_one_evaluation_and_a_run_that_diverged(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run("a", algorithm="fedavg")
    lines = (folder / "metrics.csv").read_text().splitlines()
    (folder / "metrics.csv").write_text(f"{lines[0]}\n{lines[2]}\n")
    make_run("b", accuracy=None, loss=None, algorithm="poc")
    draw_curves(*arrange(tmp_path), tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_too_many_conditions_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    for k in range(1, 22):
        make_run(f"k{k}", clients_per_round=k)
    with pytest.raises(RunsError, match="21 conditions, one picture holds 20"):
        draw_curves(*arrange(tmp_path), tmp_path / "out.png")
    assert not (tmp_path / "out.png").exists()


def test_the_old_picture_stays_when_drawing_fails(tmp_path: Path) -> None:
    class Failing(matplotlib.figure.Figure):
        def savefig(self, file: object, **kwargs: object) -> None:
            file.write(b"half")  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")

    out = tmp_path / "out.png"
    out.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left"):
        curves.save(Failing(), out)
    assert out.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_no_two_algorithms_look_alike() -> None:
    """Colours differ among up to 12 algorithms; dashes with markers, for grey, always differ."""
    names = [*builtin_registry().names("algorithm"), "new", "newer", "newest"]
    assert {"fedavg", "mifa"} <= set(names)
    for shown in (names[:12], ["fedavg", "mifa"], names[-12:]):
        styles = styles_of(shown)
        assert list(styles) and set(styles) == set(shown)
        assert len({colour for colour, _, _ in styles.values()}) == len(shown)
    every = styles_of(names).values()
    assert len({(repr(dashes), marker) for _, dashes, marker in every}) == len(names)


COLUMN = "sample_accuracy"
OF_PAPER = {"synthetic_alpha": 1.0, "synthetic_beta": 1.0}


def with_columns(folder: Path, **columns: list[float]) -> None:
    """Adds columns to the two rows of a run's `metrics.csv`."""
    path = folder / "metrics.csv"
    pd.read_csv(path).assign(**columns).to_csv(path, index=False)


def only_group(folder: Path) -> RunGroup:
    (group,), _ = comparable_groups(load_runs(folder))
    return group


def test_the_mean_of_lines_with_times_of_their_own(make_run: MakeRun, tmp_path: Path) -> None:
    """Seed 0: .25 at 10 s, .5 at 30 s. Seed 1: .25 at 20 s, .5 at 60 s. Both have 20 to 30 s."""
    for seed, seconds in enumerate(([10.0, 30.0], [20.0, 60.0])):
        folder = make_run(f"run{seed}", seed=seed)
        with_columns(folder, simulated_seconds=seconds, bytes_down=[4, 8], bytes_up=[1, 2 + seed])
    group = only_group(tmp_path)
    assert has_clock(group)
    by_round, by_time, by_bytes = (
        trace_of(group, COLUMN, "", x) for x in ("rounds", "simulated_seconds", "bytes")
    )
    assert (by_round.x.tolist(), by_round.y.tolist()) == ([2, 4], [0.25, 0.5])
    assert by_time.x[[0, -1]].tolist() == [20, 30]
    first, last = (0.375 + 0.25) / 2, (0.5 + 0.3125) / 2
    assert by_time.y[[0, -1]].tolist() == pytest.approx([first, last])
    assert by_bytes.x[[0, -1]].tolist() == [5, 10]
    (tmp_path / "runs" / "run1" / "config.json").unlink()
    alone = trace_of(only_group(tmp_path), COLUMN, "", "simulated_seconds")
    assert (alone.x.tolist(), alone.y.tolist()) == ([10, 30], [0.25, 0.5])


def test_runs_without_a_clock_are_refused(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run("old")
    with_columns(folder, simulated_seconds=[np.nan] * 2, bytes_down=[np.nan] * 2)
    group = only_group(tmp_path)
    assert not has_clock(group)
    for x in ("simulated_seconds", "bytes"):
        with pytest.raises(RunsError, match=f"old has no {x} to draw against"):
            trace_of(group, COLUMN, "", x)
    with_columns(folder, simulated_seconds=[np.nan] * 2, bytes_down=[1, 2], bytes_up=[1, 2])
    assert not has_clock(only_group(tmp_path))
    flags = [f"--runs={tmp_path}", f"--out={tmp_path / 'a.png'}"]
    assert main(["compare", *flags, "--x=simulated_seconds"]) == 2
    assert "no clock, see --delivery" in capsys.readouterr().err
    assert main(["compare", *flags, "--x=bytes"]) == 0
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_delivery_is_named_where_there_is_one(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", delivery="deadline")
    group = only_group(tmp_path)
    assert "2 clients a round, delivery deadline, " in describe(
        group.condition(CONDITION), CONDITION
    )


def test_runs_with_losses_belong_into_no_table_of_a_paper(
    make_run: MakeRun, tmp_path: Path
) -> None:
    table = published_tables()[0]
    for name in ("certain", "deadline"):
        make_run(name, availability="home_devices", clients_per_round=10, delivery=name, **OF_PAPER)
    groups, _ = comparable_groups(load_runs(tmp_path))
    found = {group.setting("delivery"): column_of(table, group) for group in groups}
    assert found == {"certain": "home_devices", "deadline": None}
