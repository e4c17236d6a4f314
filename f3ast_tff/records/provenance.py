"""Origin of a result: versions and commit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("f3ast-tff", "numpy", "tensorflow", "tensorflow-federated", "jax", "jaxlib")


def provenance() -> dict[str, Any]:
    """Returns the versions in use, and this library's git commit, `None` outside its checkout."""
    commit, modified = _commit()
    return {
        "python": platform.python_version(),
        "packages": package_versions(),
        "git_commit": commit,
        "git_modified": modified,
        "command": sys.argv,
    }


def cores() -> int:
    """Returns the cores that this process may use, and so the threads of its engine (Linux)."""
    return len(os.sched_getaffinity(0))


def versions_of(origin: Mapping[str, Any]) -> dict[str, str | None]:
    """Returns the versions of Python and of the packages in a `provenance`, by name."""
    return {"python": origin.get("python"), **origin.get("packages", {})}


def versions_said(origin: Mapping[str, Any]) -> str:
    """Returns the version of this library that a `provenance` names and this one.

    Returns:
        `""` if they are the same or the origin names none.
    """
    ours = _PACKAGES[0]
    then, now = origin.get("packages", {}).get(ours), _version(ours)
    return "" if then in (None, now) else f" (made by version {then}, this is {now})"


def package_versions() -> dict[str, str | None]:
    """Returns the versions of this library and the numerical ones; `None` for a missing one."""
    return {name: _version(name) for name in _PACKAGES}


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# Once per process, whose modules were imported then.
@cache
def _commit() -> tuple[str | None, bool]:
    """Returns this library's commit, and whether its checkout has changes since."""
    # Installed in an environment within another project, it is no file of that project's.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None, False
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return _git("rev-parse", "HEAD"), bool(changes)


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
