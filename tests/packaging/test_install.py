"""The installed package, private names in the repository, and the set-up of an environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

import f3ast_tff
from f3ast_tff.analysis.leaderboard.boards import ranked_studies
from f3ast_tff.cli import example

ROOT = Path(__file__).resolve().parents[2]
# Folders of the checkout, with the package that each is installed as.
INSTALLED_AS = {
    "f3ast_tff": "f3ast_tff",
    "availability": "f3ast_tff/availability",
    "datasets": "f3ast_tff/datasets",
}
NOT_SOURCE = shutil.ignore_patterns(
    ".*_cache",
    ".git",
    ".hypothesis",
    ".venv*",
    "*.egg-info",
    "__pycache__",
    "build",
    "dist",
    "runs",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, since building leaves files behind."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("copy") / "src", ignore=NOT_SOURCE))


def build(what: str, source: Path, out: Path) -> Path:
    """Builds a `"wheel"` or an `"sdist"` as pip does, in a process of its own."""
    program = f"import sys, setuptools.build_meta as b; print(b.build_{what}(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(out)]
    done = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    return out / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


def modules(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}


def missing_modules(wheel: Path, source: Path) -> set[str]:
    return {
        f"{package}/{path.relative_to(source / folder).as_posix()}"
        for folder, package in INSTALLED_AS.items()
        for path in (source / folder).rglob("*.py")
        # Examples are files to be written, not modules.
        if "examples" not in path.parts
    } - modules(wheel)


@pytest.mark.long
def test_the_wheel_claims_one_name(wheel: Path) -> None:
    tops = {PurePosixPath(name).parts[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"f3ast_tff", f"f3ast_tff-{f3ast_tff.__version__}.dist-info"}


@pytest.mark.parametrize(
    ("file", "line"), [("CITATION.cff", "version: {}"), ("CHANGELOG.md", "## {}")]
)
def test_a_release_has_one_version(file: str, line: str) -> None:
    lines = (ROOT / file).read_text().splitlines()
    assert any(each.startswith(line.format(f3ast_tff.__version__)) for each in lines)


@pytest.mark.long
def test_the_wheel_holds_the_examples_that_the_command_writes(wheel: Path) -> None:
    start = "f3ast_tff/examples/"
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith(start)}
    assert {PurePosixPath(name).name for name in held} == example.examples().keys()


@pytest.mark.long
def test_the_wheel_holds_every_module(source: Path, wheel: Path) -> None:
    missing = missing_modules(wheel, source)
    assert not missing, f"add their folders to `package-dir` in pyproject.toml: {sorted(missing)}"
    for folder in ("availability", "datasets"):
        assert f"f3ast_tff/{folder}/__init__.py" in modules(wheel)


@pytest.mark.long
def test_the_wheel_holds_the_leaderboard(wheel: Path) -> None:
    held = {*zipfile.ZipFile(wheel).namelist()}
    assert "f3ast_tff/analysis/leaderboard/masks.csv" in held
    for study in ranked_studies():
        folder = f"f3ast_tff/analysis/studies/{study.name}"
        assert {f"{folder}/{name}" for name in ("grid.toml", "scores.csv", "study.toml")} <= held


@pytest.mark.long
def test_the_wheel_holds_the_files_that_studies_name(wheel: Path) -> None:
    """Else `compare --kept`, which plans each study's grid, fails in an installation."""
    held = {*zipfile.ZipFile(wheel).namelist()}
    named = {
        f"f3ast_tff/analysis/studies/{grid.parent.name}/{name}"
        for grid in (ROOT / "analysis" / "studies").glob("*/*.toml")
        for name in re.findall(r'"([^"/*]+\.(?:csv|py))"', grid.read_text())
        if (grid.parent / name).exists()
    }
    assert named and named <= held


@pytest.mark.long
def test_the_sdist_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", source, tmp_path)
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    again = build("wheel", tmp_path / sdist.name.removesuffix(".tar.gz"), tmp_path)
    assert modules(again) == modules(wheel)


def test_the_core_needs_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    """sys.path holds the standard library, the wheel and NumPy; optional packages are refused."""
    import numpy

    zipfile.ZipFile(wheel).extractall(tmp_path)
    site_packages = Path(numpy.__file__).parents[1]
    for folder in ("numpy", "numpy.libs"):
        if (site_packages / folder).exists():
            (tmp_path / folder).symlink_to(site_packages / folder)
    program = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        refused = "tensorflow tensorflow_federated pandas absl jax matplotlib tqdm psutil".split()
        if name.partition(".")[0] in refused:
            raise ImportError(f"{name} is refused here")

sys.meta_path.insert(0, Refuse())
sys.path.append(sys.argv[1])
import f3ast_tff, f3ast_tff.availability
print(f3ast_tff.__file__)
"""
    isolated = [sys.executable, "-I", "-S", "-c", program, str(tmp_path)]
    done = subprocess.run(isolated, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


def test_installed_modules_import_no_checkout_name() -> None:
    """`availability` in a checkout is `f3ast_tff.availability` once installed."""
    name = r"(availability|datasets|analysis|experiments|tests)\b"
    imported = re.compile(rf"^\s*(from {name}[\w.]* import|import {name})", re.MULTILINE)
    assert imported.search("    from datasets.task import Task")
    for folder in INSTALLED_AS:
        for path in (ROOT / folder).rglob("*.py"):
            found = imported.search(path.read_text())
            assert not found, f"{path}: {found}"


def source_files() -> Iterator[Path]:
    """Files that git tracks or would add; without git, all files except known build outputs."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        yield from (ROOT / name for name in names.split("\0") if (ROOT / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        for folder, folders, files in os.walk(ROOT):
            ignored = NOT_SOURCE(folder, [*folders, *files])
            folders[:] = [name for name in folders if name not in ignored]
            yield from (Path(folder, name) for name in files if name not in ignored)


