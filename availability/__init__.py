"""Availability processes (reachable clients) and communication constraints (limits on cohorts).

Installed as `f3ast_tff.availability`; in the checkout, the folder `availability`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.availability.battery import Battery, BatteryConfig
    from f3ast_tff.availability.combined import Mix, MixConfig, Product, ProductConfig
    from f3ast_tff.availability.constraints import (
        ByteBudget,
        CommunicationConstraint,
        ConstraintConfig,
        CycleK,
        FixedK,
        GroupMinimum,
        HoldK,
        MarkovK,
        PoissonK,
        SignalK,
        StepsK,
        UniformK,
    )
    from f3ast_tff.availability.dirichlet_participation import (
        DirichletBernoulliConfig,
        DirichletCyclicConfig,
        DirichletMarkovConfig,
    )
    from f3ast_tff.availability.five_models import (
        AlwaysConfig,
        HomeDevicesConfig,
        ScarceConfig,
        SmartphonesConfig,
        UnevenConfig,
    )
    from f3ast_tff.availability.labelled import (
        LabelledConfig,
        SmallestLabelConfig,
        label_distribution,
    )
    from f3ast_tff.availability.logs.device_traces import DeviceTraces
    from f3ast_tff.availability.logs.trace_files import read_traces
    from f3ast_tff.availability.markov import (
        FourClassesConfig,
        Markov,
        MarkovClustersConfig,
        MarkovTransitionConfig,
    )
    from f3ast_tff.availability.minimum_separation import MinimumSeparation, MinimumSeparationConfig
    from f3ast_tff.availability.non_stationary import (
        InterleavedSineConfig,
        SineConfig,
        StaircaseConfig,
        StationaryConfig,
    )
    from f3ast_tff.availability.process import (
        AvailabilityConfig,
        AvailabilityProcess,
        IndependentAvailability,
        NonStationary,
    )
    from f3ast_tff.availability.stays import (
        ArrivalDepartureConfig,
        PoissonArrivalsConfig,
        Stays,
        StaysFileConfig,
    )
    from f3ast_tff.availability.table import Table, TableConfig
    from f3ast_tff.availability.trace import Trace, TraceConfig
    from f3ast_tff.availability.turns import AlternatingConfig, Grouped, PeriodicGroupsConfig, Turns

__all__ = [
    "AlternatingConfig",
    "AlwaysConfig",
    "ArrivalDepartureConfig",
    "AvailabilityConfig",
    "AvailabilityProcess",
    "Battery",
    "BatteryConfig",
    "ByteBudget",
    "CommunicationConstraint",
    "ConstraintConfig",
    "CycleK",
    "DeviceTraces",
    "DirichletBernoulliConfig",
    "DirichletCyclicConfig",
    "DirichletMarkovConfig",
    "FixedK",
    "FourClassesConfig",
    "GroupMinimum",
    "HoldK",
    "Grouped",
    "HomeDevicesConfig",
    "IndependentAvailability",
    "InterleavedSineConfig",
    "LabelledConfig",
    "Markov",
    "MarkovClustersConfig",
    "MarkovK",
    "MarkovTransitionConfig",
    "MinimumSeparation",
    "MinimumSeparationConfig",
    "Mix",
    "MixConfig",
    "NonStationary",
    "PeriodicGroupsConfig",
    "PoissonArrivalsConfig",
    "PoissonK",
    "Product",
    "ProductConfig",
    "ScarceConfig",
    "SignalK",
    "SineConfig",
    "SmallestLabelConfig",
    "SmartphonesConfig",
    "StaircaseConfig",
    "StationaryConfig",
    "Stays",
    "StaysFileConfig",
    "StepsK",
    "Table",
    "TableConfig",
    "Trace",
    "TraceConfig",
    "Turns",
    "UnevenConfig",
    "UniformK",
    "label_distribution",
    "read_traces",
]

__getattr__, __dir__ = lazy_names(__name__)
