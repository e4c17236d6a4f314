"""One license, said for every file in REUSE.toml, and the same in the package and the citation."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_license_is_said_once_for_all_files() -> None:
    (said,) = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
    assert said["path"] == "**"
    license_name = said["SPDX-License-Identifier"]
    package = configparser.ConfigParser()
    package.read(ROOT / "setup.cfg")
    assert package["metadata"]["license"] == license_name
    assert f"license: {license_name}\n" in (ROOT / "CITATION.cff").read_text()
    text = ROOT / "LICENSES" / f"{license_name}.txt"
    assert text.resolve() == ROOT / "LICENSE"
