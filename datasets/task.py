"""A task: federated data, preprocessing, and published values."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.preprocessing import AsStored, Preprocessing
from f3ast_tff.core.randomness import MAX_SEED, generator
from f3ast_tff.files.process_memory import available_memory_bytes
from f3ast_tff.settings import Derived, Published, parameter
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

from .source import SourceFile, default_data_dir

_LOGGER = logging.getLogger(__name__)
_WHOSE = {"held_out_clients": "training clients", "test_clients": "test clients"}
# Bytes of generated data whose size is said.
_LARGE = 2**31
# Rule of models that differ from client to client, for the test examples.
OWN_MODELS_NEED = (
    "needs test examples of the clients that train, and {} tests others: give own_test, a share of "
    "each client's examples that is left out of training"
)
# Server learning rates and Adam's epsilon for tasks whose papers publish none; chosen here.
ADAPTIVE_SERVER_STEPS: Mapping[str, Any] = MappingProxyType(
    {"server_lr": {"sgd": 1.0, "adam": 0.01, "yogi": 0.01, "adagrad": 0.01}, "epsilon": 0.001}
)


@dataclass(frozen=True)
class TaskConfig:
    """Base of a task's `Config`.

    Attributes:
        model: Name of the publication's network, the default.
        published: Published values by name, of settings with the default `Published`; a value may
            be a mapping by server optimizer.
        tff_clients_at_once: Number of clients that TFF's worker trains at the same time by
            default, -1 for all; small if a client's training takes much memory.
        generates_data: Whether `data_seed` draws the data, not only the split: a claim about such
            a task needs several draws.
        tests_same_clients: Whether test client k is training client k; `None` if the names of
            clients in the data tell.
        num_classes: Number of classes, from which the report gets the loss of a guess; `None` if
            it depends on settings or files.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff import FederatedData
        >>> from f3ast_tff.datasets import TaskConfig
        >>> @dataclass(frozen=True)
        ... class SignsConfig(TaskConfig):
        ...     def build(self):
        ...         x = np.random.default_rng(self.data_seed).normal(size=(60, 1))
        ...         clients = np.arange(60) % self.num_clients
        ...         return FederatedData.from_arrays(x, (x > 0).astype(int)[:, 0], clients)
        >>> SignsConfig(num_clients=4).build().train.sizes.tolist()
        [13, 13, 13, 13]
    """

    model: ClassVar[str] = "softmax_regression"
    published: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    tff_clients_at_once: ClassVar[int] = -1
    generates_data: ClassVar[bool] = False
    tests_same_clients: ClassVar[bool | None] = None
    num_classes: ClassVar[int | None] = None

    num_clients: int = parameter(Published(), "number of clients N", minimum=1, maximum=10**7)
    data_seed: int = parameter(
        0, "seed of generated data, and of who holds which data", minimum=0, maximum=MAX_SEED
    )
    test_clients: int | None = parameter(
        None, "score this many test clients, drawn once, instead of all", minimum=1
    )
    held_out_clients: int | None = parameter(
        None,
        "leave this many training clients out, drawn once, and score them, not the test clients: "
        "to choose settings without looking at the test data",
        minimum=1,
    )
    own_test: float | None = parameter(
        None,
        "score each training client on this share of its own examples, drawn once and left out of "
        "training, instead of the test clients",
        above=0,
        below=1,
    )

    client_half: str | None = parameter(
        None,
        "one half of the clients alone, drawn by data_seed: a model is trained on the first, and "
        "goes on (initial_weights) on the second",
        choices=("first", "second"),
    )
    partition: str = parameter(
        "task",
        "who holds which examples: as the task says, or sites with the sizes and classes in the "
        "table label_counts",
        choices=("task", "counts"),
    )
    label_counts: str | None = parameter(
        None,
        "CSV with a row per site: its name, then its number of examples in a column per class, or "
        "in a column examples",
        is_input=True,
    )
    scale: float | None = parameter(
        None,
        "examples of a site over those in label_counts; by default 1, or less if the task has too "
        "few",
        above=0,
        maximum=1000,
    )

    def build(self) -> FederatedData:
        """Returns the data.

        Raises:
            DataError: If a file is missing or damaged.
            ParameterError: If a file contradicts a parameter.
        """
        raise ComponentError(f"{type(self).__name__} does not say how its data is built")

    @classmethod
    def num_clients_of(cls, known: Any) -> int | None:
        """Returns N if a table of sites decides it, else `None`.

        Args:
            known: All settings, resolved when asked for (`settings.parameter.ResolvedSettings`).
        """
        if known["partition"] != "counts" or known["label_counts"] is None:
            return None
        from .label_counts import read_counts

        return len(read_counts(known["label_counts"]).sites)

    def expected_bytes(self) -> int:
        """Returns the expected memory while the data are generated; 0 if unknown or small."""
        return 0

    def check_size(self) -> None:
        """Refuses generated data that will not fit into memory; says the size of large ones.

        Raises:
            ParameterError: If the data are larger than the memory that is free.
        """
        expected, there = self.expected_bytes(), available_memory_bytes()
        gib = expected / 2**30
        if expected > there:
            allowed = (
                f"needs some {gib:.0f} GiB for the data, and {there / 2**30:.0f} are available"
            )
            raise ParameterError("num_clients", self.num_clients, allowed)
        if expected > _LARGE:
            _LOGGER.warning("the data of %d clients take some %.1f GiB", self.num_clients, gib)

    def drawn(self, data: FederatedData, pooled: bool) -> FederatedData:
        """Returns the data of a run: clients held out, own test examples, scored clients.

        Args:
            data: Data of all clients.
            pooled: Whether all training clients are one.

        Raises:
            ParameterError: If a setting contradicts the data, or no test example is left.
        """
        if self.label_counts is not None:
            from .label_counts import mirrored

            data = mirrored(data, self.label_counts, self.scale, self.data_seed)
        found = data.train.num_clients
        if self.num_clients not in (None, found):
            allowed = f"must be {found}, the number in this data"
            raise ParameterError("num_clients", self.num_clients, allowed)
        if self.client_half is not None:
            data = self._half_of(data)
            found = data.train.num_clients
        held = self._drawn_clients("held_out_clients", self.held_out_clients, found, found - 1)
        if held is not None:
            kept = np.setdiff1d(np.arange(found), held)
            train, test = data.train.take(kept), data.train.take(held)
            data = replace(data, train=train, test=test, clients_to_score=None)
        data = self.with_own_test(data)
        # Counted before clients become one.
        data = replace(data, clients_to_score=data.scored_clients()[1])
        if pooled:
            data = replace(data, train=data.train.pooled())
        there = data.test.num_clients
        scored = self._drawn_clients("test_clients", self.test_clients, there, there)
        if scored is not None:
            data = replace(data, test=data.test.take(scored), clients_to_score=len(scored))
        if not len(data.test.labels):
            raise ParameterError("task", component_of(self).name, "has no test examples")
        return data

    def _half_of(self, data: FederatedData) -> FederatedData:
        """The data of a half of the clients, with their test clients if these are the same."""
        from f3ast_tff.core.own_test_split import owners_of_tests

        found = data.train.num_clients
        if found < 2:
            raise ParameterError("client_half", self.client_half, "needs two clients or more")
        order = generator(self.data_seed, "client halves").permutation(found)
        first = self.client_half == "first"
        ids = np.sort(order[: found // 2] if first else order[found // 2 :])
        owners, test = owners_of_tests(data, self.tests_same_clients), data.test
        if owners is not None:
            test = test.take(np.flatnonzero(np.isin(owners, ids)))
        return replace(data, train=data.train.take(ids), test=test, clients_to_score=None)

    def _drawn_clients(
        self, name: str, asked: int | None, there: int, most: int
    ) -> np.ndarray | None:
        """Draws the number of clients in a setting; sorted ids, or `None` for no draw."""
        if asked is None:
            return None
        if asked > most:
            allowed = f"must be at most {most}: this data has {there} {_WHOSE[name]}"
            raise ParameterError(name, asked, allowed)
        rng = generator(self.data_seed, name.replace("_", " "))
        return np.sort(rng.permutation(there)[:asked])

    def preprocessing(self, seed: int) -> Preprocessing:
        """Returns the preprocessing of stored features into model inputs; `seed` is the run's."""
        return AsStored()

    def check(self, settings: Settings) -> None:
        """Checks parameters against other settings; see `AlgorithmConfig.check`."""
        given: dict[str, Any] = {"label_counts": self.label_counts, "scale": self.scale}
        if self.partition == "counts":
            if self.label_counts is None:
                raise ParameterError("partition", "counts", "needs label_counts, a table of sites")
            from .label_counts import read_counts

            read_counts(self.label_counts)
        elif any(value is not None for value in given.values()):
            name, value = next((n, v) for n, v in given.items() if v is not None)
            raise ParameterError(name, value, "only applies with partition=counts")
        if self.own_test is not None:
            drawn = {"test_clients": self.test_clients, "held_out_clients": self.held_out_clients}
            for name, value in drawn.items():
                if value is not None:
                    allowed = "must not be given with own_test, which scores the clients that train"
                    raise ParameterError(name, value, allowed)
        elif (private := settings.training.private) and self.tests_same_clients is False:
            raise ParameterError("private", private, OWN_MODELS_NEED.format("the task"))

    @property
    def draws_test(self) -> bool:
        """Whether a share of each client's examples is drawn for testing, by `test_counts`."""
        return self.own_test is not None

    def with_own_test(self, data: FederatedData) -> FederatedData:
        """Returns the data, with the test examples of `own_test` if it is given.

        Raises:
            ParameterError: If no client can spare an example.
        """
        if self.own_test is None:
            return data
        from f3ast_tff.core.own_test_split import with_own_test

        train, test = with_own_test(data.train, self.own_test, self.data_seed)
        return replace(data, train=train, test=test)


