"""The client of each Flower node: nodes get a new id at each start, clients keep their ids."""

from __future__ import annotations

import logging
import time

from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from f3ast_tff.files.messages import one_line

_LOG = logging.getLogger("flwr")
_ACTION = "partition_id"
_KEY = "partition-id"
_POLL_SECONDS = 0.1


def tell_partition_id(message: Message, context: Context) -> Message:
    """Answers the server's question for a node's client.

    A `ClientApp` registers it once: `app.query("partition_id")(tell_partition_id)`. The answer is
    `partition-id` of the node's configuration, from 0 to N - 1. Flower's simulation sets it. A
    SuperNode gets it from `--node-config "partition-id=3"`.

    Raises:
        KeyError: If the node's configuration has no `partition-id`.
    """
    told = ConfigRecord({_KEY: int(context.node_config[_KEY])})
    return Message(RecordDict({_KEY: told}), reply_to=message)


class Nodes:
    """The clients behind the connected nodes; a node that has answered is not asked again."""

    def __init__(self, num_clients: int, answer_seconds: float) -> None:
        """Knows no node yet.

        Args:
            num_clients: Number of clients N.
            answer_seconds: Longest wait of a call for the answers of new nodes, counted from the
                first client; a later answer counts from the next call on. A node that answers with
                an error is asked again in the next call, or after this time while there is no
                client at all.
        """
        self._num_clients = num_clients
        self._answer_seconds = answer_seconds
        # Client of each node that has answered, in the order of the answers; None for a wrong id.
        self._client: dict[int, int | None] = {}
        # Node of each open question, by the id of the message.
        self._asked: dict[str, int] = {}
        # When a node that has answered with an error may be asked again in this call.
        self._failed: dict[int, float] = {}
        self._second: set[tuple[int, int]] = set()

    def connected(self, grid: Grid, first_seconds: float) -> dict[int, int]:
        """Returns the node of each connected and known client, by client id.

        If two connected nodes name the same client, the one that answered first counts.

        Args:
            grid: Flower's link to the nodes.
            first_seconds: Longest wait for a first such client, seconds.
        """
        began = time.monotonic()
        found_one: float | None = None
        waits_for: set[int] = set()
        waiting_said = False
        self._failed.clear()
        while True:
            nodes = set(grid.get_node_ids())
            now = time.monotonic()
            new = nodes - set(self._client) - set(self._asked.values())
            new -= {n for n, again in self._failed.items() if found_one is not None or now < again}
            self._ask(grid, sorted(new))
            self._listen(grid)
            # For a node that was silent in an earlier call, an answer counts, but there is no wait.
            waits_for = (waits_for | new) & set(self._asked.values())
            found = self._by_client(nodes)
            if found and found_one is None:
                found_one = now
            if found_one is None:
                done = now >= began + first_seconds
            else:
                done = not waits_for or now >= found_one + self._answer_seconds
            if done:
                return found
            if not found and not waiting_said and now >= began + self._answer_seconds:
                waiting_said = True
                _LOG.warning("no client is connected: waiting up to %g s", first_seconds)
            time.sleep(_POLL_SECONDS)

    def _by_client(self, nodes: set[int]) -> dict[int, int]:
        """The connected node of each client; warns of a second one once."""
        found: dict[int, int] = {}
        for node, k in self._client.items():
            if k is None or node not in nodes:
                continue
            first = found.setdefault(k, node)
            if first != node and (first, node) not in self._second:
                self._second.add((first, node))
                why = f"its {_KEY} is {k}, as of node {first}, which is connected"
                _LOG.warning("node %d is left out: %s", node, why)
        return found

    def _ask(self, grid: Grid, nodes: list[int]) -> None:
        kind = f"{MessageType.QUERY}.{_ACTION}"
        questions = [Message(RecordDict(), node, kind) for node in nodes]
        if not questions:
            return
        for number, node in zip(grid.push_messages(questions), nodes):
            # The id of a message to a node that has just left is None.
            if number is None:
                self._fails(node)
            else:
                self._asked[number] = node

    def _fails(self, node: int) -> None:
        self._failed[node] = time.monotonic() + self._answer_seconds

    def _listen(self, grid: Grid) -> None:
        answers = grid.pull_messages(list(self._asked)) if self._asked else ()
        for answer in answers:
            node = self._asked.pop(answer.metadata.reply_to_message_id, None)
            if node is None:
                continue
            if answer.has_error():
                self._fails(node)
                why = one_line(answer.error.reason)
                _LOG.warning("node %d does not say which client it is: %s", node, why)
                continue
            self._client[node] = client = self._told(answer)
            if client is None:
                allowed = f"must be in 0 .. {self._num_clients - 1}"
                _LOG.warning("node %d is left out: its %s %s", node, _KEY, allowed)

    def _told(self, answer: Message) -> int | None:
        told = answer.content.config_records.get(_KEY, {}).get(_KEY)
        is_id = isinstance(told, int) and not isinstance(told, bool)
        return told if is_id and 0 <= told < self._num_clients else None
