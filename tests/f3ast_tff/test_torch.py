"""`TorchModel` beside PyTorch's own loop and JAX; in the environment of `make test-torch`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from f3ast_tff import load_run, simulate
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.engine import HostEngine
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedSum
from f3ast_tff.models import PureModel
from f3ast_tff.optimizers import Geometric, Sgd
from f3ast_tff.torch import TorchModel

GIVEN: dict[str, Any] = {"num_clients": 8, "clients_per_round": 3, "rounds": 20, "client_lr": 0.05}


class Net(nn.Module):
    """Two layers, with batch norm between if asked for."""

    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(60, 12), nn.Linear(12, 10)
        self.norm = nn.BatchNorm1d(12) if norm else nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.norm(self.first(x))))


def net(norm: bool = False, seed: int = 1) -> Net:
    torch.manual_seed(seed)
    return Net(norm)


def data() -> FederatedData:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 60)).astype(np.float32)
    examples = ClientExamples(features, rng.integers(0, 10, 50), np.array([0, 21, 50]))
    return FederatedData(examples, examples, 10)


def engine(model: TorchModel, client: Sgd, work: LocalTraining) -> HostEngine:
    parts = EngineParts(data(), model, AsStored(), work, client, Sgd(1.0), WeightedSum())
    return HostEngine(parts)


@pytest.mark.parametrize("norm", [False, True], ids=["plain", "batch norm"])
@pytest.mark.parametrize(
    "client",
    [Sgd(0.1), Sgd(0.1, momentum=0.9, clip_norm=0.5, schedule=Geometric(0.5))],
    ids=["sgd", "momentum, clip, schedule"],
)
def test_a_plain_loop_of_pytorch(client: Sgd, norm: bool) -> None:
    """Client 1 alone with weight 1: the server's model is that of the loop; buffers too."""
    work = LocalTraining(8, epochs=2, seed=3)
    model = TorchModel(net(norm), weight_decay=0.01)
    ours = engine(model, client, work)
    ours.run_rounds(2, [Cohort(np.array([1]), np.ones(1))])
    theirs = net(norm)
    x, y = data().train.client(1)
    # The decay is a part of the clipped gradient.
    clips = client.clip_norm is not None
    given = {"momentum": client.momentum, "weight_decay": 0.0 if clips else 0.01}
    step = torch.optim.SGD(theirs.parameters(), client.rate(2), **given)
    for row in work.order(2, 1, len(y)):
        for first in range(0, len(row), 8):
            batch = row[first : first + 8]
            logits = theirs(torch.from_numpy(x[batch]))
            loss = nn.functional.cross_entropy(logits, torch.from_numpy(y[batch]).long())
            step.zero_grad()
            loss.backward()
            if clips:
                for weight in theirs.parameters():
                    weight.grad += 0.01 * weight.detach()
                nn.utils.clip_grad_norm_(theirs.parameters(), client.clip_norm)
            step.step()
    expected = [*theirs.parameters()]
    expected += [b for b in theirs.buffers() if b.is_floating_point()]
    assert len(ours.weights()) == (8 if norm else 4) == len(expected)
    for one, other in zip(ours.weights(), expected):
        np.testing.assert_allclose(one, other.detach().numpy(), atol=1e-5)


def test_kept_buffers_stay() -> None:
    model = TorchModel(net(True), buffers="kept")
    ours = engine(model, Sgd(0.1), LocalTraining(8))
    assert len(ours.weights()) == 6
    ours.run_rounds(1, [Cohort(np.array([0, 1]), np.full(2, 0.5))])
    assert not model.module.norm.running_mean.any() and (model.module.norm.running_var == 1).all()


