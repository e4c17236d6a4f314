"""Roles of the columns of anybody's table of scores, and the names that they are known by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from f3ast_tff.analysis.compare.table_directions import words_of
from f3ast_tff.analysis.compare.table_languages import english
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError

# Names of columns, the likeliest first; compared in lower case, without a service's prefix.
NAMES = {
    "method": "method algorithm algo alg strategy approach aggregator aggregation baseline "
    "federated_optimizer method_name algorithm_name strategy_name framework optimizer model",
    "seed": "seed random_seed rng_seed trial repeat repetition rep replicate",
    "run": "run run_id run_name id",
    "draw": "data_seed draw fold split_seed",
    "step": "round rounds server_round server-round comm_round global_round step "
    "communication_round round_number round_idx current_round epoch iteration "
    "training_iteration _step",
}
_PREFIX = re.compile(r"^((config|params|metrics|summary|hparams|cfg|args)[./]|params?_)")
# Columns that tell what a score is.
METRICS = frozenset({"metric", "metrics", "measure", "metric_name", "tag", "variable"})
VALUES = frozenset({"value", "metric_value"})
# Columns by which W&B and MLflow keep runs; no conditions.
KEPT_BY = re.compile(
    r"(name|state|notes|user|tags|created|updated|end time|runtime|hostname|sweep|id|status|"
    r"artifact_uri|start_time|end_time|experiment_id|run_name|run_id|_\w+|tags\..+|"
    # Ray Tune and Optuna.
    r"date|time|timestamp|datetime\w*|trial_id|trial_name|experiment_tag|node_ip|logdir|duration)"
)


@dataclass(frozen=True)
class Columns:
    """Columns of a table, by name.

    Attributes:
        method: The method.
        score: The score.
        higher: Whether a higher score is better.
        step: The round; `None` for a row per run.
        seed: The seed; `None` if each row, or each `run`, is a run of its own.
        run: An id of the run, in place of a seed; `None` without one.
        draw: The draw of the data; `None` without one.
        conditions: Columns that two methods must share to be compared.
        loss: A loss beside the score: where it is not finite, the run diverged.
        own: Numbers in which methods differ, such as a learning rate.
    """

    method: str
    score: str
    higher: bool
    step: str | None
    seed: str | None
    run: str | None
    draw: str | None
    conditions: tuple[str, ...]
    loss: str | None = None
    own: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Name of the score in `Scored`."""
        return f"sample_{self._name}"

    @property
    def _name(self) -> str:
        # Accuracies have a worst value, see `pairs`.
        words = words_of(self.score)
        return "accuracy" if self.higher and {"acc", "accuracy"} & set(words) else self.score

    @property
    def directions(self) -> dict[str, bool]:
        """Whether a higher value is better, by the names of `Scored`."""
        found = {self._name: self.higher}
        return {**found, "loss": False} if self.loss is not None else found

    @property
    def unit(self) -> str | None:
        """Column that tells the runs of a method apart."""
        return self.seed or self.run


def require_columns(table: pd.DataFrame, given: Mapping[str, str]) -> None:
    """Raises `ParameterError` if a table lacks a given column."""
    for role, name in given.items():
        if name not in table:
            raise ParameterError(role, name, f"must be a column: {listed(table.columns)}")


def plain_name(name: str) -> str:
    """Returns a name in lower case and in English, without a service's prefix."""
    return english(_PREFIX.sub("", name)).replace(" ", "_")


def known_as(table: pd.DataFrame, role: str) -> list[str]:
    """Returns the columns that are known as a role, the likeliest first."""
    plain = {plain_name(str(name)): str(name) for name in table}
    return [plain[name] for name in NAMES[role].split(" ") if name in plain]


def column_of(table: pd.DataFrame, role: str, given: Mapping[str, str]) -> str | None:
    """Returns the column of a role: the given one, or the likeliest that has no other role."""
    found = known_as(table, role)
    return given.get(role) or next((n for n in found if n not in given.values()), None)


def method_in(table: pd.DataFrame, given: Mapping[str, str]) -> str | None:
    """Returns the column of the method: the given one, or the likeliest of several values."""
    several = [name for name in known_as(table, "method") if table[name].nunique() > 1]
    return given.get("method") or next(iter(several), None)
