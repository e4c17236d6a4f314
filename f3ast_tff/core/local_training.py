"""A client's local training in a round: its examples, their order and their batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.randomness import generator

_LOG = logging.getLogger(__name__)

# Limit on a client's visits to examples per round, which are drawn in one array.
_MAX_VISITS = 10**8


@dataclass(frozen=True)
class LocalTraining:
    """Local training of one client in one round.

    Either `epochs` passes over the client's data, each in a new random order and cut into batches,
    the last of which may be short. Or exactly `steps` full batches (the paper's "E steps"), from
    as many passes as needed.

    Attributes:
        batch_size: Examples in a batch, at least 1.
        epochs: Passes over the client's data, at least 1; not used when `steps` is set.
        steps: Number of full batches; `None` to train by epochs.
        drop_remainder: Whether an epoch's short last batch is dropped; then a client with less
            than one batch makes no step.
        seed: Seed of the order.
    """

    batch_size: int
    epochs: int = 1
    steps: int | None = None
    drop_remainder: bool = False
    seed: int = 0

    @property
    def num_segments(self) -> int:
        """Number of rows of `order`; a batch lies within one row."""
        return 1 if self.steps is not None else self.epochs

    def order(self, round_number: int, client: int, num_examples: int) -> np.ndarray:
        """Returns the order in which a client visits its examples, a pure function.

        Args:
            round_number: Round t, from 1.
            client: Client id.
            num_examples: The client's number of training examples.

        Returns:
            `int32 [num_segments, length]`, indices into the client's examples; batches are
            consecutive runs of `batch_size` in each row.
        """
        return next(self.orders(round_number, [client], [num_examples]))

    def orders(
        self, round_number: int, clients: Sequence[int], nums_examples: Sequence[int]
    ) -> Iterator[np.ndarray]:
        """Yields `order` for each of `clients`, `int [m]`, with these numbers of examples."""
        for k, num_examples in zip(clients, nums_examples):
            yield self._order(generator(self.seed, "batches", round_number, k), num_examples)

    def _order(self, rng: np.random.Generator, num_examples: int) -> np.ndarray:
        if self.steps is not None:
            wanted = self.steps * self.batch_size if num_examples else 0
            passes = -(-wanted // max(num_examples, 1))
            stream = [rng.permutation(num_examples) for _ in range(passes)]
            flat = np.concatenate(stream)[:wanted] if stream else np.zeros(0)
            return flat.astype(np.int32)[None]
        length = num_examples
        if self.drop_remainder:
            length -= num_examples % self.batch_size
        epochs = [rng.permutation(num_examples)[:length] for _ in range(self.epochs)]
        return np.asarray(epochs, np.int32).reshape(self.epochs, length)

    def num_batches(self, num_examples: np.ndarray) -> np.ndarray:
        """Returns the number of steps per round of clients of these sizes, `int64`."""
        sizes = np.asarray(num_examples, np.int64)
        if self.steps is not None:
            return np.where(sizes > 0, self.steps, 0)
        full = sizes // self.batch_size
        if not self.drop_remainder:
            full = -(-sizes // self.batch_size)
        return self.epochs * full

    def num_visits(self, num_examples: np.ndarray) -> np.ndarray:
        """Returns the number of visits to examples per round of clients of these sizes, `int64`.

        An example that is visited several times counts several times.
        """
        sizes = np.asarray(num_examples, np.int64)
        if self.steps is not None or self.drop_remainder:
            return self.num_batches(sizes) * self.batch_size
        return self.epochs * sizes


def client_share(sizes: np.ndarray, work: LocalTraining, unit: str) -> np.ndarray:
    """Returns p_k, the weight of each client in the objective (reading R16).

    Args:
        sizes: Training examples per client, `[N]`.
        work: Local work, for the number of batches.
        unit: `"examples"` (F3AST's paper: share of the data), `"batches"` (its released code:
            share of the training batches), or `"equal"` (1 / N among the clients with data).

    Returns:
        `float64 [N]` of sum 1, positive for clients with data.
    """
    counts = {
        "examples": lambda: sizes,
        "batches": lambda: work.num_batches(sizes),
        "equal": lambda: np.asarray(sizes) > 0,
    }[unit]()
    return np.asarray(counts, np.float64) / np.sum(counts)


def vector_of(name: str, value: Any) -> np.ndarray:
    """Returns an argument of numbers, `float64 [n]`.

    Raises:
        ParameterError: If it is no vector of real numbers.
    """
    try:
        found = np.asarray(value)
        if found.ndim == 1 and found.dtype.kind in "biuf":
            return found.astype(np.float64)
    except ValueError:  # Lists of several lengths.
        pass
    raise ParameterError(name, value, "must be numbers, one per client")


def check_client_shares(p: np.ndarray) -> None:
    """Checks that client shares p_k are a distribution, `float [N]`.

    Raises:
        ValueError: If a share is negative or not finite, or the sum is not 1.
    """
    if p.ndim != 1:
        raise ValueError(f"p has shape {p.shape}: must be [N]")
    wrong = np.flatnonzero(~((p >= 0) & np.isfinite(p)))
    if len(wrong):
        raise ValueError(f"p[{wrong[0]}] = {p[wrong[0]]}: must be at least 0")
    if not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"p sums to {p.sum()}: must sum to 1")


def renewed_shares(p: np.ndarray, num_clients: int) -> np.ndarray:
    """Returns client shares that replace those of before, checked, `float64 [N]`.

    Raises:
        ParameterError: If they are of another number of clients.
        ValueError: If they are no distribution.
    """
    p = np.asarray(p, np.float64)
    if p.shape != (num_clients,):
        allowed = f"must have the {num_clients} clients of before, absent ones with 0"
        raise ParameterError("p", f"shape {list(p.shape)}", allowed)
    check_client_shares(p)
    return p


def check_steps(train: ClientExamples, work: LocalTraining) -> None:
    """Refuses training in which no client takes a step; warns of clients that take none.

    Raises:
        ParameterError: If no client takes a step, or a client takes far too many.
    """
    sizes = train.sizes
    if not sizes.sum():
        raise ParameterError("task", "", "has no training example")
    visits = int(work.num_visits(sizes).max())
    if visits > _MAX_VISITS:
        name = "local_epochs" if work.steps is None else "local_steps"
        most = f"a client would visit {visits} examples per round, more than {_MAX_VISITS}"
        raise ParameterError(name, work.epochs if work.steps is None else work.steps, most)
    idle = np.flatnonzero((work.num_batches(sizes) == 0) & (sizes > 0))
    if len(idle) == 0:
        return
    largest = int(np.argmax(sizes))
    if work.num_batches(sizes[largest : largest + 1])[0] == 0:
        allowed = (
            f"must be at most {sizes[largest]}, the examples of client {train.name(largest)}, who "
            "has most: with last_batch=drop nobody would train"
        )
        raise ParameterError("batch_size", work.batch_size, allowed)
    first = int(idle[0])
    _LOG.warning(
        "%d of %d clients hold less than one batch of %d and take no step, as last_batch is drop; "
        "the first is client %s, with %d examples",
        len(idle),
        len(sizes),
        work.batch_size,
        train.name(first),
        sizes[first],
    )
