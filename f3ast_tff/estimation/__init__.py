"""What the server knows or estimates: who is available how often, and the clients' losses."""

from f3ast_tff.estimation.activity import Activity, KnownActivity
from f3ast_tff.estimation.activity_prior import ActivityPrior
from f3ast_tff.estimation.estimated_activity import EstimatedActivity
from f3ast_tff.estimation.losses import LossEstimates
from f3ast_tff.estimation.trained_minima import trained_minima

__all__ = [
    "Activity",
    "ActivityPrior",
    "EstimatedActivity",
    "KnownActivity",
    "LossEstimates",
    "trained_minima",
]
