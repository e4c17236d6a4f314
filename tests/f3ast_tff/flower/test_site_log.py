"""The example that writes who replied when, with Flower's own FedAvg."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from f3ast_tff.availability.logs.site_logs import read_site_log
from f3ast_tff.examples.flower_site_log import SiteLogGrid
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Returns the model; client 2 fails in every second round."""
    number = int(message.content["config"]["server-round"])
    if context.node_config["partition-id"] == 2 and number % 2 == 0:
        raise RuntimeError("no memory")
    metrics = MetricRecord({"num-examples": 1})
    content = {"arrays": message.content["arrays"], "metrics": metrics}
    return Message(RecordDict(content), reply_to=message)


def test_flowers_rounds_become_a_table_that_advise_reads(tmp_path: Path) -> None:
    """Of four sites one never answers and one fails every second time; evaluations do not count."""
    grid = InProcessGrid(app, 4, {})
    grid.silent["train"].add(3)
    names = {grid.node[k]: f"clinic {k}" for k in range(3)}
    path = tmp_path / "log.csv"
    start = ArrayRecord([np.zeros(2, np.float32)])
    logged = SiteLogGrid(grid, str(path), names)
    FedAvg(fraction_evaluate=0.0).start(logged, start, num_rounds=4, timeout=0.05)
    found = read_site_log(path)
    shares = dict(zip(found.sites, found.presence.tolist()))
    assert shares == {"clinic 0": 1, "clinic 1": 1, "clinic 2": 0.5, str(grid.node[3]): 0}
    assert (found.seconds[np.isfinite(found.seconds)] < 1).all()