def test_no_source_file_names_a_registry_or_a_machine() -> None:
    """No package registry, no source option of pip, and no path of one machine."""
    folders = ("root", "home", "Users", "work", "opt", "tmp", "mnt", "srv", "data")
    named = re.compile(
        r"pypi\.|pythonhosted|https?://\S*/simple\b"
        r"|--(?:extra-)?index-url|--find-links|--trusted-host"
        rf"|(?<![\w.$)}}])/(?:{'|'.join(folders)})/"
    )
    # Found a hundred times faster than the pattern; few files have one.
    hints = ("pypi.", "pythonhosted", "/simple", "index-url", "--find-links", "--trusted-host")
    hints += tuple(f"/{folder}/" for folder in folders)
    for path in source_files():
        text = path.read_text(errors="ignore")
        if path != Path(__file__).resolve() and any(hint in text for hint in hints):
            found = named.search(text)
            assert not found, f"{path}: {found}"


def test_python_files_are_short() -> None:
    lengths = {
        path: len(path.read_text().splitlines()) for path in source_files() if path.suffix == ".py"
    }
    assert {path: length for path, length in lengths.items() if length > 600} == {}


@pytest.mark.parametrize(
    ("lock", "fewest"), [("lock.txt", 100), ("fused.txt", 50), ("build.txt", 20)]
)
def test_every_locked_requirement_is_pinned_and_hashed(lock: str, fewest: int) -> None:
    text = (ROOT / "requirements" / lock).read_text().replace("\\\n", " ")
    requirements = [line for line in text.splitlines() if re.match(r"\w", line)]
    assert len(requirements) > fewest
    for requirement in requirements:
        assert re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", requirement), requirement


def bootstrap(tools: Path, python: str = "", **programs: str) -> subprocess.CompletedProcess[str]:
    """Runs tools/bootstrap.sh with `programs` (shell text) and the tools it calls alone on PATH."""
    tools.mkdir()
    for name, text in programs.items():
        (tools / name).write_text(f"#!{shutil.which('sh')}\n{text}\n")
        (tools / name).chmod(0o755)
    for name in {"uname", "dirname", "rm", "touch"}.difference(programs):
        (tools / name).symlink_to(shutil.which(name) or name)
    script = [shutil.which("bash") or "bash", str(ROOT / "tools/bootstrap.sh")]
    return subprocess.run(
        [*script, str(tools.parent / "venv")],
        env={"PATH": str(tools), "PYTHON": python},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("python", "programs", "message"),
    [
        ("", {}, "needs Python 3.11 to 3.14"),
        ("", {"python3": "exit 127"}, "needs Python 3.11 to 3.14"),
        ("", {"uv": "echo one; echo two >&2; exit 1"}, "this failed, run it"),
        ("python3.12", {"python3": "exit 127"}, "PYTHON=python3.12: must be a CPython"),
    ],
    ids=[
        "no Python",
        "a Python that does not run",
        "uv fails",
        "the Python asked for is not there",
    ],
)
def test_bootstrap_says_in_one_line_what_it_lacks(
    python: str, programs: dict[str, str], message: str, tmp_path: Path
) -> None:
    done = bootstrap(tmp_path / "bin", python, **programs)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


def test_bootstrap_leaves_an_environment_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    stamp = tmp_path / "other/.installed"
    stamp.touch()
    (tmp_path / "venv").symlink_to("other")
    done = bootstrap(tmp_path / "bin")
    assert done.returncode == 2 and "venv is a link" in done.stderr
    assert stamp.exists()


# A Python on PATH. It prints its path if its minor version is among the accepted ones, and makes an
# environment whose Python is another such script.
FOUND = """case "$1" in
  -c) case "$2" in *"in [%s]]"*) echo %s;; *) exit 1;; esac;;
  -m) mkdir -p "$3/bin"; cp %s "$3/bin/python";;
esac"""
# The environment's Python: -c checks for 3.12 or newer, -m is pip.
INSIDE = 'case "$1" in -c) exit %d;; esac'


@pytest.mark.parametrize(
    ("system", "lock"), [("Linux x86_64", "lock.txt"), ("Darwin arm64", "fused.txt")]
)
def test_tff_comes_first_where_it_has_a_release(system: str, lock: str, tmp_path: Path) -> None:
    programs = {"uname": f"echo {system}"}
    tools = tmp_path / "bin"
    for minor, minors, is_old in ((11, "11", 1), (13, "12, 13, 14", 0)):
        programs[f"inside{minor}"] = INSIDE % is_old
        found = (minors, tools / f"python3.{minor}", tools / f"inside{minor}")
        programs[f"python3.{minor}"] = FOUND % found
    for name in ("mkdir", "cp"):
        programs[name] = f'exec {shutil.which(name)} "$@"'
    done = bootstrap(tools, **programs)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv/.installed").read_text() == f"{lock}\n"
    assert f"requirements/{lock}" in done.stdout
    assert ("has no TensorFlow Federated" in done.stdout) == (lock == "fused.txt")


def test_an_interrupted_bootstrap_leaves_no_stamp(tmp_path: Path) -> None:
    """The Python found makes an environment without pip."""
    stamp = tmp_path / "venv/.installed"
    stamp.parent.mkdir()
    stamp.touch()
    broken = f'if [ "$1" = -c ]; then echo {tmp_path}/bin/python3; fi'
    assert bootstrap(tmp_path / "bin", python3=broken).returncode != 0
    assert not stamp.exists()
