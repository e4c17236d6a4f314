"""Run folders with the content of real ones, written without training anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.records.history import traced_rounds
from f3ast_tff.records.metrics import COLUMNS
from f3ast_tff.settings.resolve import resolve

LEVELS = {"fedavg": 0.7, "fedadam": 0.75, "f3ast": 0.8, "f3ast_adam": 0.82, "poc": 0.65}


def write_run(folder: Path, given: Mapping[str, Any]) -> None:
    """Writes one finished run.

    Args:
        folder: The run's folder; made here.
        given: Settings as on the command line. Accuracy grows to about the algorithm's value in
            `LEVELS`, with noise from the seed; clients are drawn uniformly.
    """
    configuration = resolve({**given, "run_name": folder.name})
    settings = dict(configuration.settings)
    seed = settings["seed"]
    random = np.random.default_rng([seed, len(settings["algorithm"])])
    folder.mkdir(parents=True)
    config = {"settings": settings, **configuration.describe()}
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    rounds = np.arange(settings["eval_every"], settings["rounds"] + 1, settings["eval_every"])
    level = LEVELS[settings["algorithm"]] + random.normal(0, 0.01)
    accuracy = level * (1 - np.exp(-rounds / 80)) + random.normal(0, 0.01, len(rounds))
    loss = 2.3 - 2 * accuracy
    metrics = pd.DataFrame(
        {
            **dict.fromkeys(COLUMNS, 10.0),
            "round": rounds,
            "train_loss": loss,
            "test_sample_accuracy": accuracy,
            "test_sample_loss": loss,
            "test_user_accuracy": accuracy - 0.1,
            "test_user_loss": loss + 0.2,
            "simulated_seconds": np.nan,
        }
    )
    metrics.to_csv(folder / "metrics.csv", index=False)
    final = json.loads(metrics.iloc[-1].to_json())
    final["round"] = int(final["round"])
    last = json.loads(metrics.iloc[-max(1, len(rounds) // 10) :, 1:].mean().to_json())
    summary = {"rounds": settings["rounds"], "final": final, "mean_of_last_10_percent": last}
    (folder / "summary.json").write_text(json.dumps(summary))
    _write_selection(folder, settings, random)


def _write_selection(folder: Path, s: Mapping[str, Any], random: np.random.Generator) -> None:
    n, k, beta = s["num_clients"], s["clients_per_round"], s.get("rate_beta", 0.001)
    shares = np.random.default_rng(s["data_seed"]).dirichlet(np.ones(n))
    selected = random.random((s["rounds"], n)).argsort(axis=1)[:, :k]
    rates, weights = np.full((s["rounds"] + 1, n), k / n), np.zeros(selected.shape)
    for t, ids in enumerate(selected):
        rates[t + 1] = (1 - beta) * rates[t]
        rates[t + 1, ids] += beta
        weights[t] = shares[ids] / rates[t + 1, ids]
    tracked = {}
    if s["algorithm"].startswith("f3ast"):
        kept = np.array(traced_rounds(s["rounds"], s["eval_every"]))
        traced = {"rate_rounds": kept, "rates": rates[kept].astype(np.float32)}
        tracked = {"initial_rates": rates[0], **traced, "final_rates": rates[-1]}
    with open(folder / "selection.npz", "wb") as file:
        np.savez_compressed(file, selected=selected, weights=weights, p=shares, **tracked)
