"""Availability processes (reachable clients) and communication constraints (limits on cohorts).

Installed as `f3ast_tff.availability`; in the checkout, the folder `availability`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.availability.battery import Battery as Battery
    from f3ast_tff.availability.battery import BatteryConfig as BatteryConfig
    from f3ast_tff.availability.combined import Mix as Mix
    from f3ast_tff.availability.combined import MixConfig as MixConfig
    from f3ast_tff.availability.combined import Product as Product
    from f3ast_tff.availability.combined import ProductConfig as ProductConfig
    from f3ast_tff.availability.constraints import ByteBudget as ByteBudget
    from f3ast_tff.availability.constraints import (
        CommunicationConstraint as CommunicationConstraint,
    )
    from f3ast_tff.availability.constraints import ConstraintConfig as ConstraintConfig
    from f3ast_tff.availability.constraints import CycleK as CycleK
    from f3ast_tff.availability.constraints import FixedK as FixedK
    from f3ast_tff.availability.constraints import GroupMinimum as GroupMinimum
    from f3ast_tff.availability.constraints import HoldK as HoldK
    from f3ast_tff.availability.constraints import MarkovK as MarkovK
    from f3ast_tff.availability.constraints import PoissonK as PoissonK
    from f3ast_tff.availability.constraints import SignalK as SignalK
    from f3ast_tff.availability.constraints import StepsK as StepsK
    from f3ast_tff.availability.constraints import UniformK as UniformK
    from f3ast_tff.availability.dirichlet_participation import (
        DirichletBernoulliConfig as DirichletBernoulliConfig,
    )
    from f3ast_tff.availability.dirichlet_participation import (
        DirichletCyclicConfig as DirichletCyclicConfig,
    )
    from f3ast_tff.availability.dirichlet_participation import (
        DirichletMarkovConfig as DirichletMarkovConfig,
    )
    from f3ast_tff.availability.five_models import AlwaysConfig as AlwaysConfig
    from f3ast_tff.availability.five_models import HomeDevicesConfig as HomeDevicesConfig
    from f3ast_tff.availability.five_models import ScarceConfig as ScarceConfig
    from f3ast_tff.availability.five_models import SmartphonesConfig as SmartphonesConfig
    from f3ast_tff.availability.five_models import UnevenConfig as UnevenConfig
    from f3ast_tff.availability.labelled import LabelledConfig as LabelledConfig
    from f3ast_tff.availability.labelled import SmallestLabelConfig as SmallestLabelConfig
    from f3ast_tff.availability.labelled import label_distribution as label_distribution
    from f3ast_tff.availability.logs.device_traces import DeviceTraces as DeviceTraces
    from f3ast_tff.availability.logs.trace_files import read_traces as read_traces
    from f3ast_tff.availability.markov import FourClassesConfig as FourClassesConfig
    from f3ast_tff.availability.markov import Markov as Markov
    from f3ast_tff.availability.markov import MarkovClustersConfig as MarkovClustersConfig
    from f3ast_tff.availability.markov import MarkovTransitionConfig as MarkovTransitionConfig
    from f3ast_tff.availability.minimum_separation import MinimumSeparation as MinimumSeparation
    from f3ast_tff.availability.minimum_separation import (
        MinimumSeparationConfig as MinimumSeparationConfig,
    )
    from f3ast_tff.availability.non_stationary import InterleavedSineConfig as InterleavedSineConfig
    from f3ast_tff.availability.non_stationary import SineConfig as SineConfig
    from f3ast_tff.availability.non_stationary import StaircaseConfig as StaircaseConfig
    from f3ast_tff.availability.non_stationary import StationaryConfig as StationaryConfig
    from f3ast_tff.availability.process import AvailabilityConfig as AvailabilityConfig
    from f3ast_tff.availability.process import AvailabilityProcess as AvailabilityProcess
    from f3ast_tff.availability.process import IndependentAvailability as IndependentAvailability
    from f3ast_tff.availability.process import NonStationary as NonStationary
    from f3ast_tff.availability.renewal import Renewal as Renewal
    from f3ast_tff.availability.renewal import RenewalConfig as RenewalConfig
    from f3ast_tff.availability.sites import Sites as Sites
    from f3ast_tff.availability.sites import SitesConfig as SitesConfig
    from f3ast_tff.availability.stays import ArrivalDepartureConfig as ArrivalDepartureConfig
    from f3ast_tff.availability.stays import PoissonArrivalsConfig as PoissonArrivalsConfig
    from f3ast_tff.availability.stays import Stays as Stays
    from f3ast_tff.availability.stays import StaysFileConfig as StaysFileConfig
    from f3ast_tff.availability.table import Table as Table
    from f3ast_tff.availability.table import TableConfig as TableConfig
    from f3ast_tff.availability.trace import Trace as Trace
    from f3ast_tff.availability.trace import TraceConfig as TraceConfig
    from f3ast_tff.availability.turns import AlternatingConfig as AlternatingConfig
    from f3ast_tff.availability.turns import Grouped as Grouped
    from f3ast_tff.availability.turns import PeriodicGroupsConfig as PeriodicGroupsConfig
    from f3ast_tff.availability.turns import Turns as Turns

__getattr__, __dir__ = lazy_names(__name__)
