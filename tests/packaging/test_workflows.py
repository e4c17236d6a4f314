"""The workflows: every action by the digest of a commit, and no build beside a token."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(text: str) -> list[str]:
    """The text of each job."""
    return re.split(r"(?m)^  (?=\w+:$)", text.partition("\njobs:\n")[2])[1:]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_tokens_are_apart(path: Path) -> None:
    text = path.read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used and jobs(text)
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action
    top = text.partition("\njobs:\n")[0]
    assert ": write" not in top
    for job in jobs(text):
        if ": write" in job:
            assert "run:" not in job and "actions/checkout" not in job, job


def test_a_release_is_built_with_hashes_and_uploaded_from_another_job() -> None:
    build, upload = jobs((ROOT / ".github" / "workflows" / "release.yml").read_text())
    for command in re.findall(r"run: (python -m pip .*)", build):
        assert "--require-hashes" in command and "--no-deps" in command
    assert "build --no-isolation" in build and "id-token: write" not in build
    assert "needs: build" in upload and "id-token: write" in upload
