"""CIFAR-10 and CIFAR-100 from small files: splits, settings, caches; TFF's own split."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.datasets import CIFAR10, CIFAR100
from f3ast_tff.datasets.cifar10 import CIFAR10OneClass, one_class_shares
from f3ast_tff.datasets.cifar100 import cifar100_from_tff
from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.images import LabelledImages
from tests.datasets.tff_files import image_example, other_message, statement
from tests.datasets.tiny_files import images, pack, tiny_tff_cifar100


def cifar10(folder: Path, num_clients: int, s: float, seed: int, **given: Any) -> FederatedData:
    given = {"num_clients": num_clients, "dirichlet_s": s, "data_seed": seed, **given}
    return CIFAR10(data_dir=str(folder), **given).build()


def test_classes_of_clients_or_clients_of_classes(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """s = 10^-3: each client has one class, or each class one client."""
    by_class = cifar10(tmp_path, 20, 1e-3, 0).train
    by_client = cifar10(tmp_path, 20, 1e-3, 0, dirichlet_draws="classes_of_client").train
    kinds = [[len(np.unique(d.client(k)[1])) for k in range(20)] for d in (by_class, by_client)]
    assert np.median(kinds[1]) == 1
    # Ten classes of 20 images go to at most ten clients; each remaining client is given one image.
    assert np.count_nonzero(by_class.sizes > 1) <= 10
    assert np.count_nonzero(by_client.sizes > 1) > 10


def test_a_damaged_original_is_noticed_and_the_mended_one_taken(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """Both before and after the data were prepared."""
    path = tmp_path / "cifar-10-batches-py/data_batch_2"
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[50_000] ^= 1
    for prepared in (False, True):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="data_batch_2 .* not those of CIFAR-10"):
            cifar10(tmp_path, 8, 0.5, 0)
        path.write_bytes(content)
        assert cifar10(tmp_path, 8, 0.5, 0).train.sizes.sum() == 200, prepared


def test_other_files_of_the_same_images_are_prepared_apart(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """Four batches of the distributor's that are not the known subset of four."""
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    first = cifar10_files.key(tmp_path)
    path = tmp_path / "cifar-10-batches-py/data_batch_1"
    path.write_bytes(path.read_bytes() + b"after the end")
    assert cifar10_files.key(tmp_path) != first
    cifar10(tmp_path, 8, 0.5, 0)


