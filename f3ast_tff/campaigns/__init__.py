"""Campaigns: a grid of runs, declared as data, executed in parallel and resumable."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.settings import parameter


@dataclass(frozen=True)
class Options:
    """Options of the command, which are no settings."""

    campaign: str | None = parameter(
        None,
        "run all runs of a campaign: the name of a built-in one or a TOML file; given settings "
        "hold for every run that has them",
        is_path=True,
    )
    list: bool = parameter(False, "list the runs and their states, and run none")
    estimate: bool = parameter(
        False,
        "print core-hours, wall time, memory and disk of the runs that are left, and run none; "
        "measures some rounds of each line in a temporary folder",
    )
    minutes: float | None = parameter(
        None, "stop after this time, each run with a checkpoint; the same command goes on", above=0
    )
    processes: int | None = parameter(
        None, "runs at a time; default: one per GPU, else one per core", minimum=1
    )
    draw: str | None = parameter(
        None, "draws in place of the campaign's, such as 0-11: each is data_seed and seed at once"
    )
    where: str | None = parameter(
        None,
        "run a part of the campaign: SETTING=VALUE,..., such as task=cifar100,algorithm=fedavg",
    )
    shard: str | None = parameter(
        None,
        "run one of several disjoint parts, such as 3/20, beside the jobs that run the others in "
        "the same folder",
    )
