"""An aggregation: from a cohort's weighted updates to the server's step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Derived, parameter
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.kinds import KINDS

if TYPE_CHECKING:
    import numpy as np

    from f3ast_tff.methods.parts.memory import Gathered, Memory, Values

# Weights for a sum over the cohort, p_k over a rate, and for a sum over all clients, p_k.
OVER_RATE, SHARE = "p over a rate", "p"
# Method of the aggregation that each engine calls, by name of the engine.
_FORMS = {"fused": "in_jax", "tff": "in_tf", "host": "in_numpy"}


class Aggregation:
    """Delta = sum_k w_k v_k over the cohort, divided by sum_k w_k if `normalise`; then `in_jax`.

    v_k is the update of client k and w_k its weight in the cohort. Updates that are not finite are
    left out. With a rule `combine`, Delta comes from the stacked v_k instead. The server optimizer
    then steps along Delta. With a `memory`, clients may start from another model, correct their
    gradients and send more than v_k, and the server may add to Delta.
    Base of all aggregations, whose fields are their parameters; the methods are pure functions.

    Attributes:
        engines: Engines that can execute the aggregation; `()` for all.
        weights: Weights that the aggregation is for, `OVER_RATE` or `SHARE`; `""` for others.
        takes: Further weights that make sense here, or aggregations with such weights, see
            `takes_weights`; `None` for all.
        mixes_models: Whether a late update enters as the client's trained model less the present
            one, w_{t - tau} + D_k - w_t, not as D_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods.parts.aggregation import Aggregation
        >>> class Signs(Aggregation):
        ...     def in_jax(self, delta):
        ...         return [0.01 * (part > 0) - 0.01 * (part < 0) for part in delta]
        >>> [part.tolist() for part in Signs().in_jax([np.array([4.0, -0.1, 0.0])])]
        [[0.01, -0.01, 0.0]]
    """

    engines: ClassVar[tuple[str, ...]] = ()
    weights: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...] | None] = None
    mixes_models: ClassVar[bool] = False

    @property
    def own_name(self) -> str:
        """Name of the class, for errors."""
        return type(self).__name__

    @property
    def normalise(self) -> bool:
        """Whether Delta is the weighted mean, not the sum."""
        return False

    def in_jax(self, delta: list[Any]) -> list[Any]:
        """Returns the direction of the server optimizer's step.

        Args:
            delta: The sum or mean, with the memory's correction; JAX arrays of the shapes of the
                model's weights.
        """
        return delta

    def in_tf(self, delta: list[Any]) -> list[Any]:
        """The same as `in_jax`, in TensorFlow."""
        return delta

    def in_numpy(self, delta: list[Any]) -> list[Any]:
        """The same as `in_jax`, in NumPy."""
        return delta

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Returns Delta of the stacked updates, for a median, a trimmed mean and the like.

        An aggregation with a rule of its own keeps the updates of a whole cohort in memory, m times
        `num_weights` numbers of 4 bytes, and calls it on the host, in NumPy on every engine.

        Args:
            updates: What the clients sent, one row each, in the order of their ids, `float32
                [m, num_weights]`; finite, m at least 1.
            weights: Weights of these clients in the cohort, over all draws, `float32 [m]`.

        Returns:
            Delta before the memory's `aggregated`, `[num_weights]`.
        """
        total = weights @ updates
        return total / weights.sum() if self.normalise else total

    def combine_round(self, gathered: Gathered) -> tuple[np.ndarray, Values]:
        """Returns Delta, as `combine`, and the server's values after the round.

        For rules that remember, draw by round or tell clients apart. Of the values those in
        `Memory.server_vectors` and `Memory.server_numbers` count. They stay as they were in a round
        that is rejected, or without clients. Draws are by `gathered.round_number`
        (`f3ast_tff.core.randomness.generator`), so that a resumed run repeats them.
        """
        return self.combine(gathered.updates, gathered.weights), gathered.server

    @property
    def stacks(self) -> bool:
        """Whether it needs stacked updates, for a rule `combine` or `combine_round` of its own."""
        own = type(self)
        combines = own.combine is not Aggregation.combine
        return combines or own.combine_round is not Aggregation.combine_round

    @property
    def memory(self) -> Memory | None:
        """Rules of the server's memory, if any."""
        return None

    def build(self) -> Aggregation:
        """Returns the aggregation: itself, unless a plug-in wraps another."""
        return self

    def takes_weights(self, meant_for: type[Aggregation]) -> bool:
        """Whether an algorithm's weights make sense in this aggregation.

        Args:
            meant_for: Aggregation of the weights, which `AlgorithmConfig.aggregation` names.
        """
        if self.takes is None:
            return True
        name, taken = component_of(meant_for).name, (component_of(self).name, *self.takes)
        return name in taken or meant_for.weights in taken

    @property
    def reads_gradients(self) -> bool:
        """Whether its memory, if any, reads gradients off clients' updates."""
        memory = self.build().memory
        return memory is not None and memory.reads_gradients

    def check(self, settings: Settings) -> None:
        """Refuses engines and runtimes that cannot execute it."""
        name, engine = component_of(self).name, settings.engine
        if self.engines and engine not in self.engines:
            allowed = f"only runs with engine {', '.join(self.engines)}"
            raise ParameterError("aggregation", name, allowed)
        aggregation = self.build()
        KINDS["aggregation"].check_object(aggregation)
        written = {
            form
            for form in _FORMS.values()
            if getattr(type(aggregation), form, None) not in (None, getattr(Aggregation, form))
        }
        form = _FORMS.get(engine)
        if written and form is not None and form not in written:
            allowed = f"defines no {form}, so that it does not run with engine {engine}"
            raise ParameterError("aggregation", name, allowed)
        memory = aggregation.memory
        if settings.training.private is not None:
            from f3ast_tff.methods.parts.private_setting import check_private

            check_private(settings, name, memory)
        if aggregation.stacks or memory is not None:
            from f3ast_tff.methods.parts.aggregation_checks import check_aggregation

            check_aggregation(name, memory, stacks=aggregation.stacks, settings=settings)


def _as_meant(known: Any) -> str:
    meant_for = known.find("aggregation", known.config_class("algorithm").aggregation)
    return "sum" if meant_for.weights == OVER_RATE else "mean"


@dataclass(frozen=True)
class SumOrMean(Aggregation):
    """Base of aggregations whose memory works with a sum or a mean over the cohort."""

    cohort_weights: str = parameter(
        Derived(_as_meant, "sum where the algorithm weighs by p over a rate, else mean"),
        "the cohort's weights count as they are (sum), or divided by their sum (mean)",
        choices=("mean", "sum"),
    )

    @property
    def normalise(self) -> bool:
        return self.cohort_weights == "mean"

    def takes_weights(self, meant_for: type[Aggregation]) -> bool:
        """A mean takes all weights, a sum only those for a sum."""
        return self.normalise or meant_for.weights in (OVER_RATE, SHARE)
