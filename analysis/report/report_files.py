"""The files of a report's folder: those of an earlier report go, those of others stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from f3ast_tff.atomic import atomic_write
from f3ast_tff.data_files import hash_of, read_json

# SHA-256 by name of every file of the last report.
LISTING = "report_files.json"


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the files of a report, and removes those that only the report before it had.

    A file is known as one of ours by its name and SHA-256 in `LISTING`: one that somebody has
    changed stays, and so do files of reports before there was that list.

    Args:
        folder: Where; must be there.
        files: Contents by name.

    Raises:
        OSError: If a file cannot be written or removed.
    """
    for name, digest in _listed(folder).items():
        if name not in files and _is_ours(folder / name, digest):
            (folder / name).unlink()
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    # Before the files: what is then not written is not there, or is not of this digest.
    listing = json.dumps(digests, indent=2, sort_keys=True) + "\n"
    for name, content in {LISTING: listing.encode(), **files}.items():
        with atomic_write(folder / name, "wb") as file:
            file.write(content)


def _listed(folder: Path) -> dict[str, str]:
    """The names and digests of an earlier report; none where the list is no such list."""
    try:
        found = read_json(folder / LISTING)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    # Names alone: a path could lead out of the folder.
    return {n: str(digest) for n, digest in found.items() if n and n == Path(n).name}


def _is_ours(path: Path, digest: str) -> bool:
    try:
        return path.is_file() and not path.is_symlink() and hash_of(path) == digest
    except (OSError, ValueError):
        return False
