from __future__ import annotations

from pathlib import Path

import numpy as np

from f3ast_tff.analysis.report.document import Picture, Text
from f3ast_tff.analysis.report.selection_figures import picked, rates, selections_of
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.run.build import Builder
from f3ast_tff.run.round_loop import train
from f3ast_tff.settings.resolve import resolve
from tests.analysis.conftest import MakeRun

N = 6


def test_shares_and_rates_are_those_of_the_run(make_run: MakeRun, tmp_path: Path) -> None:
    """A real run of F3AST writes the file; its weights agree, w_k = p_k / r_k(t)."""
    given = {"num_clients": 8, "clients_per_round": 3, "rounds": 6, "eval_every": 1}
    experiment = Builder(resolve({**given, "algorithm": "f3ast", "rate_beta": 0.05})).experiment()
    try:
        written = train(experiment, None).selection
    finally:
        experiment.engine.close()
    np.savez_compressed(make_run("a", num_clients=8) / "selection.npz", **written)
    (group,) = collect(tmp_path).groups
    found = selections_of(group)
    assert found.shares is not None and found.rates is not None
    np.testing.assert_array_equal(found.shares, experiment.p)
    assert found.rates.index.tolist() == list(range(7))
    np.testing.assert_array_equal(found.rates.to_numpy()[0], written["initial_rates"])
    for t, ids in enumerate(written["selected"], start=1):
        weights = found.shares[ids] / found.rates.to_numpy()[t, ids]
        np.testing.assert_allclose(written["weights"][t - 1], weights, rtol=1e-6)


def test_shares_of_rounds_are_averaged_over_seeds(make_run: MakeRun, tmp_path: Path) -> None:
    rows = {0: [[0, 1], [0, -1]], 1: [[2, 2], [0, 1]]}
    for seed, selected in rows.items():
        folder = make_run(f"a{seed}", seed=seed, algorithm="fedavg", num_clients=4)
        np.savez(folder / "selection.npz", selected=selected, p=np.arange(1, 5) / 10)
    (group,) = collect(tmp_path).groups
    found = selections_of(group)
    assert found.picked.tolist() == [0.75, 0.5, 0.25, 0.0]
    assert found.shares is not None and found.shares.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found.rates is None


def test_one_draw_of_the_data_is_shown(make_run: MakeRun, tmp_path: Path) -> None:
    """Draws differ in p: clients are counted on the lowest draw only, and the caption names it."""
    for algorithm, draws in (("fedavg", (0, 1)), ("f3ast", (1, 2))):
        for draw in draws:
            folder = make_run(f"{algorithm}{draw}", algorithm=algorithm, data_seed=draw)
            p = np.roll([0.5, 0.3, 0.2], draw)
            np.savez(folder / "selection.npz", selected=[[draw, -1], [draw, (draw + 1) % 3]], p=p)
    groups = collect(tmp_path).groups
    found = {group: selections_of(group) for group in groups}
    by_algorithm = {group.algorithm: each for group, each in found.items()}
    assert by_algorithm["fedavg"].pair == (0, 0)
    assert by_algorithm["fedavg"].picked.tolist() == [1.0, 0.5, 0.0]
    assert by_algorithm["f3ast"].pair == (1, 0)
    assert by_algorithm["f3ast"].picked.tolist() == [0.0, 1.0, 0.5]
    assert by_algorithm["f3ast"].shares is not None
    assert by_algorithm["f3ast"].shares.tolist() == [0.2, 0.5, 0.3]
    drawn = picked("picked", "Synthetic", found)
    assert "on data draws 0, 1 (of 2 draws); the line is min(1, K p_k)" in drawn.caption


def test_runs_without_rates_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    """A line replaces the figure, or is added to the figure of the runs with rates."""
    selected = np.array([[0, 1], [2, 5]])
    for availability in ("always", "scarce"):
        folder = make_run(availability, availability=availability, num_clients=N)
        np.savez(folder / "selection.npz", selected=selected, p=np.full(N, 1 / N))
    groups = collect(tmp_path).groups
    found = {group: selections_of(group) for group in groups}
    (line,) = rates("rates", "Synthetic", found)
    assert isinstance(line, Text)
    assert "Synthetic: no rates in the runs of F3AST under Always, Scarce" in line.text
    # A run with rates is drawn, and the line names the run without.
    trace = {"initial_rates": np.full(N, 0.5), "rate_rounds": [1, 2], "rates": np.full((2, N), 0.4)}
    file = groups[0].first.path / "selection.npz"
    np.savez(file, selected=selected, p=np.arange(1, 7) / 21, **trace)
    found[groups[0]] = selections_of(groups[0])
    drawn, line = rates("rates", "Synthetic", found)
    assert isinstance(drawn, Picture) and isinstance(line, Text)
    assert len(drawn.panels) == 1
    other = groups[1].first.display("availability")
    assert f"under {other} (" in line.text


def test_a_run_in_which_nobody_was_ever_selected_is_drawn(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Rates fall to 0 in single precision; a client without training data has no share."""
    folder = make_run("a", num_clients=3)
    arrays = {
        "selected": np.full((4, 0), -1),
        "p": np.array([0.0, 0.25, 0.75]),
        "initial_rates": np.full(3, 0.5),
        "rate_rounds": np.array([2, 4]),
        "rates": np.zeros((2, 3), np.float32),
    }
    np.savez(folder / "selection.npz", **arrays)
    (group,) = collect(tmp_path).groups
    found = {group: selections_of(group)}
    (drawn,) = rates("rates", "Synthetic", found)
    assert isinstance(drawn, Picture)
    assert isinstance(picked("picked", "Synthetic", found), Picture)


def test_clients_of_equal_shares_are_told_apart_by_how_often_they_were_picked(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Client 2 is picked in both rounds, 0 and 1 in one, 3 never; titles stay inside the figure."""
    trace = {"initial_rates": np.full(4, 0.5), "rate_rounds": [2], "rates": [[0.3, 0.2, 0.9, 0.1]]}
    for algorithm, more in (("f3ast", trace), ("fedavg_all", {})):
        own = {"algorithm": algorithm, "availability": "dirichlet_markov", "aggregation": "mean"}
        folder = make_run(algorithm, num_clients=4, **own)
        np.savez(folder / "selection.npz", selected=[[0, 2], [1, 2]], p=np.full(4, 0.25), **more)
    found = {group: selections_of(group) for group in collect(tmp_path).groups}
    drawn = picked("picked", "Synthetic", found)
    assert "picked, from the lowest, all p_k being equal, on data draw" in drawn.caption
    for panel in drawn.figure.axes[:2]:
        assert panel.lines[0].get_xdata().tolist() == [1, 2, 3, 4]
        assert panel.lines[0].get_ydata().tolist() == [0, 0.5, 0.5, 1]
        assert panel.get_xscale() == "linear" and panel.get_xlabel() == "clients, sorted"
        assert panel.title.get_window_extent().y1 <= drawn.figure.bbox.y1
    (lines,) = rates("rates", "Synthetic", found)
    assert isinstance(lines, Picture) and "p_k" not in lines.caption
    assert "from the largest to the smallest share of rounds, in the run" in lines.caption
    ends = [line.get_ydata()[-1] for line in lines.figure.axes[0].lines]
    np.testing.assert_allclose(ends, [0.9, 0.3, 0.2, 0.1])
    (legend,) = lines.figure.legends
    assert legend.get_title().get_text() == "share of rounds"
