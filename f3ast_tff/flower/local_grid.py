"""Flower's link to the nodes, in this process: no SuperLink, no waiting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity


class LocalGrid(Grid):
    """A link whose messages are answered when they are pushed.

    Attributes:
        replies: Replies to each message that were not pulled yet, by its id.
    """

    def __init__(self) -> None:
        # A message names its run and its task.
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.replies: dict[str, list[Message]] = {}
        self._run, self._number = None, 0

    @abstractmethod
    def answers(self, message: Message) -> list[Message]:
        """Returns the replies to a message: none, one, or several."""

    def set_run(self, run: Any) -> None:
        """Keeps the run."""
        self._run = run

    @property
    def run(self) -> Any:
        """The run that was set."""
        return self._run

    def create_message(self, *arguments: Any, **named: Any) -> Message:
        """Returns a message of these parts."""
        return Message(*arguments, **named)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Answers messages, and returns their ids."""
        found = []
        for message in messages:
            number, self._number = str(self._number), self._number + 1
            message.metadata.__dict__["_message_id"] = number
            found.append(number)
            self.replies[number] = self.answers(message)
        return found

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Returns the replies to these messages, once."""
        return [m for number in list(message_ids) for m in self.replies.pop(number, ())]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Returns the replies at once, whatever the timeout."""
        return list(self.pull_messages(list(self.push_messages(messages))))
