"""State for checkpoints: arrays by name, of a strategy and of the parts that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ComponentError


class SavedState:
    """Saves and restores what `saved_arrays` and `saved_parts` name.

    Attributes:
        saved_as: Word for the state in errors, as in "saved rates lack rate_scale".

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.core.saved_state import SavedState
        >>> class Counts(SavedState):
        ...     def __init__(self):
        ...         self.counts = np.zeros(3, int)
        ...     def saved_arrays(self):
        ...         return {"counts": self.counts}
        >>> before, after = Counts(), Counts()
        >>> before.counts[1] += 5
        >>> after.restore(before.state())
        >>> after.counts.tolist()
        [0, 5, 0]
    """

    saved_as: ClassVar[str] = "arrays"

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays that rounds change, by their names in a checkpoint.

        `restore` writes into these arrays; a number is an array without dimensions.
        """
        return {}

    def saved_parts(self) -> dict[str, Any]:
        """Returns the parts that have a state of their own, by the prefix of its names."""
        return {}

    def state(self) -> dict[str, np.ndarray]:
        """Returns copies of the `saved_arrays` arrays, and the state of the parts.

        Raises:
            ComponentError: If `saved_arrays` makes an array, into which `restore` could not write,
                or if a value is neither an array nor a part.
        """
        own, again, parts = self.saved_arrays(), self.saved_arrays(), self.saved_parts()
        for name, value in {**own, **parts}.items():
            if not isinstance(value, np.ndarray) and (name in own or not hasattr(value, "state")):
                must = "must be an array, without dimensions for a number, such as np.array(0)"
                raise ComponentError(f"{type(self).__name__}: saved {name} is {value!r}: {must}")
        for name, array in own.items():
            if array.size and not np.may_share_memory(array, again[name]):
                what = f"saved_arrays() makes a new array for {name}, must return the one it keeps"
                raise ComponentError(f"{type(self).__name__}: {what}")
        state = {name: array.copy() for name, array in own.items()}
        for prefix, part in parts.items():
            state |= {prefix + name: array for name, array in part.state().items()}
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores a result of `state`.

        Raises:
            ValueError: If a part is missing or unknown, or has another number of clients.
        """
        if not isinstance(state, Mapping):
            raise ValueError(f"saved {self.saved_as}: must be arrays by name, as of state()")
        own, parts = self.saved_arrays(), self.saved_parts()
        missing = sorted(set(own) - set(state))
        if missing:
            raise ValueError(f"saved {self.saved_as} lack {', '.join(missing)}")
        for name, array in own.items():
            if not isinstance(state[name], np.ndarray) or state[name].dtype.kind not in "biuf":
                raise ValueError(f"saved {name} is no array of numbers")
            if state[name].shape != array.shape:
                raise ValueError(
                    f"saved {name} has shape {state[name].shape}, not {array.shape}: it is of "
                    "another number of clients, or of other parameters"
                )
        of_part: dict[str, dict[str, np.ndarray]] = {prefix: {} for prefix in parts}
        for name in state.keys() - own.keys():
            prefix = max((each for each in parts if name.startswith(each)), key=len, default=None)
            if prefix is None:
                raise ValueError(f"unexpected saved state: {name}")
            of_part[prefix][name[len(prefix) :]] = state[name]
        for prefix, part in parts.items():
            part.restore(of_part[prefix])
        for name, array in own.items():
            array[...] = state[name]
