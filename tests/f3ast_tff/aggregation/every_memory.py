"""One aggregation for each kind of memory, with settings that change its rounds early."""

from __future__ import annotations

from f3ast_tff.aggregation.aggregation import Aggregation
from f3ast_tff.aggregation.amplified_fedavg import AmplifiedMean, PeriodStart
from f3ast_tff.aggregation.amplified_scaffold import PeriodControls
from f3ast_tff.aggregation.fedawe import FedAwe
from f3ast_tff.aggregation.fedstale import FedStaleConfig
from f3ast_tff.aggregation.fedvarp import FedVarpConfig
from f3ast_tff.aggregation.mifa import MifaConfig
from f3ast_tff.aggregation.mimic import Mimic
from f3ast_tff.aggregation.scaffold import Scaffold

MIFA = MifaConfig("zero").build()
MIFA_WAITS = MifaConfig("wait").build()
FEDVARP = FedVarpConfig("mean").build()
FEDSTALE = FedStaleConfig("sum").build()
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
