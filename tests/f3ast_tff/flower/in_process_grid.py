"""A grid whose nodes are calls of a ClientApp: no SuperLink, no waiting, no randomness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp

from f3ast_tff.flower.local_grid import LocalGrid


class InProcessGrid(LocalGrid):
    """Nodes of a federation, one per client.

    Attributes:
        node: Node id of each client.
        connected: Connected clients.
        silent: Clients that never answer, by kind of message.
        asleep: Number of pulls without replies yet, as while nodes start.
        sent: Kind, client and round of each message, in order; round 0 for a query.
    """

    def __init__(
        self, app: ClientApp, num_clients: int, run_config: Mapping[str, Any], first_node: int = 70
    ) -> None:
        super().__init__()
        self.node = {k: first_node + num_clients - k for k in range(num_clients)}
        self.connected = set(range(num_clients))
        self.silent: dict[str, set[int]] = {"query": set(), "train": set(), "evaluate": set()}
        self.asleep = 0
        self.sent: list[tuple[str, int, int]] = []
        self._app = app
        self._contexts = {
            self.node[k]: Context(
                run_id=1,
                node_id=self.node[k],
                node_config={"partition-id": k, "num-partitions": num_clients},
                state=RecordDict(),
                run_config=dict(run_config),
            )
            for k in range(num_clients)
        }

    def get_node_ids(self) -> Iterable[int]:
        return [self.node[k] for k in sorted(self.connected)]

    def answers(self, message: Message) -> list[Message]:
        kind = message.metadata.message_type.partition(".")[0]
        node = message.metadata.dst_node_id
        client = next(k for k, id_ in self.node.items() if id_ == node)
        config = message.content.get("config", {})
        self.sent.append((kind, client, int(config.get("server-round", 0))))
        if client in self.silent[kind]:
            return []
        try:
            return [self._app(message, self._contexts[node])]
        except Exception as error:
            return [Message(Error(0, repr(error)), reply_to=message)]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        if self.asleep > 0:
            self.asleep -= 1
            return []
        return super().pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Returns replies in reverse order, since their order is arbitrary."""
        return list(self.pull_messages(list(self.push_messages(messages))))[::-1]
