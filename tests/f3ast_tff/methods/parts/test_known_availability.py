"""The oracle: tells what it was given, learns nothing."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability

PI, EIGENVALUE = np.array([0.9, 0.1]), np.array([0.9, -0.05])


def test_observing_changes_nothing() -> None:
    activity = KnownAvailability(PI, EIGENVALUE)
    activity = activity.after(1, np.array([False, True]))
    assert activity.pi.tolist() == [0.9, 0.1]
    assert activity.eigenvalue.tolist() == [0.9, -0.05]
    assert activity.state() == {}
    activity.restore({})


def test_what_it_tells_is_its_own_and_read_only() -> None:
    pi = PI.copy()
    activity = KnownAvailability(pi)
    pi[0] = 0.2
    assert activity.pi[0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        activity.pi[0] = 0.2


def test_eigenvalues_that_were_not_given_are_an_error_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match="eigenvalues of the clients' availability are not known"):
        KnownAvailability(PI).eigenvalue  # noqa: B018


@pytest.mark.parametrize(
    ("pi", "eigenvalue", "says"),
    [
        ([0.5, 1.2], None, r"pi\[1\] = 1.2: must be in \[0, 1\]"),
        ([0.5, np.nan], None, r"pi\[1\] = nan"),
        ([[0.5]], None, r"must be \[N\]"),
        ([0.5, 0.5], [0.0, -1.5], r"eigenvalue\[1\] = -1.5: must be in \[-1, 1\]"),
        ([0.5, 0.5], [0.0], "eigenvalue has shape"),
    ],
)
def test_bad_values(pi: list[float], eigenvalue: list[float] | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        KnownAvailability(np.array(pi), None if eigenvalue is None else np.array(eigenvalue))


def test_bad_masks_and_states() -> None:
    activity = KnownAvailability(PI)
    for mask in (np.ones(3, bool), np.ones(2)):
        with pytest.raises(ValueError, match=r"must be bool \[2\]"):
            activity = activity.after(1, mask)
    with pytest.raises(ValueError, match="unexpected"):
        activity.restore({"pi": PI})
