"""The picture of an availability process."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from f3ast_tff.analysis import availability_picture
from f3ast_tff.analysis.availability_picture import SIZE, draw
from f3ast_tff.availability import Product, Table, UniformK
from f3ast_tff.availability.preview import preview

# Fewer dots per inch than in published pictures, for speed.
DPI = 40
HALVES = Table(np.array([[1] * 20 + [0] * 20, [0] * 20 + [1] * 20]))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability_picture, "DPI", DPI)


def test_who_is_available_is_seen(tmp_path: Path) -> None:
    """Round 1 has the first half of the clients, round 2 the second: dark corners on a diagonal.

    Tested positions lie inside the heat map, a quarter in from its corners.
    """
    path = tmp_path / "p.png"
    draw(preview(HALVES, 2), "halves", path)
    pixels = matplotlib.image.imread(path)
    assert pixels.shape[:2] == (round(SIZE[1] * DPI), round(SIZE[0] * DPI))
    grey = pixels[..., :3].mean(axis=2)
    top, bottom, left, right = (grey.shape[0] * np.array([0.2, 0.5])).astype(int).tolist() + (
        grey.shape[1] * np.array([0.2, 0.5])
    ).astype(int).tolist()
    assert max(grey[top, left], grey[bottom, right]) < 0.3
    assert min(grey[top, right], grey[bottom, left]) > 0.9


@pytest.mark.long
def test_without_stationary_and_with_k(tmp_path: Path) -> None:
    """The line of K_t and the stationary outline each change the picture of the same masks."""
    unknown = Product([HALVES, HALVES])
    pictures = []
    for number, seen in enumerate(
        (preview(HALVES, 9), preview(unknown, 9), preview(HALVES, 9, UniformK("1:9")))
    ):
        path = tmp_path / f"{number}.png"
        draw(seen, "x", path)
        pictures.append(path.read_bytes())
    assert len(set(pictures)) == 3


def test_many_rounds_and_clients(tmp_path: Path) -> None:
    wide = Table(np.random.default_rng(0).random((2, 3000)) < 0.5)
    draw(preview(wide, 1500), "wide", tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_a_failed_picture_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        draw(preview(HALVES, 2), "x", tmp_path / "gone" / "p.png")
    assert list(tmp_path.iterdir()) == []
