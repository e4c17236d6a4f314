"""Sealed files of a run: a changed file is detected."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.files.array_files import load_npz
from f3ast_tff.files.data_files import hash_of, read_json, read_text
from f3ast_tff.records.checkpoint import is_whole
from f3ast_tff.records.metrics import USERS

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)


# The traceback that ended a campaign's run.
ERROR_FILE = "error.txt"
SUMMARY = "summary.json"
_SELECTION = "selection.npz"
# Sealed files of every run.
SEALED = ("metrics.csv", _SELECTION)
CLIENT_SCORES = "client_scores"
# Sealed files that a run writes on request.
_ON_REQUEST = re.compile(rf"masks\.(csv|npy|npz)|{CLIENT_SCORES}/round_([0-9]{{8,18}})\.npz")
_FILES, _OWN = "files", "sha256"
# Members of a summary that are shown as numbers.
_NUMBERS = ("seconds_per_round", "peak_memory_mib", "worker_peak_memory_mib", *USERS)


class DamagedResult(ValueError):
    """A result file is missing or was changed; names it."""


def read_metrics(path: Path) -> pd.DataFrame:
    """Returns the table of `metrics.csv`, with numbers exactly as written.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is not text, or no table.
    """
    import pandas as pd

    # From 3.1 on pandas reads every float exactly, and warns about the argument.
    is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    options: dict[str, Any] = {} if is_exact else {"float_precision": "round_trip"}
    return pd.read_csv(io.StringIO(read_text(path)), **options)


def seal(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a summary with SHA-256 digests of itself and of the existing result files."""
    there = [path for pattern in ("masks.*", f"{CLIENT_SCORES}/*") for path in folder.glob(pattern)]
    names = sorted(path.relative_to(folder).as_posix() for path in there if path.is_file())
    sealed = [*SEALED, *filter(_ON_REQUEST.fullmatch, names)]
    content = {**summary, _FILES: {name: hash_of(folder / name) for name in sealed}}
    return {**content, _OWN: _sha256(content)}


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Returns the summary of a run; `None` if there is none.

    Raises:
        DamagedResult: If it is damaged. A summary of an older version, without a seal, must at
            least be a summary.
    """
    path = folder / SUMMARY
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedResult(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DamagedResult(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict) or not _are_numbers(content.get("final")):
        raise DamagedResult(f"{path} is damaged: it is no summary")
    counts = {name: content[name] for name in _NUMBERS if name in content}
    if not _are_numbers(counts):
        raise DamagedResult(f"{path} is damaged: it has a count that is no number")
    if _OWN in content or _FILES in content:
        sealed, files = content.pop(_OWN, None), content.get(_FILES)
        if sealed != _sha256(content) or not isinstance(files, dict):
            raise DamagedResult(f"{path} is damaged: it has another SHA-256 than it says")
        if not all(name in SEALED or _ON_REQUEST.fullmatch(name) for name in files):
            raise DamagedResult(f"{path} is damaged: it names files that are no results")
    return content


def _are_numbers(values: Any) -> bool:
    """Whether a value is an object of numbers, or `None` for numbers that are not finite."""
    return isinstance(values, dict) and all(
        each is None or isinstance(each, float) or isinstance(each, int) and abs(each) < 2**63
        for each in values.values()
    )


def sound_summary(folder: Path) -> dict[str, Any] | None:
    """Returns the summary of a finished run whose files are all sound; `None` if unfinished.

    Raises:
        DamagedResult: If a result is missing or damaged, or a checkpoint is damaged.
    """
    summary = read_summary(folder)
    if summary is None:
        return None
    check_results(folder, summary)
    for path in (folder / "checkpoints").glob("round_*.npz"):
        if not is_whole(path):
            raise DamagedResult(f"{path} is damaged: its checksum is another one")
    return without_seal(summary)


def check_results(folder: Path, summary: Mapping[str, Any]) -> None:
    """Checks every result of a finished run against its summary, from `read_summary`.

    Masks, and all client scores together, may have been removed.

    Raises:
        DamagedResult: If a result is missing or damaged.
    """
    for name in (*SEALED, *_on_request(folder, summary)):
        check_result(folder / name, sha256_in(summary, name))


def _on_request(folder: Path, summary: Mapping[str, Any]) -> list[str]:
    names = sorted(set(summary.get(_FILES, ())) - set(SEALED))
    return [name for name in names if (folder / name.partition("/")[0]).exists()]


def first_lost_scores(folder: Path) -> float:
    """Returns the first round whose sealed client scores are missing or damaged; else infinity."""
    try:
        summary = read_summary(folder) or {}
    except DamagedResult:
        return math.inf
    for name in _on_request(folder, summary):
        found = _ON_REQUEST.fullmatch(name)
        try:
            check_result(folder / name, sha256_in(summary, name))
        except DamagedResult:
            if found and found[2]:
                return int(found[2])
    return math.inf


def first_other_scores(folder: Path, digests: Mapping[str, str]) -> float:
    """Returns the first round whose client scores differ from their digests, else infinity.

    Args:
        folder: The run's folder. All client scores together may have been removed.
        digests: SHA-256 of the files by name, as in a checkpoint.
    """
    scores = folder / CLIENT_SCORES
    for name in sorted(digests) if scores.exists() else ():
        try:
            check_result(scores / name, digests[name])
        except DamagedResult:
            return int(Path(name).stem.partition("_")[2])
    return math.inf


def finished_summary(folder: Path) -> dict[str, Any] | None:
    """`sound_summary`, but logs damaged results and returns `None`, so that the run resumes."""
    try:
        return sound_summary(folder)
    except DamagedResult as error:
        _LOG.warning("%s; the results are made anew from the last checkpoint", error)
        return None


def without_seal(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a summary without the SHA-256 of files."""
    return {name: value for name, value in summary.items() if name not in (_FILES, _OWN)}


def read_selection(folder: Path, summary: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """Returns the content of a finished run's `selection.npz`, given the result of `read_summary`.

    Raises:
        DamagedResult: If it is missing or damaged.
    """
    path = folder / _SELECTION
    check_result(path, sha256_in(summary, _SELECTION))
    try:
        return load_npz(path)
    except OSError as error:
        raise DamagedResult(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DamagedResult(f"{path} is damaged: {error}") from error


def sha256_in(summary: Mapping[str, Any] | None, name: str) -> str | None:
    """Returns the SHA-256 of a result file in a summary; `None` for an older version's summary."""
    return ((summary or {}).get(_FILES) or {}).get(name)


def check_result(path: Path, sha256: str | None) -> None:
    """Checks a result file against the SHA-256 in the summary; for `None`, that it exists.

    Raises:
        DamagedResult: If the file is missing or differs.
    """
    try:
        found = hash_of(path)
    except FileNotFoundError as error:
        raise DamagedResult(f"{path} is missing") from error
    except OSError as error:
        raise DamagedResult(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DamagedResult(f"{path} cannot be read: {error}") from error
    if sha256 not in (None, found):
        raise DamagedResult(f"{path} is damaged: it has another SHA-256 than {SUMMARY} says")


def _sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
