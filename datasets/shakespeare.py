"""Shakespeare: a client is a speaking role; the task is the next character (reading R8)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.files.data_files import read_bytes
from f3ast_tff.files.progress import progress
from f3ast_tff.settings import register

from .cache import prepared
from .characters import federated_snippets
from .images import notice
from .shakespeare_plays import Role, parse_roles
from .source import Download, SourceFile, locate
from .task import ADAPTIVE_SERVER_STEPS, ResplitTaskConfig
from .tff_database import damaged, database_source, find_database, hash_of_database, read_split

MIN_SPEECHES = 2
TEST_FRACTION = 0.2

FILES = ("t8.shakespeare.txt", "shakespeare/t8.shakespeare.txt")
DOWNLOAD = Download(
    "https://ocw.mit.edu/ans7870/6/6.006/s08/lecturenotes/files/t8.shakespeare.txt",
    "c5601d266987ac885ca96522b1b4e439feb7eca39f0fe1111f7342b63b6468f3",
    5.2,
)
# The text has 5.5 MB.
_MAX_BYTES = 2**24
TFF_FILE = "shakespeare.sqlite"
# Clients and examples per split in TFF's file, as TFF documents them.
TFF_CLIENTS = 715
TFF_EXAMPLES = {"train": 16_068, "test": 2_356}
_FEATURE = "snippets"
# Part of the cache's key: raise it when the same text or file gives other data.
_READING = 1


@register(
    "task",
    "shakespeare",
    "Shakespeare",
    about="next character, a client being a speaking role",
    order=4,
)
@dataclass(frozen=True)
class Shakespeare(ResplitTaskConfig):
    """The complete works as federated data (F3AST, App. C; reading R8), or TFF's own.

    `parse_roles` finds the roles; roles with fewer than two speeches are dropped (TFF's data has
    none either). The clients are the `num_clients` roles with the most characters; ties go to the
    role that comes first in the file. Clients are ordered by their LEAF names `PLAY_ROLE`, as TFF
    orders them. The 1994 edition has 36 plays and 1,284 roles, 1,092 of them with at least two
    speeches (742 with six, 687 with seven). TFF's choice of 715 roles does not follow from the
    text.

    The split is by time, as in McMahan et al. 2017 and LEAF: the last fifth of a role's speeches
    (rounded down, at least one) is its test part. A speech, its lines separated by line feeds,
    becomes sequences as in `characters.sequences`. A role trains on at most its first 128
    sequences (the paper's 128 sentences, 32 batches of 4 in the released code). The test part is
    whole, as in the released code.

    The text is Project Gutenberg's etext 100, as `shakespeare/t8.shakespeare.txt` or
    `t8.shakespeare.txt` in the data folder; fetched if missing. Windows line ends are accepted.
    """

    model: ClassVar[str] = "character_lstm"
    tests_same_clients: ClassVar[bool | None] = True
    num_classes: ClassVar[int | None] = 90
    # The same as for `cifar100`.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 715,
        "rounds": 500,
        "batch_size": 4,
        "client_lr": 1.0,
    }
    tff_clients_at_once: ClassVar[int] = 1

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        if self.client_split == "tff":
            return (database_source(TFF_FILE),)
        return (SourceFile(FILES, DOWNLOAD),)

    def build(self) -> FederatedData:
        """Reads or draws the data.

        Returns:
            Features `uint8 [n, 80]`, labels `int8 [n, 80]` (-1: does not count), 90 classes.

        Raises:
            DataError: If the text is missing or another one; names the file.
            ParameterError: If the text has fewer such roles than `num_clients`.
        """
        if self.client_split == "tff":
            return shakespeare_from_tff(self.folder)
        path = locate(self.folder, self.sources[0])
        try:
            content = read_bytes(path, _MAX_BYTES)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {path}: {error}") from error
        digest = hashlib.sha256(content).hexdigest()
        n = self.num_clients
        key: dict[str, int | str] = {"reading": _READING, "num_clients": n, "sha256": digest}
        return prepared(self.folder, "shakespeare", key, lambda: _prepare(path, content, n))


def _prepare(path: Path, content: bytes, num_clients: int) -> FederatedData:
    with progress("preparing Shakespeare", 2, "steps") as bar:
        roles = _roles(path, content)
        bar.update(1)
        data = _federated(_largest(roles, num_clients))
        bar.update(1)
    return data


def _roles(path: Path, content: bytes) -> list[Role]:
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        if hashlib.sha256(text.encode()).hexdigest() != DOWNLOAD.sha256:
            raise ValueError("its text is another one")
        return parse_roles(text)
    except ValueError as error:
        why = "it is not text" if isinstance(error, UnicodeDecodeError) else error
        raise DataError(
            f"{path} is not the complete works of Shakespeare, Project Gutenberg etext 100 of "
            f"1994: {why}; put the file of {DOWNLOAD.url} there"
        ) from error


def _largest(roles: Sequence[Role], num_clients: int) -> list[Role]:
    enough = [role for role in roles if len(role.speeches) >= MIN_SPEECHES]
    if num_clients > len(enough):
        raise ParameterError(
            "num_clients", num_clients, f"the text has 1 to {len(enough)} roles to be clients"
        )
    # A stable sort: roles of equal size keep the order of the file.
    by_size = sorted(enough, key=lambda role: -role.num_characters)
    return sorted(by_size[:num_clients], key=lambda role: role.client_id)


def _federated(roles: Iterable[Role]) -> FederatedData:
    train, test = [], []
    for role in roles:
        snippets = [speech.encode() for speech in role.speeches]
        cut = len(snippets) - max(int(TEST_FRACTION * len(snippets)), 1)
        train.append(snippets[:cut])
        test.append(snippets[cut:])
    return federated_snippets(train, test)


def shakespeare_from_tff(data_dir: Path) -> FederatedData:
    """Opens the data of `tff.simulation.datasets.shakespeare.load_data`, without TFF.

    The 715 clients, their snippets and the split are TFF's; clients are sorted by name, as in TFF.
    Sequences, and the limit of 128 per client for training, are as in `shakespeare`. TFF shuffles
    a client's snippets; here they keep the order of the file.

    No checksum of the file is published. Its clients and examples are counted, but a changed
    letter is not noticed.

    Args:
        data_dir: The data folder. It receives the prepared data and, unless TFF has put
            `shakespeare.sqlite` into `.tff` in the home folder, holds `shakespeare.sqlite` or
            `shakespeare.sqlite.lzma`.

    Returns:
        Features `uint8 [n, 80]`, labels `int8 [n, 80]` (-1: does not count), 90 classes.

    Raises:
        DataError: If the file is missing, damaged or another one; names the file and the place.
    """
    path = find_database(data_dir, TFF_FILE)
    key: dict[str, int | str] = {"reading": _READING, "sha256": hash_of_database(path)}
    return prepared(data_dir, "shakespeare_from_tff", key, lambda: _read_tffs(path))


def _read_tffs(path: Path) -> FederatedData:
    train, test = (read_split(path, split, _snippet) for split in ("train", "test"))
    odd = sorted(train.keys() ^ test.keys())
    if odd:
        raise damaged(path, f"{odd[0]} has examples in one split only")
    counts = {"train": sum(map(len, train.values())), "test": sum(map(len, test.values()))}
    if len(train) != TFF_CLIENTS or counts != TFF_EXAMPLES:
        raise damaged(path, f"it has {len(train)} clients with {counts} examples")
    notice(f"{path}: counted, not compared: TFF publishes no checksum of it")
    return federated_snippets(train.values(), test.values())


def _snippet(features: Mapping[str, Any]) -> bytes:
    found = features.get(_FEATURE, [])
    if len(found) != 1 or not isinstance(found[0], bytes):
        raise ValueError(f"an example has {len(found)} {_FEATURE}, not one")
    return found[0]
