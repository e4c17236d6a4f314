"""Damaged data files and prepared caches: refused in one line, or read as the same data."""

from __future__ import annotations

import gzip
import importlib
import lzma
import random
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import note

from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    CIFAR10OneClass,
    FileTask,
    Shakespeare,
    TaskConfig,
)
from f3ast_tff.datasets.cifar_pickle import load_batch
from tests.datasets import tiny_files
from tests.datasets.shakespeare_works import play, tiny_shakespeare, works
from tests.datasets.tff_files import example, write_database
from tests.fuzz.generate import DAMAGES, often, try_cases

pytestmark = pytest.mark.slow
PLAY = play("A PLAY", [(who, n * "To be or not to be. ") for who in "ABC" for n in (20, 30)])
LOADERS: dict[str, tuple[type[TaskConfig], dict[str, Any]]] = {
    "cifar10": (CIFAR10, {"num_clients": 5}),
    "cifar10_one_class": (CIFAR10OneClass, {"num_clients": 10}),
    "cifar100": (CIFAR100, {"num_clients": 50}),
    "mnist": (MNIST, {"num_clients": 5}),
    "shakespeare": (Shakespeare, {"num_clients": 3}),
    "cifar100_from_tff": (CIFAR100, {"client_split": "tff"}),
    "shakespeare_from_tff": (Shakespeare, {"client_split": "tff"}),
}
# TFF publishes no checksum: a changed letter goes unnoticed.
UNCHECKED = "shakespeare_from_tff"


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder of small originals per loader, some packed."""
    root = tmp_path_factory.mktemp("originals")
    folders = {name: root / name for name in LOADERS}
    for folder in folders.values():
        folder.mkdir()
    return folders


@pytest.fixture
def loaded(
    originals: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Hash of each loader's data; the network is off."""

    def no_network(*_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("f3ast_tff.datasets.source._fetch", no_network)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in originals.values():
        shutil.rmtree(folder)
        folder.mkdir()
    cifar = "f3ast_tff.datasets.cifar_files"
    for name in ("cifar10", "cifar10_one_class"):
        monkeypatch.setattr(f"{cifar}.CIFAR10", tiny_files.tiny_cifar10(originals[name]))
    monkeypatch.setattr(f"{cifar}.CIFAR100", tiny_files.tiny_cifar100(originals["cifar100"]))
    mnist_files = tiny_files.tiny_mnist(originals["mnist"])
    monkeypatch.setattr("f3ast_tff.datasets.mnist_files.MNIST", mnist_files)
    works_of = tiny_shakespeare(originals["shakespeare"], works(PLAY))
    monkeypatch.setattr("f3ast_tff.datasets.shakespeare.DOWNLOAD", works_of)
    rows = [
        (split, who, example("snippets", f"{who} {n} speaks.".encode()))
        for split, count in (("train", 40), ("test", 5))
        for who in "ABC"
        for n in range(count)
    ]
    write_database(originals[UNCHECKED] / "shakespeare.sqlite", rows)
    module = importlib.import_module("f3ast_tff.datasets.shakespeare")
    monkeypatch.setattr(module, "TFF_CLIENTS", 3)
    monkeypatch.setattr(module, "TFF_EXAMPLES", {"train": 120, "test": 15})
    return {name: load(name, originals[name]) for name in LOADERS if name != "cifar100_from_tff"}


def load(name: str, folder: Path) -> str:
    config, given = LOADERS[name]
    data = config(data_dir=str(folder), **given).build()  # type: ignore[call-arg]
    assert data.train.features.max() <= 255
    return data.sha256()


def damage(path: Path, rng: random.Random) -> None:
    """Damages a file, or its decompressed content."""
    unpack, pack = {".gz": (gzip.decompress, gzip.compress)}.get(path.suffix, (None, None))
    if unpack and pack and often(rng, 0.5):
        inner = path.with_suffix(".inner")
        inner.write_bytes(unpack(path.read_bytes()))
        how = rng.choice(["cut", "flip", "digit", "double", "replace"])
        DAMAGES[how](inner, rng)
        path.write_bytes(pack(inner.read_bytes(), 1))
        inner.unlink()
        note(f"{path.name} {how} inside")
        return
    how = rng.choice(["flip", *DAMAGES])
    DAMAGES[how](path, rng)
    note(f"{path.name} {how}")


def outcome(name: str, folder: Path, expected: str | None) -> str:
    """Returns `refused` or `same`; any other outcome raises an error."""
    try:
        found = load(name, folder)
    except (DataError, ParameterError) as error:
        assert "\n" not in str(error) and len(str(error)) < 2000
        return "refused"
    assert expected is None or found == expected, "wrong data opened"
    return "same"


def files_below(folder: Path, prepared: bool) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return [path for path in found if ("prepared" in path.parts) == prepared]


def archived(name: str, folder: Path) -> None:
    """Packs the originals of the loader that also reads a compressed file of any content."""
    if name == UNCHECKED:
        path = folder / "shakespeare.sqlite"
        path.with_name(f"{path.name}.lzma").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()


@pytest.mark.parametrize("what", ["originals", "caches"])
def test_damaged_data(
    what: str, originals: dict[str, Path], loaded: dict[str, str], tmp_path: Path
) -> None:
    outcomes, folder = Counter[str](), tmp_path / "case"

    def check(rng: random.Random) -> None:
        name = rng.choice(sorted(loaded))
        shutil.rmtree(folder, ignore_errors=True)
        ignored = shutil.ignore_patterns("prepared") if what == "originals" else None
        shutil.copytree(originals[name], folder, ignore=ignored)
        if what == "originals" and often(rng, 0.3):
            archived(name, folder)
        path = rng.choice(files_below(folder, what == "caches"))
        note(name)
        damage(path, rng)
        unchecked = name == UNCHECKED and what == "originals"
        # The fifth batch of CIFAR-10 may be missing.
        unchecked |= path.name == "data_batch_5" and not path.exists()
        outcomes[outcome(name, folder, None if unchecked else loaded[name])] += 1

    try_cases(check, 600)
    print(what, dict(outcomes))
    assert outcomes["refused"] > outcomes["same"]


def test_damaged_images_of_tff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: dict[str, str]
) -> None:
    path = tmp_path / "given" / "cifar100.sqlite"
    files = tiny_files.tiny_tff_cifar100(path)
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", files)
    content, expected = path.read_bytes(), load("cifar100_from_tff", path.parent)

    def check(rng: random.Random) -> None:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        path.write_bytes(content)
        damage(path, rng)
        outcome("cifar100_from_tff", path.parent, expected)

    try_cases(check, 150)


