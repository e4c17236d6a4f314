"""Synchronous aggregators of APPFL as servers that `f3ast-tff audit` plays.

f3ast-tff audit audit_appfl.py:Server
f3ast-tff audit audit_appfl.py:Server --args=aggregator=FedAvgMAggregator,server_momentum_param_1=.9

Weights are by sample size here; APPFL's default, `client_weights_mode=equal`, counts clients alike
(`--objective=equal`).
"""

from __future__ import annotations

from typing import Any

import appfl
import numpy as np
import torch
from appfl.algorithm import aggregator as aggregators
from omegaconf import DictConfig


class Server:
    """An aggregator; its global state is the audit's model."""

    versions = {"appfl": appfl.__version__}

    def __init__(self, aggregator: str = "FedAvgAggregator", **settings: Any) -> None:
        """Takes the name of the aggregator's class, and its settings."""
        settings.setdefault("client_weights_mode", "sample_size")
        self.aggregator = getattr(aggregators, aggregator)(aggregator_configs=DictConfig(settings))

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        """Returns the new model."""
        for k, weight in zip(clients, weights):
            self.aggregator.set_client_sample_size(k, int(weight))
        local = {k: {"w": torch.tensor(model + update)} for k, update in zip(clients, updates)}
        # Its own state is the same, except where the audit begins again from another model.
        self.aggregator.global_state = {"w": torch.tensor(np.array(model))}
        return self.aggregator.aggregate(local)["w"].numpy()
