"""Adam (Kingma and Ba 2015), Yogi (Zaheer et al. 2018) and Adagrad (Duchi et al. 2011).

On the server they make FedAdam, FedYogi and FedAdagrad (Reddi et al. 2021) as TFF has them: epsilon
is placed as there, beta_2 is 0.999 and moments are corrected for their start, where Reddi et al.
have 0.99 and no correction. AMSGrad (Reddi et al., ICLR 2018) is only for the server, as in FADAS
(Wang et al., ICML 2024).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from f3ast_tff.optimizers.optimizer import MAX_LEARNING_RATE, Arrays, Optimizer, OptimizerConfig
from f3ast_tff.settings import Published, parameter, register

_Made = TypeVar("_Made", bound=type)


class Moments(NamedTuple):
    """State of Adam and Yogi.

    Attributes:
        step: Steps taken, int32 scalar.
        first: First moment, like the weights.
        second: Second moment, like the weights.
    """

    step: Any
    first: Any
    second: Any


@dataclass(frozen=True)
class AdaptiveClientConfig(OptimizerConfig):
    """Parameters of adaptive client optimizers.

    Attributes:
        made: The optimizer's class.
    """

    made: ClassVar[type[Any]]

    client_lr: float = parameter(
        Published(0.01), "client learning rate", above=0, maximum=MAX_LEARNING_RATE
    )
    epsilon: float = parameter(
        Published(0.001), "epsilon of an adaptive optimizer, as in TFF", above=0
    )

    def build(self) -> Optimizer:
        optimizer: Optimizer = self.made(self.client_lr, epsilon=self.epsilon)
        return optimizer


@dataclass(frozen=True)
class AdaptiveServerConfig(OptimizerConfig):
    """Parameters of adaptive server optimizers (FedAdam and so on, Reddi et al. 2021).

    Attributes:
        made: The optimizer's class.
    """

    made: ClassVar[type[Any]]

    server_lr: float = parameter(
        Published(0.01), "server learning rate", above=0, maximum=MAX_LEARNING_RATE
    )
    epsilon: float = parameter(
        Published(0.001), "epsilon of an adaptive optimizer, as in TFF", above=0
    )

    def build(self) -> Optimizer:
        optimizer: Optimizer = self.made(self.server_lr, epsilon=self.epsilon)
        return optimizer


def adaptive(name: str, display: str, *, about: str, order: int) -> Callable[[_Made], _Made]:
    """Registers an optimizer for clients and for the server, as attributes `client`, `server`."""

    def decorate(made: _Made) -> _Made:
        for side, base in (("client", AdaptiveClientConfig), ("server", AdaptiveServerConfig)):
            members = {
                "__module__": made.__module__,
                "__qualname__": f"{made.__qualname__}.{side}",
                "__doc__": f"Configuration of `{made.__name__}` on the {side}.",
                "made": made,
            }
            entry = register(f"{side}_optimizer", name, display, about=about, order=order)
            config = type(f"{side.title()}{made.__name__}Config", (base,), members)
            setattr(made, side, entry(dataclass(frozen=True)(config)))
        return made

    return decorate


@adaptive(
    "adam", "Adam", about="steps by first over root of second moment of the gradients", order=2
)
@dataclass(frozen=True)
class Adam(Optimizer):
    """Step rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon), from m = v = 0.

    Attributes:
        beta_1: b1, decay of the first moment m, in [0, 1).
        beta_2: b2, decay of the second moment v, in [0, 1).
        epsilon: Term added to the root of v, which is not bias-corrected.

    Examples:
        >>> import jax.numpy as jnp
        >>> from f3ast_tff.optimizers import Adam
        >>> adam, gradients = Adam(0.01).in_jax(learning_rate=0.01), jnp.array([0.5, 50.0])
        >>> steps, state = adam.update(gradients, adam.init(jnp.zeros(2)))
        >>> [round(step, 3) for step in steps.tolist()]  # Both gradients, one length.
        [-0.01, -0.01]
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7

    @property
    def initial_moments(self) -> tuple[float, ...]:
        return 0.0, 0.0

    def _second_moment(self, xp: Any, v: Any, g: Any) -> Any:
        """Returns the second moment after a gradient g; `xp` has the functions of a framework."""
        return v + (xp.square(g) - v) * (1 - self.beta_2)

    def in_numpy(
        self, gradients: np.ndarray, moments: Arrays, *, step: int, learning_rate: np.float32
    ) -> tuple[np.ndarray, Arrays]:
        rate = learning_rate * (1 - self.beta_2**step) ** 0.5 / (1 - self.beta_1**step)
        first = moments[0] + (gradients - moments[0]) * (1 - self.beta_1)
        second = self._second_moment(np, moments[1], gradients)
        return rate * first / (np.sqrt(second) + self.epsilon), (first, second)

    def in_jax(self, learning_rate: Any) -> Any:
        """See `Optimizer.in_jax`.

        optax's Adam and Yogi are not used: they correct v's bias before they add epsilon.
        """
        import jax
        import optax
        from jax import numpy as jnp

        tree_map = jax.tree_util.tree_map
        beta_1, beta_2, epsilon = self.beta_1, self.beta_2, self.epsilon
        initial_second = self.initial_moments[1]

        def second_moment(v: Any, g: Any) -> Any:
            return self._second_moment(jnp, v, g)

        def init(weights: Any) -> Moments:
            second = tree_map(lambda w: jnp.full_like(w, initial_second), weights)
            return Moments(jnp.int32(0), tree_map(jnp.zeros_like, weights), second)

        def update(gradients: Any, state: Moments, weights: Any = None) -> tuple[Any, Moments]:
            step = state.step + 1
            t = step.astype(jnp.float32)
            rate = learning_rate * jnp.sqrt(1 - beta_2**t) / (1 - beta_1**t)
            first = tree_map(lambda m, g: m + (g - m) * (1 - beta_1), state.first, gradients)
            second = tree_map(second_moment, state.second, gradients)
            steps = tree_map(lambda m, v: -(rate * m / (jnp.sqrt(v) + epsilon)), first, second)
            return steps, Moments(step, first, second)

        return optax.GradientTransformation(init, update)

    def in_tff(self) -> Any:
        import tensorflow_federated as tff

        return tff.learning.optimizers.build_adam(
            self.learning_rate, beta_1=self.beta_1, beta_2=self.beta_2, epsilon=self.epsilon
        )


