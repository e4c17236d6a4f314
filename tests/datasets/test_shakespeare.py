"""From a page of the works to clients, and refused files; ids and sequences of characters."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.datasets import Shakespeare
from f3ast_tff.datasets import shakespeare as module
from f3ast_tff.datasets.characters import BOS, EOS, NUM_IDS, OOV, PAD, VOCABULARY, sequences
from f3ast_tff.datasets.shakespeare_plays import Role, parse_roles
from f3ast_tff.datasets.source import default_data_dir
from tests.datasets.shakespeare_works import ERRORS, OTHELLO, play, tiny_shakespeare, works

# Roles have 6, 2, 5, 2, 1 speeches and 60, 20, 75, 20, 100 characters; B and D are equal.
SPEECHES = {"A": 6 * ["ten chars."], "B": 2 * ["ten chars."], "C": 5 * ["fifteen chars ."]}
SPEECHES["D"], SPEECHES["E"] = 2 * ["chars ten."], ["x" * 100]
PLAY = play("PLAY", [(role, words) for role, spoken in SPEECHES.items() for words in spoken])


def shakespeare(folder: Path, num_clients: int) -> FederatedData:
    return Shakespeare(data_dir=str(folder), num_clients=num_clients).build()


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with PLAY as the distributor's file, with PLAY's own checksum."""
    monkeypatch.setattr(module, "DOWNLOAD", module.DOWNLOAD)
    write(tmp_path, works(PLAY))
    return tmp_path


def write(data_dir: Path, text: str) -> None:
    """Writes the file and makes it the distributor's."""
    module.DOWNLOAD = tiny_shakespeare(data_dir, text)


def expected(*speeches: list[str]) -> ClientExamples:
    parts = [sequences(speech.encode() for speech in spoken) for spoken in speeches]
    offsets = np.cumsum([0] + [len(labels) for _, labels in parts])
    features, labels = (np.concatenate(column) for column in zip(*parts))
    return ClientExamples(features, labels, offsets)


def assert_same(found: ClientExamples, wanted: ClientExamples) -> None:
    for name in ("features", "labels", "offsets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_largest_roles_are_the_clients_in_the_order_of_their_names(data_dir: Path) -> None:
    """E is largest but has one speech; of the equal roles B and D, the first in the file counts."""
    data = shakespeare(data_dir, 3)
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int8)
    assert data.num_classes == 90
    a, b, c = SPEECHES["A"], SPEECHES["B"], SPEECHES["C"]
    assert_same(data.train, expected(a[:5], b[:1], c[:4]))
    assert_same(data.test, expected(a[5:], b[1:], c[4:]))


@pytest.mark.parametrize("speeches, test", [(2, 1), (9, 1), (10, 2), (14, 2), (15, 3)])
def test_last_fifth_is_for_testing(data_dir: Path, speeches: int, test: int) -> None:
    """The fifth is rounded down, but at least one; each speech here is one sequence."""
    lines = [("A", f"Speech {number}.") for number in range(speeches)]
    write(data_dir, works(play("P", [*lines, ("B", "One."), ("B", "Two.")])))
    data = shakespeare(data_dir, 1)
    spoken = [words for _, words in lines]
    assert_same(data.train, expected(spoken[:-test]))
    assert_same(data.test, expected(spoken[-test:]))


def test_a_client_trains_on_128_sequences_at_most_and_is_tested_on_all(data_dir: Path) -> None:
    """700 speeches of one sequence each: of 560 for training the first 128, and 140 for testing."""
    spoken = [f"Speech {number}." for number in range(700)]
    lines = [("A", words) for words in spoken]
    write(data_dir, works(play("P", [*lines, ("B", "One."), ("B", "Two.")])))
    data = shakespeare(data_dir, 2)
    assert data.train.sizes.tolist() == [128, 1]
    assert data.test.sizes.tolist() == [140, 1]
    np.testing.assert_array_equal(data.train.client(0)[0], expected(spoken[:128]).features)
    np.testing.assert_array_equal(data.test.client(0)[0], expected(spoken[560:]).features)


def test_a_speech_keeps_its_line_feeds(data_dir: Path) -> None:
    write(data_dir, works(ERRORS))
    first = "Proceed, Solinus, to procure my fall,\nAnd by the doom of death end woes and all."
    assert_same(shakespeare(data_dir, 1).train, expected([first]))


