"""One aggregation for each kind of memory, with settings that change its rounds early."""

from __future__ import annotations

from f3ast_tff.methods.amplified_fedavg import AmplifiedMean, PeriodStart
from f3ast_tff.methods.amplified_scaffold import PeriodControls
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.fedstale import FedStaleAggregationConfig
from f3ast_tff.methods.fedvarp import FedVarpAggregationConfig
from f3ast_tff.methods.mifa import MifaAggregationConfig
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.scaffold import Scaffold

MIFA = MifaAggregationConfig("zero").build()
MIFA_WAITS = MifaAggregationConfig("wait").build()
FEDVARP = FedVarpAggregationConfig("mean").build()
FEDSTALE = FedStaleAggregationConfig("sum").build()
AMPLIFIED = AmplifiedMean(PeriodStart(3, 2.0))
AMPLIFIED_SCAFFOLD = AmplifiedMean(PeriodControls(3, 2.0))

EVERY: dict[str, Aggregation] = {
    "mifa": MIFA,
    "mifa_waits": MIFA_WAITS,
    "fedvarp": FEDVARP,
    "fedstale": FEDSTALE,
    "mimic": Mimic(),
    "fedawe": FedAwe(),
    "scaffold": Scaffold(),
    "amplified_fedavg": AMPLIFIED,
    "amplified_scaffold": AMPLIFIED_SCAFFOLD,
}
OF_CLIENTS = {name: one for name, one in EVERY.items() if name != "amplified_fedavg"}
