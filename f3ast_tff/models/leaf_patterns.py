"""Leaves of a model by patterns of their names, for settings that name some of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from f3ast_tff.core.errors import ParameterError

# Words of the names that frameworks give to buffers: running, moving and exponential means; what
# PyTorch counts; Flax' collection; and statistics of a norm.
_AVERAGES = frozenset({"running", "moving"})
_PARAMETERS = frozenset({"kernel", "weight", "weights", "bias", "scale", "embedding"})
_WHOLE = ("num_batches_tracked", "batch_stats")
_STATISTICS = frozenset({"mean", "avg", "var", "variance", "std"})
# Leaves of which each name stands in an error.
_MOST = 12


def chosen_leaves(
    text: str, names: Sequence[str], num_leaves: int, setting: str = "private"
) -> list[int]:
    """Returns the places of the leaves that a comma list names, rising.

    An entry names the leaves whose name it is or begins, or of which it is a part, with or without
    the part's last number: `head`, `conv1.bias`, `bias`, and `norm` for `norm1` and `norm2`. An
    entry that names none may be a leaf's place, from 0.

    Args:
        text: The entries, separated by commas.
        names: Name of each leaf; empty if the model has none.
        num_leaves: Number of leaves.
        setting: Name of the setting, for the error.

    Raises:
        ParameterError: If an entry names no leaf; names the allowed entries.

    Examples:
        >>> from f3ast_tff.models.leaf_patterns import chosen_leaves
        >>> names = ["conv1.kernel", "conv1.bias", "head.kernel", "head.bias"]
        >>> chosen_leaves("head", names, 4), chosen_leaves("bias,0", names, 4)
        ([2, 3], [0, 1, 3])
    """
    found: set[int] = set()
    for entry in (each.strip() for each in text.split(",")):
        places = leaves_named((entry,), names)
        if not places and entry.isascii() and entry.isdecimal() and int(entry) < num_leaves:
            places = [int(entry)]
        if not entry or not places:
            raise ParameterError(setting, text, _allowed(names, num_leaves))
        found.update(places)
    return sorted(found)


def leaves_named(entries: Collection[str], names: Sequence[str]) -> list[int]:
    """Returns the places of the leaves that any of the entries names; see `chosen_leaves`."""
    return [place for place, name in enumerate(names) if any(_fits(e, name) for e in entries)]


def _fits(entry: str, name: str) -> bool:
    # Keras separates the parts of a name by slashes.
    entry, parts = entry.replace("/", "."), name.replace("/", ".").split(".")
    starts = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return entry in {*starts, *parts, *map(_without_number, parts)}


def _without_number(part: str) -> str:
    return re.sub(r"_?\d+$", "", part) or part


def _allowed(names: Sequence[str], num_leaves: int) -> str:
    numbers = f"numbers of leaves from 0 to {num_leaves - 1}"
    if not names:
        return f"must be {numbers}: the model has no names for them"
    parts = dict.fromkeys(_without_number(part) for name in names for part in name.split("."))
    whole = f"names such as {names[-1]}" if len(names) > _MOST else ", ".join(names)
    return f"must be among {', '.join(parts)}, {whole}, or {numbers}"


def is_buffer(name: str) -> bool:
    """Returns whether a leaf has the name of a buffer, such as a batch norm's running variance.

    Examples:
        >>> from f3ast_tff.models.leaf_patterns import is_buffer
        >>> names = ["bn1.running_var", "norm/moving_variance:0", "BatchNorm_0/var", "bn.weight"]
        >>> [is_buffer(name) for name in names]
        [True, True, True, False]
    """
    plain = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    words = re.findall("[a-z]+", plain)
    of_norm = any(word == "bn" or word.endswith("norm") for word in words)
    # Flax trains its collection `params`; a layer may be called `running_head`, and an average of
    # all weights `ema`.
    return words[:1] != ["params"] and (
        "ema" in words
        or (not _AVERAGES.isdisjoint(words) and words[-1] not in _PARAMETERS)
        or any(part in plain for part in _WHOLE)
        or (of_norm and words[-1] in _STATISTICS)
    )


def buffers_among(
    names: Sequence[str],
    number: int,
    declared: Sequence[str | int] | None = None,
    setting: str = "buffer_leaves",
) -> list[int]:
    """Returns the places of the buffers, rising.

    Args:
        names: Names of the leaves; empty if they have none.
        number: Number of leaves.
        declared: Places of the buffers, from 0, and names, each an entry of the setting `private`;
            by default those that `is_buffer` knows.
        setting: Name of `declared` in errors.

    Raises:
        ParameterError: If an entry of `declared` is no leaf.

    Examples:
        >>> from f3ast_tff.models.leaf_patterns import buffers_among
        >>> names = ["conv.weight", "bn1.weight", "bn1.running_var"]
        >>> buffers_among(names, 3), buffers_among(names, 3, ["bn"]), buffers_among(names, 3, [])
        ([2], [1, 2], [])
    """
    if declared is None:
        return [place for place, name in enumerate(names) if is_buffer(name)]
    if not isinstance(declared, (list, tuple)):
        raise ParameterError(setting, declared, "must be a list or a tuple of names or numbers")
    found: set[int] = set()
    for entry in declared:
        if isinstance(entry, str):
            found.update(chosen_leaves(entry, names, number, setting))
        elif isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry < number:
            found.add(entry)
        else:
            allowed = f"each must be a name or a number of a leaf, from 0 to {number - 1}"
            raise ParameterError(setting, entry, allowed)
    return sorted(found)
