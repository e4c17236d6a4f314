"""The server's half of a round as a program for XLA: aggregate, server optimizer, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.engines.jax.local_sgd import with_leaves
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.methods.parts.aggregation import Aggregation

# Imported where it is needed: most runs have no memory.
if TYPE_CHECKING:
    from f3ast_tff.methods.parts.memory import Memory, RoundContext, Values

_map = jax.tree_util.tree_map


class ServerState(NamedTuple):
    """Model, state of the server optimizer, and the server's part of a memory, if any."""

    weights: Tree
    optimizer: Tree
    memory: Values


class DeviceOutcome(NamedTuple):
    """`RoundOutcome` on the device, as scalars."""

    train_loss: Any
    update_norm: Any
    num_dropped: Any
    rejected: Any


class ClientSums(NamedTuple):
    """Sums over clients with a finite update; totals of two parts can be added.

    Attributes:
        update: Sum of weighted updates, like the model. With a memory of clients `[num_weights]`;
            with an `echo_clip` the sums of scale * D_k and of shifts, `[2 * num_weights]`.
        weight: Sum of weights.
        finite: Number of clients.
        loss: Sum of `Trained.loss`.
        count: Sum of `Trained.count`.
        steps: Sum of weights times local steps.
    """

    update: Tree
    weight: Any
    finite: Any
    loss: Any
    count: Any
    steps: Any


class ClientsKept(NamedTuple):
    """Memory of the clients of a cohort, after their updates.

    Attributes:
        kept: Values by name, `[waves, lanes, num_weights]` or `[waves, lanes]`.
        finite: Whether a lane's client has sent a finite update, `bool [waves, lanes]`.
        server: The server's values with the averages and totals after these updates.
    """

    kept: Values
    finite: Any
    server: Values


class MemoryInputs(NamedTuple):
    """Extra inputs of a round with a memory.

    Attributes:
        kept: `Memory.vectors` and `Memory.numbers` of each lane's client, each `[waves, lanes,
            num_weights]` or `[waves, lanes]`; empty if only the server has a memory.
        share: p_k of each lane's client, `[waves, lanes]`.
        ids: Number of each lane's client, -1 for an empty lane, `int32 [waves, lanes]`.
        round_number: Round t.
        num_clients: Number of clients with p_k above 0.
    """

    kept: dict[str, Any]
    share: Any
    ids: Any
    round_number: Any
    num_clients: Any


