"""Federated data: columnar arrays of examples, cut into clients by offsets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ClientExamples:
    """Examples of all clients, in the order of clients.

    Attributes:
        features: Numbers, `[num_examples, ...]`; integers must fit `int32`.
        labels: Integer class ids, `[num_examples]`, or `[num_examples, length]` for sequences.
            Negative labels (the pads of a sequence) count neither in losses nor in accuracies. Or
            floating-point values, `[num_examples, ...]`, for a model with a loss of its own.
        offsets: `int64 [num_clients + 1]`; client k holds rows `offsets[k]:offsets[k + 1]`.
        names: Name of each client, `[num_clients]`; `None` if clients are only numbered.

    Raises:
        ValueError: If the arrays contradict each other, features or labels are not numbers,
            integers do not fit `int32`, or a name is there twice.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import ClientExamples
        >>> features, labels = np.zeros((5, 2)), np.array([0, 1, 1, 0, 1])
        >>> examples = ClientExamples(features, labels, offsets=np.array([0, 2, 5]))
        >>> examples.sizes.tolist(), examples.client(1)[1].tolist()
        ([2, 3], [1, 0, 1])
    """

    features: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    names: np.ndarray | None = None

    def __post_init__(self) -> None:
        rows = len(self.features)
        if len(self.labels) != rows:
            raise ValueError(f"{rows} rows of features but {len(self.labels)} of labels")
        if self.labels.dtype.kind not in "iuf":
            raise ValueError(f"labels must be integers or floats, not {self.labels.dtype}")
        if self.features.dtype.kind not in "biuf":
            raise ValueError(f"features must be numbers, not {self.features.dtype}")
        # Larger integers would wrap around in a program without 64-bit integers.
        for what, array in (("features", self.features), ("labels", self.labels)):
            if array.dtype.kind in "iu" and not _fits_int32(array):
                raise ValueError(f"{what} must be integers that fit int32, or floats")
        offsets = self.offsets
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not len(offsets):
            raise ValueError(f"offsets must be integers [num_clients + 1], not {offsets.dtype}")
        if offsets[0] != 0 or offsets[-1] != rows or np.any(np.diff(offsets) < 0):
            raise ValueError(f"offsets must rise from 0 to {rows}, the number of examples")
        if self.names is not None and len(self.names) != self.num_clients:
            raise ValueError(f"{len(self.names)} names for {self.num_clients} clients")
        if self.names is not None and len(np.unique(self.names)) < self.num_clients:
            raise ValueError("names must differ")

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Examples per client, `int64 [num_clients]`."""
        return np.diff(self.offsets)

    def client(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the features and labels of client `k`, as views."""
        rows = slice(self.offsets[k], self.offsets[k + 1])
        return self.features[rows], self.labels[rows]

    def __repr__(self) -> str:
        """Shows N, and number and shape of the examples."""
        shape = self.features.shape[1:]
        return f"ClientExamples(N={self.num_clients}, examples={len(self.labels)}, shape={shape})"

    def take(self, ids: np.ndarray) -> ClientExamples:
        """Returns the examples of these clients only, in the order of `ids`, `int [m]`."""
        sizes = self.sizes[ids]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[ids] - offsets[:-1], sizes)
        names = None if self.names is None else self.names[ids]
        return ClientExamples(
            self.features[rows], labels=self.labels[rows], offsets=offsets, names=names
        )

    def pooled(self) -> ClientExamples:
        """Returns the same examples, held by one client."""
        everything = np.array([0, len(self.labels)], np.int64)
        return ClientExamples(self.features, self.labels, everything)

    def name_of_row(self, row: int) -> str:
        """Returns the name of the client that holds a row; without names, its number."""
        return self.name(int(np.searchsorted(self.offsets, row, side="right")) - 1)

    def name(self, k: int) -> str:
        """Returns the name of client `k`; without names, its number."""
        return str(k if self.names is None else self.names[k])


# Name of the task of data given as an object.
DATA_OBJECT = "federated_data"


@dataclass(frozen=True)
class FederatedData:
    """The data of a task.

    Attributes:
        train: Training examples by client.
        test: Test examples by client; a task may have other clients for testing.
        num_classes: Number of classes; labels are `0 .. num_classes - 1`. 0 if labels are values,
            which are floating-point numbers.
        feature_names: Names of the features' columns; empty without names.
        label_names: Names of the classes, in order; empty without names.
        clients_to_score: Number of clients that user scores should cover, see `scored_clients`.
            By default all test clients and, where a training client is among them, all training
            clients.

    Raises:
        ValueError: If a label is too large or of another kind, or training and test features differ
            in shape.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff import FederatedData
        >>> table = {"client": ["a", "a", "b", "b"], "label": ["x", "y", "x", "x"]}
        >>> frame = pd.DataFrame({**table, "height": [1.5, 2.0, 0.5, 1.0]})
        >>> data = FederatedData.from_frame(frame, test_fraction=0.5)
        >>> data.train.names.tolist(), data.train.sizes.tolist(), data.num_classes
        (['a', 'b'], [1, 1], 2)
    """

    train: ClientExamples
    test: ClientExamples
    num_classes: int
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    clients_to_score: int | None = None

    def __post_init__(self) -> None:
        if self.num_classes < 0:
            raise ValueError(f"num_classes {self.num_classes}: must be at least 0")
        for part, examples in (("training", self.train), ("test", self.test)):
            if (examples.labels.dtype.kind == "f") != (self.num_classes == 0):
                must = "0 with labels that are floats, and at least 1 with integers"
                raise ValueError(f"num_classes {self.num_classes}: must be {must}")
            if self.num_classes and examples.labels.max(initial=0) >= self.num_classes:
                flat = examples.labels.reshape(len(examples.labels), -1).max(axis=1, initial=0)
                row = int(np.argmax(flat >= self.num_classes))
                raise ValueError(
                    f"labels must be below {self.num_classes}, the number of classes (values to "
                    f"predict must be floats, with num_classes=0): client "
                    f"{examples.name_of_row(row)} has {flat[row]} ({part} row {row})"
                )
        shapes = [part.features.shape[1:] for part in (self.train, self.test)]
        if len(self.train.labels) and len(self.test.labels) and shapes[0] != shapes[1]:
            raise ValueError(f"training features have shape {shapes[0]}, test features {shapes[1]}")

    def _repr_html_(self) -> str:
        """Shows clients, examples and their shape in a notebook, in its own colours."""
        rows = "".join(
            f"<tr><th>{name}</th><td>{part.num_clients}</td><td>{len(part.labels)}</td>"
            f"<td>{part.features.shape[1:]}</td></tr>"
            for name, part in (("training", self.train), ("test", self.test))
        )
        head = "<tr><th></th><th>clients N</th><th>examples</th><th>shape</th></tr>"
        labels = f"{self.num_classes} classes" if self.num_classes else "labels are values"
        return f"<table>{head}{rows}</table><p>{labels}</p>"

    def scored_clients(self) -> tuple[int, int]:
        """Returns the number of clients that user scores are over, and that they should cover.

        A client without a test example has no score: a mean over users leaves it out.

        Examples:
            >>> from f3ast_tff import FederatedData
            >>> features, labels = [[0.5], [1], [2]], [0, 1, 1]
            >>> data = FederatedData.from_arrays(features, labels, ["a", "b", "b"], test=0.5)
            >>> data.scored_clients()
            (1, 2)
        """
        labels = self.test.labels
        # Negative labels do not count.
        counts = labels >= 0 if labels.dtype.kind in "iu" else np.ones(labels.shape, bool)
        owners = np.repeat(np.arange(self.test.num_clients), self.test.sizes)
        scored = len(np.unique(owners[counts.any(axis=tuple(range(1, counts.ndim)))]))
        if self.clients_to_score is not None:
            return scored, self.clients_to_score
        train, test = self.train.names, self.test.names
        of = self.test.num_clients
        if train is not None and test is not None and np.isin(test, train).any():
            of = len(np.union1d(train, test))
        return scored, of

    @property
    def identity(self) -> str:
        """Digest and names of the data; a run on them can be resumed."""
        clients = [
            None if part.names is None else part.names.tolist() for part in (self.train, self.test)
        ]
        return repr(
            (self.sha256(), self.num_classes, self.feature_names, self.label_names, clients)
        )

    def sha256(self) -> str:
        """Returns the SHA-256 of all features, labels and offsets, in hexadecimal."""
        digest = hashlib.sha256()
        for part in (self.train, self.test):
            for array in (part.features, part.labels, part.offsets):
                digest.update(f"{array.dtype.str} {array.shape} ".encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    @classmethod
    def from_arrays(
        cls,
        features: Any,
        labels: Any,
        clients: Any,
        *,
        test: float | Sequence[bool] | np.ndarray | None = 0.1,
        num_classes: int | None = None,
        seed: int = 0,
    ) -> FederatedData:
        """Returns the data of examples in any order, each with the id of its client.

        Clients are sorted by id; the examples of a client keep their order.

        Args:
            features: `[n, ...]`; floating-point numbers become `float32`, integers stay.
            labels: Integers, `[n]`, or `[n, length]` with negative labels for pads; or
                floating-point values, `[n]` or `[n, d]`, which become `float32`.
            clients: Integers or texts, `[n]`.
            test: Share of each client's examples for testing, rounded. A client of two or more
                examples has at least one for testing and at least one for training. Or booleans
                `[n]`, true for test examples. Or `None`: the training examples are also the test
                examples.
            num_classes: Number of classes; by default the largest label plus one. 0 for labels that
                are values, also where they are integers.
            seed: Seed of the choice of test examples.

        Raises:
            ValueError: If an array has another form, or a feature or value is not finite; names the
                row and the client.

        Examples:
            >>> from f3ast_tff import FederatedData
            >>> features, labels, clients = [[0.5], [1], [2]], [0, 1, 1], ["a", "b", "a"]
            >>> data = FederatedData.from_arrays(features, labels, clients, test=None)
            >>> data.train.names.tolist(), data.train.sizes.tolist(), data.num_classes
            (['a', 'b'], [2, 1], 2)
        """
        from f3ast_tff.core import example_arrays as arrays

        if any(np.ma.is_masked(each) or hasattr(each, "toarray") for each in (features, labels)):
            raise ValueError("features and labels must be dense, and without masked values")
        if not isinstance(clients, np.ndarray) or clients.dtype == object:
            # An array of texts would merge 1 and "1".
            given = np.asarray(clients, object)
            clients = np.asarray(given.tolist())
            if clients.ndim == 1 and clients.dtype.kind in "US":
                from f3ast_tff.core import frame_columns

                clients = frame_columns.texts(given, "clients")
        features, labels = map(np.asarray, (features, labels))
        if clients.ndim != 1 or clients.dtype.kind not in "iuUS" or not len(clients):
            raise ValueError(f"clients must be integers or texts [n], not {arrays.form(clients)}")
        if len(features) != len(clients) or len(labels) != len(clients):
            lengths = f"{len(features)} rows of features, {len(labels)} of labels"
            raise ValueError(f"{lengths}, {len(clients)} of clients: must be as many")
        # Larger integers than int32 would wrap around in a program without 64-bit integers.
        if features.ndim < 2 or features.dtype.kind not in "iu" or not _fits_int32(features):
            features = arrays.checked_features(features, clients)
        if labels.dtype.kind == "f" or num_classes == 0:
            labels, num_classes = arrays.checked_values(labels, clients, num_classes), 0
        else:
            labels = arrays.checked_labels(labels, clients)
        if num_classes is None:
            num_classes = int(labels.max()) + 1
        tested = np.zeros(len(clients), bool)
        if isinstance(test, (int, float)):
            tested = arrays.drawn(clients, test, seed)
        elif test is not None:
            tested = np.asarray(test)
            if tested.shape != clients.shape or tested.dtype != bool:
                raise ValueError(f"test must be bool [{len(clients)}], not {arrays.form(tested)}")
        train = _by_client(features, labels, clients, ~tested)
        if test is None:
            return cls(train, train, num_classes)
        return cls(train, _by_client(features, labels, clients, tested), num_classes)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        client: str = "client",
        label: str = "label",
        split: str | None = None,
        features: Sequence[str] | None = None,
        test_fraction: float = 0.1,
        num_classes: int | None = None,
        seed: int = 0,
    ) -> FederatedData:
        """Returns the data of a table with a client column; see `from_arrays`.

        Args:
            frame: A pandas DataFrame, or a table with `to_pandas`, as of polars, Arrow and
                Hugging Face's `Dataset`.
            client: Column of client ids, integers or texts.
            label: Column of classes: integers from 0, or texts, numbered in their sorted order. Or,
                with num_classes=0, of values, or of arrays or lists of values.
            split: Column of `train` or `test`; without it, `test_fraction` of each client's
                examples are for testing.
            features: Columns for the model: columns of numbers, or one column of arrays or lists
                of equal shape. By default all other columns of numbers; if there are none, the
                only column of arrays.
            test_fraction: See `from_arrays`; ignored with `split`.
            num_classes: See `from_arrays`; `None` for classes with texts.
            seed: See `from_arrays`.

        Raises:
            ValueError: If a column is missing or has other content; names column and row.
        """
        from f3ast_tff.core import frame_columns

        frame = frame_columns.pandas_of(frame)
        known = [client, label, *([split] if split is not None else [])]
        used = [*known, *(features or ())]
        frame_columns.refuse_missing(frame, used)
        if len(set(used)) < len(used):
            twice = next(column for column in used if used.count(column) > 1)
            raise ValueError(f"column {twice!r} is for two of client, label, split and features")
        columns = frame_columns.feature_columns(frame, features, known)
        label_names: tuple[str, ...] = ()
        if num_classes == 0:
            labels = frame_columns.values(frame, label)
        else:
            labels, label_names = frame_columns.classes(frame, label)
        values = frame_columns.features(frame, columns)
        data = cls.from_arrays(
            values,
            labels,
            frame_columns.ids(frame, client),
            test=test_fraction if split is None else frame_columns.is_test(frame, split),
            num_classes=len(label_names) or num_classes,
            seed=seed,
        )
        # A column of arrays has many features.
        names = tuple(map(str, columns)) if values.shape[1:] == (len(columns),) else ()
        frame_columns.warn_of_leaks(names, values, labels)
        of = data.num_classes if num_classes is None else 0
        frame_columns.warn_of_parts(data.train, data.test, of, label_names)
        return replace(data, feature_names=names, label_names=label_names)


def _by_client(
    features: np.ndarray, labels: np.ndarray, clients: np.ndarray, rows: np.ndarray
) -> ClientExamples:
    """Returns the chosen rows, `bool [n]`, sorted by client."""
    if not rows.any():
        raise ValueError("there must be training and test examples")
    chosen = np.flatnonzero(rows)
    names, owners = np.unique(clients[chosen], return_inverse=True)
    order = chosen[np.argsort(owners, kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners))]).astype(np.int64)
    return ClientExamples(
        features[order], labels=labels[order], offsets=offsets, names=names.astype(str)
    )


def _fits_int32(features: np.ndarray) -> bool:
    """Returns whether all integers fit `int32`."""
    if np.can_cast(features.dtype, np.int32) or features.size == 0:
        return True
    limits = np.iinfo(np.int32)
    return bool(features.min() >= limits.min and features.max() <= limits.max)
