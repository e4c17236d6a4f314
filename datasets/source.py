"""The distributors' files: the paths searched for them, fetching and checking."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.atomic import made_folder
from f3ast_tff.files.progress import progress

_CHUNK = 2**20
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Download:
    """A file as its distributor offers it.

    Attributes:
        url: Address of the file.
        sha256: SHA-256 of the file in hexadecimal. If `None`, the file could not be checked, so it
            is never fetched; the message about the missing file names the address.
        mib: Size of the file, MiB; `None` if unknown.
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
        names: Paths below the data folder, in order of preference; a download is stored at the
            last path.
        download: The file to fetch if none of the paths exists.
    """

    names: tuple[str, ...]
    download: Download

    def is_in(self, data_dir: Path) -> bool:
        """Returns whether the data folder holds the file."""
        return any((data_dir / name).is_file() for name in self.names)

    @property
    def size(self) -> str:
        """Name of the file, and size of the download if known."""
        name = self.names[-1].rpartition("/")[2]
        mib = self.download.mib
        return name if mib is None else f"{name} ({mib:g} MiB)"


def locate(data_dir: Path, source: SourceFile) -> Path:
    """Finds a file below the data folder, or fetches it.

    The content of a file that is found is not checked here; its reader checks it.

    Args:
        data_dir: The data folder.
        source: The file.

    Returns:
        The path of the file.

    Raises:
        DataError: If the file is missing and cannot be fetched; names the file, its folder and
            its address.
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
    # Imported here: slow to import and seldom needed.
    import pooch
    import requests

    # A progress bar replaces pooch's messages.
    pooch.get_logger().setLevel("WARNING")
    try:
        # pooch sets the bar's total; a bar made without a total would be ignored or fail.
        with progress(f"fetching {url}", 1, "B") as bar:
            downloader = pooch.HTTPDownloader(bar, _CHUNK, timeout=_TIMEOUT_S)
            pooch.retrieve(url, f"sha256:{sha256}", target.name, target.parent, None, downloader)
    except requests.RequestException as error:
        if error.response is not None:
            error.response.close()  # The response holds the connection.
        raise
    except ValueError as error:
        raise DataError(
            f"{url} sent something else than {target.name}, whose SHA-256 is {sha256}; nothing "
            f"was kept. Put the right file into {target.parent}"
        ) from error