@dataclass(frozen=True)
class ServerStep:
    """The server's step of one composition.

    Attributes:
        optimizer: Optimizer of the step along the aggregate.
        aggregation: Rule from the weighted updates to the aggregate.
        buffers: Places of the leaves that are buffers, which no step changes.
    """

    optimizer: JaxOptimizer
    aggregation: Aggregation
    buffers: tuple[int, ...] = ()

    def context(
        self, state: ServerState, learning_rate: Any, memory_inputs: MemoryInputs
    ) -> RoundContext:
        """Returns the values common to all clients of a round with a memory."""
        from f3ast_tff.methods.parts.memory import RoundContext

        return RoundContext(
            xp=jnp,
            round_number=memory_inputs.round_number,
            learning_rate=learning_rate,
            server_rate=jnp.float32(self.optimizer.learning_rate),
            model=ravel_pytree(state.weights)[0],
            num_clients=memory_inputs.num_clients,
        )

    def __call__(
        self,
        state: ServerState,
        totals: ClientSums,
        num_clients: Any,
        *,
        learning_rate: Any,
        memory_inputs: MemoryInputs | None = None,
        clients: ClientsKept | None = None,
        step: Any = None,
        combined: Any = None,
        changed: Values | None = None,
    ) -> tuple[ServerState, DeviceOutcome, ClientsKept | None]:
        """Makes the step.

        Args:
            state: State before the round.
            totals: Sums over the whole cohort.
            num_clients: Number of clients that train, scalar.
            learning_rate: Rate of the clients.
            memory_inputs: Inputs of a memory, if any.
            clients: Memory of the cohort's clients; given with a memory of clients.
            step: Factor of the server's learning rate, see `Cohort.step`; `None` for 1.
            combined: Delta of `Aggregation.combine`, `[num_weights]`, in place of the sum.
            changed: Server values that `Aggregation.combine_round` has changed, if any.

        Returns:
            State after the round, outcome, and memory of the clients, whose `finite` now marks
            the lanes whose values changed. If no update is finite, or the step is not, the state
            stays; see `Memory.steps` for the exception.
        """
        memory = self.aggregation.memory
        if memory is None or memory_inputs is None:
            state, outcome = self._plain(state, totals, num_clients, step, combined)
            return state, outcome, None
        from f3ast_tff.methods.parts.memory import CohortSums, clipped

        now = self.context(state, learning_rate, memory_inputs)
        now = now._replace(cohort=CohortSums(totals.weight, totals.steps))
        weights, unravel = ravel_pytree(state.weights)
        noted = {**(state.memory if clients is None else clients.server), **(changed or {})}
        present = totals.finite > 0
        steps = jnp.asarray(memory.steps(noted, now, present))
        delta, _ = ravel_pytree(totals.update)
        mean = memory.mean(self.aggregation.normalise, now)
        divides = mean & (totals.weight != 0)
        if memory.has_messages:
            # XLA then divides as in a plain mean: a message without effect is FedAvg bit for bit.
            delta = jnp.where(divides, delta / totals.weight, delta)
        else:
            delta = delta / jnp.where(divides, totals.weight, 1.0)
        if combined is not None:
            delta = combined
        if memory.echo_clip is not None:
            echo, shift = jnp.split(delta, 2)
            delta = clipped(echo, memory.echo_clip, jnp) + shift
        delta = memory.aggregated(delta, state.memory, now)
        correction = memory.correction(state.memory, now)
        if correction is not None:
            delta = delta + correction
        leaves = jax.tree_util.tree_leaves(unravel(delta))
        delta_tree = self._direction(leaves)
        stepped = self._stepped(state, delta_tree, step)
        fine = _all_finite((delta_tree, stepped.weights))
        moves, keeps = steps & fine, present & (fine | ~steps)
        after = _where(moves, stepped, ServerState(state.weights, state.optimizer, {}))
        server = _where(keeps, noted, state.memory)
        model, _ = ravel_pytree(after.weights)
        if clients is not None:
            delta, _ = ravel_pytree(delta_tree)
            settle = jax.vmap(
                jax.vmap(lambda kept: memory.after_server_step(kept, delta, model, now))
            )
            # Without values `vmap` has no axis.
            settled = settle(clients.kept) if clients.kept else {}
            changed = clients.finite & keeps
            for name in memory.settled_averages:
                server = with_average(
                    server,
                    name,
                    share=memory_inputs.share,
                    before=clients.kept[name],
                    after=settled[name],
                    changed=changed,
                )
            clients = ClientsKept(settled, changed, server)
        closed, closing = memory.end_round(server, model, now)
        fits = jnp.all(jnp.isfinite(closing))
        closed, closing = _where(fits, (closed, closing), (server, model))
        new = ServerState(unravel(closing), after.optimizer, closed)
        outcome = DeviceOutcome(
            train_loss=jnp.where(keeps, totals.loss / totals.count, jnp.nan),
            update_norm=jnp.where(moves, _global_norm(delta_tree), 0.0),
            num_dropped=num_clients - totals.finite,
            rejected=~(moves | keeps) | ~fits,
        )
        return new, outcome, clients

    def _plain(
        self, state: ServerState, totals: ClientSums, num_clients: Any, step: Any, combined: Any
    ) -> tuple[ServerState, DeviceOutcome]:
        delta = totals.update
        if combined is not None:
            delta = ravel_pytree(state.weights)[1](combined)
        elif self.aggregation.normalise:
            delta = _map(lambda d: d / totals.weight, delta)
        delta = self._direction(delta)
        stepped = self._stepped(state, delta, step)
        accepted = (totals.finite > 0) & _all_finite((delta, stepped.weights))
        outcome = DeviceOutcome(
            train_loss=jnp.where(accepted, totals.loss / totals.count, jnp.nan),
            update_norm=jnp.where(accepted, _global_norm(delta), 0.0),
            num_dropped=num_clients - totals.finite,
            rejected=~accepted,
        )
        return _where(accepted, stepped, state), outcome

    def _direction(self, delta: Tree) -> Tree:
        """The aggregation's direction; `ComponentError` if it has other shapes than `delta`."""
        found, trees = self.aggregation.in_jax(delta), jax.tree_util
        returned, given = ([jnp.shape(x) for x in trees.tree_leaves(t)] for t in (found, delta))
        structures: list[Any] = [trees.tree_structure(t) for t in (found, delta)]
        if structures[0] != structures[1] or returned != given:
            raise ComponentError(
                f"aggregation {self.aggregation.own_name}: in_jax returned "
                f"{type(found).__name__} of shapes {returned}: must be a list of shapes {given}"
            )
        return found

    def _stepped(self, state: ServerState, delta: Tree, step: Any) -> ServerState:
        negative = _map(jnp.negative, delta)
        rate = self.optimizer.learning_rate if step is None else self.optimizer.learning_rate * step
        optimizer, weights = self.optimizer.update(state.optimizer, state.weights, negative, rate)
        return ServerState(with_leaves(weights, state.weights, self.buffers), optimizer, {})


def with_average(
    server: Values, name: str, *, share: Any, before: Any, after: Any, changed: Any
) -> Values:
    """Returns the server's values with an average of `Memory.vectors` updated lane by lane.

    Args:
        server: The values.
        name: Name of the vectors.
        share: p_k of each lane's client, `[..., lanes]`.
        before: Vectors in the average, `[..., lanes, num_weights]`.
        after: Vectors that replace them, of the same shape.
        changed: Lanes with a changed vector, `bool [..., lanes]`.
    """
    from f3ast_tff.methods.parts.memory import renewed

    share, changed = share.ravel(), changed.ravel()
    before, after = (values.reshape(len(share), -1) for values in (before, after))
    names = (f"average_{name}", f"average_{name}_error")

    def lane(i: Any, so_far: tuple[Any, Any]) -> tuple[Any, Any]:
        new = renewed(so_far, share=share[i], before=before[i], after=after[i])
        total, error = (jnp.where(changed[i], a, b) for a, b in zip(new, so_far))
        return total, error

    values = lax.fori_loop(0, len(share), lane, (server[names[0]], server[names[1]]))
    return {**server, **dict(zip(names, values))}


def evaluated_weights(memory: Memory | None, state: ServerState) -> Tree:
    """Returns the model to score; see `Memory.evaluated`."""
    if memory is None:
        return state.weights
    weights, unravel = ravel_pytree(state.weights)
    return unravel(memory.evaluated(state.memory, weights))


def _where(choose: Any, if_true: Tree, if_false: Tree) -> Tree:
    return _map(lambda a, b: jnp.where(choose, a, b), if_true, if_false)


def _global_norm(tree: Tree) -> Any:
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree_util.tree_leaves(tree)))


def _all_finite(tree: Tree) -> Any:
    leaves = jax.tree_util.tree_leaves(tree)
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))
