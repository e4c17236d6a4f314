"""The settings that every experiment has, whatever its components."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.components import Derived, Published, Reading, parameter
from f3ast_tff.components.defaults import PRESETS


@dataclass(frozen=True)
class TrainingConfig:
    """Local training, and for how long."""

    rounds: int = parameter(Published(100), "number of rounds T", minimum=1)
    local_epochs: int = parameter(1, "passes over a client's data a round", minimum=1)
    local_steps: int | None = parameter(
        None, "exactly this many full batches a round, in place of local_epochs", minimum=1
    )
    batch_size: int = parameter(Published(20), "examples a batch", minimum=1)
    last_batch: str = parameter(
        Published("keep"), "an epoch's short last batch", choices=("keep", "drop")
    )
    client_lr_decay: float = parameter(
        1.0, "factor of the client learning rate from round to round", above=0, maximum=1, own=True
    )


@dataclass(frozen=True)
class ReadingConfig:
    """Which reading of the papers, and the points that concern every experiment."""

    reading: str = parameter(
        "paper", "preset of all settings that have a number R1, R2, ...", choices=PRESETS
    )
    availability_draws: str = parameter(
        Reading("R13", "by_seed", "by_round_only"),
        "available sets change with the seed, or are the same for every seed",
        choices=("by_seed", "by_round_only"),
    )
    client_share: str = parameter(
        Reading("R16", "examples", "batches"),
        "p_k is the share of",
        choices=("examples", "batches"),
    )


@dataclass(frozen=True)
class RunConfig:
    """One run: its seed, its folder, and what it writes when."""

    seed: int = parameter(0, "seed of everything but the data", minimum=0)
    eval_every: int = parameter(10, "rounds between evaluations", minimum=1, own=True)
    checkpoint_every: int = parameter(
        25, "rounds between checkpoints", minimum=1, decides_result=False
    )
    output_dir: str = parameter("runs", "folder of all runs", decides_result=False, is_path=True)
    run_name: str = parameter(
        Derived(
            lambda known: "-".join(
                [
                    *(known[name] for name in ("task", "algorithm", "availability", "reading")),
                    f"seed{known['seed']}",
                ]
            ),
            "from the settings",
        ),
        "folder of this run",
        decides_result=False,
    )


# By heading in `--help`.
GROUPS: dict[str, type] = {
    "Training": TrainingConfig,
    "Readings": ReadingConfig,
    "Run": RunConfig,
}