def random_program(rng: random.Random) -> bytes:
    """Opcodes of the distributors' files, and some other opcodes, with random arguments."""
    parts = [b"(", b"}", b"]", b"N", b"\x88", b"\x89", b"\x85", b"\x86", b"\x87", b"t", b"a", b"e"]
    parts += [b"s", b"u", b"R", b"b", b"0", b"2", b"\x93", b"\x94", b"\x81", b"o", b"."]
    parts += [b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\n_reconstruct\n"]
    parts += [b"c_codecs\nencode\n", b"cos\nsystem\n", b"U\x02u1", b"U\x02V8", b"U\x01b", b"U\x01|"]
    parts += [b"K\x00\x85", b"K\x01", b"M\x02\x00", b"J\xff\xff\xff\xff", b"U\x04data", b"h\x01"]
    parts += [b"q\x01", b"r\xff\xff\xff\xff", b"j\x01\x00\x00\x00", b"X\x01\x00\x00\x00a"]
    parts += [b"T\x04\x00\x00\x00abcd", b"T\xff\xff\xff\xff", b"\x8a\x04aaaa", b"(K\x03U\x01|NNN"]
    return b"\x80\x02}(U\x04data" + b"".join(rng.choices(parts, k=rng.randrange(1, 40))) + b"u."


def test_random_pickles() -> None:
    sound = tiny_files.python2_pickle(*_few_images())

    def check(rng: random.Random) -> None:
        program = random_program(rng)
        if often(rng, 0.5):
            place = rng.randrange(len(sound))
            program = sound[:place] + program[2:] + sound[place + rng.randrange(40) :]
        note(repr(program[:300]))
        try:
            data = load_batch(program).get("data")
        except ValueError as error:
            assert "\n" not in str(error)
        else:
            assert not isinstance(data, np.ndarray) or data.dtype == np.uint8

    try_cases(check, 10_000, 10)


def _few_images() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    pixels, labels = tiny_files.images(2, 10, seed=0, side=4)
    return pixels, {"labels": labels}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_damaged_tables_of_ones_own(tmp_path: Path, suffix: str) -> None:
    pd = pytest.importorskip("pandas")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    columns = {"client": np.arange(60) % 5, "label": np.arange(60) % 3, "x": rng.normal(size=60)}
    path = tmp_path / f"own{suffix}"
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    content = path.read_bytes()

    def check(generator: random.Random) -> None:
        path.unlink(missing_ok=True) if not path.is_dir() else path.rmdir()
        path.write_bytes(content)
        damage(path, generator)
        # A path that is no file is refused earlier, when its hash is taken.
        if path.is_file() and path.resolve().is_file():
            with suppress(ParameterError):
                FileTask(data_file=str(path)).build()

    try_cases(check, 150)
