"""Runs the example app in Flower's Simulation Runtime, with nodes in a thread instead of Ray.

python -m tests.f3ast_tff.flower.simulated_app ROUNDS STATE_FILE DIES_IN

Prints the rounds in which a client trained. In round DIES_IN the process kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.server.superlink.fleet.vce.backend import Backend
from flwr.simulation.run_simulation import _run_simulation
from flwr.supercore.telemetry import EventType

APP = Path(__file__).resolve().parents[3] / "examples" / "flower_synthetic"
SETTINGS = {"num-clients": 10, "clients-per-round": 3, "seed": 0}


class InThread(Backend):
    """Runs one node at a time, in a thread of the runtime."""

    num_workers = 1

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        self._app = app_fn()

    def is_worker_idle(self) -> bool:
        return True

    def terminate(self) -> None:
        """There is nothing to end."""

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        # `flwr run` configures nodes like this.
        configured = Context(
            context.run_id, context.node_id, context.node_config, context.state, dict(SETTINGS)
        )
        return self._app(message, configured), context


def main(rounds: int, state_file: str, dies_in: int) -> None:
    sys.path.insert(0, str(APP))
    from flower_synthetic import client_app, server_app, softmax

    train = softmax.train

    def traced(*arguments: Any, round_number: int, **named: Any) -> Any:
        if round_number == dies_in:
            os.kill(os.getpid(), signal.SIGKILL)
        print("round", round_number, flush=True)
        return train(*arguments, round_number=round_number, **named)

    softmax.train = traced
    # The runtime imports any backend by this name.
    name = "flwr.server.superlink.fleet.vce.backend.raybackend"
    sys.modules[name] = ModuleType(name)
    sys.modules[name].RayBackend = InThread  # type: ignore[attr-defined]
    settings = {**SETTINGS, "num-server-rounds": rounds, "state-file": state_file}
    context = Context(1, 0, node_config={}, state=RecordDict(), run_config=settings)
    _run_simulation(
        num_supernodes=SETTINGS["num-clients"],
        exit_event=EventType.PYTHON_API_RUN_SIMULATION_LEAVE,
        client_app=client_app.app,
        server_app=server_app.app,
        backend_name="thread",
        server_app_context=context,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
