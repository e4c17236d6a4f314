"""Pairs of LoRA's factors among the leaves of a model, W = W_0 + s B A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class FactorPair:
    """Two factors and the matrix that they change.

    Attributes:
        base: Place of the matrix W_0 among the model's leaves; `None` if it is not among them.
        a: Place of A, `[r, inputs]`.
        b: Place of B, `[outputs, r]`.
        scale: s.
        transposed: Whether the leaf is W_0^T, `[inputs, outputs]`, as JAX's layers have it.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.models import FactorPair
        >>> pair = FactorPair(base=0, a=1, b=2, scale=2.0, transposed=True)
        >>> pair.product(a=np.array([[1.0, 2.0]]), b=np.array([[3.0], [0.0], [1.0]])).tolist()
        [[6.0, 0.0, 2.0], [12.0, 0.0, 4.0]]
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


class Located(NamedTuple):
    """A `FactorPair` in the model as one vector.

    Attributes:
        pair: The pair.
        a: Coordinates of A, as a range (first, end).
        b: Coordinates of B.
        base: Coordinates of W_0, if it is a leaf.
        rank: r.
    """

    pair: FactorPair
    a: tuple[int, int]
    b: tuple[int, int]
    base: tuple[int, int] | None
    rank: int

    def product(self, vector: Any) -> Any:
        """Returns s B A of a model `[num_weights]`, as its base's leaf, flat."""
        a, b = vector[slice(*self.a)], vector[slice(*self.b)]
        return self.pair.product(a.reshape(self.rank, -1), b.reshape(-1, self.rank)).reshape(-1)
