"""The networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.models.character_lstm import CharacterLSTM as CharacterLSTM
    from f3ast_tff.models.character_transformer import CharacterTransformer as CharacterTransformer
    from f3ast_tff.models.factor_pairs import FactorPair as FactorPair
    from f3ast_tff.models.low_rank import lora as lora
    from f3ast_tff.models.model import Model as Model
    from f3ast_tff.models.model import ModelConfig as ModelConfig
    from f3ast_tff.models.pure_model import PureModel as PureModel
    from f3ast_tff.models.resnet18 import ResNet18 as ResNet18
    from f3ast_tff.models.small_cnn import SmallCNN as SmallCNN
    from f3ast_tff.models.small_cnn import cafed_cnn as cafed_cnn
    from f3ast_tff.models.small_cnn import fedlaavg_cnn as fedlaavg_cnn
    from f3ast_tff.models.softmax_regression import SoftmaxRegression as SoftmaxRegression
    from f3ast_tff.models.training_function import Examples as Examples
    from f3ast_tff.models.training_function import Trained as Trained
    from f3ast_tff.models.training_function import TrainingFunction as TrainingFunction
    from f3ast_tff.models.training_function import TrainingFunctionConfig as TrainingFunctionConfig
    from f3ast_tff.models.training_function import Work as Work

__getattr__, __dir__ = lazy_names(__name__)
