"""Components of the algorithms, refused settings, and runs of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.availability import ByteBudget, CycleK, FixedK, GroupMinimum, HoldK, PoissonK
from f3ast_tff.cli import run as run_command
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.methods.small_world import Blinking, K, N, config, small_world
from tests.f3ast_tff.run.test_interrupted import MEMORIES, MEMORY

ALGORITHMS = builtin_registry().components["algorithm"]
BYTES = {"constraint": "bytes:5e6", "num_clients": N}


@pytest.mark.parametrize(
    ("constraint", "rate"),
    [
        (FixedK(clients_per_round=2), 2 / 6),
        (CycleK("1,2,6"), 3 / 6),
        (HoldK("1,2,6"), 1.0),
        (ByteBudget("8,17", N, update_bytes=4), 3 / 6),
    ],
)
def test_first_rates_follow_the_constraint(constraint: Any, rate: float) -> None:
    """r(0) = K / N uses the long-run mean of K_t."""
    for given in ({}, {"rate_clusters": 2}):
        strategy = config("f3ast", rate_init="k_over_n", **given).build(
            small_world(constraint=constraint)
        )
        np.testing.assert_allclose(strategy.rates.values, rate)
    equal = config("f3ast", rate_init="one_over_n").build(small_world(constraint=constraint))
    np.testing.assert_allclose(equal.rates.values, 1 / 6)


def test_first_rates_if_all_were_available_are_in_proportion_to_p() -> None:
    """p = 4, 2, 6, 3, 5, 4 of 24 and K = 3: r(0) = 3 p, and each p / r(0) is 1 / K."""
    strategy = config("f3ast", rate_init="all_available").build(small_world())
    world = small_world()
    np.testing.assert_allclose(strategy.rates.values, 3 * world.p, rtol=1e-15)
    assert set(world.p / strategy.rates.unscaled) == {1.0}
    clusters = config("f3ast", rate_init="all_available", rate_clusters=2).build(world)
    shared = clusters.rates.of_clusters.values
    np.testing.assert_allclose(shared, 3 * world.p.reshape(2, -1).mean(1))


def test_clusters_are_blocks_of_ids_with_their_mean_rate() -> None:
    strategy = config("f3ast", rate_clusters=2).build(small_world())
    assert strategy.rates.clusters.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(strategy.rates.of_clusters.values, [12 / 24 / 3, 12 / 24 / 3])


def test_clusters_take_the_settings_of_f3ast() -> None:
    given = {"rate_clusters": 2, "rate_step": "falling", "weight_bound": 3.0}
    given |= {"rates_follow": "selected", "availability_objective": "p"}
    strategy = config("f3ast", **given).build(small_world(seed=5))
    assert (strategy.rates.falling, strategy.weight_bound) == (True, 3.0)
    assert (strategy.rates_follow, strategy.availability_objective, strategy.seed) == (
        "selected",
        "p",
        5,
    )


def test_sequential_sgd_has_one_client_that_is_always_there() -> None:
    sequential = config("sequential_sgd")
    assert sequential.pooled
    assert dict(sequential.fixed) == {"availability": "always", "clients_per_round": 1}
    others = {name: c.config for name, c in ALGORITHMS.items() if name != "sequential_sgd"}
    assert not any(other.pooled for other in others.values())
    assert not any(other.fixed for other in others.values())
    late = dict.fromkeys(("fedbuff", "fadas"), ("late", "asynchronous"))
    late |= {"fedavg_in_time": ("late",), "fedasync": ("asynchronous",)}
    late["aced"] = ("asynchronous", "late")
    assert {name: each.deliveries for name, each in others.items() if each.deliveries} == late


TWICE = "must be without_replacement under a budget in bytes"
# The last setting is the one refused.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "f3ast_fixed",
        {"constraint": "cycle:5,10"},
        "f3ast_fixed has its policy for a fixed K, clients_per_round",
    ),
    ("fedavg", {**BYTES, "baseline_sampling": "with_replacement"}, TWICE),
    ("fedavg_then_fedlaavg", {**BYTES, "baseline_sampling": "with_replacement"}, TWICE),
    (
        "fedavg_then_fedlaavg",
        {"aggregation": "mean"},
        "must be fedlaavg with algorithm fedavg_then_fedlaavg",
    ),
    ("poc", {**BYTES, "poc_pool": "with_replacement"}, TWICE),
    (
        "f3ast",
        {**BYTES, "short_rounds": "fill_unavailable"},
        "must be available_only under a budget in bytes",
    ),
    ("f3ast", {"rate_clusters": 2, "divide_by_k": True}, "must be False with rate_clusters"),
    ("f3ast", {"rate_clusters": 2, "ties": "lowest_id"}, "must be random with rate_clusters"),
    (
        "f3ast_adam",
        {"rate_clusters": 2, "short_rounds": "fill_unavailable"},
        "must be available_only with rate_clusters",
    ),
    ("f3ast", {"num_clients": 6, "rate_clusters": 7}, "must be at most num_clients, 6"),
    ("poc", {"clients_per_round": 5, "poc_candidates": 4}, "must be at least clients_per_round, 5"),
    (
        "sequential_sgd",
        {"constraint": "cycle:1,2"},
        "must not be given with sequential_sgd, which has one client",
    ),
    (
        "ca_fed",
        {"loss_minima": "trained", "model": "cafed_cnn"},
        "must be softmax_regression with loss_minima=trained",
    ),
    (
        "ca_fed",
        {"loss_minima": "trained", "model": "softmax_regression", "ridge": 0.0},
        "must be above 0 with loss_minima=trained",
    ),
]


@pytest.mark.parametrize(("algorithm", "given", "message"), REFUSED)
def test_what_a_selection_would_pass_over_is_refused(
    algorithm: str, given: dict[str, Any], message: str
) -> None:
    own = {parameter.name for parameter in ALGORITHMS[algorithm].parameters}
    made = config(algorithm, **{name: given[name] for name in own & given.keys()})
    with pytest.raises(ParameterError) as error:
        made.check(Settings.of({**vars(made), "aggregation": made.aggregation, **given}))
    name, value = list(given.items())[-1]
    assert str(error.value) == f"{name} = {value}: {message}"


@pytest.mark.parametrize("preset", ["paper", "released", "ca_fed"])
@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_defaults_pass_in_every_reading(algorithm: str, preset: str) -> None:
    made = config(algorithm, preset)
    settings = {"model": "softmax_regression", "ridge": 0.01, "num_clients": N}
    made.check(
        Settings.of(
            {**vars(made), "aggregation": made.aggregation, **settings, "clients_per_round": 3}
        )
    )
    made.build(small_world())


def test_what_only_the_world_knows_is_refused_when_it_is_built() -> None:
    for algorithm, given, changes, message in (
        (
            "poc",
            {"poc_candidates": 1},
            {"constraint": PoissonK("2.0", N)},
            "candidates = 1: .* K_t, 3",
        ),
        ("f3ast", {"rate_clusters": 7}, {}, "rate_clusters = 7: must be at most num_clients, 6"),
        ("ca_fed", {"loss_minima": "trained"}, {"model": object()}, "must be running for object"),
        ("more_available", {"more_available_pi": 0.95}, {}, "no client is available so often"),
        ("f3ast", {}, {"p": np.arange(6) / 15}, "rate_init = p: client 0 has no share"),
    ):
        with pytest.raises(ParameterError, match=message):
            config(algorithm, **given).build(small_world(**changes))


def test_the_largest_allowed_pass() -> None:
    """As many candidates as clients per round, and as many clusters as clients."""
    for algorithm, given in (("poc", {"poc_candidates": K}), ("f3ast", {"rate_clusters": N})):
        made = config(algorithm, **given)
        made.check(
            Settings.of(
                {
                    **vars(made),
                    "aggregation": made.aggregation,
                    "num_clients": N,
                    "clients_per_round": K,
                }
            )
        )
        made.build(small_world())
    often = {"more_available_pi": Blinking.stationary.max()}
    assert config("more_available", **often).build(small_world()) is not None


@pytest.mark.parametrize(
    ("algorithm", "given", "expected"),
    [
        ("f3ast", {}, False),
        ("f3ast_fixed", {}, True),
        ("unbiased", {"availability_history": 7}, False),
        ("unbiased", {"availability_knowledge": "estimated"}, False),
        ("unbiased", {"availability_knowledge": "estimated", "availability_history": 1}, True),
    ],
)
def test_a_method_that_looks_past_the_end_depends_on_it(
    algorithm: str, given: dict[str, Any], expected: bool
) -> None:
    made = config(algorithm, **given)
    assert made.depends_on_rounds(vars(made)) == expected


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"algorithm": "fedavg"}, "baseline_sampling", "with_replacement"),
        (
            {"algorithm": "fedavg", "constraint": "bytes:5e6"},
            "baseline_sampling",
            "without_replacement",
        ),
        ({"algorithm": "uniform", "delivery": "asynchronous"}, "async_buffer", 1),
        ({"algorithm": "fedbuff", "buffer_size": 3, "delivery": "asynchronous"}, "async_buffer", 3),
    ],
)
def test_defaults_follow_from_other_settings(
    given: dict[str, Any], name: str, expected: Any
) -> None:
    assert resolve(given).settings[name] == expected


def test_no_flag_is_named() -> None:
    for component in ALGORITHMS.values():
        assert "--" not in component.about
        for parameter in component.parameters:
            assert "--" not in parameter.help


@pytest.mark.parametrize(
    ("algorithm", "setting", "drawn"),
    [
        ("fedavg", "baseline_sampling", "with_replacement"),
        ("fedadam", "baseline_sampling", "with_replacement"),
        ("poc", "poc_pool", "with_replacement"),
    ],
)
def test_draws_with_replacement_are_refused_where_groups_have_minima(
    algorithm: str, setting: str, drawn: str
) -> None:
    """The error comes when the strategy is built, before round 1."""
    minima = GroupMinimum(FixedK(clients_per_round=3), np.arange(N) % 2, (1, 1))
    with pytest.raises(ParameterError, match=f"{setting} = {drawn}: must be without_replacement"):
        config(algorithm, **{setting: drawn}).build(small_world(constraint=minima))
    build = config(algorithm, **{setting: "without_replacement"}).build
    assert build(small_world(constraint=minima)) is not None


SMALL: dict[str, Any] = {"num_clients": 8, "client_lr": 0.05, "seed": 3, "rounds": 5}


def recorded(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Returns `selection.npz`, and both losses of `metrics.csv`."""
    with np.load(folder / "selection.npz") as archive:
        selection = {name: archive[name] for name in archive.files}
    rows = np.genfromtxt(folder / "metrics.csv", delimiter=",", names=True)
    return selection, np.array([rows["train_loss"], rows["test_sample_loss"]])