@adaptive("yogi", "Yogi", about="Adam whose second moment moves by a bounded amount", order=3)
@dataclass(frozen=True)
class Yogi(Adam):
    """Adam's step with v + (1 - b2) sign(g^2 - v) g^2 for the second moment v.

    Attributes:
        initial_accumulator: Start of v.

    Examples:
        >>> import jax.numpy as jnp
        >>> from f3ast_tff.optimizers import Yogi
        >>> yogi = Yogi(0.01).in_jax(learning_rate=0.01)
        >>> steps, state = yogi.update(jnp.array([0.5, 50.0]), yogi.init(jnp.zeros(2)))
        >>> [round(v, 4) for v in state.second.tolist()]  # From 1e-6.
        [0.0003, 2.5]
    """

    initial_accumulator: float = 1e-6

    @property
    def initial_moments(self) -> tuple[float, ...]:
        return 0.0, self.initial_accumulator

    def _second_moment(self, xp: Any, v: Any, g: Any) -> Any:
        square = xp.square(g)
        return v + (1 - self.beta_2) * xp.sign(square - v) * square

    def in_tff(self) -> Any:
        import tensorflow_federated as tff

        return tff.learning.optimizers.build_yogi(
            self.learning_rate,
            beta_1=self.beta_1,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            initial_preconditioner_value=self.initial_accumulator,
        )


