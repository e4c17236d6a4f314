"""Two causes of a model that learns little: large features, and probabilities for logits."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.models import TrainingFunction
from f3ast_tff.run.trained_model import TrainedModel

_LOG = logging.getLogger(__name__)
# Standardised features are rarely larger; ages and blood pressures are.
_LARGE_FEATURE = 10


def warn_of_probabilities(model: Any, trained: TrainedModel, data: FederatedData) -> None:
    """Logs a warning if a training function's logits, `[n, ..., C]`, are probabilities.

    It looks at 64 test examples. NumPy does not warn here: it has, if at all, in the run.
    """
    if not isinstance(model, TrainingFunction):
        return
    with np.errstate(all="ignore"):
        outputs = trained.outputs(data.test.features[:64])
    if outputs.shape[-1] > 1 and (outputs >= 0).all() and np.allclose(outputs.sum(axis=-1), 1):
        _LOG.warning("the model returns probabilities, taken for logits: return their logarithms")


def large_feature(data: FederatedData) -> str:
    """Returns a hint at the largest named feature; `""` if it is at most 10 in size."""
    features = data.train.features
    # Without a copy of the table.
    sizes = np.maximum(features.max(axis=0), -features.min(axis=0))
    name, size = data.feature_names[sizes.argmax()], sizes.max()
    said = f"; feature {name} goes up to {size:g} in size: scale features to about 1"
    return said if size > _LARGE_FEATURE else ""
