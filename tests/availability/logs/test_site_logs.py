"""Logs of sites: a table, NVFlare's log of a job, and faults with their line."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.availability.logs.site_logs import is_site_log, read_site_log
from f3ast_tff.core.errors import DataError

# In the form of NVFlare's server log: site-1 takes 30 s and 40 s, site-2 60 s and then fails.
NVFLARE = """\
\x1b[32m2024-05-01 10:00:00,500 - ScatterAndGather - INFO - [wf=scatter_and_gather] - Round 0 started.\x1b[0m
2024-05-01 10:00:01,500 - ServerRunner - INFO - [wf=s, peer=site-1, peer_run=1] - assigned task to client: name=train, id=a
2024-05-01 10:00:02,500 - ServerRunner - INFO - [wf=s, peer=site-2, peer_run=1] - assigned task to client: name=train, id=a
2024-05-01 10:00:31,500 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=train, id=a
2024-05-01 10:01:02,500 - ServerRunner - INFO - [peer=site-2, peer_rc=OK] - got result from client site-2 for task: name=train, id=a
2024-05-01 10:01:03,500 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=validate, id=b
2024-05-01 10:02:00,000 - ScatterAndGather - INFO - [wf=scatter_and_gather] - Round 1 started.
2024-05-01 10:02:00,000 - ServerRunner - INFO - [peer=site-1] - assigned task to client: name=train, id=c
2024-05-01 10:02:00,000 - ServerRunner - INFO - [peer=site-2] - assigned task to client: name=train, id=c
2024-05-01 10:02:40,000 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=train, id=c
2024-05-01 10:02:50,000 - ServerRunner - INFO - [peer=site-2, peer_rc=EXECUTION_EXCEPTION] - got result from client site-2 for task: name=train, id=c
"""  # noqa: E501
FLOWER = "INFO :      [ROUND 1]\nINFO :      configure_fit: strategy sampled 3 clients (out of 3)\n"
TABLE = """site,round,start,end,ok
A,1,2024-05-01T10:00:00,2024-05-01T10:01:00,1
B,1,2024-05-01T10:00:00,,0
A,2,0,90,yes
"""


def log_in(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text)
    return path


def test_a_table(tmp_path: Path) -> None:
    """B did not reply in round 1, and was not asked in round 2."""
    path = log_in(tmp_path, TABLE)
    found = read_site_log(path)
    assert is_site_log(path)
    assert found.sites == ("A", "B")
    np.testing.assert_array_equal(found.seconds, [[60, np.inf], [90, np.nan]])
    assert found.presence.tolist() == [1, 0]


def test_nvflare(tmp_path: Path) -> None:
    path = log_in(tmp_path, NVFLARE)
    found = read_site_log(path)
    assert is_site_log(path)
    assert found.sites == ("site-1", "site-2")
    np.testing.assert_allclose(found.seconds, [[30, 60], [40, np.inf]])


def test_other_logs_are_none_of_sites(tmp_path: Path) -> None:
    assert not is_site_log(log_in(tmp_path, "device,start,end\na,1,2\n"))
    assert not is_site_log(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FLOWER, "Flower's log names no site; a link to its nodes"),
        ("site,round,start,end\n", "no site was asked"),
        ("site,round,start,end\nA,x,0,1\n", "line 2: must have a site, and a round"),
        ("site,round,start,end\nA,1,0,1\nA,1,0,1\n", "line 3: site A is in round 1 twice"),
        ("site,round,start,end\nA,1,5,1\n", "line 2: site A ends before it starts"),
        ("site,round,start,end\nA,1,noon,1\n", "line 2: 'noon' is no time"),
        ("site,round,start,end,ok\nA,1,0,1,maybe\n", "line 2: ok is 'maybe'"),
        ("site,round,start,end\nA,1,0\n", "line 2 has 3 values"),
    ],
)
def test_a_fault_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        read_site_log(log_in(tmp_path, text))
    assert "\n" not in str(refused.value)


def test_logs_of_any_size_end_soon(tmp_path: Path) -> None:
    """A line of a megabyte takes a second; a quadratic search took minutes."""
    line = "assigned task to client [peer=a] " * 30_000
    log_in(tmp_path, NVFLARE + f"2024-05-01 10:03:00,000 {line}\n")
    began = time.process_time()
    assert read_site_log(tmp_path / "log.csv").sites == ("site-1", "site-2")
    assert time.process_time() - began < 20
    rows = "".join(f"s{k},{k},0,1\n" for k in range(5000))
    with pytest.raises(DataError, match="has 5000 rounds of 5000 sites, together more than"):
        read_site_log(log_in(tmp_path, f"site,round,start,end\n{rows}"))
