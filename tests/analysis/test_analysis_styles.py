from __future__ import annotations

from f3ast_tff.analysis.grouping import NAMES
from f3ast_tff.analysis.styles import styles_of


def test_no_two_algorithms_look_alike() -> None:
    """Neither in colour (with its marker), nor in grey, where dashes and markers remain."""
    styles = styles_of([*NAMES, "new", "newer", "newest"])
    assert set(NAMES) <= set(styles)
    assert len({repr(dashes) for _, dashes, _ in styles.values()}) == len(styles)
    assert len({marker for _, _, marker in styles.values()}) == len(styles)
