"""pfl-research's simulation with our cohorts and weights, in `make test-pfl`'s environment."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pfl")

from pfl.aggregate.simulate import SimulatedBackend
from pfl.common_types import Population
from pfl.data.dataset import Dataset
from pfl.metrics import Metrics
from pfl.stats import MappedVectorStatistics

from f3ast_tff import F3AST, FedAvg, PowerOfChoice, RoundConstraint, advise
from f3ast_tff.advice.deploy import snippets, write_files
from f3ast_tff.availability import ScarceConfig, Table
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.methods import Round
from f3ast_tff.pfl import AvailableUsers, CohortWeights

N, K, ROUNDS = 8, 3, 30
P = np.arange(1, N + 1) / (N * (N + 1) / 2)
NAMES = [f"user {k}" for k in range(N)]


class SendsItsNumber:
    """Replaces local training: user k sends k + 1 and 2 (k + 1)."""

    def simulate_one_user(self, model: Any, user_dataset: Any, central_context: Any) -> Any:
        number = float(NAMES.index(user_dataset.user_id) + 1)
        return MappedVectorStatistics({"x": np.array([number, 2 * number])}, 1.0), Metrics()


def dataset(user: str) -> Dataset:
    return Dataset([np.zeros((5, 2))], user_id=user)


@pytest.mark.parametrize("start", [F3AST.start, FedAvg.start])
def test_a_round_of_pfl_is_the_weighted_step(start: Any) -> None:
    process = ScarceConfig(scarce_q=0.1).build(P, seed=3)
    users = AvailableUsers(dataset, start(P, K, seed=1), process, NAMES)
    backend = SimulatedBackend(users, users, postprocessors=[CohortWeights(users)])
    context = SimpleNamespace(cohort_size=K, population=Population.TRAIN)
    strategy, number, empty = start(P, K, seed=1), 0, 0
    for _ in range(ROUNDS):
        found, _ = backend.gather_results(
            model=None, training_algorithm=SendsItsNumber(), central_context=context
        )
        found.average()
        while True:
            number += 1
            now = Round(number, process.mask(number), RoundConstraint(K))
            ids = strategy.select(now)
            cohort = strategy.weigh(now, ids, np.ones(len(ids), bool))
            if len(cohort):
                break
            empty += 1
        assert users.round_number == number
        step = cohort.weights @ (cohort.ids + 1.0)
        step /= cohort.weights.sum() if strategy.aggregation == "mean" else 1
        np.testing.assert_allclose(found["x"], [step, 2 * step])
    assert empty > 5


def test_the_code_that_advice_prints_makes_cohorts(tmp_path: Path) -> None:
    """Nobody is there in round 3; users leave and come back."""
    masks = np.random.default_rng(0).random((50, N)) < 0.4
    masks[2] = False
    advice = advise(pd.DataFrame(masks, columns=NAMES), ks=[K])
    write_files(advice, tmp_path, "")
    found = snippets(advice, tmp_path)
    names = {"make_dataset": dataset, "availability": Table(masks)}
    exec(f"{found['own']}\n{found['pfl']}", names)
    backend = SimulatedBackend(names["users"], None, postprocessors=names["postprocessors"])
    context = SimpleNamespace(cohort_size=K, population=Population.TRAIN)
    for _ in range(40):
        stats, _ = backend.gather_results(
            model=None, training_algorithm=SendsItsNumber(), central_context=context
        )
        assert np.isfinite(stats["x"]).all()
    assert names["users"].round_number > 40


def test_every_worker_has_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for rank in (0, 1):
        np.random.seed(0)
        users = AvailableUsers(dataset, F3AST.start(P, K), Table(np.ones((1, N), bool)), NAMES)
        ops = SimpleNamespace(distributed=SimpleNamespace(world_size=2, global_rank=rank))
        monkeypatch.setattr(users, "_get_ops", lambda ops=ops: ops)
        found.append([data.user_id for data, _ in users.get_cohort(K)])
    assert len(found[0]) == 2 and len(found[1]) == 1
    assert len({*found[0], *found[1]}) == K


class Nobody:
    """A process of the user that does not know its shares."""

    num_clients, positively_correlated, periodic = N, False, False

    def mask(self, round_number: int) -> np.ndarray:
        return np.zeros(N, bool)


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (Table(np.zeros((5, N), bool)), "no user is ever available"),
        (Nobody(), "no user was selected in rounds 1 to 10000"),
    ],
)
def test_a_cohort_where_nobody_is_ever_there_is_an_error(process: Any, message: str) -> None:
    users = AvailableUsers(dataset, F3AST.start(P, K), process, NAMES)
    with pytest.raises(DataError, match=message):
        next(users.get_cohort(K))


def test_the_lines_of_the_page_run() -> None:
    page = (Path(__file__).parents[2] / "docs/own_server.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    known = {"make_dataset": dataset, "F3AST": F3AST, "p": P, "K": K, "val_data": None}
    names: dict[str, Any] = {**known, "SimulatedBackend": SimulatedBackend}
    exec(code, names)
    assert isinstance(names["users"], AvailableUsers)


def test_a_method_that_asks_for_losses_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="strategy = PowerOfChoice: must weigh for sum or mean"
    ):
        AvailableUsers(dataset, PowerOfChoice.start(P, K), Table(np.ones((1, N), bool)))
