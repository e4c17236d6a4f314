"""Audits Flower's strategies and the methods of this package behind the adapter; needs Flower.

python -m f3ast_tff.analysis.studies.audit_flower --out analysis/studies/audit_flower/scores.csv
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.audit.audit import ROUNDS, audit
from f3ast_tff.audit.findings import CHECKS, WRONG, Audit
from f3ast_tff.audit.report import shares_in
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import parameter

_NEW, _OLDER = "flwr.serverapp.strategy", "flwr.server.strategy"
_PRIVATE: Mapping[str, Any] = {
    "strategy": f"{_NEW}:FedAvg",
    "noise_multiplier": 0.001,
    "num_sampled_clients": 8,
}
# Strategies with their arguments; those for trees of XGBoost hold no arrays.
FLOWER: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
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
# q-FedAvg weighs by losses, which are equal here, and not by examples.
_STATED = {"QFedAvg": "equal"}
OURS: tuple[tuple[str, Mapping[str, Any]], ...] = (
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


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")
    rounds: int = parameter(ROUNDS, "rounds of each schedule", minimum=100)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    targets = [(name, f"{place}:{name.partition(',')[0]}", given) for name, place, given in FLOWER]
    targets += [(f"{name}, adapter", name, given) for name, given in OURS]
    rows = []
    for name, target, given in targets:
        say(name)
        try:
            found = audit(target, given, objective=_STATED.get(name), rounds=flags.rounds)
            rows.append(row_of(name, found))
        except ParameterError as error:
            say(f"left out: {name}: {error}")
    write_csv(pd.DataFrame(rows), flags.out)
    show(f"{len(rows)} rows: {flags.out}")


def row_of(name: str, found: Audit) -> dict[str, Any]:
    """Returns a row: weights under unequal shares of presence, and each check's wrong findings."""
    row: dict[str, Any] = {"target": name, "flwr": found.target.versions.get("flwr", "")}
    row |= {"rule": found.rule.kind, "objective": found.target.objective}
    shown = next((w for w in found.weights if w.schedule == "independent" and w.named), None)
    presence, share = ([], []) if shown is None else shares_in(shown)
    row |= {f"there_{k}": f"{each:.3f}" for k, each in enumerate(presence)}
    row |= {f"weight_{k}": f"{each:.3f}" for k, each in enumerate(share)}
    for check in CHECKS:
        said = [
            each.found for each in found.findings if (each.check, each.verdict) == (check, WRONG)
        ]
        row[check] = "; ".join(said)
    return row


if __name__ == "__main__":
    sys.exit(main(sys.argv))
