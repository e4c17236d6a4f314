"""Every setting of an experiment, declared once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from f3ast_tff.availability.catalogue import ENTRIES
from f3ast_tff.availability.constraints.from_text import FORMS
from f3ast_tff.configuration import readings
from f3ast_tff.configuration.registry import ALGORITHMS
from f3ast_tff.configuration.setting import of_availability, setting
from f3ast_tff.configuration.tasks import MODELS, TASKS
from f3ast_tff.optimizer import OPTIMIZERS

ENGINES = ("fused", "tff")
DEVICES = ("auto", "cpu", "gpu")
TFF_RUNTIMES = ("worker", "tf", "ray")

_TASK, _ALGORITHM, _AVAILABILITY = "Task", "Algorithm", "Availability"
_TRAINING, _ENGINE, _RUN = "Training", "Engine", "Run"
_READING = "Readings (paper / released code / CA-Fed's authors)"


@dataclass(frozen=True)
class Settings:
    """Resolved settings; each attribute is the flag of that name, see `--help`."""

    task: str = setting(_TASK, "data and model", "synthetic", choices=tuple(TASKS))
    model: str = setting(_TASK, "the network", choices=tuple(MODELS))
    num_clients: int = setting(_TASK, "number of clients N", kind=int, minimum=1)
    data_dir: str = setting(
        _TASK,
        "folder of the distributors' files and of what is prepared from them",
        decides_result=False,
    )
    data_seed: int = setting(
        _TASK, "seed of generated data, and of who holds which data", 0, kind=int, minimum=0
    )
    test_clients: int | None = setting(
        _TASK,
        "score so many test clients, drawn once, in place of all",
        None,
        kind=int,
        minimum=1,
        optional=True,
    )
    client_split: str = setting(
        _TASK,
        "clients drawn anew from the distributor's files, or those of TFF's own files",
        "redrawn",
        choices=("redrawn", "tff"),
        tasks=("cifar100", "shakespeare"),
    )
    augmentation: str = setting(
        _TASK,
        "crops of the training images: random and mirrored, or central",
        "random",
        choices=("random", "none"),
        tasks=("cifar100",),
    )
    dirichlet_s: float = setting(
        _TASK,
        "concentration of the label allocation: small for few classes a client",
        0.5,
        kind=float,
        above=0,
        tasks=("mnist", "cifar10"),
    )
    dirichlet_groups: int | None = setting(
        _TASK,
        "share each class out over so many blocks of client ids, whose members are alike",
        None,
        kind=int,
        minimum=1,
        optional=True,
        tasks=("mnist",),
    )
    size_spread: float = setting(
        _TASK,
        "standard deviation of a client's number of images over its mean",
        0.2,
        kind=float,
        minimum=0,
        tasks=("cifar10_one_class",),
    )
    synthetic_alpha: float = setting(
        _TASK,
        "spread of clients' model means (moves no label, see README)",
        kind=float,
        minimum=0,
        tasks=("synthetic", "leaf_synthetic"),
    )
    synthetic_beta: float = setting(
        _TASK,
        "how much clients' features differ",
        kind=float,
        minimum=0,
        tasks=("synthetic", "leaf_synthetic"),
    )
    ridge: float = setting(
        _TASK,
        "softmax regression: the loss adds ridge / 2 |w|^2",
        kind=float,
        minimum=0,
    )

    algorithm: str = setting(_ALGORITHM, "what to run", "f3ast", choices=tuple(ALGORITHMS))
    clients_per_round: int = setting(
        _ALGORITHM, "K, the most clients a round", 10, kind=int, minimum=1
    )
    rate_beta: float = setting(
        _ALGORITHM, "step size of F3AST's rates", 0.001, kind=float, above=0, below=1
    )
    rate_clusters: int | None = setting(
        _ALGORITHM,
        "F3AST tracks one rate for each of so many blocks of client ids, not one a client",
        None,
        kind=int,
        minimum=1,
        optional=True,
    )
    policy_states: int = setting(
        _ALGORITHM,
        "f3ast_fixed: available sets, drawn beforehand, from which r* is computed",
        500,
        kind=int,
        minimum=1,
    )
    activity: str = setting(
        _ALGORITHM,
        "CA-Fed and its benchmarks know pi_k and lambda_k, or estimate them",
        "oracle",
        choices=("oracle", "estimated"),
    )
    activity_history: int = setting(
        _ALGORITHM, "rounds observed beforehand, for estimated activity", 0, kind=int, minimum=0
    )
    kappa2: float = setting(
        _ALGORITHM, "CA-Fed: weight of bias against slow convergence", 1.0, kind=float, minimum=0
    )
    tau: float = setting(
        _ALGORITHM, "CA-Fed: least fall of the error for an exclusion", 0.0, kind=float, minimum=0
    )
    loss_beta: float = setting(
        _ALGORITHM, "CA-Fed: weight of a new loss, at most 1", 1.0, kind=float, above=0
    )
    more_available_pi: float = setting(
        _ALGORITHM, "more_available: least pi_k that counts, at most 1", 0.5, kind=float, above=0
    )
    loss_minima: str = setting(
        _ALGORITHM,
        "CA-Fed: F*_k is the least loss so far, or that of softmax regression trained on the "
        "client's data alone",
        "running",
        choices=("running", "trained"),
    )
    poc_candidates: int = setting(
        _ALGORITHM, "d, candidates of Power-of-Choice", 30, kind=int, minimum=1
    )

    availability: str = setting(
        _AVAILABILITY, "who is reachable when", "home_devices", choices=tuple(ENTRIES)
    )
    scarce_q: float = of_availability("scarce_q")
    alternating_period: int = of_availability("alternating_period")
    alternating_ratio: float = of_availability("alternating_ratio")
    markov_g: float = of_availability("markov_g")
    markov_nu: float = of_availability("markov_nu")
    markov_epsilon: float = of_availability("markov_epsilon")
    markov_order: str = of_availability("markov_order")
    cluster_pi: str = of_availability("cluster_pi")
    cluster_eigenvalues: str = of_availability("cluster_eigenvalues")
    trace_file: str | None = of_availability("trace_file")
    trace_states: str = of_availability("trace_states")
    trace_eligible: str = of_availability("trace_eligible")
    trace_round_seconds: int = of_availability("trace_round_seconds")
    trace_start: float = of_availability("trace_start")
    trace_days: float = of_availability("trace_days")
    trace_assignment: str = of_availability("trace_assignment")
    trace_shift: str = of_availability("trace_shift")
    trace_when: str = of_availability("trace_when")
    table_file: str | None = of_availability("table_file")
    availability_parts: str | None = of_availability("availability_parts")
    mix_shares: str = of_availability("mix_shares")
    communication: str | None = setting(
        _AVAILABILITY,
        f"how many clients a round, in place of --clients_per_round: {FORMS}",
        None,
        optional=True,
    )

    rounds: int = setting(_TRAINING, "number of rounds T", kind=int, minimum=1)
    switch_round: int = setting(
        _TRAINING,
        "fedavg_then_fedlaavg: first round of FedLaAvg; default: half-way",
        kind=int,
        minimum=1,
    )
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
    last_batch: str = setting(_TRAINING, "an epoch's short last batch", choices=("keep", "drop"))
    client_optimizer: str = setting(
        _TRAINING, "optimizer of the local steps", "sgd", choices=OPTIMIZERS
    )
    server_optimizer: str = setting(
        _TRAINING, "optimizer of the step along the aggregate", choices=OPTIMIZERS
    )
    client_lr: float = setting(_TRAINING, "client learning rate", kind=float, above=0)
    client_lr_decay: float = setting(
        _TRAINING,
        "factor of the client learning rate from round to round",
        1.0,
        kind=float,
        above=0,
        maximum=1,
    )
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
        _ENGINE, "where clients train; TFF's worker knows the CPU alone", "auto", choices=DEVICES
    )
    tff_runtime: str = setting(
        _ENGINE,
        "what executes TFF's processes: TFF's own worker process (CPU only), TensorFlow in this "
        "process, or in Ray actors",
        "worker",
        choices=TFF_RUNTIMES,
    )
    num_workers: int | None = setting(
        _ENGINE,
        "split each cohort over so many Ray actors, each with a shard of the clients; default: "
        "none, 2 with --tff_runtime=ray",
        kind=int,
        minimum=1,
        optional=True,
        decides_result=False,
    )
    ray_address: str | None = setting(
        _ENGINE,
        "an existing Ray cluster, auto, HOST:PORT or ray://HOST:PORT, for --num_workers (without "
        "it this machine alone) or for the runs of a campaign (run folders are then on a file "
        "system that all its nodes share, and only runs with --device=gpu get a GPU)",
        None,
        optional=True,
        decides_result=False,
    )
    round_timeout: float | None = setting(
        _ENGINE,
        "seconds after which a round on --num_workers or on TFF's worker counts as hung; default: "
        "no limit",
        None,
        kind=float,
        above=0,
        optional=True,
        decides_result=False,
    )
    tff_clients_at_once: int | None = setting(
        _ENGINE,
        "clients that TFF trains at the same time, which bounds memory; default: by task",
        None,
        kind=int,
        minimum=1,
        optional=True,
        decides_result=False,
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
    resnet_variant: str = setting(
        _READING,
        "R12: ResNet-18 with strides of 2 as in He et al., or the released code's",
        choices=("strided", "released"),
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
    f3ast_rule: str = setting(
        _READING,
        "R19: F3AST is itself, or the rule that CA-Fed's authors ran in its name: it ranks by "
        "p_k / pi_k, ties to the lowest id",
        choices=("f3ast", "ca_fed"),
    )
    ca_fed_bias: str = setting(
        _READING,
        "R20: CA-Fed's eq. (16) with factor 4 and a fall of more than tau; or its released code's "
        "factor 1 and at least tau",
        choices=("paper", "released"),
    )

    seed: int = setting(_RUN, "seed of everything but the data", 0, kind=int, minimum=0)
    eval_every: int = setting(_RUN, "rounds between evaluations", 10, kind=int, minimum=1)
    checkpoint_every: int = setting(
        _RUN, "rounds between checkpoints", 25, kind=int, minimum=1, decides_result=False
    )
    output_dir: str = setting(_RUN, "folder of all runs", "runs", decides_result=False)
    run_name: str = setting(
        _RUN, "folder of this run; default: from the settings", decides_result=False
    )

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
