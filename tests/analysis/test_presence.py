"""Accuracy of clients by how often they are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.presence import (
    ByPresence,
    by_presence,
    by_speed,
    draw_presence,
    margin,
    meeting,
)
from f3ast_tff.availability.logs.mask_files import write_masks
from f3ast_tff.engines.engine import ClientScores
from f3ast_tff.records.outputs import write_client_scores


def run(folder: Path, correct: list[float], rounds_there: list[int]) -> Path:
    """A run of 10 rounds in which client k is there in the first `rounds_there[k]`."""
    folder.mkdir()
    (folder / "metrics.csv").write_text("round\n5\n10\n")
    masks = np.arange(10)[:, None] < np.array(rounds_there)
    write_masks(folder / "masks.npz", masks, masks.shape)
    none, counts = np.zeros(len(correct)), np.full(len(correct), 10.0)
    counts[-1] = 0
    for number, right in ((5, none), (10, np.array(correct))):
        write_client_scores(folder, number, ClientScores(none, right, counts))
    return folder


def test_clients_are_ranked_by_presence_and_those_without_scores_left_out(tmp_path: Path) -> None:
    """Clients 4, 3, .. 0 are there in 1, 2, .. 5 rounds; the last has no test examples.

    Accuracies of the ranked groups are 0 in round 5, then .5, .4, .3, .2, .1 in one run and .1 more
    in the other.
    """
    correct, there = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0], [5, 4, 3, 2, 1, 9]
    folders = [
        run(tmp_path / "a", correct, there),
        run(tmp_path / "b", [each + 1 for each in correct], there),
    ]
    found = by_presence(folders)
    np.testing.assert_allclose(found.presence, [0.1, 0.2, 0.3, 0.4, 0.5])
    assert (found.fewest_scored, found.num_clients) == (5, 6)
    assert found.rounds.tolist() == [5, 10] and found.accuracy.shape == (2, 2, 5)
    assert not found.accuracy[:, 0].any()
    np.testing.assert_allclose(found.accuracy[:, 1].mean(axis=0), [0.55, 0.45, 0.35, 0.25, 0.15])
    np.testing.assert_allclose(found.rarest, [[0, 0.5], [0, 0.6]])
    # t(0.975) with one degree of freedom, 12.706, times the standard error .05.
    np.testing.assert_allclose(margin(found.rarest), [0, 0.6353], atol=1e-4)
    assert margin(by_presence(folders[:1]).rarest).tolist() == [0, 0]


def over(*leads: float) -> ByPresence:
    """Three runs with these accuracies by round, .001 apart."""
    rounds = 10 * np.arange(1, 1 + len(leads))
    accuracy = np.array(leads)[:, None] + 0.001 * np.arange(3)[:, None, None] + np.zeros(5)
    return ByPresence(np.linspace(0.1, 0.9, 5), rounds, accuracy, 5, 5)


def test_methods_meet_where_a_lead_is_no_longer_shown() -> None:
    """Runs of both differ alike between draws, so a lead of any size is shown."""
    base = over(0.1, 0.2, 0.3, 0.4)
    assert meeting(over(0.2, 0.3, 0.3, 0.4), base) == 30
    assert meeting(over(0.2, 0.2, 0.4, 0.4), base) == 40
    assert meeting(over(0.2, 0.3, 0.4, 0.5), base) is None
    assert meeting(over(0.1, 0.2, 0.3, 0.3), base) == 10


def test_clients_are_ranked_by_speed(tmp_path: Path) -> None:
    """Client k takes 5 - k seconds; the accuracies of the ranked groups are .5, .4, .3, .2, .1."""
    folder = run(tmp_path / "a", [1.0, 2.0, 3.0, 4.0, 5.0, 0.0], [1] * 6)
    np.savez(folder / "selection.npz", client_seconds=np.array([5.0, 4, 3, 2, 1, 9]))
    found = by_speed([folder])
    np.testing.assert_allclose(found.presence, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(found.accuracy[0, -1], [0.5, 0.4, 0.3, 0.2, 0.1])
    light, _ = draw_presence({"A": found}, "By speed", tmp_path / "speed.svg")
    assert "<!-- seconds of their device -->" in light.read_text()
    np.savez(folder / "selection.npz", p=np.ones(6))
    with pytest.raises(RunsError, match="lacks client scores .* or a delivery with a clock"):
        by_speed([folder])


def test_a_run_without_masks_or_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="lacks client scores .* or masks"):
        by_presence([tmp_path])
    folder = run(tmp_path / "a", [1.0] * 6, [1] * 6)
    (folder / "masks.npz").write_bytes(b"no")
    with pytest.raises(RunsError, match="damaged run: .*masks.npz"):
        by_presence([folder])


@pytest.mark.long
def test_both_pictures_are_transparent_and_the_same_each_time(tmp_path: Path) -> None:
    levels = np.linspace(0.1, 0.9, 5)
    accuracy = np.stack([levels, levels / 2])[:, None] * np.array([0.5, 1.0])[:, None]
    methods = {
        name: ByPresence(levels, np.array([5, 10]), accuracy, 40, 45) for name in ("A", "$B")
    }
    first = [path.read_text() for path in draw_presence(methods, "C", tmp_path / "p.svg")]
    again = [path.read_text() for path in draw_presence(methods, "C", tmp_path / "p.svg")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.svg", "p_dark.svg"]
    assert first == again and first[0] != first[1]
    assert all("<!-- 40 of 45 clients are scored -->" in text for text in first)
    assert not any("fill: #ffffff" in text for text in first)
