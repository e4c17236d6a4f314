"""Every setting of an experiment: declared once, resolved and checked before anything slow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from experiments import readings
from experiments.published import TASKS, published
from experiments.registry import ALGORITHMS, AVAILABILITY
from experiments.setting import DERIVED, check, setting
from f3ast_tff.errors import SettingError
from f3ast_tff.optimizer import OPTIMIZERS

ENGINES = ("fused", "tff")
DEVICES = ("auto", "cpu", "gpu")

_TASK, _ALGORITHM, _AVAILABILITY = "Task", "Algorithm", "Availability"
_TRAINING, _ENGINE, _RUN = "Training", "Engine", "Run"
_READING = "Readings (paper / released code)"


@dataclass(frozen=True)
class Settings:
    """Resolved settings; each attribute is the flag of that name, see `--help`."""

    task: str = setting(_TASK, "data and model", "synthetic", choices=tuple(TASKS))
    num_clients: int = setting(_TASK, "number of clients N", kind=int, minimum=1)
    synthetic_alpha: float = setting(
        _TASK,
        "spread of clients' model means (moves no label, see README)",
        1.0,
        kind=float,
        minimum=0,
    )
    synthetic_beta: float = setting(
        _TASK, "how much clients' features differ", 1.0, kind=float, minimum=0
    )
    data_seed: int = setting(_TASK, "seed of generated data", 0, kind=int, minimum=0)

    algorithm: str = setting(_ALGORITHM, "what to run", "f3ast", choices=tuple(ALGORITHMS))
    clients_per_round: int = setting(
        _ALGORITHM, "K, the most clients a round", 10, kind=int, minimum=1
    )
    rate_beta: float = setting(
        _ALGORITHM, "step size of F3AST's rates", 0.001, kind=float, above=0, below=1
    )
    poc_candidates: int = setting(
        _ALGORITHM, "d, candidates of Power-of-Choice", 30, kind=int, minimum=1
    )

    availability: str = setting(
        _AVAILABILITY, "who is reachable when", "home_devices", choices=tuple(AVAILABILITY)
    )

    rounds: int = setting(_TRAINING, "number of rounds T", kind=int, minimum=1)
    local_epochs: int = setting(
        _TRAINING, "passes over a client's data a round", 1, kind=int, minimum=1
    )
    local_steps: int | None = setting(
        _TRAINING,
        "exactly this many full batches a round, in place of --local_epochs",
        None,
        kind=int,
        minimum=1,
        optional=True,
    )
    batch_size: int = setting(_TRAINING, "examples a batch", kind=int, minimum=1)
    client_optimizer: str = setting(
        _TRAINING, "optimizer of the local steps", "sgd", choices=OPTIMIZERS
    )
    server_optimizer: str = setting(
        _TRAINING, "optimizer of the step along the aggregate", choices=OPTIMIZERS
    )
    client_lr: float = setting(_TRAINING, "client learning rate", kind=float, above=0)
    server_lr: float = setting(_TRAINING, "server learning rate", kind=float, above=0)
    epsilon: float = setting(
        _TRAINING, "epsilon of an adaptive optimizer, as in TFF", kind=float, above=0
    )
    client_momentum: float = setting(
        _TRAINING, "momentum of a client SGD", 0.0, kind=float, minimum=0, below=1
    )
    server_momentum: float = setting(
        _TRAINING, "momentum of a server SGD", 0.0, kind=float, minimum=0, below=1
    )

    engine: str = setting(
        _ENGINE, "what executes a round: XLA programs, or TFF", "fused", choices=ENGINES
    )
    device: str = setting(
        _ENGINE, "where the fused engine runs; TFF runs on the CPU", "auto", choices=DEVICES
    )

    reading: str = setting(
        _READING, "preset of all settings below", "paper", choices=readings.PRESETS
    )
    rate_init: str = setting(_READING, "R1: r(0)", choices=("k_over_n", "p", "one_over_n"))
    aggregate: str = setting(
        _READING, "R2: F3AST's sum, as it is or over K", choices=("sum", "sum_over_k")
    )
    baseline_sampling: str = setting(
        _READING,
        "R3: FedAvg, FedAdam sample by p_k",
        choices=("without_replacement", "with_replacement"),
    )
    baseline_average: str = setting(
        _READING, "R3: FedAvg, FedAdam average by", choices=("plain", "examples")
    )
    lognormal_spread: str = setting(
        _READING, "R4: lognormal(0, s) has s as its", choices=("variance", "sigma")
    )
    smartphones_grid: str = setting(
        _READING, "R5: hours of the sine wave", choices=("hourly", "endpoints")
    )
    availability_objective: str = setting(
        _READING, "R9: H(r) sums p^2 / r or p / r", choices=("p_squared", "p")
    )
    poc_loss: str = setting(
        _READING, "R10: Power-of-Choice ranks by", choices=("mean", "sum_of_batches")
    )
    ties: str = setting(_READING, "R11: equal utilities go to", choices=("random", "lowest_id"))
    availability_draws: str = setting(
        _READING,
        "R13: available sets change with the seed, or are the same for every seed",
        choices=("by_seed", "by_round_only"),
    )
    client_share: str = setting(
        _READING, "R16: p_k is the share of", choices=("examples", "batches")
    )
    short_rounds: str = setting(
        _READING,
        "R17: F3AST with fewer than K available trains",
        choices=("available_only", "fill_unavailable"),
    )
    poc_clip_norm: float = setting(
        _READING, "R18: gradient norm limit in Power-of-Choice, 0 for none", kind=float, minimum=0
    )

    seed: int = setting(_RUN, "seed of everything but the data", 0, kind=int, minimum=0)
    eval_every: int = setting(_RUN, "rounds between evaluations", 10, kind=int, minimum=1)
    checkpoint_every: int = setting(
        _RUN, "rounds between checkpoints", 25, kind=int, minimum=1, decides_result=False
    )
    output_dir: str = setting(_RUN, "folder of all runs", "runs", decides_result=False)
    run_name: str = setting(_RUN, "folder of this run", decides_result=False)

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that decide the result."""
        return {
            spec.name: getattr(self, spec.name)
            for spec in fields(self)
            if spec.metadata["decides_result"]
        }

    def as_dict(self) -> dict[str, Any]:
        """Returns all settings."""
        return asdict(self)


