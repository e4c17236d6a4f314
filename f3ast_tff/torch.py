"""PyTorch: a `torch.nn.Module` as the model of a run, trained by plain SGD on engine `host`.

`pip install 'f3ast-tff[torch]'`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.models.training_function import Examples, Trained, TrainingFunction, Work
from f3ast_tff.optimizers import Sgd
from f3ast_tff.optimizers.optimizer import looks

BUFFERS = ("sent", "kept")
# Label that `torch.nn.functional.cross_entropy` leaves out by default.
_IGNORED = -100


class TorchModel(TrainingFunction):
    """A network of PyTorch; its loss is cross-entropy, averaged over a batch's labels, or its own.

    A client's step is w - rate v with v = momentum v + g and g the gradient of the batch's loss,
    plus weight_decay w, plus the method's offset and its pull (w - start); g is clipped to a norm
    if the method says so. The batches are those of the suite's other engines. Rate, momentum, clip
    norm and schedule are the run's client optimizer, which must be SGD. What the network draws, as
    dropout does, is a function of (seed, round, client). Parts in `eval()`, such as a frozen batch
    norm, stay so. Weights travel in `float32`, also those of a network in bfloat16, whose inputs
    are cast to its type.

    Attributes:
        module: The network: inputs `float32 [n, ...]` to logits `[n, classes]`, or
            `[n, length, classes]`.
        device: PyTorch's name of the device, such as `"cpu"` or `"cuda:0"`.
        buffers: Whether buffers, such as the running mean of a batch norm, are sent (`"sent"`), or
            stay as they are in `module` for all (`"kept"`). The server takes the mean of the
            buffers that arrive, by weights scaled to sum 1, whatever its step. Integers stay, and
            what is not finite, such as a mask of -inf.
        weight_decay: Factor of the weights in the gradient; 0 for none. As in PyTorch, frozen and
            unused weights do not decay.

    Raises:
        ParameterError: If `buffers` is another text, `weight_decay` no number of at least 0,
            PyTorch has no such device, or `module` is no network that can be copied.

    Examples:
        A network of one layer, for the 60 features of Synthetic(1,1):

            simulate(model=TorchModel(torch.nn.Linear(60, 10)), algorithm="f3ast", rounds=100)
    """

    module: nn.Module
    device: str
    buffers: str
    weight_decay: float

    def __init__(
        self,
        module: nn.Module | Callable[[], nn.Module],
        *,
        device: str = "cpu",
        buffers: str = "sent",
        weight_decay: float = 0.0,
        labels_sequences: bool = False,
        examples_at_once: int = 512,
        identity: str | None = None,
        loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
        scores: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes a network, which is copied; see the class.

        Args:
            module: The network, whose weights are the initial ones for every seed; or a function
                that makes one, called after `torch.manual_seed(seed)`.
            device: See the class.
            buffers: See the class.
            weight_decay: See the class.
            labels_sequences: See `ModelConfig`.
            examples_at_once: See `Model`.
            identity: See `TrainingFunction`.
            loss: Loss of outputs and labels, tensors, for training and evaluation, without a mean
                over examples (`reduction="none"`); see `Model`.
            scores: Further scores, in NumPy, see `Model`.
        """
        if buffers not in BUFFERS:
            raise ParameterError("buffers", buffers, f"must be one of {', '.join(BUFFERS)}")
        try:
            torch.empty(0, device=device)
        except (AssertionError, RuntimeError) as error:
            raise ParameterError("device", device, f"PyTorch cannot use it: {error}") from error
        if not (isinstance(weight_decay, Real) and 0 <= weight_decay < np.inf):
            raise ParameterError("weight_decay", weight_decay, "must be a number of at least 0")
        make = None if isinstance(module, nn.Module) else module
        own = _copied(module)
        sent = own.named_buffers() if buffers == "sent" else ()
        floats = [(name, each) for name, each in sent if each.is_floating_point()]
        fields: dict[str, Any] = {
            "module": own,
            "device": device,
            "buffers": buffers,
            "weight_decay": weight_decay,
            "_make": make,
            "_own_loss": loss,
            "_sent_buffers": frozenset(n for n, each in floats if each.isfinite().all()),
        }
        for name, value in fields.items():
            # The base is a frozen dataclass.
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_start", self._sent(own))
        first = len(list(own.parameters()))
        super().__init__(
            initial=self._initial,
            train=self._train,
            predict=self._predict,
            labels_sequences=labels_sequences,
            examples_at_once=examples_at_once,
            identity=identity,
            loss=None if loss is None else self._loss_in_numpy,
            scores=scores,
            buffer_leaves=tuple(range(first, len(self._start))),
        )

    @property
    def name(self) -> str:
        """Name of the network's class, for errors."""
        return f"TorchModel({type(self.module).__name__})"

    _make: Callable[[], nn.Module] | None
    _own_loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None
    _start: list[np.ndarray]
    _sent_buffers: frozenset[str]

    def check_optimizer(self, optimizer: Any) -> None:
        """See `TrainingFunction.check_optimizer`: must be SGD."""
        if not isinstance(optimizer, Sgd) or looks(optimizer):
            allowed = f"must be sgd with {self.name}"
            raise ParameterError("client_optimizer", type(optimizer).__name__.lower(), allowed)

    def _tensors(self, module: nn.Module) -> dict[str, torch.Tensor]:
        """The tensors that are sent, by name: parameters, then buffers."""
        buffers = {n: each for n, each in module.named_buffers() if n in self._sent_buffers}
        return {**dict(module.named_parameters()), **buffers}

    def leaf_names(self) -> list[str]:
        """Returns PyTorch's name of each tensor that is sent, such as `fc.weight`."""
        return list(self._tensors(self.module))

    def _initial(self, seed: int) -> list[np.ndarray]:
        return self._start if self._make is None else self._sent(_seeded(self._make, seed))

    def _sent(self, module: nn.Module) -> list[np.ndarray]:
        return [_in_numpy(tensor).copy() for tensor in self._tensors(module).values()]

    def _inputs(self, features: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
        """Model inputs on the device, in a type of floating-point numbers if there is one."""
        if dtype is not None and features.is_floating_point():
            return features.to(self.device, dtype)
        return features.to(self.device)

    @property
    def _dtype(self) -> torch.dtype | None:
        """Type of the network's parameters, if they share one."""
        types = {each.dtype for each in self.module.parameters()}
        return types.pop() if len(types) == 1 else None

    @contextmanager
    def _drawing(self, seed: int) -> Iterator[None]:
        """Seeds PyTorch's generators, and restores them at the end."""
        device = torch.device(self.device)
        forks: dict[str, Any] = {"devices": []}
        if device.type != "cpu":
            forks = {"devices": [device], "device_type": device.type}
        # `torch.manual_seed` also visits the generators of all other devices, which takes 0.25 ms.
        seeded = torch.default_generator if device.type == "cpu" else torch
        with torch.random.fork_rng(**forks):
            seeded.manual_seed(seed)
            yield

    @contextmanager
    def _loaded(self, weights: Sequence[np.ndarray]) -> Iterator[nn.Module]:
        """The network with these weights, on the device; at the end it has its own state again."""
        module = self.module.to(self.device)
        buffers = [each.clone() for each in module.buffers()]
        attributes = [(each, dict(vars(each))) for each in module.modules()]
        try:
            with torch.no_grad():
                for tensor, weight in zip(self._tensors(module).values(), weights):
                    tensor.copy_(torch.tensor(weight))
            yield module
        finally:
            for each, own in attributes:
                vars(each).clear()
                vars(each).update(own)
            with torch.no_grad():
                for buffer, before in zip(module.buffers(), buffers):
                    buffer.copy_(before)

    def _train(
        self,
        weights: Sequence[np.ndarray],
        examples: Examples,
        work: Work,
        offset: Sequence[np.ndarray] | None = None,
        pull: float | None = None,
        trains: Sequence[np.ndarray] | None = None,
    ) -> Trained:
        draws = generator(work.seed, "torch", work.round_number, work.client)
        with self._drawing(int(draws.integers(2**63))), self._loaded(weights) as module:
            return self._trained(module, examples, work, offset=offset, pull=pull, trains=trains)

    def _trained(
        self,
        module: nn.Module,
        examples: Examples,
        work: Work,
        *,
        offset: Sequence[np.ndarray] | None,
        pull: float | None,
        trains: Sequence[np.ndarray] | None,
    ) -> Trained:
        sgd = work.optimizer
        # Parts in eval() before, such as a frozen norm, stay so; a whole network does not.
        frozen = [each for each in module.modules() if module.training and not each.training]
        parameters = list(module.train().parameters())
        for each in frozen:
            each.training = False
        offsets = [torch.tensor(each, device=self.device) for each in offset or ()]
        starts = [] if pull is None else [each.detach().clone() for each in parameters]
        step = torch.optim.SGD(parameters, work.learning_rate, sgd.momentum)
        losses: list[torch.Tensor] = []
        dtype = self._dtype
        corrects = bool(offsets or starts or self.weight_decay or sgd.clip_norm is not None)
        labels, pads, batches = examples.labels, np.zeros(0, bool), work.batches
        if self._own_loss is None:
            pads = labels < 0
            labels = np.where(pads, _IGNORED, labels).astype(np.int64)
        padded = bool(pads.any())
        for batch in batches:
            x, y = (torch.from_numpy(each[batch]) for each in (examples.features, labels))
            outputs = module(self._inputs(x, dtype))
            if padded and pads[batch].all():
                # The mean over no label is no number.
                loss = outputs.sum() * 0
            else:
                loss = self._batch_loss(outputs, y.to(self.device))
            for parameter in parameters:
                parameter.grad = None
            loss.backward()
            if corrects:
                self._correct(parameters, offsets, starts, pull or 0.0)
            if trains is not None:
                for weight, factor in zip(parameters, trains):
                    if weight.grad is not None:
                        weight.grad.mul_(torch.tensor(factor, device=self.device))
            if sgd.clip_norm is not None:
                _clip(parameters, sgd.clip_norm)
            step.step()
            losses.append(loss.detach())
        sizes = [len(batch) for batch in batches]
        mean = np.average(_in_numpy(torch.stack(losses)), weights=sizes) if losses else 0.0
        return Trained(self._sent(module), float(mean))

    def _batch_loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean loss over a batch's labels that count."""
        if self._own_loss is None:
            if labels.dim() > 1:
                outputs, labels = outputs.flatten(0, -2), labels.flatten()
            return nn.functional.cross_entropy(outputs, labels)
        values = self._own_loss(outputs, _known(labels))
        if values.shape[:1] != labels.shape[:1] or values.shape not in (
            labels.shape,
            labels.shape[:1],
            (len(labels), 1),
        ):
            shapes = f"{list(values.shape)} for labels {list(labels.shape)}"
            raise ValueError(f"loss returned shape {shapes}: must be a value per example or label")
        if labels.is_floating_point() or values.shape != labels.shape:
            return values.mean()
        counts = labels >= 0
        return torch.where(counts, values, 0.0).sum() / counts.sum().clamp(min=1)

    def _loss_in_numpy(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        assert self._own_loss is not None
        with torch.no_grad():
            x, y = (torch.tensor(each, device=self.device) for each in (outputs, labels))
            return _in_numpy(self._own_loss(x, _known(y)))

    def _correct(
        self,
        parameters: list[nn.Parameter],
        offsets: list[torch.Tensor],
        starts: list[torch.Tensor],
        pull: float,
    ) -> None:
        """Adds weight decay, offsets and pull (w - start) to the gradients."""
        with torch.no_grad():
            for place, weight in enumerate(parameters):
                if self.weight_decay and weight.grad is not None:
                    weight.grad.add_(weight, alpha=self.weight_decay)
                if offsets:
                    if weight.grad is None:
                        weight.grad = torch.zeros_like(weight)
                    weight.grad.add_(offsets[place])
                if starts and weight.grad is not None:
                    weight.grad.add_(weight - starts[place], alpha=pull)

    def _predict(self, weights: Sequence[np.ndarray], features: np.ndarray) -> np.ndarray:
        with torch.no_grad(), self._drawing(0), self._loaded(weights) as module:
            return _in_numpy(module.eval()(self._inputs(torch.tensor(features), self._dtype)))


def _copied(module: nn.Module | Callable[[], nn.Module]) -> nn.Module:
    """A network of the caller's, copied or made."""
    name = getattr(module, "__name__", type(module).__name__)
    try:
        own = copy.deepcopy(module) if isinstance(module, nn.Module) else _seeded(module, 0)
    except (RuntimeError, TypeError) as error:
        # As a weight that a hook of `weight_norm` or `prune` computes.
        allowed = f"cannot be copied or made, a function may make it: {one_line_of(error)}"
        raise ParameterError("module", name, allowed) from error
    if not isinstance(own, nn.Module) or any(map(is_lazy, own.parameters())):
        allowed = "must be a network whose weights have a shape, or a function that makes one"
        raise ParameterError("module", name, allowed)
    return own


def _in_numpy(tensor: torch.Tensor) -> np.ndarray:
    """An array of a tensor; `float32` for short floating-point numbers, as bfloat16."""
    short = tensor.is_floating_point() and tensor.element_size() < 4
    found: np.ndarray = (tensor.float() if short else tensor).detach().cpu().numpy()
    return found


def _known(labels: torch.Tensor) -> torch.Tensor:
    """Labels for a loss of the user's: classes are `int64`, class 0 for pads."""
    return labels if labels.is_floating_point() else labels.clamp(min=0).long()


def _clip(parameters: list[nn.Parameter], limit: float) -> None:
    """Clips the gradients to a norm."""
    gradients = [weight.grad for weight in parameters if weight.grad is not None]
    norms = torch.stack([torch.linalg.vector_norm(each) for each in gradients])
    factor = torch.clamp(limit / torch.linalg.vector_norm(norms), max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


def _seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
