"""The aggregation factory alone."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.tff


def test_integer_updates_are_refused() -> None:
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.learning_process import ImportanceWeightedSumFactory

    with pytest.raises(TypeError, match="must be floats"):
        ImportanceWeightedSumFactory().create(
            tff.TensorType(np.int32, [2]), tff.TensorType(np.float32)
        )


def test_is_a_weighted_aggregation_process() -> None:
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.learning_process import ImportanceWeightedSumFactory

    process = ImportanceWeightedSumFactory().create(
        tff.TensorType(np.float32, [2]), tff.TensorType(np.float32)
    )
    assert isinstance(process, tff.templates.AggregationProcess)
    assert process.is_weighted
