"""Settings fixed by a given `Config` or object, and what identifies an object."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.tiny import tiny_data
from f3ast_tff import FederatedData, simulate
from f3ast_tff.availability import (
    CycleK,
    FixedK,
    GroupMinimum,
    HomeDevicesConfig,
    Markov,
    ScarceConfig,
    Table,
    UniformK,
)
from f3ast_tff.core.errors import ComponentError, ParameterError, RunFolderError
from f3ast_tff.methods import BaseStrategy, Round
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.models import SmallCNN
from f3ast_tff.optimizers import Geometric, Sgd
from f3ast_tff.optimizers.sgd import ClientSgdConfig
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.run.object_identity import identity_of
from f3ast_tff.settings import register
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve


def configured(**given: Any) -> Configuration:
    return resolve(*settings_of(given, builtin_registry()))


def settings(**given: Any) -> Mapping[str, Any]:
    return configured(**given).settings


def test_what_a_config_leaves_out_is_the_published_value() -> None:
    """Shakespeare's rate is 1.0; a given rate stands, even if it equals the field's default."""
    for given, rate in (({"client_momentum": 0.9}, 1.0), ({"client_lr": 0.1}, 0.1)):
        found = settings(task="shakespeare", client_optimizer=ClientSgdConfig(**given))
        assert found["client_lr"] == rate
        assert {n: found[n] for n in given} == given
    assert settings(task="shakespeare", client_optimizer=ClientSgdConfig(0.1))["client_lr"] == 0.1


@pytest.mark.parametrize("reading", ["paper", "released", "ca_fed", "textbook"])
def test_what_a_config_leaves_out_follows_the_reading(reading: str) -> None:
    objects = {"algorithm": F3AST(rate_beta=0.01), "availability": HomeDevicesConfig()}
    by_name = {"algorithm": "f3ast", "rate_beta": 0.01, "availability": "home_devices"}
    assert settings(**objects, reading=reading) == settings(**by_name, reading=reading)


def test_what_a_config_leaves_out_can_be_given_beside_it() -> None:
    optimizer = ClientSgdConfig(client_momentum=0.9)
    assert settings(client_optimizer=optimizer, client_lr=0.3)["client_lr"] == 0.3
    with pytest.raises(ParameterError, match=r"0\.5: is given in ClientSgdConfig too"):
        settings(client_optimizer=optimizer, client_momentum=0.5)


def test_a_resolved_config_is_given_whole() -> None:
    """All its fields are decided, under any reading."""
    made = configured(algorithm="f3ast", reading="released")
    for config in (made.configs["algorithm"], replace(made.configs["algorithm"], rate_beta=0.5)):
        assert settings(algorithm=config)["divide_by_k"] is True


def test_a_constraint_keeps_its_arguments() -> None:
    assert settings(constraint=CycleK("5,10")) == settings(constraint="cycle:5,10")


@register("availability", "my_scarce", about="as scarce")
@dataclass(frozen=True)
class MyScarceConfig(ScarceConfig):
    """A component outside all registries."""


class OwnScarceConfig(ScarceConfig):
    """A subclass of a component that is no component itself."""


class HalfMean(WeightedMean):
    """A subclass of an aggregation with another rule."""

    def in_jax(self, delta: list[Any]) -> list[Any]:
        return [leaf / 2 for leaf in delta]


def test_what_derives_from_a_component_is_not_taken_for_it() -> None:
    found = configured(algorithm="fedavg", aggregation=HalfMean())
    assert found.settings["aggregation"] == "half_mean"
    assert isinstance(found.configs["aggregation"].build(), HalfMean)
    with pytest.raises(ComponentError, match="OwnScarceConfig: lacks the decorator @register"):
        configured(availability=OwnScarceConfig())


def test_a_config_is_the_same_however_its_fields_were_given() -> None:
    """A run's identity agrees too, and ignores which fields were given."""
    short, long = MyScarceConfig(), MyScarceConfig(scarce_q=0.2)
    assert short == long and repr(short) == repr(long) and hash(short) == hash(long)
    one, other = (configured(availability=each).identity for each in (short, long))
    assert one == other
    plain = object.__new__(MyScarceConfig)
    object.__setattr__(plain, "scarce_q", 0.2)
    assert one["plugins"] == {"availability my_scarce": identity_of(plain)[0]}


def test_the_class_of_a_config_gives_nothing_but_its_name() -> None:
    assert settings(availability=ScarceConfig) == settings(availability="scarce")
    assert settings(availability=MyScarceConfig) == settings(availability=MyScarceConfig())


def plugins_of(availability: Any) -> list[dict[str, Any]]:
    small = {"num_clients": 4, "clients_per_round": 2}
    return configured(availability=availability, **small).describe()["plugins"]