def test_data_of_the_archive_open_without_it(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    files = pack(tmp_path, cifar10_files)
    key = files.key(tmp_path)
    (tmp_path / files.archive).unlink()
    assert files.key(tmp_path) == key


def test_each_client_has_one_class(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    """40 clients: client k has class k // 4; each class has 20 training and 5 test images."""
    data = CIFAR10OneClass(data_dir=str(tmp_path), num_clients=40).build()
    for k in range(40):
        assert set(data.train.client(k)[1]) == {k // 4}
        assert set(data.test.client(k)[1]) <= {k // 4}
    assert np.all(data.train.sizes.reshape(10, 4).sum(axis=1) == 20)
    assert np.all(data.test.sizes.reshape(10, 4).sum(axis=1) == 5)
    assert len(np.unique(data.train.features.reshape(200, -1), axis=0)) == 200
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)


def test_shares_are_those_of_a_cut_normal() -> None:
    """1000 clients per class: N(1, 0.2^2) cut at two deviations, over the sum.

    P(|z| > 2) = 0.0455 are at an end. The variance of z cut at 2 is
    2 (1/2 - Q - 2 phi) + 8 Q = 0.9205, with phi(2) = 0.05399 and Q(2) = 0.02275. For 10,000 draws
    and a fourth moment below 2.5, the variance's standard error is below
    sqrt((2.5 - 0.85) / 10^4) = 0.013.
    """
    shares = one_class_shares(10, 10_000, 0.2, seed=0)
    assert np.all((shares > 0).sum(axis=0) == 1)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    sizes = shares[shares > 0].reshape(10, 1000)
    z = (sizes / sizes.mean(axis=1, keepdims=True) - 1) / 0.2
    assert np.var(z) == pytest.approx(0.9205, abs=0.052)
    ends = np.mean(np.isclose(sizes, sizes.max(axis=1, keepdims=True))) + np.mean(
        np.isclose(sizes, sizes.min(axis=1, keepdims=True))
    )
    assert ends == pytest.approx(0.0455, abs=4.5 * np.sqrt(0.0455 / 10_000))
    ratio = sizes.max(axis=1) / sizes.min(axis=1)
    np.testing.assert_allclose(ratio, 1.4 / 0.6)


def test_no_spread_is_even(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    data = CIFAR10OneClass(data_dir=str(tmp_path), num_clients=40, size_spread=0.0).build()
    assert data.train.sizes.tolist() == [5] * 40


def test_shares_are_a_function_of_the_seed() -> None:
    one, same, other = (one_class_shares(10, 100, 0.2, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@dataclass(frozen=True)
class Tiny(CIFAR100):
    """CIFAR-100 of the small files."""

    num_test_clients: ClassVar[int] = 10


def cifar100(folder: Path, seed: int = 0) -> FederatedData:
    return Tiny(data_dir=str(folder), num_clients=40, data_seed=seed).build()


def digest(part: ClientExamples) -> str:
    """Digest of the images with their fine and coarse labels, in any order."""
    fine = part.labels.astype(np.uint8)
    return LabelledImages.of(part.features, np.stack([fine, fine // 5], axis=1)).digest


def test_every_image_is_used_once(tmp_path: Path, cifar100_files: CifarFiles) -> None:
    data = cifar100(tmp_path)
    assert data.num_classes == 20
    for part, clients, known in (
        (data.train, 40, cifar100_files.train.digest),
        (data.test, 10, cifar100_files.test.digest),
    ):
        assert part.sizes.tolist() == [10] * clients
        assert part.features.shape == (10 * clients, 32, 32, 3)
        assert (part.features.dtype, part.labels.dtype) == (np.uint8, np.int32)
        assert digest(part) == known


def test_concentrations_reach_the_split(
    tmp_path: Path, cifar100_files: CifarFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most clients draw from one coarse class with alpha 10^-4, from all four with 10^4.

    10 draws from 4 equal classes miss at least one with probability 4 (3/4)^10 = 0.22.
    """
    for alpha, expected in ((1e-4, 1), (1e4, 4)):
        monkeypatch.setattr(Tiny, "alpha", alpha)
        train = cifar100(tmp_path).train
        distinct = [len(np.unique(train.client(k)[1] // 5)) for k in range(40)]
        assert np.median(distinct) == expected
    monkeypatch.setattr(Tiny, "alpha", 1e-4)
    for beta, low, high in ((1e-4, 1, 2), (1e4, 4, 5)):
        monkeypatch.setattr(Tiny, "beta", beta)
        train = cifar100(tmp_path).train
        assert low <= np.median([len(np.unique(train.client(k)[1])) for k in range(40)]) <= high


def test_preparing_says_what_it_does(
    tmp_path: Path, cifar100_files: CifarFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    cifar100(tmp_path)
    assert capsys.readouterr().err.splitlines() == [
        "reading CIFAR-100 ...",
        "sharing out the training images of CIFAR-100 ...",
        "sharing out the test images of CIFAR-100 ...",
    ]
    cifar100(tmp_path)
    assert capsys.readouterr().err == ""


@pytest.fixture
def files(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> CifarFiles:
    """Writes the small file into `tmp_path / "given"`."""
    found = tiny_tff_cifar100(tmp_path / "given/cifar100.sqlite")
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", found)
    return found


def check(data: FederatedData) -> None:
    """Clients are in text order: 0, 1, 10, 2, ...; client k has the written images k and k + 11."""
    pixels, labels = images(22, 20, seed=11)
    assert data.train.sizes.tolist() == [2] * 11 and data.test.sizes.tolist() == [1] * 2
    for place, k in enumerate([0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]):
        features, fine = data.train.client(place)
        np.testing.assert_array_equal(features, pixels[[k, k + 11]])
        assert fine.tolist() == labels[[k, k + 11]].tolist()
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)
    assert data.num_classes == 20


def test_the_clients_of_the_file(
    tmp_path: Path, files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    check(cifar100_from_tff(tmp_path / "given"))
    assert caplog.messages == []


def test_the_compressed_file(tmp_path: Path, files: CifarFiles) -> None:
    folder = tmp_path / "given"
    (folder / "cifar100.sqlite.lzma").write_bytes(
        lzma.compress((folder / "cifar100.sqlite").read_bytes(), lzma.FORMAT_ALONE)
    )
    (folder / "cifar100.sqlite").unlink()
    check(cifar100_from_tff(folder))
    names = {"cifar100.sqlite", "cifar100.sqlite.lzma", "prepared"}
    assert {path.name for path in folder.iterdir()} == names


def test_the_file_where_tff_puts_it(tmp_path: Path, home: Path, files: CifarFiles) -> None:
    (home / ".tff").mkdir(parents=True)
    (tmp_path / "given/cifar100.sqlite").rename(home / ".tff/cifar100.sqlite")
    check(cifar100_from_tff(tmp_path / "other"))


def test_a_missing_file_is_named_with_its_place(tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match="cifar100.sqlite.lzma is missing") as caught:
        cifar100_from_tff(tmp_path)
    message = str(caught.value)
    assert f"put it into {tmp_path} (from https://storage.googleapis.com/tff" in message
    assert f"cifar100.sqlite into {tmp_path}" in message
    assert f"cifar100.sqlite into {home / '.tff'}" in message


IMAGE = np.zeros((32, 32, 3), np.int64)
EDITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: os.truncate(path, 6000), "damaged"),
    "not a database": (
        lambda path: path.write_bytes(b"nothing of the kind" * 99),
        "not a database",
    ),
    "another database": (statement("DROP TABLE examples"), "no such table"),
    "fewer images": (statement("DELETE FROM examples WHERE rowid = 3"), "21 train images, not 22"),
    "another client": (
        statement("UPDATE examples SET client_id = '2' WHERE rowid = 1"),
        "do not hold equally many",
    ),
    "no images": (statement("DELETE FROM examples"), "it has no train examples"),
    "text": (statement("UPDATE examples SET serialized_example_proto = 'text'"), "damaged"),
    "small image": (other_message(image_example(IMAGE[1:], 1, 1)), "an example has 2978 numbers"),
    "pixel": (other_message(image_example(IMAGE + 256, 1, 1)), "out of range"),
    "label": (other_message(image_example(IMAGE, 20, 1)), "out of range"),
    "coarse label": (other_message(image_example(IMAGE, 1, 4)), "out of range"),
    "empty": (other_message(b""), "an example has no image"),
    "cut": (other_message(image_example(IMAGE, 1, 1)[:-9]), "damaged tf.train.Example"),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS.keys())
def test_damaged_files_are_named(
    tmp_path: Path, files: CifarFiles, edit: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "given/cifar100.sqlite"
    edit(path)
    with pytest.raises(DataError, match=message) as caught:
        cifar100_from_tff(tmp_path / "given")
    assert str(path) in str(caught.value)


def test_other_images_are_refused(
    tmp_path: Path, files: CifarFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(files, test=replace(files.test, digest="0" * 64))
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", other)
    with pytest.raises(DataError, match="its test images and labels are not those of CIFAR-100"):
        cifar100_from_tff(tmp_path / "given")
