"""Clients whose updates the server's rule leaves out most of the time, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from f3ast_tff.availability.labelled import label_distribution
from f3ast_tff.core.federated_data import FederatedData

# Rounds in which a client must be asked before its share of deliveries says anything; and rounds
# per client of the whole run from which on it says something that a client is never asked.
_LEAST_ASKED, _LONG_RUN = 5, 20
# Clients in the run's record, and in a message; classes in a message.
_MOST_KEPT, _SHOWN, _CLASSES = 100, 4, 5


def left_out(
    history: Mapping[str, np.ndarray],
    data: FederatedData,
    client_names: Sequence[str] | np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Returns the clients that are left out most of the time, by falling share of the examples.

    A client is left out if it was asked in 5 rounds at least and less than half of its updates
    entered the model, or if it was never asked in a run of 20 clients asked per client. Rounds in
    which no update arrived do not count: they leave out all alike.

    Args:
        history: `SelectionHistory.arrays` of the rounds.
        data: The run's data.
        client_names: Names of the clients; by default their numbers.

    Returns:
        Up to 100 clients: `client`, name; `asked` and `delivered`, rounds; `examples`, share of all
        training examples; `classes`, its share of each class's examples, if labels are classes.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import FederatedData
        >>> from f3ast_tff.records.left_out import left_out
        >>> data = FederatedData.from_arrays([[0], [0], [0], [0]], [0, 1, 1, 1], [0, 1, 1, 1])
        >>> rounds = np.tile([0, 1], (6, 1))
        >>> history = {"selected": rounds, "delivered": rounds == 0}
        >>> [(each["client"], each["asked"], each["delivered"]) for each in left_out(history, data)]
        [('1', 6, 0)]
    """
    train, n = data.train, data.train.num_clients
    rounds = history["delivered"].any(axis=1)
    if "late_clients" in history:
        rounds |= (history["late_clients"] >= 0).any(axis=1)
    asked = _rounds_of(history["selected"][rounds], n)
    arrived = np.where(history["delivered"], history["selected"], -1)[rounds]
    came = _rounds_of(arrived, n)
    if "late_clients" in history:
        came += _rounds_of(history["late_clients"][rounds], n)
    out = (asked >= _LEAST_ASKED) & (2 * came < asked)
    if asked.sum() >= _LONG_RUN * n:
        out |= (asked == 0) & (train.sizes > 0)
    sizes = train.sizes / train.sizes.sum()
    ids = np.flatnonzero(out)
    ids = ids[np.argsort(-sizes[ids], kind="stable")][:_MOST_KEPT]
    of_class = _shares_of_classes(data) if len(ids) and data.num_classes else None
    names = data.label_names or tuple(map(str, range(data.num_classes)))
    found = []
    for k in ids.tolist():
        record = {
            "client": str(k if client_names is None else client_names[k]),
            "asked": int(asked[k]),
            "delivered": int(came[k]),
            "examples": round(float(sizes[k]), 6),
        }
        if of_class is not None:
            held = zip(names, of_class[k].tolist())
            record["classes"] = {name: round(share, 6) for name, share in held if share > 0}
        found.append(record)
    return found


def _rounds_of(rows: np.ndarray, num_clients: int) -> np.ndarray:
    """Number of rounds in which each client stands, once per round; -1 is padding."""
    number, width = rows.shape
    if not width:
        return np.zeros(num_clients, int)
    cells = np.arange(number)[:, None] * (num_clients + 1) + rows + 1
    distinct = np.unique(cells) % (num_clients + 1)
    return np.bincount(distinct, minlength=num_clients + 1)[1:]


def _shares_of_classes(data: FederatedData) -> np.ndarray:
    """Share of class c's examples that client k holds, `float64 [N, C]`."""
    counts = label_distribution(data.train, data.num_classes) * data.train.sizes[:, None]
    return counts / np.maximum(counts.sum(axis=0), 1e-300)


def said(clients: Sequence[Mapping[str, Any]]) -> str:
    """Returns one line about clients that `left_out` has found; empty for none."""
    if not clients:
        return ""
    shown = ", ".join(map(_of_client, clients[:_SHOWN]))
    more = f" and {len(clients) - _SHOWN} more" if len(clients) > _SHOWN else ""
    together = sum(each["examples"] for each in clients)
    total = f"; together {together:.0%} of the data" if len(clients) > 1 else ""
    return f"left out most of the time: {shown}{more}{total}"


def _of_client(client: Mapping[str, Any]) -> str:
    asked, came = client["asked"], client["delivered"]
    rounds = f"{came} of the {asked} rounds that asked it" if asked else "never asked"
    return f"{client['client']} ({rounds}; {', '.join(held(client))})"


def held(client: Mapping[str, Any]) -> list[str]:
    """Returns the shares of the data and of classes that a client holds, in words."""
    classes = sorted(client.get("classes", {}).items(), key=lambda each: -each[1])[:_CLASSES]
    of_classes = [f"{share:.0%} of class {name}" for name, share in classes if share >= 0.005]
    return [f"{client['examples']:.0%} of the data", *of_classes]
