"""Real Ray clusters of two nodes, as processes of this machine, for tests that lose a node."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil

_ROOT = Path(__file__).parents[1]
# Program of the cluster's own process; it ends everything it started when its stdin ends.
_CLUSTER = """
import sys
from ray.cluster_utils import Cluster

node = {"num_cpus": int(sys.argv[1]), "object_store_memory": 80 * 2**20}
head = {**node, "include_dashboard": False}
if len(sys.argv) > 2:
    head["ray_client_server_port"] = int(sys.argv[2])
cluster = Cluster(initialize_head=True, head_node_args=head)
# The last address noted on a machine is the one whose node a run there attaches itself to.
cluster.add_node(**node, node_ip_address="127.0.0.2")
nodes = [cluster.head_node, *cluster.worker_nodes]
raylets = [str(node.all_processes["raylet"][0].process.pid) for node in nodes]
print("CLUSTER", cluster.address, *raylets, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


class RayCluster(NamedTuple):
    """A running cluster.

    Attributes:
        address: Address of the cluster's head, `HOST:PORT`.
        pid: Common ancestor of all processes of the cluster.
        raylets: Process id of each node's raylet, the ancestor of its workers. Runs on this machine
            attach to the second node; the cluster's head is a process apart.
    """

    address: str
    pid: int
    raylets: Sequence[int]

    def kill_node(self, node: int) -> None:
        """Kills a node with all its processes, as if its machine lost power."""
        raylet = psutil.Process(self.raylets[node])
        _kill([raylet, *raylet.children(recursive=True)])

    def kill(self) -> None:
        """Kills all nodes and the processes they share."""
        _kill(psutil.Process(self.pid).children(recursive=True))


@contextmanager
def ray_cluster(cpus_per_node: int, client_port: int | None = None) -> Iterator[RayCluster]:
    """Starts a cluster of two nodes; all its processes are gone afterwards.

    Args:
        cpus_per_node: Number of actors that fit on each node.
        client_port: Port of the server for Ray's client; `None` for no such server.
    """
    port = [] if client_port is None else [str(client_port)]
    # Ray's client sends no code, so its nodes need the package installed.
    environment = {**os.environ, **({"PYTHONPATH": str(_ROOT)} if port else {})}
    process = subprocess.Popen(
        [sys.executable, "-c", _CLUSTER, str(cpus_per_node), *port],
        env=environment,
        cwd=_ROOT / "tests",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    started: list[psutil.Process] = []
    try:
        lines = (line.split() for line in process.stdout)
        _, address, *raylets = next(words for words in lines if words[:1] == ["CLUSTER"])
        started = psutil.Process(process.pid).children(recursive=True)
        yield RayCluster(address, process.pid, [int(raylet) for raylet in raylets])
        started += psutil.Process(process.pid).children(recursive=True)
        process.stdin.close()
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()
        for left in psutil.wait_procs(started, timeout=10)[1]:
            left.kill()


def _kill(processes: Sequence[Any]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
