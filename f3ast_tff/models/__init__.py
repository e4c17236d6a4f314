"""The networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.models.character_lstm import CharacterLSTM
    from f3ast_tff.models.model import Model, ModelConfig
    from f3ast_tff.models.pure_model import PureModel
    from f3ast_tff.models.resnet18 import ResNet18
    from f3ast_tff.models.small_cnn import SmallCNN, cafed_cnn, fedlaavg_cnn
    from f3ast_tff.models.softmax_regression import SoftmaxRegression
    from f3ast_tff.models.training_function import Examples, Trained, TrainingFunction, Work

__all__ = [
    "CharacterLSTM",
    "Examples",
    "Model",
    "ModelConfig",
    "PureModel",
    "ResNet18",
    "SmallCNN",
    "SoftmaxRegression",
    "Trained",
    "TrainingFunction",
    "Work",
    "cafed_cnn",
    "fedlaavg_cnn",
]

__getattr__, __dir__ = lazy_names(__name__)
