"""Availability processes (who is reachable) and communication constraints (how many may take part).

Installed as `f3ast_tff.availability`; a folder of its own in the checkout.
"""

from f3ast_tff.availability.alternating import Alternating
from f3ast_tff.availability.always import Always
from f3ast_tff.availability.arrival_departure import ArrivalDeparture
from f3ast_tff.availability.constraints import (
    ByteBudget,
    CommunicationConstraint,
    ConstraintConfig,
    FixedK,
    GroupMinimum,
    MarkovK,
    PoissonK,
    Schedule,
    Signal,
    Steps,
    UniformK,
    constraint_from_text,
)
from f3ast_tff.availability.cyclic import Cyclic
from f3ast_tff.availability.device_traces import DeviceTraces
from f3ast_tff.availability.four_classes import FourClasses
from f3ast_tff.availability.home_devices import HomeDevices
from f3ast_tff.availability.label_distribution import LabelledConfig, label_distribution
from f3ast_tff.availability.markov import Markov
from f3ast_tff.availability.markov_clusters import MarkovClusters
from f3ast_tff.availability.minimum_separation import MinimumSeparation
from f3ast_tff.availability.mix import Mix
from f3ast_tff.availability.non_stationary import NonStationary
from f3ast_tff.availability.periodic_groups import PeriodicGroups
from f3ast_tff.availability.process import (
    AvailabilityConfig,
    AvailabilityProcess,
    IndependentAvailability,
)
from f3ast_tff.availability.product import Product
from f3ast_tff.availability.scarce import Scarce
from f3ast_tff.availability.smallest_label import SmallestLabel
from f3ast_tff.availability.smartphones import Smartphones
from f3ast_tff.availability.stays import Stays
from f3ast_tff.availability.table import Table
from f3ast_tff.availability.trace import Trace
from f3ast_tff.availability.trace_files import read_traces
from f3ast_tff.availability.uneven import Uneven

__all__ = [
    "Alternating",
    "Always",
    "ArrivalDeparture",
    "AvailabilityConfig",
    "AvailabilityProcess",
    "ByteBudget",
    "CommunicationConstraint",
    "ConstraintConfig",
    "Cyclic",
    "DeviceTraces",
    "FixedK",
    "FourClasses",
    "GroupMinimum",
    "HomeDevices",
    "IndependentAvailability",
    "LabelledConfig",
    "Markov",
    "MarkovClusters",
    "MarkovK",
    "MinimumSeparation",
    "Mix",
    "NonStationary",
    "PeriodicGroups",
    "PoissonK",
    "Product",
    "Scarce",
    "Schedule",
    "Signal",
    "SmallestLabel",
    "Smartphones",
    "Stays",
    "Steps",
    "Table",
    "Trace",
    "Uneven",
    "UniformK",
    "constraint_from_text",
    "label_distribution",
    "read_traces",
]
