"""Settings that choose a component whose name alone does not suffice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHOOSING: dict[tuple[str, str], dict[str, Any]] = {
    ("task", "file"): {
        "data_file": str(Path(__file__).with_name("points.csv")),
        "clients_per_round": 2,
    },
    ("aggregation", "fedlaavg"): {"algorithm": "fedlaavg"},
    ("aggregation", "focus"): {"algorithm": "focus"},
    ("aggregation", "mifa"): {"algorithm": "mifa"},
    ("aggregation", "fedasync"): {"algorithm": "fedasync"},
    ("availability", "trace"): {"trace_file": "x.json"},
    ("availability", "table"): {"table_file": "x.npy"},
    ("availability", "sites"): {"site_file": str(Path(__file__).with_name("sites.csv"))},
    ("availability", "stays"): {"stays_file": str(Path(__file__).with_name("stays.csv"))},
    ("availability", "product"): {"availability_parts": "scarce,smartphones"},
    ("availability", "mix"): {"availability_parts": "scarce,uneven"},
    ("constraint", "cycle"): {"constraint": "cycle:3,4"},
    ("constraint", "hold"): {"constraint": "hold:3,4"},
    ("constraint", "steps"): {"constraint": "steps:1=3,5=4"},
    ("constraint", "uniform"): {"constraint": "uniform:2:4"},
    ("constraint", "poisson"): {"constraint": "poisson:3"},
    ("constraint", "markov"): {"constraint": "markov:2,4:0.5"},
    ("constraint", "bytes"): {"constraint": "bytes:1e6"},
    ("constraint", "signal"): {
        "constraint": "signal",
        "signal_file": str(Path(__file__).parents[3] / "examples" / "carbon_day.csv"),
    },
}
