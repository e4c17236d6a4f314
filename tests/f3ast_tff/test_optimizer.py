"""Optimizers as values."""

from __future__ import annotations

import pytest

from f3ast_tff.optimizer import OPTIMIZERS, Optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_defaults_are_the_papers_constants(name: str) -> None:
    """Adam's betas are 0.9 and 0.999 (App. C); gradients are not clipped unless asked (R18)."""
    optimizer = Optimizer(name, 0.1)
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.clip_norm) == (0.9, 0.999, None)


def test_unknown_name_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(ValueError, match="'rmsprop'.*sgd, adam"):
        Optimizer("rmsprop", 0.1)
