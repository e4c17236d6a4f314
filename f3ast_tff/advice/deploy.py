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


def deployment(advice: Advice, folder: Path | None) -> list[str]:
    """Returns the lines that end the page: the advised method on a server.

    Args:
        advice: The advice.
        folder: Folder with the file of clients; `None` if there is none.
    """
    method, k = advice.method, advice.k
    start = method.start(k, advice.objective)
    if start is None:
        said = f"{method.name} keeps a vector for every client, or asks for losses: in simulation"
        return ["Deploy it", f"  {said} only"]
    name = start.partition("(")[0].partition(".")[0]
    place = "advice" if folder is None else os.fspath(folder)
    mean = ["step = step / cohort.weights.sum()"] if method.aggregation == "mean" else []
    lines = [
        "Deploy it: the first lines, then those of your server",
        "import pandas as pd",
        f"from f3ast_tff import {name}, Round, RoundConstraint, select_clients, weigh_updates",
        f'clients = pd.read_csv("{place}/{CLIENTS}")',
        'p = clients["share"].to_numpy()',
        f"strategy = {start}",
        "",
        f"# Your own server, round t from 1: available is bool [{len(advice.p)}] in the order of "
        f"{CLIENTS}.",
        f"now = Round(t, available, RoundConstraint({k}))",
        "ids = select_clients(strategy, now)",
        "# Send them the model, and wait: delivered is bool [m], for ids; updates[k] is the model",
        "# of client k after training minus the one it got. Without an update the step is 0.",
        "cohort = weigh_updates(strategy, now, ids, delivered)",
        "step = sum(w * updates[k] for k, w in zip(cohort.ids, cohort.weights))",
        *mean,
        "",
        f"# Or Flower: partition-id of a node is the id in {CLIENTS}.",
        "from f3ast_tff.flower import AvailabilityStrategy",
        f'flower = AvailabilityStrategy(strategy, len(p), {k}, state_file="server.npz")',
        "",
        "# Or pfl-research: make_dataset makes the data set of a client, by its name; availability",
        '# is a process of f3ast_tff.availability, such as Table(read_log(Path("log.csv"))).',
        "from f3ast_tff.pfl import AvailableUsers, CohortWeights",
        'users = AvailableUsers(make_dataset, strategy, availability, clients["client"].tolist())',
    ]
    if folder is None:
        lines.append(
            f"--out={place} writes {CLIENTS}: id, name, share and measures of every client"
        )
    return lines


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
