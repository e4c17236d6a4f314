"""The engines as components."""

from __future__ import annotations

import importlib.metadata
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.engine import EngineConfig, EngineParts
from f3ast_tff.engines.xla_flags import with_deterministic_ops
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

if TYPE_CHECKING:
    from f3ast_tff.engines.distributed.ray_workers import RayWorkers
    from f3ast_tff.engines.host.engine import HostEngine
    from f3ast_tff.engines.jax.engine import FusedEngine
    from f3ast_tff.engines.tff.engine import TffEngine

# Names of JAX's matrix product precisions.
MATMUL_PRECISIONS = ("highest", "tensorfloat32")


@dataclass(frozen=True)
class BuiltinEngineConfig(EngineConfig):
    """Settings of fused and tff: a device, and workers that share a cohort."""

    device: str = parameter(
        "auto",
        "where clients train; TFF's worker uses only the CPU",
        choices=("auto", "cpu", "gpu"),
    )
    num_workers: int | None = parameter(
        None,
        "split each cohort over this many Ray actors, each with a shard of the clients; by "
        "default no actors",
        minimum=1,
        decides_result=False,
    )
    ray_address: str | None = parameter(
        None,
        "an existing Ray cluster, auto, HOST:PORT or ray://HOST:PORT, for num_workers (without it "
        "this machine alone) or for the runs of a campaign (run folders are then on a file system "
        "that all its nodes share, and only runs with device gpu get a GPU)",
        decides_result=False,
    )
    round_timeout: float | None = parameter(
        None,
        "seconds after which a round on num_workers or on TFF's worker counts as hung; no limit "
        "by default",
        above=0,
        decides_result=False,
    )

    @property
    def _has_worker(self) -> bool:
        """Whether clients train outside this process."""
        return self.num_workers is not None

    def check(self, settings: Settings) -> None:
        if self.ray_address is not None and self.num_workers is None:
            raise ParameterError("ray_address", self.ray_address, "only applies with num_workers")
        if self.round_timeout is not None and not self._has_worker:
            allowed = "only applies with num_workers or engine tff with TFF's worker"
            raise ParameterError("round_timeout", self.round_timeout, allowed)

    def prepare_environment(self, environment: MutableMapping[str, str]) -> None:
        # TensorFlow's messages on stderr would hide the progress bar.
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    def connect(self) -> None:
        """Connects to the Ray cluster of the workers."""
        if self.num_workers is not None:
            from f3ast_tff.engines.distributed.ray_connection import LOCAL, connect

            connect(self.ray_address or LOCAL, self.num_workers)

    def _workers(self, trainer: Any, parts: EngineParts, **options: Any) -> RayWorkers | None:
        """Workers that each make a `trainer` of their shard, with these options."""
        if self.num_workers is None:
            return None
        from f3ast_tff.engines.distributed.ray_connection import LOCAL
        from f3ast_tff.engines.distributed.ray_workers import RayWorkers

        absent: Any = None  # A worker gets its shard.
        without_data = replace(parts, data=absent)
        return RayWorkers(
            partial(trainer, parts=without_data, device=self.device, **options),
            examples=parts.data.train,
            num_workers=self.num_workers,
            address=self.ray_address or LOCAL,
            num_gpus=int(self.device == "gpu"),
            timeout_s=self.round_timeout,
        )


@register("engine", "fused", "Fused", about="a whole round as one XLA program, in JAX", order=1)
@dataclass(frozen=True)
class FusedConfig(BuiltinEngineConfig):
    """Configuration of `FusedEngine`."""

    framework: ClassVar[str] = "jax"
    keeps_late: ClassVar[bool] = True
    takes_scoring: ClassVar[bool] = True

    matmul_precision: str = parameter(
        "highest",
        "arithmetic of matrix products on a GPU: highest computes in float32, as a CPU always "
        "does; tensorfloat32 keeps 10 bits of each factor and is faster",
        choices=MATMUL_PRECISIONS,
    )

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if self.device == "cpu" and self.matmul_precision != "highest":
            allowed = "only applies on a GPU; a CPU computes at highest"
            raise ParameterError("matmul_precision", self.matmul_precision, allowed)

    def prepare_environment(self, environment: MutableMapping[str, str]) -> None:
        super().prepare_environment(environment)
        if self.device == "cpu":
            environment.setdefault("JAX_PLATFORMS", "cpu")
            return
        # On a GPU, take memory only as needed, so that runs can share it. Sum in a fixed order, so
        # that two runs agree.
        environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        environment["XLA_FLAGS"] = with_deterministic_ops(environment.get("XLA_FLAGS", ""))

    def build(self, parts: EngineParts) -> FusedEngine:
        from f3ast_tff.engines.jax.choosing import fused_engine
        from f3ast_tff.engines.jax.trainer import FusedTrainer

        precision = self.matmul_precision
        workers = self._workers(FusedTrainer, parts, matmul_precision=precision)
        return fused_engine(parts, device=self.device, workers=workers, matmul_precision=precision)