def test_the_same_masks_are_the_same_world() -> None:
    """Two methods run on them in two calls; the masks count, not the object."""
    masks = np.eye(4, dtype=bool)
    ((first,), (again,), (other,)) = map(plugins_of, (masks, masks.copy(), ~masks))
    assert first == again and first["kinds"] == ["availability"]
    assert first["sha256"] != other["sha256"]
    assert plugins_of(np.asfortranarray(masks[:, ::-1])) == plugins_of(masks[:, ::-1].copy())
    wide = np.ones((2, 4), bool)
    assert plugins_of(wide) != plugins_of(wide.reshape(4, 2))


def test_a_process_that_has_been_asked_is_the_same_world() -> None:
    process = HomeDevicesConfig().build(np.ones(4), seed=0)
    before = plugins_of(process)
    process.mask(3)
    assert (
        plugins_of(process) == before != plugins_of(HomeDevicesConfig().build(np.ones(4), seed=1))
    )


def test_a_strategy_says_what_its_weights_and_losses_are() -> None:
    sizes = np.ones(100)
    for strategy, aggregation, loss in (
        (Uniform.start(sizes / 100, 10), "mean", "mean"),
        (OortLoss.start(sizes / 100, 10), "mean", "mean_squares"),
        (PowerOfChoice.start(sizes / 100, 10, poc_loss="training_loss"), "mean", "training_loss"),
        (AllAvailable.start(sizes / 100, 10), "sum", "mean"),
    ):
        found = configured(algorithm=strategy)
        assert found.settings["aggregation"] == aggregation
        assert found.configs["algorithm"].client_loss == loss
    with pytest.raises(ParameterError, match="sum: the weights of .*uniform are meant for mean"):
        configured(algorithm=Uniform.start(sizes / 100, 10), aggregation="sum")


def test_a_function_whose_strategy_means_something_else_is_refused() -> None:
    """The strategy exists only once it is built."""

    def built(function: Any, **given: Any) -> Any:
        return Builder(configured(algorithm=function, **given)).strategy

    def uniform(world: StrategyContext) -> Uniform:
        return Uniform().build(world)

    with pytest.raises(ParameterError, match="of Uniform are meant for mean: give aggregation='"):
        built(uniform)
    assert isinstance(built(uniform, aggregation="mean"), Uniform)
    with pytest.raises(ParameterError, match="OortLoss asks for client_loss 'mean_squares'"):
        built(lambda world: OortLoss.start(world.p, 10), aggregation="mean")


@pytest.mark.long
def test_an_optimizer_keeps_its_clip() -> None:
    """A norm of 1e-6 leaves steps of 0.5 x 1e-6."""
    data = tiny_data()
    given = {"availability": "always", "rounds": 1, "local_steps": 1, "clients_per_round": 2}
    clipped = simulate(data, "fedavg", client_optimizer=Sgd(0.5, clip_norm=1e-6), **given)
    assert 0 < clipped.metrics["update_norm"].iloc[-1] <= 0.5e-6
    decaying = Sgd(0.5, schedule=Geometric(0.9))
    with pytest.raises(ParameterError, match="has a schedule, which only a client optimizer"):
        simulate(data, "fedavg", server_optimizer=decaying, **given)


class Unsaid:
    """Clients available together or independently, without a declaration."""

    num_clients = 60
    periodic = False

    def __init__(self, together: bool) -> None:
        self.together = together

    def mask(self, round_number: int) -> np.ndarray:
        draws = np.random.default_rng(round_number).random(60) < 0.5
        return draws & draws[0] if self.together else draws


def test_masks_and_processes_that_do_not_say_are_measured() -> None:
    """A DataFrame stands for its masks, and keeps their identity from call to call."""
    for together, objective in ((True, "p"), (False, "p_squared")):
        process = Unsaid(together)
        masks = np.array([process.mask(t) for t in range(1, 501)])
        frame = pd.DataFrame(masks)
        given = {"num_clients": 60, "clients_per_round": 2}
        assert settings(availability=process, **given)["availability_objective"] == objective
        for table in (masks, frame, Table(masks)):
            found = configured(availability=table, clients_per_round=2)
            assert found.settings["availability_objective"] == objective
            assert found.settings["num_clients"] == 60
            again = configured(availability=table, clients_per_round=2)
            assert [p.sha256 for p in again.plugins] == [p.sha256 for p in found.plugins]


