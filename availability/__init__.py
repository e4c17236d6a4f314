"""Availability processes (who is reachable) and communication constraints (how many may take part).

Installed as `f3ast_tff.availability`; a folder of its own in the checkout.
"""

from .always import Always
from .constraint import CommunicationConstraint, FixedK
from .home_devices import HomeDevices
from .process import AvailabilityProcess, IndependentAvailability
from .scarce import Scarce
from .smartphones import Smartphones
from .uneven import Uneven

__all__ = [
    "Always",
    "AvailabilityProcess",
    "CommunicationConstraint",
    "FixedK",
    "HomeDevices",
    "IndependentAvailability",
    "Scarce",
    "Smartphones",
    "Uneven",
]