@pytest.mark.parametrize("whole", [False, True], ids=["the norm", "the whole network"])
def test_a_part_in_eval_stays_so(whole: bool) -> None:
    """A frozen norm keeps its statistics; a network just scored trains all the same."""
    frozen = net(True)
    (frozen if whole else frozen.norm).eval()
    model = TorchModel(frozen)
    ours = engine(model, Sgd(0.1), LocalTraining(8))
    ours.run_rounds(1, [Cohort(np.array([0, 1]), np.full(2, 0.5))])
    moved = dict(zip(model.leaf_names(), ours.weights()))
    assert (moved["norm.running_mean"] != 0).any() == whole
    assert (moved["norm.weight"] != 1).any()


def pure(start: list[np.ndarray]) -> PureModel:
    """The same network in JAX."""
    import jax.numpy as jnp

    def init(seed: int) -> Any:
        first, one, last, two = start
        return [first.T, one, last.T, two]

    def apply(weights: Any, x: Any) -> Any:
        first, one, last, two = weights
        return jnp.tanh(x @ first + one) @ last + two

    return PureModel(init, apply)


@pytest.mark.parametrize("algorithm", ["fedavg", "f3ast", "scaffold", "feddyn", "mifa", "fedbuff"])
def test_the_same_network_in_jax(algorithm: str) -> None:
    pytest.importorskip("jax")
    more = {"late_by": "uniform", "late_rounds": 1.0} if algorithm == "fedbuff" else {}
    model = TorchModel(net())
    given = {**GIVEN, "algorithm": algorithm, "eval_every": 1, **more}
    ours = simulate(model=model, **given)
    theirs = simulate(model=pure(model.initial_weights(0)), device="cpu", **given)
    assert (ours.summary["engine"], theirs.summary["engine"]) == ("host", "fused")
    np.testing.assert_array_equal(ours.selection["selected"], theirs.selection["selected"])
    for column in ("train_loss", "test_sample_loss"):
        one, other = ours.metrics[column].to_numpy(), theirs.metrics[column].to_numpy()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_a_run_is_repeated_and_resumed(tmp_path: Path) -> None:
    """A function that makes the network draws its weights by the run's seed."""
    three = {**GIVEN, "rounds": 3}
    runs = [
        simulate(model=TorchModel(Net, identity="net"), folder=tmp_path / name, **three)
        for name in ("one", "one")
    ]
    assert load_run(tmp_path / "one").settings["model"] == "torch_model"
    other = simulate(model=TorchModel(Net), seed=1, **{**GIVEN, "rounds": 1})
    for one, again, another in zip(runs[0].weights, runs[1].weights, other.weights):
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, another)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ParameterError, match="buffers = lost: must be one of sent, kept"):
        TorchModel(net(), buffers="lost")
    with pytest.raises(ParameterError, match="device = cuda:99: PyTorch cannot use it"):
        TorchModel(net(), device="cuda:99")
    with pytest.raises(ParameterError, match=r"client_optimizer = adam: must be sgd with TorchM"):
        simulate(model=TorchModel(net()), client_optimizer="adam", **GIVEN)


