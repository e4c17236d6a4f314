"""The networks."""

from f3ast_tff.models.model import Model
from f3ast_tff.models.softmax_regression import SoftmaxRegression

__all__ = ["Model", "SoftmaxRegression"]