# Oldest usable release; for a Python without newer releases pip installs one from 2022.
OLDEST_TFF = (0, 80)


@register("engine", "tff", "TFF", about="learning processes of TensorFlow Federated", order=2)
@dataclass(frozen=True)
class TffConfig(BuiltinEngineConfig):
    """Configuration of `TffEngine`."""

    framework: ClassVar[str] = "tensorflow_federated"
    keeps_late: ClassVar[bool] = True

    tff_runtime: str = parameter(
        "tf",
        "runtime of TFF's processes: TensorFlow in this process or in the processes of "
        "num_workers; or TFF's worker process (CPU only), which listens on all network interfaces "
        "and executes any request",
        choices=("tf", "worker"),
    )
    tff_clients_at_once: int | None = parameter(
        None,
        "clients that TFF's worker trains at the same time, which bounds memory; by default the "
        "task's number",
        minimum=1,
        decides_result=False,
    )

    @property
    def _has_worker(self) -> bool:
        return self.num_workers is not None or self.tff_runtime == "worker"

    def check_installed(self) -> None:
        """Refuses old releases that new Pythons get."""
        super().check_installed()
        version = importlib.metadata.version("tensorflow-federated")
        if tuple(map(int, version.split(".")[:2])) < OLDEST_TFF:
            allowed = (
                f"needs tensorflow-federated 0.80 or newer, found {version}: Python 3.12 and newer "
                "have no such release, so take Python 3.11, and tensorflow-federated 0.87.0"
            )
            raise ParameterError("engine", "tff", allowed)

    def check(self, settings: Settings) -> None:
        super().check(settings)
        at_once = self.tff_clients_at_once
        if self.tff_runtime != "worker":
            if at_once is not None:
                allowed = "only applies with tff_runtime worker; tf trains one client at a time"
                raise ParameterError("tff_clients_at_once", at_once, allowed)
            return
        if self.num_workers is not None:
            raise ParameterError("tff_runtime", "worker", "must be tf with num_workers")
        if self.device == "gpu":
            allowed = "TFF's worker trains on the CPU alone; tff_runtime tf takes a GPU"
            raise ParameterError("device", "gpu", allowed)

    def build(self, parts: EngineParts) -> TffEngine:
        from f3ast_tff.models import PureModel, TrainingFunction

        if isinstance(parts.model, (PureModel, TrainingFunction)):
            # It refuses, before TensorFlow is imported, which takes long.
            parts.model.keras_model()
        from f3ast_tff.engines.tff.choosing import tff_engine
        from f3ast_tff.engines.tff.composition import TffTrainer

        return tff_engine(
            parts,
            runtime=self.tff_runtime,
            device=self.device,
            workers=self._workers(TffTrainer, parts),
            clients_at_once=self.tff_clients_at_once,
            round_timeout_s=self.round_timeout,
        )


@register(
    "engine",
    "host",
    "Host",
    about="a round in plain NumPy, of softmax regression or of a training function of one's own",
    order=3,
)
@dataclass(frozen=True)
class HostConfig(EngineConfig):
    """Configuration of `HostEngine`."""

    keeps_late: ClassVar[bool] = True
    takes_scoring: ClassVar[bool] = True

    def build(self, parts: EngineParts) -> HostEngine:
        from f3ast_tff.engines.host.engine import HostEngine

        return HostEngine(parts)