def test_each_run_has_a_process_and_k_of_its_own() -> None:
    """The object that a caller gives stays as it is; K_t follows the run's seed."""
    process, group = Markov(np.full(4, 0.5), np.full(4, 0.9), seed=0), np.array([0, 0, 1, 1])
    minimum = GroupMinimum(UniformK("2:4"), group, (1, 1))
    digest = pickle.dumps(process)
    common = {"num_clients": 4, "availability": process, "constraint": minimum}
    worlds = [Builder(configured(**common, seed=seed)).world for seed in (1, 2)]
    limits = [[world.constraint.limit(t).k for t in range(1, 21)] for world in worlds]
    alone = [[UniformK("2:4").build(4, seed).limit(t).k for t in range(1, 21)] for seed in (1, 2)]
    assert limits == alone and limits[0] != limits[1]
    for world in worlds:
        world.availability.mask(3)
    assert pickle.dumps(process) == digest


def test_a_table_is_copied_as_itself() -> None:
    table = Table(np.eye(3, dtype=bool))
    assert copy.deepcopy(table) is table
    assert pickle.loads(pickle.dumps(table)).num_clients == 3


def test_k_is_given_once() -> None:
    with pytest.raises(ParameterError, match="clients_per_round = 7: must not be given with cons"):
        configured(constraint=5, clients_per_round=7)


def test_a_strategy_that_only_selects_says_that_its_aggregate_is_a_sum(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Selects(BaseStrategy):
        def select(self, now: Round) -> np.ndarray:
            return now.constraint.admit(np.flatnonzero(now.available))

    class Mean(Selects):
        aggregation = "mean"

    said = "Selects: each update weighs 1, and the step is their sum"
    simulate(algorithm=Selects(), engine="host", rounds=1)
    assert said in caplog.text
    caplog.clear()
    simulate(algorithm=Mean(), engine="host", rounds=1)
    simulate(algorithm=Selects(), aggregation="mean", engine="host", rounds=1)
    assert "each update weighs 1" not in caplog.text


SMALL: dict[str, Any] = {"num_clients": 6, "clients_per_round": 2, "rounds": 2}


class Present:
    """Everyone is there."""

    num_clients = 6
    positively_correlated = True

    def mask(self, round_number: int) -> np.ndarray:
        return np.ones(6, bool)


class Named(Present):
    identity = "everyone, version 1"


@register("availability", "mine", about="a component outside all registries")
@dataclass(frozen=True)
class MineConfig(ScarceConfig):
    pass


def test_an_object_is_itself_as_long_as_it_exists() -> None:
    one, other = Present(), Present()
    assert identity_of(one) == identity_of(one) != identity_of(other)
    assert not identity_of(one)[1]
    unhashable: list[int] = []
    assert identity_of(unhashable) != identity_of(unhashable)


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (Named(), Named(), FixedK(clients_per_round=3)),
        (MineConfig(), MineConfig(scarce_q=0.2), MineConfig(scarce_q=0.3)),
        (MineConfig, MineConfig, ScarceConfig),
        (FixedK(clients_per_round=2), FixedK(clients_per_round=2), FixedK(clients_per_round=3)),
        (Table(np.eye(3)), Table(np.eye(3)), Table(1 - np.eye(3))),
    ],
    ids=["own identity", "registered", "class", "values", "table"],
)
def test_equal_objects_have_one_identity(value: Any, equal: Any, other: Any) -> None:
    assert identity_of(value) == identity_of(equal) != identity_of(other)
    assert identity_of(value)[1]


def test_data_are_identified_by_their_content() -> None:
    data = FederatedData.from_arrays(np.eye(3), [0, 1, 0], [0, 0, 1], test=None)
    again = FederatedData.from_arrays(np.eye(3), [0, 1, 0], [0, 0, 1], test=None)
    assert identity_of(data) == identity_of(again) != identity_of(replace(data, num_classes=3))


def test_a_run_with_an_object_without_identity_is_not_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = Present()
    simulate(availability=process, folder=tmp_path / "own", **SMALL)
    assert "availability present given as an object without identity: this run" in caplog.text
    with pytest.raises(RunFolderError, match="holds a run that cannot be resumed: availability"):
        simulate(availability=process, folder=tmp_path / "own", **SMALL)


def test_a_run_with_an_identity_is_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = simulate(availability=Named(), folder=tmp_path / "named", **SMALL)
    again = simulate(availability=Named(), folder=tmp_path / "named", **SMALL)
    assert "cannot be resumed" not in caplog.text
    score = "test_sample_loss"
    assert again.summary["final"][score] == first.summary["final"][score]


def test_a_network_of_values_is_identified_by_them() -> None:
    one, again, other = (SmallCNN((4, 4), hidden) for hidden in (8, 8, 9))
    assert identity_of(one) == identity_of(again) != identity_of(other)
    assert identity_of(one)[1]
