"""From advice to a server: the code that starts the advised method, and the files of `--out`."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.files.atomic import made_folder, write_all
from f3ast_tff.files.table_files import as_cell

if TYPE_CHECKING:
    import pandas as pd

    from f3ast_tff.advice.page import Advice

CLIENTS, PAGE, PICTURE = "clients.csv", "page.txt", "neglect.png"


# A round of the user's own server. `{divided}` is the mean of the updates that arrived; without an
# update the model stays.
_OWN_SERVER = """\
import numpy as np
import pandas as pd
from f3ast_tff import {name}, Round, RoundConstraint, select_clients, weigh_updates

clients = pd.read_csv({file!r})
p = clients["share"].to_numpy()
strategy = {start}

def play_round(t, model, available, send):
    # t counts from 1, rounds without an available client too; model is an array; available is
    # bool [{n}], in the order of {table}. send(model, ids) returns the models of the
    # clients that answer, after their training, by id.
    now = Round(t, available, RoundConstraint({k}))
    ids = select_clients(strategy, now)
    answers = send(model, ids) if len(ids) else {{}}
    cohort = weigh_updates(strategy, now, ids, np.isin(ids, [*answers]))
    step = np.zeros_like(model)
    for i, weight in zip(cohort.ids, cohort.weights):
        step += weight * (answers[i] - model)
{divided}    return model + step  # save it with t and strategy.state(), for strategy.restore"""
_MEAN = """\
    if len(cohort):
        step /= cohort.weights.sum()
"""
_FLOWER = """\
# Or in Flower, with the first lines above: the partition-id of a node is its id in {table}.
from f3ast_tff.flower import AvailabilityStrategy

flower = AvailabilityStrategy(strategy, len(p), {k}, state_file="server.npz")
# In @app.main(): result = flower.start(grid, initial_arrays=arrays, num_rounds=100)"""
_PFL = """\
# Or in pfl-research, with the first lines above: make_dataset makes the data set of a client, by
# its name; availability is a process, such as f3ast_tff.availability.Table(masks).
from f3ast_tff.pfl import AvailableUsers, CohortWeights

users = AvailableUsers(make_dataset, strategy, availability, clients["client"].tolist())
postprocessors = [CohortWeights(users)]  # of SimulatedBackend(users, ...)"""


def snippets(advice: Advice, folder: Path) -> dict[str, str]:
    """Returns the code that starts the advised method, by the server that it is for.

    Args:
        advice: The advice.
        folder: Folder with the file of clients.

    Returns:
        Python: `own`, whose first lines the others need; `flower`; `pfl`. Empty if no server can
        run the method.
    """
    method, k = advice.method, advice.k
    start = method.start(k, advice.objective)
    if start is None:
        return {}
    own = _OWN_SERVER.format(
        name=start.partition("(")[0].partition(".")[0],
        file=os.fspath(folder / CLIENTS),
        table=CLIENTS,
        start=start,
        n=len(advice.p),
        k=k,
        divided=_MEAN if method.aggregation == "mean" else "",
    )
    return {"own": own, "flower": _FLOWER.format(table=CLIENTS, k=k), "pfl": _PFL}


def deployment(advice: Advice, folder: Path) -> list[str]:
    """Returns the lines that end the page: the advised method on a server."""
    found = snippets(advice, folder)
    if not found:
        said = f"{advice.method.name} keeps a vector for every client, or asks for losses"
        return ["Deploy it", f"  {said}: in simulation only"]
    return ["Deploy it", "\n\n".join(found.values())]


def write_files(advice: Advice, folder: Path, page: str) -> None:
    """Writes the page, a table of all clients and a picture of whom FedAvg neglects.

    `clients.csv` has a row per client: `id`, from 0; `client`, its name, with a quote before what a
    spreadsheet takes for a formula; `share`, p_k;
    `share_of_rounds`, in which it is online; `longest_absence`, in rounds; `rate`, r*_k of the
    advised K; `fedavg_weight_over_p`, the weight that FedAvg gives it over p_k. The rate and the
    weight of a client that is never online are 0.

    Args:
        advice: The advice.
        folder: Folder, which is made.
        page: The page, as printed.

    Raises:
        OSError: If a file cannot be written.
    """
    import pandas as pd

    reached = advice.reached
    rates = np.zeros(len(advice.p))
    rates[reached] = advice.plan.rates
    over_p = np.zeros(len(advice.p))
    over_p[reached] = advice.fedavg[reached] / advice.p[reached] * advice.p[reached].sum()
    table = pd.DataFrame(
        {
            "id": np.arange(len(advice.p)),
            "client": [as_cell(name) for name in advice.clients],
            "share": advice.p,
            "share_of_rounds": advice.measures.share,
            "longest_absence": advice.measures.longest_absence,
            "rate": rates,
            "fedavg_weight_over_p": over_p,
        }
    )
    with made_folder(folder):
        texts = {CLIENTS: table.to_csv(index=False), PAGE: page + "\n"}
        files = {name: text.encode() for name, text in texts.items()}
        write_all(folder, {**files, PICTURE: _drawn(table)})


def _drawn(table: pd.DataFrame) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(1, color="#D55E00", label="F3AST, in the long run")
    axes.scatter(
        100 * table["share_of_rounds"],
        table["fedavg_weight_over_p"],
        s=14,
        color="#0072B2",
        label="FedAvg",
        zorder=2,
    )
    axes.set_xlabel("rounds in which the client is online (%)")
    axes.set_ylabel("weight in training, over its share p")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_title("Whom does FedAvg neglect? A point is a client.", loc="left", fontsize="medium")
    axes.legend(frameon=False)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()
