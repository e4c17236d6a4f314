"""A link to Flower's nodes that writes who replied when, as a table for `f3ast-tff advise`.

f3ast-tff advise sites_log.csv --label_counts=sites.csv  # the table of flower_site_log.py

In a ServerApp, where `strategy.start(grid, ...)` stands:

    strategy.start(SiteLogGrid(grid, "sites_log.csv"), initial_arrays=arrays, num_rounds=100)

The command reads the table also while the job runs. Sites are node ids; `names` gives them names,
which the table of counts must have too.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

# Seconds between two looks for replies; times in the table are as fine as this.
LOOK_SECONDS = 1.0


class SiteLogGrid(Grid):
    """The link `grid`, with a row in a table for each site that is asked to train in a round."""

    def __init__(self, grid: Grid, path: str, names: Mapping[int, str] | None = None) -> None:
        """Begins the table, or goes on with it.

        Args:
            grid: Flower's link.
            path: Table to write, CSV with the columns site, round, start, end, ok.
            names: Names of node ids; others are named by their id.
        """
        self._grid, self._path, self._names = grid, Path(path), dict(names or {})
        if not self._path.exists():
            self._write([["site", "round", "start", "end", "ok"]])

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Sends messages, waits for the replies, and notes each when it is seen."""
        sent, start = list(messages), time.time()
        open_ids = dict(zip(self._grid.push_messages(sent), sent))
        replies: list[Message] = []
        while open_ids and (timeout is None or time.time() < start + timeout):
            came = list(self._grid.pull_messages(list(open_ids)))
            replies += came
            end = time.time()
            for reply in came:
                asked = open_ids.pop(reply.metadata.reply_to_message_id)
                self._note(asked, start, end, not reply.has_error())
            if open_ids and not came:
                time.sleep(LOOK_SECONDS)
        for asked in open_ids.values():
            self._note(asked, start, "", False)
        return replies

    def _note(self, asked: Message, start: float, end: float | str, ok: bool) -> None:
        if asked.metadata.message_type.partition(".")[0] == "train":
            node = asked.metadata.dst_node_id
            (config,) = asked.content.config_records.values()
            row = [self._names.get(node, node), config["server-round"], start, end, int(ok)]
            self._write([row])

    def _write(self, rows: list[list[Any]]) -> None:
        with self._path.open("a", newline="") as file:
            csv.writer(file).writerows(rows)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Sends messages, as the link does."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Returns replies, as the link does."""
        return self._grid.pull_messages(message_ids)

    def get_node_ids(self) -> Iterable[int]:
        """Returns the connected nodes."""
        return self._grid.get_node_ids()

    def create_message(self, *arguments: Any, **named: Any) -> Message:
        """Returns a message of these parts."""
        return self._grid.create_message(*arguments, **named)

    def set_run(self, run: Any) -> None:
        """Sets the run."""
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """The run."""
        return self._grid.run
