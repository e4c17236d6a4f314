"""Arrays that are handed to a user's code."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Returns a copy that cannot be written to; later changes of the array do not reach it.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.core.read_only import read_only
        >>> mine = np.array([1, 2])
        >>> theirs = read_only(mine)
        >>> mine[0] = 7
        >>> theirs.tolist(), theirs.flags.writeable
        ([1, 2], False)
    """
    copied = array.copy()
    copied.flags.writeable = False
    return copied
