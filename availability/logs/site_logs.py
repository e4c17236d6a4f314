"""Reads which site replied in which round, and when: a plain table, or NVFlare's log of a job.

Table: CSV with the columns site, round, start, end, and ok if there is one; a row per site and
round in which it was asked. Times are seconds or ISO dates; without an end there was no reply.

NVFlare: the log of the server, in which `Round 0 started` begins a round, `assigned task to client`
a site's work, and `got result from client` ends it. Flower's log names no site.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from f3ast_tff.core.client_names import client_name
from f3ast_tff.core.errors import DataError
from f3ast_tff.files.csv_rows import csv_rows
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, read_bytes
from f3ast_tff.settings.text_values import number_in

_SITE = ("site", "clinic", "hospital", "client")
_NEEDED = ("round", "start", "end")
_TRUE, _FALSE = ("1", "true", "yes", "ok"), ("0", "false", "no", "failed", "error")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Digits of other scripts are no digits here.
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[,.](\d+))?", re.ASCII)
_BEGINS = re.compile(r"\bRound (\d{1,18}) started", re.ASCII)
_ASKED, _TASK = "assigned task to client", re.compile(r"name=(\w+)")
_REPLIED = re.compile(r"got result from client (\S+)(?:.*?name=(\w+))?")
_PEER = re.compile(r"\bpeer=([^,\]\s]+)")
_CODE = re.compile(r"\bpeer_rc=(\w+)")
_FLOWER = re.compile(r"configure_fit: strategy sampled|\[ROUND \d+\]")
_ROUND = re.compile(r"[0-9]{1,18}")
_HEAD = 1 << 20
# Limit on rounds times sites, a number each.
_MOST = 2**24


@dataclass(frozen=True)
class SiteLog:
    """Rounds of sites.

    Attributes:
        sites: Names of the N sites, in the order in which they appear.
        seconds: Time from asking a site to its reply, by round and site, `float64 [R, N]`; infinite
            without a reply, NaN in a round in which it was not asked.
        read_as: How the file was read.
    """

    sites: tuple[str, ...]
    seconds: np.ndarray
    read_as: str

    @property
    def presence(self) -> np.ndarray:
        """Share of all rounds in which each site replied, `float64 [N]`."""
        return np.isfinite(self.seconds).mean(axis=0)


def is_site_log(path: Path) -> bool:
    """Returns whether a file is one of the forms above, or Flower's log."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = _COLOUR.sub("", file.read(_HEAD).decode("utf-8-sig", "replace"))
    names = [name.strip().lower() for name in re.split("[,;\t]", head.partition("\n")[0])]
    is_table = {*_NEEDED} <= {*names} and not {*_SITE}.isdisjoint(names)
    return is_table or bool(_FLOWER.search(head) or (_BEGINS.search(head) and _STAMP.search(head)))


def read_site_log(path: Path) -> SiteLog:
    """Reads a log of sites.

    Raises:
        DataError: If the file is damaged or names no site; names the line.
    """
    try:
        text = _COLOUR.sub("", read_bytes(path, MAX_TEXT_BYTES).decode("utf-8-sig"))
        if _BEGINS.search(text):
            found, read_as = _of_nvflare(text), "NVFlare's log of a job"
        elif _FLOWER.search(text):
            raise ValueError(
                "Flower's log names no site; a link to its nodes can write the table: "
                "f3ast-tff example flower_site_log.py"
            )
        else:
            found, read_as = _of_table(text), "a table of sites"
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from error
    sites = tuple(dict.fromkeys(site for _, site in found))
    rounds = sorted({number for number, _ in found})
    if not sites:
        raise DataError(f"{path}: no site was asked in any round")
    if len(rounds) * len(sites) > _MOST:
        said = f"{len(rounds)} rounds of {len(sites)} sites"
        raise DataError(f"{path}: has {said}, together more than {_MOST}")
    seconds = np.full((len(rounds), len(sites)), np.nan)
    places = {site: place for place, site in enumerate(sites)}
    rows = {number: place for place, number in enumerate(rounds)}
    for (number, site), value in found.items():
        seconds[rows[number], places[site]] = value
    return SiteLog(sites, seconds, f"{read_as}, {len(sites)} sites, {len(rounds)} rounds")


def _of_table(text: str) -> Mapping[tuple[int, str], float]:
    names, rows = csv_rows(text)
    column = {name.lower(): name for name in names}
    site = next((column[name] for name in _SITE if name in column), "")
    found: dict[tuple[int, str], float] = {}
    for line, row in rows:
        where = f"line {line}"
        name, number = client_name(row[site]), client_name(row[column["round"]])
        if not name or not _ROUND.fullmatch(number):
            raise ValueError(f"{where}: must have a site, and a round as a whole number")
        key = int(number), name
        if key in found:
            raise ValueError(f"{where}: site {name} is in round {number} twice")
        ok = row[column["ok"]].lower() if "ok" in column else "1"
        if ok not in (*_TRUE, *_FALSE):
            raise ValueError(f"{where}: ok is {ok[:20]!r}, must be 1 or 0")
        end = row[column["end"]]
        if not end or ok in _FALSE:
            found[key] = math.inf
            continue
        found[key] = _time(end, where) - _time(row[column["start"]], where)
        if found[key] <= 0:
            raise ValueError(f"{where}: site {name} ends before it starts")
    return found


def _time(text: str, where: str) -> float:
    try:
        value = number_in(text)
    except ValueError:
        try:
            value = datetime.fromisoformat(text).timestamp()
        except ValueError:
            value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{where}: {text[:40]!r} is no time: must be seconds or an ISO date")
    return value


def _of_nvflare(text: str) -> Mapping[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    begun: dict[tuple[int, str], float] = {}
    number, start = -1, math.nan
    for row in text.splitlines():
        stamp = _STAMP.search(row)
        if stamp is None:
            continue
        now = datetime.fromisoformat(stamp[1]).timestamp() + float(f"0.{stamp[2] or 0}")
        peer = _PEER.search(row)
        if begins := _BEGINS.search(row):
            number, start = int(begins[1]), now
        elif peer and (task := _TASK.search(row.partition(_ASKED)[2])) and task[1] == "train":
            begun[number, peer[1]] = now
            found.setdefault((number, peer[1]), math.inf)
        elif (replied := _REPLIED.search(row)) and replied[2] in (None, "train") and number >= 0:
            name = peer[1] if peer else replied[1].rstrip(":,")
            code = _CODE.search(row)
            spent = now - begun.get((number, name), start)
            found[number, name] = spent if (code is None or code[1] == "OK") else math.inf
    return {key: max(value, 1e-3) for key, value in found.items() if key[0] >= 0}
