"""Worker processes of an existing Ray cluster; run folders are on a file system that all share."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.isolated_run import keep_compiled_programs, run_order
from f3ast_tff.campaigns.pool import Worker, Workers
from f3ast_tff.campaigns.runs import LOST, Outcome, PlannedRun, now
from f3ast_tff.engines.distributed.ray_connection import connect
from f3ast_tff.records.provenance import provenance


class RunActor:
    """An actor on a node: runs one experiment after another."""

    def __init__(self, campaign: Path, command: Sequence[str]) -> None:
        """Takes the campaign's folder and its command line."""
        keep_compiled_programs(campaign, os.environ)
        # With the versions on the node.
        self._provenance = {**provenance(), "command": command}

    def run(self, order: Mapping[str, Any]) -> Outcome:
        """Runs an experiment; see `PlannedRun.order`."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        worker = f"process {os.getpid()} on {platform.node()}, Ray node {node}"
        return run_order(order, self._provenance, worker)


class RayCluster(Workers):
    """Processes of a Ray cluster, each with a core, and with a GPU for runs of device `gpu`.

    Attributes:
        slots: See `Workers`.
    """

    def __init__(
        self, address: str, slots: int | None, campaign: Path, command: Sequence[str]
    ) -> None:
        """Connects to `auto`, or `HOST:PORT` of the cluster's head.

        `slots` is the number of processes at a time; `None` for as many as the cluster has cores.

        Raises:
            ParameterError: If Ray is not installed, or no cluster answers at the address.
        """
        self._ray = ray = connect(address)
        self.slots = slots or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._campaign = campaign.absolute()
        self._command = list(command)

    def start(self, environment: tuple[str, str]) -> RayWorker:
        actor_class = self._ray.remote(RunActor).options(
            num_cpus=1, num_gpus=int(environment[1] == "gpu"), scheduling_strategy="SPREAD"
        )
        return RayWorker(self._ray, actor_class.remote(self._campaign, self._command))

    def ended(self, busy: Sequence[Worker], seconds: float) -> list[Worker]:
        by_run = {worker.running: worker for worker in busy if isinstance(worker, RayWorker)}
        ready, _ = self._ray.wait(list(by_run), num_returns=1, timeout=seconds)
        return [by_run[run] for run in ready]

    def close(self) -> None:
        """Disconnects; the cluster stays."""
        self._ray.shutdown()


class RayWorker(Worker):
    """An actor; `running` is Ray's reference to the outcome."""

    def __init__(self, ray: Any, actor: Any) -> None:
        """Takes the module and the actor."""
        self._ray = ray
        self._actor = actor
        self.running: Any = None
        self.name = f"Ray actor {actor._actor_id.hex()[:12]}"
        self._since = now()

    def submit(self, run: PlannedRun) -> None:
        self._since = now()
        order = {**run.order, "settings": run.configuration.settings_elsewhere()}
        self.running = self._actor.run.remote(order)

    def outcome(self) -> Outcome:
        try:
            return self._ray.get(self.running)
        except self._ray.exceptions.RayError as error:
            # The first line only: Ray's message has many lines.
            reason = str(error).strip().partition("\n")[0]
            text = f"{self.name} was lost: {type(error).__name__}: {reason}"
            return Outcome(LOST, text, self._since, now(), 0.0, self.name)

    def close(self) -> None:
        self._ray.kill(self._actor)
