"""What the server knows or estimates: who is available how often, and the clients' losses."""

from f3ast_tff.estimation.availability_prior import AvailabilityPrior
from f3ast_tff.estimation.estimated_availability import EstimatedAvailability
from f3ast_tff.estimation.known_availability import AvailabilityKnowledge, KnownAvailability
from f3ast_tff.estimation.losses import LossEstimates
from f3ast_tff.estimation.trained_minima import trained_minima

__all__ = [
    "AvailabilityKnowledge",
    "AvailabilityPrior",
    "EstimatedAvailability",
    "KnownAvailability",
    "LossEstimates",
    "trained_minima",
]
