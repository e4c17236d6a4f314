"""Aggregators of NVFlare as servers that `f3ast-tff audit` plays.

f3ast-tff audit audit_nvflare.py:FedAvg
f3ast-tff audit audit_nvflare.py:InTime

`FedAvg` is the aggregation of NVFlare's FedAvg workflow, `InTime` the default aggregator of
ScatterAndGather. Clients state their examples as steps of the round, by which NVFlare weighs.
"""

from __future__ import annotations

from typing import Any

import nvflare
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.aggregators.intime_accumulate_model_aggregator import (
    InTimeAccumulateWeightedAggregator,
)
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.utils.fl_model_utils import FLModelUtils
from nvflare.app_common.workflows.base_fedavg import BaseFedAvg

STEPS = MetaKey.NUM_STEPS_CURRENT_ROUND
VERSIONS = {"nvflare": nvflare.__version__}


class FedAvg:
    """`BaseFedAvg.aggregate_fn`, and the update of the model that its workflow makes."""

    versions = VERSIONS

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        """Returns the new model."""
        results = [
            FLModel(
                params={"w": update},
                params_type=ParamsType.DIFF,
                current_round=round,
                meta={"client_name": str(k), STEPS: float(weight)},
            )
            for k, update, weight in zip(clients, updates, weights)
        ]
        found = BaseFedAvg.aggregate_fn(results)
        before = FLModel(params={"w": model}, params_type=ParamsType.FULL)
        return FLModelUtils.update_model(before, found).params["w"]


class InTime:
    """`InTimeAccumulateWeightedAggregator`: replies are accepted one by one, then aggregated."""

    versions = VERSIONS

    def __init__(self, **settings: Any) -> None:
        """Takes the aggregator's settings."""
        self.aggregator = InTimeAccumulateWeightedAggregator(**settings)
        self.aggregator.handle_event(EventType.START_RUN, FLContext())

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any, round: int) -> Any:
        """Returns the new model."""
        context = FLContext()
        context.set_prop(AppConstants.CURRENT_ROUND, round)
        for k, update, weight in zip(clients, updates, weights):
            reply = DXO(DataKind.WEIGHT_DIFF, {"w": update}, {STEPS: float(weight)})
            shareable = reply.to_shareable()
            peer = FLContext()
            peer.set_prop(ReservedKey.IDENTITY_NAME, str(k), private=False)
            shareable.set_peer_props(peer.get_all_public_props())
            shareable.add_cookie(AppConstants.CONTRIBUTION_ROUND, round)
            self.aggregator.accept(shareable, context)
        found = from_shareable(self.aggregator.aggregate(context)).data
        return model + found["w"] if found else model
