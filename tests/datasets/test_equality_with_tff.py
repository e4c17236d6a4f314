"""Sequences and the reader of TFF's file agree with TFF's own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.datasets import shakespeare as module
from f3ast_tff.datasets.characters import BOS, EOS, OOV, PAD, VOCABULARY, sequences
from f3ast_tff.datasets.shakespeare import shakespeare_from_tff
from tests.datasets.tff_files import write_database

pytestmark = pytest.mark.tff

SNIPPETS = [
    b"",
    b"Hark!",
    VOCABULARY.encode(),
    "Été ~ {".encode() + bytes([0, 255]),
    *(length * b"to be, " for length in (11, 12, 23, 200)),
    *(length * b"x" for length in (78, 79, 80, 81, 160, 161)),
]


def tffs_preprocessing() -> Any:
    # Imported in a function: as a module attribute, it makes TFF complain at the interpreter's end.
    from tensorflow_federated.python.simulation.baselines.shakespeare import (
        char_prediction_preprocessing,
    )

    return char_prediction_preprocessing


def assert_equal_to_tffs(ours: tuple[np.ndarray, np.ndarray], dataset: Any) -> None:
    """Compares our sequences with TFF's preprocessing of the dataset's snippets, in their order."""
    import tensorflow_federated as tff

    spec = tff.simulation.baselines.ClientSpec(num_epochs=1, batch_size=7, shuffle_buffer_size=1)
    batches = list(tffs_preprocessing().create_preprocess_fn(spec)(dataset).as_numpy_iterator())
    inputs, targets = (np.concatenate(column) for column in zip(*batches))
    np.testing.assert_array_equal(ours[0], inputs)
    np.testing.assert_array_equal(np.where(ours[1] < 0, PAD, ours[1]), targets)


def test_vocabulary() -> None:
    assert list(VOCABULARY) == tffs_preprocessing().CHAR_VOCAB
    assert tffs_preprocessing().get_special_tokens() == (PAD, OOV, BOS, EOS)


def test_sequences() -> None:
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices({"snippets": SNIPPETS})
    assert_equal_to_tffs(sequences(SNIPPETS), dataset)


@pytest.mark.long
def test_tffs_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow writes the file, and TFF's own loader reads it."""
    import tensorflow as tf
    import tensorflow_federated as tff

    def serialized(snippet: bytes) -> bytes:
        value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[snippet]))
        features = tf.train.Features(feature={"snippets": value})
        return tf.train.Example(features=features).SerializeToString()

    clients = {"THE_TRAGEDY_OF_KING_LEAR_KING": SNIPPETS, "AS_YOU_LIKE_IT_ADAM": SNIPPETS[::-1]}
    rows = [
        (split, client, serialized(snippet))
        for client, snippets in clients.items()
        for split, part in (("train", snippets[:-3]), ("test", snippets[-3:]))
        for snippet in part
    ]
    write_database(tmp_path / "shakespeare.sqlite", rows)
    counts = {split: 2 * n for split, n in (("train", len(SNIPPETS) - 3), ("test", 3))}
    monkeypatch.setattr(module, "TFF_CLIENTS", 2)
    monkeypatch.setattr(module, "TFF_EXAMPLES", counts)
    ours = shakespeare_from_tff(tmp_path)
    theirs = tff.simulation.datasets.shakespeare.load_data(cache_dir=str(tmp_path))
    for part, client_data in zip((ours.train, ours.test), theirs):
        assert part.num_clients == len(client_data.client_ids) == 2
        for k, client in enumerate(client_data.client_ids):
            dataset = client_data.create_tf_dataset_for_client(client)
            assert_equal_to_tffs(part.client(k), dataset)
