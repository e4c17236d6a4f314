"""Ids and sequences by hand; equality with TFF's own code is in test_equality_with_tff.py."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.datasets.characters import BOS, EOS, NUM_IDS, OOV, PAD, VOCABULARY, sequences


def test_ids() -> None:
    assert len(set(VOCABULARY)) == len(VOCABULARY) == 86
    assert (PAD, OOV, BOS, EOS, NUM_IDS) == (0, 87, 88, 89, 90)


def test_a_short_snippet_is_one_padded_sequence() -> None:
    """The text "hd\\r" is h = 2, d = 1, carriage return = 86 between bos and eos; pads follow."""
    features, labels = sequences([b"hd\r"])
    assert (features.dtype, labels.dtype) == (np.uint8, np.int8)
    assert features.tolist() == [[88, 2, 1, 86, 89] + 75 * [0]]
    assert labels.tolist() == [[2, 1, 86, 89] + 76 * [-1]]


def test_every_character_has_its_place_plus_one() -> None:
    _, labels = sequences([VOCABULARY[:43].encode(), VOCABULARY[43:].encode()])
    assert labels[0, :44].tolist() == [*range(1, 44), EOS]
    assert labels[1, :44].tolist() == [*range(44, 87), EOS]


@pytest.mark.parametrize("length, pieces", [(0, 1), (79, 1), (80, 2), (160, 2), (161, 3)])
def test_a_snippet_and_its_two_marks_are_cut_into_pieces_of_81(length: int, pieces: int) -> None:
    """79 characters + bos + eos = 81 fill one piece; 160 + 2 = 162 fill two."""
    features, labels = sequences([length * b"d"])
    assert features.shape == labels.shape == (pieces, 80)
    # The first id of each piece is no target.
    assert np.sum(labels >= 0) == length + 2 - pieces
    assert np.sum(features == BOS) == 1


def test_a_piece_of_eos_alone_has_no_target() -> None:
    features, labels = sequences([80 * b"d"])
    assert features[1].tolist() == [EOS] + 79 * [PAD]
    assert np.all(labels[1] == -1)


def test_other_bytes_are_out_of_the_vocabulary() -> None:
    """A letter with an accent is two bytes of UTF-8."""
    assert sequences(["dé~".encode()])[1][0, :5].tolist() == [1, OOV, OOV, OOV, EOS]


def test_no_snippets_give_no_sequences() -> None:
    features, labels = sequences([])
    assert features.shape == labels.shape == (0, 80)
    assert (features.dtype, labels.dtype) == (np.uint8, np.int8)
