"""A node: moves the model by its client's drift, and meets the faults of the round."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from f3ast_tff.flower import tell_partition_id

app = ClientApp()
app.query("partition_id")(tell_partition_id)


def drift(k: int, t: int) -> np.ndarray:
    """Update of client k in round t."""
    return np.sin(np.arange(3) + 10 * k + t)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Replies with the moved model."""
    k, t = int(context.node_config["partition-id"]), int(message.content["config"]["server-round"])
    folder = Path(context.run_config["folder"])
    meet(folder, k, t, patience=3 * float(context.run_config["timeout"]))
    model = message.content["arrays"].to_numpy_ndarrays()[0] + drift(k, t)
    content = {"arrays": ArrayRecord([model]), "metrics": MetricRecord({"num-examples": 1})}
    return Message(RecordDict(content), reply_to=message)


def meet(folder: Path, k: int, t: int, patience: float) -> None:
    """Waits while the test plays the fault of this round; one client meets it.

    The file `fault-T-KIND` becomes `met-T-KIND-K`; the fault is over once that file is gone.
    """
    for fault in folder.glob(f"fault-{t}-*"):
        met = folder / f"met-{fault.name.removeprefix('fault-')}-{k}"
        try:
            fault.rename(met)
        except FileNotFoundError:
            continue
        end = time.monotonic() + patience
        while met.exists() and time.monotonic() < end:
            time.sleep(0.1)