@adaptive(
    "adagrad",
    "Adagrad",
    about="steps by the gradient over the root of the sum of all squares so far",
    order=4,
)
@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Step rate g / sqrt(v + epsilon), v the sum of all g^2.

    Attributes:
        epsilon: Term added to v, under the root.
        initial_accumulator: Start of v.

    Examples:
        >>> import jax.numpy as jnp
        >>> from f3ast_tff.optimizers import Adagrad
        >>> adagrad = Adagrad(0.1).in_jax(learning_rate=0.1)
        >>> first, state = adagrad.update(jnp.ones(1), adagrad.init(jnp.zeros(1)))
        >>> second, state = adagrad.update(jnp.ones(1), state)
        >>> round(float(first[0]), 3), round(float(second[0]), 3)
        (-0.1, -0.071)
    """

    epsilon: float = 1e-7
    initial_accumulator: float = 1e-6

    @property
    def initial_moments(self) -> tuple[float, ...]:
        return (self.initial_accumulator,)

    def in_numpy(
        self, gradients: np.ndarray, moments: Arrays, *, step: int, learning_rate: np.float32
    ) -> tuple[np.ndarray, Arrays]:
        total = moments[0] + np.square(gradients)
        return learning_rate * gradients / np.sqrt(total + self.epsilon), (total,)

    def in_jax(self, learning_rate: Any) -> Any:
        import optax

        return optax.adagrad(learning_rate, self.initial_accumulator, self.epsilon)

    def in_tff(self) -> Any:
        import tensorflow_federated as tff

        return tff.learning.optimizers.build_adagrad(
            self.learning_rate,
            initial_preconditioner_value=self.initial_accumulator,
            epsilon=self.epsilon,
        )


@dataclass(frozen=True)
class AmsGrad(Optimizer):
    """Step rate m / (sqrt(v_max) + epsilon), from m = v = v_max = 0, without bias correction.

        m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2;   v_max = max(v_max, v)

    (FADAS, Algorithm 1).

    Attributes:
        beta_1: b1, decay of the first moment, in [0, 1).
        beta_2: b2, decay of the second moment, in [0, 1).
        epsilon: Term added to the root.
    """

    beta_1: float = 0.9
    beta_2: float = 0.99
    epsilon: float = 1e-8

    def _stepped(
        self, xp: Any, each: Callable[..., Any], learning_rate: Any, state: Any, gradients: Any
    ) -> tuple[Any, Any]:
        """Returns what a step subtracts from the weights, and (m, v, v_max) after it.

        `each` maps a function over trees like the weights; `xp` has the functions of a framework.
        """
        grow_1, grow_2 = 1 - self.beta_1, 1 - self.beta_2
        first, second, largest = state
        first = each(lambda m, g: m + (g - m) * grow_1, first, gradients)
        second = each(lambda v, g: v + (xp.square(g) - v) * grow_2, second, gradients)
        largest = each(xp.maximum, largest, second)
        steps = each(lambda m, v: learning_rate * m / (xp.sqrt(v) + self.epsilon), first, largest)
        return steps, (first, second, largest)

    @property
    def initial_moments(self) -> tuple[float, ...]:
        return 0.0, 0.0, 0.0

    def in_numpy(
        self, gradients: np.ndarray, moments: Arrays, *, step: int, learning_rate: np.float32
    ) -> tuple[np.ndarray, Arrays]:
        def each(rule: Callable[..., Any], *arrays: Any) -> Any:
            return rule(*arrays)

        return self._stepped(np, each, learning_rate, moments, gradients)

    def in_jax(self, learning_rate: Any) -> Any:
        import jax
        import optax
        from jax import numpy as jnp

        each = jax.tree_util.tree_map

        def init(weights: Any) -> tuple[Any, ...]:
            return tuple(each(jnp.zeros_like, weights) for _ in range(3))

        def update(gradients: Any, state: Any, weights: Any = None) -> tuple[Any, Any]:
            steps, state = self._stepped(jnp, each, learning_rate, state, gradients)
            return each(jnp.negative, steps), state

        return optax.GradientTransformation(init, update)

    def in_tff(self) -> Any:
        import tensorflow as tf
        import tensorflow_federated as tff

        ours, each = self, tf.nest.map_structure

        class _InTff(tff.learning.optimizers.Optimizer):
            """TensorFlow Federated has no AMSGrad."""

            def initialize(self, specs: Any) -> Any:
                def zeros() -> Any:
                    return each(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)

                return OrderedDict(first=zeros(), second=zeros(), largest=zeros())

            def next(self, state: Any, weights: Any, gradients: Any) -> Any:
                steps, moments = ours._stepped(
                    tf.math, each, ours.learning_rate, state.values(), gradients
                )
                return OrderedDict(zip(state, moments)), each(tf.subtract, weights, steps)

        return _InTff()


@register(
    "server_optimizer",
    "amsgrad",
    "AMSGrad",
    about="Adam by the largest second moment so far, without bias correction",
    order=5,
)
@dataclass(frozen=True)
class ServerAmsGradConfig(AdaptiveServerConfig):
    """Configuration of `AmsGrad`."""

    amsgrad_beta_2: float = parameter(
        0.99, "b2, decay of AMSGrad's second moment", minimum=0, below=1
    )

    def build(self) -> AmsGrad:
        return AmsGrad(self.server_lr, beta_2=self.amsgrad_beta_2, epsilon=self.epsilon)
