"""Characters as ids, and speeches as sequences of them: TFF's next-character task."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData

# The 86 characters of TFF's Shakespeare task, in TFF's order: a character's id is its index + 1.
VOCABULARY = (
    "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
)
PAD = 0
OOV = len(VOCABULARY) + 1
BOS = len(VOCABULARY) + 2
EOS = len(VOCABULARY) + 3
NUM_IDS = len(VOCABULARY) + 4
SEQUENCE_LENGTH = 80
MAX_TRAIN_SEQUENCES = 128
# Label of a target that does not count.
NO_TARGET = -1


def _ids_of_bytes() -> np.ndarray:
    ids = np.full(256, OOV, np.uint8)
    ids[np.frombuffer(VOCABULARY.encode(), np.uint8)] = np.arange(1, len(VOCABULARY) + 1)
    return ids


_IDS = _ids_of_bytes()


def sequences(snippets: Iterable[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Turns snippets of text into inputs and targets, as TFF does.

    Each snippet is put between bos and eos, padded to a multiple of 81 ids and cut into pieces of
    81 ids. The first 80 ids of a piece are an input and the last 80 its targets. So no sequence
    holds parts of two snippets, and a piece that holds only eos has no target that counts.

    Args:
        snippets: Texts, one byte per character; bytes outside the vocabulary become oov.

    Returns:
        Features `uint8 [n, 80]` in 0..89 and labels `int8 [n, 80]` in 1..89, or -1 where the
        target is a pad; in the order of the snippets.
    """
    pieces = [np.empty((0, SEQUENCE_LENGTH + 1), np.uint8)]
    for snippet in snippets:
        length = len(snippet) + 2
        ids = np.full(length + -length % (SEQUENCE_LENGTH + 1), PAD, np.uint8)
        ids[0], ids[length - 1] = BOS, EOS
        ids[1 : length - 1] = _IDS[np.frombuffer(snippet, np.uint8)]
        pieces.append(ids.reshape(-1, SEQUENCE_LENGTH + 1))
    ids = np.concatenate(pieces)
    targets = ids[:, 1:].astype(np.int8)
    targets[targets == PAD] = NO_TARGET
    return np.ascontiguousarray(ids[:, :-1]), targets


def federated_snippets(
    train: Iterable[Iterable[bytes]], test: Iterable[Iterable[bytes]]
) -> FederatedData:
    """Returns the sequences of clients' snippets, at most 128 per client for training."""
    return FederatedData(_examples(train, MAX_TRAIN_SEQUENCES), _examples(test, None), NUM_IDS)


def _examples(clients: Iterable[Iterable[bytes]], most: int | None) -> ClientExamples:
    columns = [sequences(snippets) for snippets in clients]
    labels = [targets[:most] for _, targets in columns]
    return ClientExamples(
        np.concatenate([inputs[:most] for inputs, _ in columns]),
        np.concatenate(labels),
        np.cumsum([0, *map(len, labels)], dtype=np.int64),
    )
