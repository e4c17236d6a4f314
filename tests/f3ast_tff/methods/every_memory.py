"""One aggregation per kind of memory, with settings that change its rounds early."""

from __future__ import annotations

from f3ast_tff.methods.amplified_fedavg import AmplifiedFedAvg
from f3ast_tff.methods.amplified_scaffold import AmplifiedScaffold
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.feddc import FedDC
from f3ast_tff.methods.feddyn import FedDyn
from f3ast_tff.methods.fednova import FedNova
from f3ast_tff.methods.fedprox import FedProx
from f3ast_tff.methods.fedstale import FedStale
from f3ast_tff.methods.fedvarp import FedVarp
from f3ast_tff.methods.focus import Focus
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.scaffold import Scaffold

MIFA = Mifa("zero")
MIFA_WAITS = Mifa("wait")
FEDVARP = FedVarp("mean")
FEDSTALE = FedStale("sum")
AMPLIFIED = AmplifiedFedAvg("mean", 3, 2.0)
AMPLIFIED_SCAFFOLD = AmplifiedScaffold("mean", 3, 2.0)

EVERY: dict[str, Aggregation] = {
    "mifa": MIFA,
    "mifa_waits": MIFA_WAITS,
    "fedvarp": FEDVARP,
    "fedstale": FEDSTALE,
    "mimic": Mimic(),
    "fedawe": FedAwe(),
    "scaffold": Scaffold("sum"),
    "amplified_fedavg": AMPLIFIED,
    "amplified_scaffold": AMPLIFIED_SCAFFOLD,
    "focus": Focus(),
    "fedprox": FedProx("mean", 0.7),
    "feddyn": FedDyn("mean", 0.5),
    "fednova": FedNova("mean"),
    "feddc": FedDC("mean", 0.5),
    "feddc_paper": FedDC("mean", 0.5, "paper"),
}
# These keep no value per client.
KEEP_NOTHING = ("amplified_fedavg", "fedprox", "fednova")
OF_CLIENTS = {name: one for name, one in EVERY.items() if name not in KEEP_NOTHING}
