"""Changes the sources in one place at a time and checks whether the tests notice.

    python -m tests.mutation --number 60 --seed 0 --out mutants.csv [--minutes 60]

Each mutant is one changed operator or number, drawn with the seed from methods, engines and
settings. It is put into a copy of the sources. The tests that mirror its folder, and the tests of
`simulate`, run against the copy until one fails. If all tests pass, the mutant survives. Called
again with the same file, the command continues.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutation.sites import Site, mutated, sites_of

ROOT = Path(__file__).parents[2]
RECORDED = "tests/f3ast_tff/engines/test_recorded_rounds.py"
# Folders and files under f3ast_tff/, with further tests that would notice a change there.
SOURCES: dict[str, list[str]] = {
    "methods": [
        "tests/f3ast_tff/methods",
        "tests/f3ast_tff/engines/test_memory_methods.py",
        RECORDED,
    ],
    "engines/jax": [
        "tests/f3ast_tff/engines/jax",
        *(f"tests/f3ast_tff/engines/test_{of}.py" for of in ("conformance", "split_cohort")),
        RECORDED,
    ],
    "delivery": ["tests/f3ast_tff/delivery", RECORDED],
    "optimizers": ["tests/f3ast_tff/optimizers", RECORDED],
    "settings": ["tests/f3ast_tff/settings"],
    "records": ["tests/f3ast_tff/records"],
    "run": ["tests/f3ast_tff/run"],
}
ALWAYS = ["tests/f3ast_tff/test_simulation.py"]
LONGEST_S = 600
FIELDS = ("path", "line", "change", "outcome", "seconds", "noticed_by")


def drawn(number: int, seed: int) -> list[tuple[Site, str]]:
    """Returns mutants with their folder, as many per folder, in random order within a folder."""
    rng = random.Random(seed)
    share = -(-number // len(SOURCES))
    found = []
    for folder in SOURCES:
        root = ROOT / "f3ast_tff" / folder
        files = [root] if root.is_file() else sorted(root.rglob("*.py"))
        sites = [site for file in files for site in sites_of(file)]
        found += [(site, folder) for site in rng.sample(sites, min(share, len(sites)))]
    return found[:number]


def outcome(site: Site, folder: str, copy: Path) -> tuple[str, str]:
    """Returns `noticed`, `survived` or `too long` for a mutant, and the test that noticed it."""
    place = copy / site.path.relative_to(ROOT)
    place.write_text(mutated(site))
    tests = [test for test in (*SOURCES[folder], *ALWAYS) if (copy / test).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, "-m", "not slow and not ray and not page", *dict.fromkeys(tests)],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "too long", ""
    finally:
        place.write_text(site.path.read_text())
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return ("noticed" if done.returncode else "survived"), (failed or [""])[0].split(" - ")[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line per mutant, and the number of noticed mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    end = time.monotonic() + 60 * given.minutes
    rows: list[dict[str, str]] = []
    if given.out.exists():
        with given.out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    done = {(row["path"], row["line"], row["change"]) for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".venv", ".git", "runs", "build", "__pycache__")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
        for site, where in drawn(given.number, given.seed):
            name = str(site.path.relative_to(ROOT))
            if (name, str(site.line), site.change) in done or time.monotonic() > end:
                continue
            started = time.monotonic()
            found, test = outcome(site, where, copy)
            seconds = f"{time.monotonic() - started:.1f}"
            row = (name, str(site.line), site.change, found, seconds, test)
            rows.append(dict(zip(FIELDS, row)))
            with given.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(rows)
            print(*row, flush=True)
    noticed = sum(row["outcome"] != "survived" for row in rows)
    print(f"noticed {noticed} of {len(rows)} mutants")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
