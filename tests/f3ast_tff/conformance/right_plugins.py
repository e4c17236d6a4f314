"""Right components of each kind, with `REPLACED` where a mistake goes."""

from __future__ import annotations

_STRATEGY = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.methods import BaseStrategy, Cohort
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import register

class Mine(BaseStrategy):
    def __init__(self, p, seed):
        self.p, self.seed, self.counts, self.turn = p, seed, np.zeros(len(p)), 0

    def select(self, now):
        there = np.flatnonzero(now.available)
        return now.constraint.admit(there[np.argsort(self.counts[there], kind="stable")])

    def weigh(self, now, ids, delivered):
        arrived = ids[delivered]
        self.counts[arrived] += 1
        return Cohort(arrived, self.p[arrived] / self.counts[arrived])

    def saved_arrays(self):
        return {"counts": self.counts}
REPLACED

@register("algorithm", "mine", "Mine", about="a method")
@dataclass(frozen=True)
class MineConfig(AlgorithmConfig):
    def build(self, world):
        return Mine(world.p, world.seed)
"""
_AVAILABILITY = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.settings import register

class Mine:
    positively_correlated, periodic, stationary = False, False, None

    def __init__(self, num_clients, seed):
        self.num_clients, self.seed, self.last = num_clients, seed, np.ones(num_clients, bool)
        self.kept, self.seen = np.zeros(num_clients, bool), {}

    def mask(self, t):
        return np.random.default_rng((self.seed, t)).random(self.num_clients) < 0.5
REPLACED

@register("availability", "mine", "Mine", about="a process")
@dataclass(frozen=True)
class MineConfig(AvailabilityConfig):
    def build(self, p, seed):
        return Mine(len(p), seed)
"""
_AGGREGATION = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.settings import register

SEEN = []

class Turns(Memory):
    def message(self, client, update, losses, now):
        SEEN.append(1)
        return update * float(len(SEEN) % 3), 1.0

    has_messages = True

@register("aggregation", "mine", "Mine", about="a rule")
@dataclass(frozen=True)
class Mine(Aggregation):
    def combine(self, updates, weights):
        return weights @ updates
REPLACED
"""
_CONSTRAINT = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff import RoundConstraint
from f3ast_tff.availability import ConstraintConfig
from f3ast_tff.settings import register

class Mine:
    largest_k, mean_k = 4, 3.0

    def limit(self, t):
        return RoundConstraint(2 + t % 3)
REPLACED

@register("constraint", "mine", "Mine", about="two to four clients")
@dataclass(frozen=True)
class MineConfig(ConstraintConfig):
    def build(self, num_clients, seed, update_bytes):
        return Mine()
"""
_DELIVERY = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.core.randomness import generator
from f3ast_tff.delivery.delivery import Arrivals, DeliveryConfig
from f3ast_tff.settings import register

class Mine:
    is_late = False

    def arrivals(self, t, ids):
        draws = generator(3, "mine", t).random(12)[ids]
        return Arrivals(draws < 0.5, np.where(draws < 0.5, draws, np.inf), 1.0)
REPLACED

@register("delivery", "mine", "Mine", about="a delivery")
@dataclass(frozen=True)
class MineConfig(DeliveryConfig):
    is_late = Mine.is_late

    def build(self, world):
        return Mine()
"""
_TASK = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.datasets import TaskConfig
from f3ast_tff.settings import parameter, register

@register("task", "mine", "Mine", about="a task")
@dataclass(frozen=True)
class Mine(TaskConfig):
    generates_data = True
    mine_idle: int = parameter(3, "does nothing", minimum=1)
    published = {"num_clients": 12, "rounds": 8, "batch_size": 5, "client_lr": 0.1}

    def draws(self):
        return generator(self.data_seed, "mine")

    def build(self):
        inputs, clients = self.draws().normal(size=(60, 3)), np.arange(60) % 12
        labels = (inputs[:, 0] > 0).astype(int)
        return FederatedData.from_arrays(inputs, labels, clients, test=0.2, seed=self.data_seed)
REPLACED
"""
_OPTIMIZER = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.optimizers import Optimizer
from f3ast_tff.optimizers.optimizer import OptimizerConfig
from f3ast_tff.settings import register

class Mine(Optimizer):
    def in_numpy(self, gradients, moments, *, step, learning_rate):
        return learning_rate * gradients, moments

    def in_jax(self, learning_rate):
        import optax
        # The first part needs the weights.
        return optax.chain(optax.add_decayed_weights(0.0), optax.sgd(learning_rate))
REPLACED

@register("server_optimizer", "mine", "Mine", about="an optimizer")
@dataclass(frozen=True)
class MineConfig(OptimizerConfig):
    def build(self):
        return Mine(0.5)
"""
_SCORE = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.scores import ScoreOfConfig
from f3ast_tff.settings import register

@register("score_of", "mine", about="a score")
@dataclass(frozen=True)
class Mine(ScoreOfConfig):
    def score(self, means, ids, higher_is_better):
        return float(np.median(means))
REPLACED
"""
_ATTACK = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.attacks import AttackConfig
from f3ast_tff.settings import register

@register("attack", "mine", "Mine", about="an attack")
@dataclass(frozen=True)
class Mine(AttackConfig):
    changes_sent = True

    def sent(self, update, client, now, seed):
        return -0.5 * update
REPLACED
"""
_MODEL = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.models import ModelConfig, PureModel
from f3ast_tff.settings import register

class Mine:
    @staticmethod
    def apply(weights, inputs):
        return inputs @ weights["kernel"] + weights["bias"]

    @staticmethod
    def initial(shape, classes):
        draws = np.random.default_rng(0).normal(size=(*shape, classes))
        return {"kernel": draws.astype(np.float32), "bias": np.zeros(classes, np.float32)}
REPLACED

@register("model", "mine", "Mine", about="a model")
@dataclass(frozen=True)
class MineConfig(ModelConfig):
    def build(self, shape, classes):
        return PureModel(lambda seed: Mine.initial(shape, classes), Mine.apply)
"""
SOURCES = {
    "attack": _ATTACK,
    "model": _MODEL,
    "algorithm": _STRATEGY,
    "availability": _AVAILABILITY,
    "aggregation": _AGGREGATION,
    "constraint": _CONSTRAINT,
    "delivery": _DELIVERY,
    "score_of": _SCORE,
    "task": _TASK,
    "server_optimizer": _OPTIMIZER,
}
