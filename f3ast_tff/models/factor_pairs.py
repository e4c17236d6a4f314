"""Pairs of LoRA's factors among the leaves of a model, W = W_0 + s B A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FactorPair:
    """Two factors and the matrix that they change.

    Attributes:
        base: Place of the matrix W_0 among the model's leaves; `None` if it is not among them.
        a: Place of A, `[r, inputs]`.
        b: Place of B, `[outputs, r]`.
        scale: s.
        transposed: Whether the leaf is W_0^T, `[inputs, outputs]`, as JAX's layers have it.
    """

    base: int | None
    a: int
    b: int
    scale: float
    transposed: bool

    def product(self, a: Any, b: Any) -> Any:
        """Returns s B A in the form of the matrix's leaf."""
        product = self.scale * (b @ a)
        return product.T if self.transposed else product
