"""The settings that every experiment has, with any components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from f3ast_tff.core.randomness import MAX_SEED
from f3ast_tff.core.schedules import PUBLISHED_ROUNDS, SCHEDULES, Schedule, client_schedule
from f3ast_tff.settings import Derived, Published, Reading, parameter
from f3ast_tff.settings.kinds import installed
from f3ast_tff.settings.parameter import PRESETS


@dataclass(frozen=True)
class TrainingConfig:
    """Local training and the number of rounds."""

    rounds: int = parameter(Published(100), "number of rounds T", minimum=1, maximum=10**9)
    local_epochs: int = parameter(
        1, "passes over a client's data per round", minimum=1, maximum=10**6
    )
    local_steps: int | None = parameter(
        None,
        "exactly this many full batches per round, instead of local_epochs",
        minimum=1,
        maximum=10**6,
    )
    batch_size: int = parameter(Published(20), "examples per batch", minimum=1, maximum=10**6)
    last_batch: str = parameter(
        Published("keep"), "an epoch's short last batch", choices=("keep", "drop")
    )
    initial_weights: str | None = parameter(
        None,
        "folder of a run whose scored model, of its last checkpoint, is the model of round 1",
        is_input=True,
    )
    client_lr_schedule: str = parameter(
        Derived(
            lambda known: "geometric" if known["client_lr_decay"] != 1 else "constant",
            "constant, or geometric with a client_lr_decay",
        ),
        "client learning rate of round t over that of round 1: 1, d^(t - 1), 1 / (s + 1) or "
        "1 / sqrt(s + 1), with s = (t - 1) / T, d client_lr_decay and T client_lr_rounds",
        choices=SCHEDULES,
        method_specific=True,
    )
    client_lr_decay: float = parameter(
        1.0,
        "factor of the client learning rate from round to round",
        above=0,
        maximum=1,
        method_specific=True,
    )
    client_lr_rounds: int | None = parameter(
        Derived(
            lambda known: PUBLISHED_ROUNDS.get(known["client_lr_schedule"]),
            "1 with inverse (MIFA), 10 with inverse_sqrt (FedAWE)",
        ),
        "T of the client learning rate 1 / (s + 1) or 1 / sqrt(s + 1)",
        minimum=1,
        units="rounds",
        method_specific=True,
    )
    train: str | None = parameter(
        Derived(lambda known: None if known.get("lora") is None else "lora", "lora with lora"),
        "leaves of the model that are trained and sent, as in private, such as lora; all others "
        "stay as they are",
        method_specific=True,
    )
    factors: str | None = parameter(
        None,
        "LoRA's factors A and B over absence: means of the factors (fedit), sums of their changes "
        "(changes), exact products into the base (fedex, flora), A frozen (ffa), halves by turns "
        "(rolora)",
        choices=("fedit", "changes", "fedex", "flora", "ffa", "rolora"),
        method_specific=True,
    )
    private: str | None = parameter(
        None,
        "leaves of the model that stay with each client and are not sent: a comma list of names, "
        "such as head or norm, or of numbers",
        method_specific=True,
    )

    @property
    def client_schedule(self) -> Schedule:
        """The schedule of the clients' learning rate; refuses a parameter that it lacks."""
        decay, rounds = self.client_lr_decay, self.client_lr_rounds
        return client_schedule(self.client_lr_schedule, decay=decay, rounds=rounds)


def _population(known: Any) -> str:
    """`present` if an availability process renews shares; see `AvailabilityConfig`."""
    renewed = any(c.renews_shares(known) for c in known.config_classes("availability"))
    return "present" if renewed else "all"


@dataclass(frozen=True)
class SelectionConfig:
    """Limits on selection, for every strategy."""

    client_share_of: str = parameter(
        Derived(
            _population, "present with poisson_arrivals, stays and --trace_presence=seen, else all"
        ),
        "p_k is the share of client k among all clients, or in each round among present clients",
        choices=("all", "present"),
    )
    selection_separation: int = parameter(
        0,
        "R, least rounds between two selections of a client, 0 for none",
        minimum=0,
        maximum=10**9,
        units="rounds",
    )


@dataclass(frozen=True)
class ReadingConfig:
    """The reading of the papers, and points that concern every experiment."""

    reading: str = parameter(
        "paper", "preset of all settings that have a number R1, R2, ...", choices=PRESETS
    )
    availability_draws: str = parameter(
        Reading("R13", "by_seed", "by_round_only"),
        "available sets change with the seed, or are the same for every seed",
        choices=("by_seed", "by_round_only"),
    )
    client_share: str = parameter(
        Reading(
            "R16",
            Derived(
                lambda known: known.config_class("algorithm").client_share,
                "examples, or equal where the algorithm's paper has 1 / N",
            ),
            "batches",
        ),
        "p_k, a client's weight in the objective: its share of the examples or of the training "
        "batches, or 1 / N for all",
        choices=("examples", "batches", "equal"),
    )


@dataclass(frozen=True)
class RunConfig:
    """Seed, folder and files of a run."""

    seed: int = parameter(0, "seed of everything but the data", minimum=0, maximum=MAX_SEED)
    eval_every: int = parameter(10, "rounds between evaluations", minimum=1)
    checkpoint_every: int = parameter(
        25, "rounds between checkpoints", minimum=1, decides_result=False
    )
    checkpoint_seconds: float = parameter(
        120.0,
        "a checkpoint is also written at the next round boundary after",
        above=0,
        units="seconds",
        decides_result=False,
    )
    keep_checkpoints: int = parameter(
        1,
        "checkpoints that a finished run keeps; without one it has no weights to load and cannot "
        "be made longer",
        minimum=0,
        maximum=2,
        decides_result=False,
    )
    client_scores: bool = parameter(
        False,
        "write accuracy and loss of every test client at each evaluation",
        decides_result=False,
    )
    write_masks: str = parameter(
        "none",
        "write who is available in each round to masks.csv, masks.npy or masks.npz",
        choices=("none", "csv", "npy", "npz"),
        decides_result=False,
    )
    logger: str = parameter(
        Derived(
            lambda known: "tensorboard" if installed("tensorboard") else "csv",
            "tensorboard where it is installed, else csv",
        ),
        "where scalars go besides metrics.csv: a comma list of tensorboard, csv",
        decides_result=False,
    )
    method_name: str | None = parameter(
        None,
        "name of the method in tables and pictures, instead of its algorithm and settings",
        decides_result=False,
    )
    output_dir: str = parameter("runs", "folder of all runs", decides_result=False, is_path=True)
    run_name: str = parameter(
        Derived(
            lambda known: known.run_name(),
            "task, algorithm, availability, reading, what is not default, and the seed",
        ),
        "folder of this run",
        decides_result=False,
    )


# Headings of `--help`.
GROUPS: dict[str, type] = {
    "Training": TrainingConfig,
    "Selection": SelectionConfig,
    "Readings": ReadingConfig,
    "Run": RunConfig,
}
