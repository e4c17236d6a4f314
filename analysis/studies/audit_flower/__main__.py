"""Audits strategies of Flower, methods of this package behind the adapter, and servers of others.

python -m f3ast_tff.analysis.studies.audit_flower --out analysis/studies/audit_flower/audits.csv

Rows of packages that are not installed here are kept as they are in the file. Run it from the root
of the repository, where the servers of others are in examples/.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.audit.audit import ROUNDS, audit
from f3ast_tff.audit.findings import CHECKS, WRONG, Audit
from f3ast_tff.audit.report import shares_in
from f3ast_tff.audit.world import EXAMPLES
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import parameter

_NEW, _OLDER = "flwr.serverapp.strategy", "flwr.server.strategy"
_PFL = "pfl.aggregate.weighting"
Arguments = Mapping[str, Any]
_PRIVATE: Arguments = {
    "strategy": f"{_NEW}:FedAvg",
    "noise_multiplier": 0.001,
    "num_sampled_clients": 8,
}
# Strategies with their arguments; those for trees of XGBoost hold no arrays.
FLOWER: tuple[tuple[str, str, Arguments], ...] = (
    ("FedAvg", _NEW, {}),
    ("FedAvg, half", _NEW, {"fraction_train": 0.5}),
    ("FedAvgM, momentum 0", _NEW, {}),
    ("FedAvgM, momentum .9", _NEW, {"server_momentum": 0.9}),
    ("FedProx", _NEW, {"proximal_mu": 0.1}),
    ("QFedAvg", _NEW, {"client_learning_rate": 0.1}),
    ("FedAdam", _NEW, {}),
    ("FedYogi", _NEW, {}),
    ("FedAdagrad", _NEW, {}),
    ("FedMedian", _NEW, {}),
    ("FedTrimmedAvg", _NEW, {}),
    ("Krum", _NEW, {"num_malicious_nodes": 1}),
    ("MultiKrum", _NEW, {"num_malicious_nodes": 1, "num_nodes_to_select": 4}),
    ("Bulyan", _NEW, {"num_malicious_nodes": 1}),
    ("DifferentialPrivacyServerSideFixedClipping", _NEW, {**_PRIVATE, "clipping_norm": 1.0}),
    ("DifferentialPrivacyServerSideAdaptiveClipping", _NEW, _PRIVATE),
    ("DifferentialPrivacyClientSideFixedClipping", _NEW, {**_PRIVATE, "clipping_norm": 1.0}),
    ("FedAvg, older API", _OLDER, {}),
    ("FaultTolerantFedAvg, older API", _OLDER, {}),
)
OURS: tuple[tuple[str, Arguments], ...] = (
    ("f3ast", {"rate_beta": 0.01}),
    ("fedavg", {}),
    ("uniform", {}),
    ("fedavg_all", {}),
    ("unbiased", {}),
    ("fedau", {}),
    ("ca_fed", {}),
    ("adafed", {}),
    ("poc", {}),
    ("oort_loss", {}),
)


_MOMENTUM: Arguments = {"server_momentum_param_1": 0.9}
_ADAPTIVE: Arguments = {
    **_MOMENTUM,
    "server_learning_rate": 0.1,
    "server_adapt_param": 0.001,
    "server_momentum_param_2": 0.99,
}
# Name, package, class in the example of the package, and arguments.
OTHERS: tuple[tuple[str, str, str, Arguments], ...] = (
    ("NVFlare, FedAvg", "nvflare", "FedAvg", {}),
    ("NVFlare, InTimeAccumulateWeighted", "nvflare", "InTime", {}),
    ("APPFL, FedAvg by sample size", "appfl", "Server", {}),
    ("APPFL, FedAvg by default", "appfl", "Server", {"client_weights_mode": "equal"}),
    *(
        (f"APPFL, {name}", "appfl", "Server", {"aggregator": f"{name}Aggregator", **given})
        for name, given in (
            ("FedAvgM", _MOMENTUM),
            ("FedAdam", _ADAPTIVE),
            ("FedYogi", _ADAPTIVE),
            ("FedAdagrad", _ADAPTIVE),
        )
    ),
    ("pfl, weighed by datapoints", "pfl", "Server", {}),
    ("pfl, weighed by user", "pfl", "Server", {"weighting": f"{_PFL}:WeightByUser"}),
)
# Replies of equal losses count alike.
_STATED = dict.fromkeys(("QFedAvg", "APPFL, FedAvg by default", "pfl, weighed by user"), "equal")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")
    rounds: int = parameter(ROUNDS, "rounds of each schedule", minimum=100)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    targets = [
        *(
            (name, "flwr", f"{place}:{name.partition(',')[0]}", given)
            for name, place, given in FLOWER
        ),
        *((f"{name}, adapter", "flwr", name, given) for name, given in OURS),
        *((n, of, f"examples/audit_{of}.py:{name}", given) for n, of, name, given in OTHERS),
    ]
    out = Path(flags.out)
    kept = (
        {row["target"]: dict(row) for _, row in read_cells(out).iterrows()} if out.is_file() else {}
    )
    rows = []
    for name, package, target, given in targets:
        if importlib.util.find_spec(package) is None:
            rows += [kept[name]] if name in kept else []
            continue
        say(name)
        try:
            found = audit(target, given, objective=_STATED.get(name), rounds=flags.rounds)
            rows.append(row_of(name, found))
        except ParameterError as error:
            say(f"left out: {name}: {error}")
    write_csv(pd.DataFrame(rows), flags.out)
    show(f"{len(rows)} rows: {flags.out}")


def row_of(name: str, found: Audit) -> dict[str, Any]:
    """Returns a row.

    It holds weights, or the influence, by unequal shares of presence, and each check's wrong
    findings.
    """
    versions = ", ".join(f"{name} {number}" for name, number in found.target.versions.items())
    row: dict[str, Any] = {"target": name, "versions": versions}
    row |= {"rule": found.rule.kind, "objective": found.target.objective}
    shown = next((w for w in found.weights if w.schedule == "independent" and w.named), None)
    presence, share = ([], []) if shown is None else shares_in(shown)
    influence = np.array([])
    if found.influence:
        by_presence = found.influence[-1]
        order = by_presence.presence.argsort(kind="stable")
        presence, influence = by_presence.presence[order].tolist(), by_presence.shares[order]
    for what, values in (("there", presence), ("weight", share), ("influence", influence)):
        row |= dict.fromkeys((f"{what}_{k}" for k in range(len(EXAMPLES))), "")
        row |= {f"{what}_{k}": f"{each:.3f}" for k, each in enumerate(values)}
    for check in CHECKS:
        said = [
            each.found for each in found.findings if (each.check, each.verdict) == (check, WRONG)
        ]
        row[check] = "; ".join(said)
    return row


if __name__ == "__main__":
    sys.exit(main(sys.argv))
