"""Which form of the model a server takes: it plays some rounds with each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from f3ast_tff.audit.arrays import ARRAY, DICT, LAYERS, NAMES, ONE_ARRAY, Form
from f3ast_tff.audit.plays import probe
from f3ast_tff.audit.targets import Server, Target
from f3ast_tff.audit.world import examples_for
from f3ast_tff.core.errors import ParameterError

Make = Callable[[Form], Server]
# Lengths of updates at which most clips begin, and nearly 0, which has no direction to clip.
_SAME, _LONG, _TINY = 1e-3, 30.0, 1e-6
_MOST_WORDS, _MOST_NUMBERS = 40, 200_000
# Last parts of the names that PyTorch gives to arrays of a normalisation.
_LAST = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")


def with_form(target: Target, make: Make, form: Form) -> Target:
    """Returns the target whose model has a form; `make` returns its new server for one."""
    parts = form.parts(4 * len(examples_for(target.least or 0)))
    return replace(
        target,
        kind=f"{target.kind}, model: {form.words}" if form.words else target.kind,
        make=partial(make, form),
        parts={name: partial(make, each) for name, each in parts.items()},
    )


def form_that_works(target: Target, make: Make, forms: Sequence[Form]) -> Target:
    """Returns the target of a function whose model has the first form in which rounds do not fail.

    Raises:
        ParameterError: If one array and a list of arrays work, and are not treated alike.
    """
    if len(forms) == 1:
        return with_form(target, make, forms[0])
    first = next((form for form in forms if moves_of(target, make, form)), forms[0])
    if first.kind == LAYERS and any(form.kind == ARRAY for form in forms):
        flat = moves_of(target, make, replace(first, kind=ARRAY))
        if flat and unlike(*flat.values(), *moves_of(target, make, first).values()):
            allowed = "must be array or layers: the code works with both, and not alike"
            raise ParameterError("model", None, allowed)
    return with_form(target, make, first)


def form_needed(target: Target, make: Make, several: Form) -> Target:
    """Returns the target of a strategy: of one array, or of several if they do not move alike."""
    named = map(_named, target.words[:_MOST_WORDS])
    tried = replace(several, names=tuple(dict.fromkeys((*NAMES, *named))))
    moves = moves_of(target, make, tried)
    moves_at_all = any(each.any() for each in moves.values())
    if not moves_at_all or not unlike(*moves.values()) and moves_of(target, make, ONE_ARRAY):
        return with_form(target, make, ONE_ARRAY)
    # Of the words those that are names.
    usual, names = next(iter(moves.values())), {*NAMES, *tried.keys[: len(NAMES)]}
    others = [key for key in moves if key not in names and unlike(usual, moves[key])]
    return with_form(target, make, replace(several, names=(*NAMES, *others)))


def _named(word: str) -> str:
    """A name of an array with a word in it."""
    if word.startswith(".") or word in _LAST:
        return f"bn.{word.lstrip('.')}"
    return word if "." in word.strip(".") else f"{word.rstrip('.')}.weight"


def of_own_arrays(
    target: Target, make: Make, own: Sequence[np.ndarray], form: Form | None
) -> Target:
    """Returns the target of a strategy that begins from its own arrays.

    One of them is judged if they move alike, and no form with their names is given.

    Raises:
        ParameterError: If they are too many or too few, or too large or too small.
    """
    size, total = 4 * len(examples_for(target.least or 0)), sum(each.size for each in own)
    if max(each.size for each in own) < size or total > _MOST_NUMBERS:
        sizes = ", ".join(str(each.size) for each in own[:20])
        allowed = f"must have at most {_MOST_NUMBERS}, and an array of {size} or more"
        raise ParameterError("initial_parameters", f"arrays of {sizes} numbers", allowed)
    kind, names = LAYERS, tuple(map(str, range(len(own))))
    if form is not None and form.kind == DICT:
        kind, names = DICT, form.names
        if len(names) != len(own):
            raise ParameterError("model", ",".join(names), f"must name {len(own)} arrays")
    own_form = Form(kind, names, base=tuple(own))
    found = with_form(replace(target, own_arrays=True), make, own_form)
    moves = moves_of(target, make, own_form).values()
    if form is None and not (moves and unlike(*moves)):
        return replace(found, make=next(iter(found.parts.values())), parts={})
    return found


def moves_of(target: Target, make: Make, form: Form) -> dict[str, np.ndarray]:
    """Returns how a server moves each array of its model that is seen, `float64 [R, d]`, by key.

    Without what it does by itself, such as noise. Empty if a round fails.
    """
    examples = examples_for(target.least or 0)
    start, found = np.zeros(4 * len(examples)), {}
    seen = [*form.parts(len(start)).values()] or [form]
    one = replace(target, make=partial(make, seen[0]))
    moved, still = (probe(one, examples, length) for length in (_LONG, _TINY))
    if moved.failure:
        return {}
    for key in (each.key for each in seen):
        whole, own = (
            np.array([model.get(key, start) for model in trace.models]) for trace in (moved, still)
        )
        usable = own.shape == whole.shape and np.isfinite(own).all()
        found[key] = whole - own if usable else whole
    return found


def unlike(*moves: np.ndarray) -> bool:
    """Whether arrays move otherwise than the first one."""
    least = _SAME * float(np.abs(moves[0]).max())
    return not all(np.allclose(each, moves[0], rtol=_SAME, atol=least) for each in moves[1:])