def pruned() -> Net:
    from torch.nn.utils import prune

    made = net()
    prune.random_unstructured(made.first, "weight", 0.5)
    return made


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (pruned(), "module = Net: cannot be copied or made, a function may make it: RuntimeError"),
        (lambda: nn.Linear(-1, 2), "module = <lambda>: cannot be copied or made, .*negative dim"),
        (nn.LazyLinear(10), "module = LazyLinear: must be a network whose weights have a shape"),
        (lambda: nn.LazyLinear(10), "module = <lambda>: must be a network whose weights have a"),
        (lambda: "net", "module = <lambda>: must be a network"),
        (None, "module = NoneType: cannot be copied or made, .*'NoneType' object is not calla"),
    ],
)
def test_what_is_no_network_to_copy_is_named(module: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        TorchModel(module)


def test_pruned_weights_of_a_function_stay_pruned() -> None:
    model = TorchModel(pruned)
    found = dict(zip(model.leaf_names(), simulate(model=model, **{**GIVEN, "rounds": 4}).weights))
    mask = found["first.weight_mask"]
    assert 0 < mask.mean() < 1 and set(np.unique(mask)) == {0, 1}


class Stateful(Net):
    """Its outputs depend on how often it was called, as with a hidden state that it keeps."""

    def __init__(self, persistent: bool = True) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("mask", torch.full((2, 2), -torch.inf).triu(1), persistent=persistent)

    def forward(self, x: Any) -> Any:
        self.calls, self.count = self.calls + 1, self.count + 1
        seen = torch.softmax(self.mask, dim=-1).sum()
        return super().forward(x) * seen / (self.calls + self.count)


@pytest.mark.parametrize("persistent", [True, False])
def test_a_network_s_own_state_does_not_go_from_client_to_client(persistent: bool) -> None:
    """Evaluations between rounds, and an earlier run, change nothing; the mask is not sent."""
    model = TorchModel(Stateful(persistent))
    assert model.leaf_names() == ["first.weight", "first.bias", "last.weight", "last.bias"]
    runs = [simulate(model=model, eval_every=each, **GIVEN).weights for each in (20, 1)]
    for one, other in zip(*runs):
        np.testing.assert_array_equal(one, other)
    assert model.module.calls == 0 == model.module.count


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
def test_losses_of_any_type_are_scored(kind: torch.dtype) -> None:
    loss = nn.CrossEntropyLoss(reduction="none")
    model = TorchModel(net(), loss=lambda outputs, labels: loss(outputs, labels).to(kind))
    found = simulate(model=model, **{**GIVEN, "rounds": 2}).metrics["test_sample_loss"]
    assert 1 < found.iloc[-1] < 3


def test_a_loss_of_pytorch_trains_and_scores() -> None:
    """The mean absolute error of a linear model goes down, and is that of its weights."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 4)).astype(np.float32)
    values = (features @ np.array([1.0, -2.0, 0.5, 0.0])).astype(np.float32)
    data = FederatedData.from_arrays(features, values, rng.integers(6, size=300), test=0.25)
    line = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    scores = {"mae": lambda outputs, labels: np.abs(outputs - labels)}
    model = TorchModel(line, loss=nn.MSELoss(reduction="none"), scores=scores)
    given = {"rounds": 30, "client_lr": 0.05, "clients_per_round": 3}
    result = simulate(data, "f3ast", "always", model=model, **given)
    mae = result.metrics["test_sample_mae"]
    assert mae.iloc[-1] < mae.iloc[0] / 2
    weight, bias = result.weights
    errors = np.abs(data.test.features @ weight[0] + bias - data.test.labels)
    assert mae.iloc[-1] == pytest.approx(errors.mean(), rel=1e-5)
    with pytest.raises(ComponentError, match="must be a value per example or label"):
        simulate(data, "f3ast", "always", model=TorchModel(line, loss=nn.MSELoss()), **given)


def test_a_loss_of_classes_gets_classes() -> None:
    loss = nn.CrossEntropyLoss(reduction="none")
    plain, own = (
        simulate(model=TorchModel(net(), **more), **{**GIVEN, "rounds": 2})
        for more in ({}, {"loss": loss})
    )
    np.testing.assert_allclose(plain.weights[0], own.weights[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        plain.metrics["test_sample_loss"], own.metrics["test_sample_loss"], rtol=1e-5
    )


class Noisy(Net):
    """With batch norm and dropout."""

    def __init__(self) -> None:
        super().__init__(norm=True)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return self.last(self.drop(torch.tanh(self.norm(self.first(x)))))


def test_dropout_is_a_function_of_seed_round_and_client(tmp_path: Path) -> None:
    """A run that is stopped in round 4 goes on in another state of PyTorch's generator."""

    def stop(t: int, cohort: Any, outcome: Any) -> None:
        if t == 4:
            raise InterruptedError

    six = {**GIVEN, "rounds": 6, "algorithm": "f3ast", "eval_every": 1, "checkpoint_every": 2}
    whole = simulate(model=TorchModel(Noisy, identity="noisy"), folder=tmp_path / "one", **six)
    six |= {"model": TorchModel(Noisy, identity="noisy"), "folder": tmp_path / "two"}
    with pytest.raises(InterruptedError):
        simulate(on_round=stop, **six)
    assert load_run(tmp_path / "two").weights_round == 2
    torch.rand(17)
    before = torch.get_rng_state()
    resumed = simulate(**six)
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(whole.weights, resumed.weights):
        np.testing.assert_array_equal(one, other)
    for column in ("train_loss", "test_sample_loss"):
        np.testing.assert_array_equal(whole.metrics[column], resumed.metrics[column])


def test_draws_differ_between_rounds_and_clients() -> None:
    torch.manual_seed(0)
    model = TorchModel(Noisy())
    updates = []
    for t, k in ((1, 0), (1, 1), (2, 0), (1, 0)):
        ours = engine(model, Sgd(0.1), LocalTraining(100, seed=3))
        ours.run_rounds(t, [Cohort(np.array([k]), np.ones(1))])
        updates.append(ours.weights()[0])
    assert len({each.tobytes() for each in updates}) == 3
    np.testing.assert_array_equal(updates[0], updates[3])


@pytest.mark.parametrize("algorithm", ["f3ast", "fedavg"])
def test_the_running_variance_is_a_mean_whatever_the_step(algorithm: str) -> None:
    """It starts at 1, and those of the clients are less: so is the server's, at any rate."""
    found: dict[float, list[np.ndarray]] = {1.0: [], 3.0: []}
    for rate, variances in found.items():
        simulate(
            model=TorchModel(net(True)),
            algorithm=algorithm,
            server_lr=rate,
            on_evaluation=lambda _, trained, to=variances: to.append(trained.weights[-1]),
            **{**GIVEN, "rounds": 6, "eval_every": 1, "client_lr": 1e-9},
        )
        assert len(variances) == 6 and min(map(np.min, variances)) > 0
        assert max(map(np.max, variances)) <= 1 and np.min(variances[-1]) < 0.9
    np.testing.assert_allclose(found[1.0], found[3.0], rtol=1e-5)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_a_network_of_another_type_trains(kind: torch.dtype) -> None:
    """Rounded weights of the same network: about the same losses as in `float32`."""
    plain, ours = (
        simulate(model=TorchModel(net().to(each)), **{**GIVEN, "rounds": 4}).metrics
        for each in (torch.float32, kind)
    )
    np.testing.assert_allclose(ours["test_sample_loss"], plain["test_sample_loss"], rtol=0.05)
    assert ours["test_sample_loss"].iloc[-1] < np.log(10)


def test_frozen_and_unused_weights_stay() -> None:
    odd = net()
    odd.first.requires_grad_(False)
    odd.unused = nn.Parameter(torch.ones(2))
    model = TorchModel(odd, weight_decay=0.1)
    found = dict(zip(model.leaf_names(), simulate(model=model, **GIVEN).weights))
    for name, weight in odd.named_parameters():
        stays = name == "unused" or name.startswith("first")
        assert np.array_equal(found[name], weight.detach().numpy()) is stays, name


@pytest.mark.parametrize("decay", [-1.0, "0.1", math.nan])
def test_a_decay_that_is_none_is_refused(decay: Any) -> None:
    with pytest.raises(ParameterError, match=f"weight_decay = {decay}: must be a number of at"):
        TorchModel(net(), weight_decay=decay)


def test_complex_parameters_are_refused_by_name() -> None:
    odd = net()
    odd.phase = nn.Parameter(torch.ones(3, dtype=torch.complex64))
    with pytest.raises(ParameterError, match="array phase of initial must be .* not complex64"):
        simulate(model=TorchModel(odd), **GIVEN)