def test_known_text_is_taken_without_a_word(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shakespeare(data_dir, 3)
    assert not caplog.records


def test_another_text_is_refused(data_dir: Path) -> None:
    """One letter more, one letter changed, another play, or too large a file."""
    file = data_dir / "shakespeare" / "t8.shakespeare.txt"
    shakespeare(data_dir, 3)
    for text in (works(PLAY) + "x", works(PLAY).replace("ten", "tin", 1), works(PLAY, ERRORS)):
        file.write_text(text)
        with pytest.raises(DataError, match="its text is another one"):
            shakespeare(data_dir, 3)
    file.unlink()
    file.touch()
    os.truncate(file, 6 * 2**30)
    with pytest.raises(DataError, match="6442450944 bytes, more than"):
        shakespeare(data_dir, 3)


def test_line_ends_and_byte_order_marks_of_windows_make_no_difference(data_dir: Path) -> None:
    before = shakespeare(data_dir, 4)
    file = data_dir / "shakespeare" / "t8.shakespeare.txt"
    file.write_bytes(b"\xef\xbb\xbf" + works(PLAY).replace("\n", "\r\n").encode())
    after = shakespeare(data_dir, 4)
    assert_same(after.train, before.train)
    assert_same(after.test, before.test)


def test_the_file_may_lie_in_the_data_folder_itself(data_dir: Path) -> None:
    (data_dir / "shakespeare" / "t8.shakespeare.txt").rename(data_dir / "t8.shakespeare.txt")
    assert shakespeare(data_dir, 4).train.num_clients == 4


def test_prepared_once_per_text_and_number(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shakespeare(data_dir, 3)
    calls: list[str] = []

    def counting(text: str) -> list[Role]:
        calls.append(text)
        return parse_roles(text)

    monkeypatch.setattr(module, "parse_roles", counting)
    assert_same(shakespeare(data_dir, 3).train, first.train)
    assert len(calls) == 0
    assert shakespeare(data_dir, 2).train.num_clients == 2
    write(data_dir, works(PLAY, OTHELLO))
    assert shakespeare(data_dir, 2).train.num_clients == 2
    assert len(calls) == 2


def test_more_clients_than_roles(data_dir: Path) -> None:
    with pytest.raises(ParameterError, match="num_clients = 5: .* 1 to 4 roles"):
        shakespeare(data_dir, 5)


@pytest.mark.parametrize(
    "content, why",
    [
        (b"", "its text is another one"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is not text"),
        (bytes(1000), "its text is another one"),
        (works(PLAY).encode()[:-300], "its text is another one"),
        (b"<html>404 Not Found</html>", "its text is another one"),
    ],
)
def test_other_files_are_refused_by_name(data_dir: Path, content: bytes, why: str) -> None:
    file = data_dir / "shakespeare" / "t8.shakespeare.txt"
    file.write_bytes(content)
    with pytest.raises(DataError, match=why) as raised:
        shakespeare(data_dir, 1)
    assert str(raised.value).startswith(str(file))
    assert "https://example.org/t8.txt" in str(raised.value)


def test_a_missing_file_that_cannot_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(url: str, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("requests.get", unreachable)
    with pytest.raises(DataError) as raised:
        shakespeare(tmp_path, 715)
    for part in ("t8.shakespeare.txt", str(tmp_path / "shakespeare"), "no network"):
        assert part in str(raised.value)


@pytest.mark.slow
def test_the_real_text() -> None:
    """The README's numbers; the test needs the file in the default data folder."""
    if not any((default_data_dir() / name).is_file() for name in module.FILES):
        where = f"put t8.shakespeare.txt into {default_data_dir()}"
        pytest.skip(f"the project ships no data and tests fetch none: {where}")
    data = shakespeare(default_data_dir(), 715)
    assert (data.train.num_clients, data.test.num_clients) == (715, 715)
    assert (len(data.train.labels), len(data.test.labels)) == (41_073, 12_923)
    assert data.train.sizes.max() == 128
    assert np.all(data.train.sizes > 0) and np.all(data.test.sizes > 0)


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
