"""The networks."""

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