def resolve(given: Mapping[str, Any]) -> Settings:
    """Resolves and checks settings.

    Args:
        given: Values by name; `None` or absence means not given.

    Returns:
        All settings: those given, then the reading's, the task's published values and defaults.

    Raises:
        SettingError: On the first value that is not allowed.
    """
    specs = {spec.name: spec for spec in fields(Settings)}
    for name, value in given.items():
        if name not in specs:
            raise SettingError(name, value, "there is no such setting")
    values: dict[str, Any] = {
        name: given.get(name) if given.get(name) is not None else spec.metadata["default"]
        for name, spec in specs.items()
    }
    for deciding in ("task", "algorithm", "availability", "reading"):
        check(specs[deciding], values[deciding])
    for name in specs:
        if values[name] is DERIVED:
            values[name] = _derived(name, values)
        check(specs[name], values[name])
    settings = Settings(**values)
    _check_together(settings)
    return settings


def _derived(name: str, values: Mapping[str, Any]) -> Any:
    if name == "run_name":
        parts = [values[key] for key in ("task", "algorithm", "availability", "reading")]
        return "-".join([*parts, f"seed{values['seed']}"])
    if name in readings.READINGS:
        value = readings.value_of(name, values["reading"])
        if name == "availability_objective" and value is None:
            correlated = AVAILABILITY[values["availability"]].process.positively_correlated
            return "p" if correlated else "p_squared"
        return value
    server_optimizer = ALGORITHMS[values["algorithm"]].server_optimizer
    if name == "server_optimizer":
        return server_optimizer
    return published(values["task"], name, values["server_optimizer"])


def _check_together(settings: Settings) -> None:
    k, n = settings.clients_per_round, settings.num_clients
    if k > n:
        raise SettingError("clients_per_round", k, f"must be at most num_clients, {n}")
    if settings.algorithm == "poc" and settings.poc_candidates < k:
        raise SettingError(
            "poc_candidates", settings.poc_candidates, f"must be at least clients_per_round, {k}"
        )
    if not settings.run_name or "/" in settings.run_name or settings.run_name in (".", ".."):
        raise SettingError("run_name", settings.run_name, "must be the name of one folder")
