"""The distributors' files: where they are looked for, and how they are fetched and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.core.atomic import made_folder
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.progress import progress

_CHUNK = 2**20
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Download:
    """A file as its distributor offers it.

    Attributes:
        url: Where it is offered.
        sha256: Its SHA-256 in hexadecimal; if `None` the file is never fetched, for it could not
            be checked, and the address only appears in the message that says it is missing.
        mib: Its size, MiB; `None` if it is not known.
    """

    url: str
    sha256: str | None = None
    mib: float | None = None


def default_data_dir() -> Path:
    """Returns the data folder when none is given: `f3ast_tff` in the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("f3ast_tff", appauthor=False)


@dataclass(frozen=True)
class SourceFile:
    """A file that a data set is read from.

    Attributes:
        names: Paths below the data folder, in order of preference; a download is stored under the
            last.
        download: The file to fetch if there is none.
    """

    names: tuple[str, ...]
    download: Download

    def is_in(self, data_dir: Path) -> bool:
        """Returns whether the data folder has it."""
        return any((data_dir / name).is_file() for name in self.names)

    @property
    def size(self) -> str:
        """Its name and the size of the download."""
        name = self.names[-1].rpartition("/")[2]
        mib = self.download.mib
        return name if mib is None else f"{name} ({mib:g} MiB)"


def locate(data_dir: Path, source: SourceFile) -> Path:
    """Finds a file below the data folder, or fetches it.

    The file's content is not looked at when it is found: its reader does that.

    Args:
        data_dir: The data folder.
        source: The file.

    Returns:
        The path of the file.

    Raises:
        DataError: If it is not there and cannot be fetched; names the file, the folder it should
            be put into and the address.
    """
    for name in source.names:
        if (data_dir / name).is_file():
            return data_dir / name
    target, download = data_dir / source.names[-1], source.download
    if download.sha256 is None:
        raise _missing(data_dir, source, "")
    try:
        with made_folder(target.parent):
            _fetch(download.url, download.sha256, target)
    except OSError as error:
        why = f"; fetching it failed: {' '.join(str(error).split())}"
        raise _missing(data_dir, source, why) from error
    return target


def _missing(data_dir: Path, source: SourceFile, why: str) -> DataError:
    *others, last = [data_dir / name for name in source.names]
    alternatives = "".join(f", or the file {path.name} into {path.parent}" for path in others)
    return DataError(
        f"{last.name} is missing: put it into {last.parent} (from {source.download.url})"
        f"{alternatives}{why}"
    )


def _fetch(url: str, sha256: str, target: Path) -> None:
    # Here, for it takes longer to import than all else here, and is seldom needed.
    import pooch
    import requests

    # Our own bar replaces its messages.
    pooch.get_logger().setLevel("WARNING")
    try:
        # pooch sets the total, and takes a bar without one for none, or fails.
        with progress(f"fetching {url}", 1, "B") as bar:
            downloader = pooch.HTTPDownloader(bar, _CHUNK, timeout=_TIMEOUT_S)
            pooch.retrieve(url, f"sha256:{sha256}", target.name, target.parent, None, downloader)
    except requests.RequestException as error:
        if error.response is not None:
            error.response.close()  # It holds the connection.
        raise
    except ValueError as error:
        raise DataError(
            f"{url} sent something else than {target.name}, whose SHA-256 is {sha256}; nothing "
            f"was kept. Put the right file into {target.parent}"
        ) from error