@pytest.mark.long
@pytest.mark.tff
def test_both_engines_agree(tmp_path: Path) -> None:
    """Five rounds of `f3ast-tff run`; Oort's clients, 4 of 8, depend on losses of the rounds."""
    found = []
    for engine in ("fused", "tff"):
        where = {"output_dir": str(tmp_path), "run_name": engine, "engine": engine}
        some = {"clients_per_round": 4, "availability": "smartphones", "eval_every": 1}
        code = run_command.run(
            {**SMALL, **some, **where, "algorithm": "oort_loss"}, builtin_registry()
        )
        assert code == 0
        found.append(recorded(tmp_path / engine))
    (selection, losses), (expected, expected_losses) = found
    assert selection.keys() == expected.keys()
    np.testing.assert_array_equal(selection["selected"], expected["selected"])
    np.testing.assert_array_equal(selection["weights"], expected["weights"])
    np.testing.assert_allclose(losses, expected_losses, atol=1e-5)
    for part in selection.keys() - {"selected", "weights"}:
        np.testing.assert_allclose(selection[part], expected[part], rtol=1e-5)
    assert len(set(losses[1].tolist())) == 5


@pytest.mark.long
@pytest.mark.parametrize("name", ["fedavg_all", "fedau"])
def test_with_everybody_there_it_is_fedavg(name: str) -> None:
    """The sum of p_k v_k over all is the mean weighted by n_k."""
    everybody = {**SMALL, "clients_per_round": 8, "availability": "always"}
    everybody["client_share"] = "examples"
    fedavg = {"baseline_sampling": "uniform", "baseline_average": "examples"}
    found = simulate("synthetic", name, **everybody)
    expected = simulate("synthetic", "fedavg", **everybody, **fedavg)
    for a, b in zip(found.weights, expected.weights):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert max(np.abs(w).max() for w in expected.weights) > 0.01


def test_the_correction_changes_the_model_and_not_the_selection() -> None:
    """F3AST with FedVARP's correction, sum_S p_k / r_k (D_k - y_k) + sum_j p_j y_j."""
    given = {**MEMORY, "engine": "host"}
    corrected = simulate(**{**given, **MEMORIES["f3ast+fedvarp"]})
    plain = simulate(**given, algorithm="f3ast")
    for part in ("selected", "weights"):
        np.testing.assert_array_equal(corrected.selection[part], plain.selection[part])
    assert max(np.abs(a - b).max() for a, b in zip(corrected.weights, plain.weights)) > 1e-3