@dataclass(frozen=True)
class DownloadedTaskConfig(TaskConfig):
    """Base of tasks whose data comes from distributors' files."""

    data_dir: str = parameter(
        Derived(lambda known: str(default_data_dir()), "the user's cache folder"),
        "folder of the distributors' files and of what is prepared from them",
        decides_result=False,
        is_path=True,
    )

    @property
    def folder(self) -> Path:
        """`data_dir` as a path."""
        return Path(self.data_dir)

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The distributors' files of the data."""
        raise ComponentError(f"{type(self).__name__} does not say what it is read from")


@dataclass(frozen=True)
class ResplitTaskConfig(DownloadedTaskConfig):
    """Base of tasks with clients either drawn here or read from TFF's files."""

    client_split: str = parameter(
        "redrawn",
        "clients drawn anew from the distributor's files, or those of TFF's own files",
        choices=("redrawn", "tff"),
    )


@dataclass(frozen=True)
class DirichletTaskConfig(DownloadedTaskConfig):
    """Base of tasks with classes shared out over clients by Dirichlet(s) (CA-Fed, Sec. V-A)."""

    num_classes: ClassVar[int | None] = 10
    tests_same_clients: ClassVar[bool | None] = True

    dirichlet_s: float = parameter(
        0.5, "concentration of the label allocation: small for few classes per client", above=0
    )
