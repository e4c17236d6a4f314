"""A property: what is written in a known form is read as it is, or refused; whatever was added."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from f3ast_tff.availability.logs.availability_log import read_log
from f3ast_tff.core.errors import DataError
from tests.availability.logs.written_truths import FORMS, Row, Truth, drawn, iso, shares

HOUR = 3600
_ROWS = 100
# Columns that may be added; most say nothing of who is online, none says it rightly.
COLUMNS = {
    "battery": lambda rng, row: rng.randint(0, 100),
    "note": lambda rng, row: rng.choice(["ok", "slow", "retry"]),
    "flag": lambda rng, row: rng.randint(0, 1),
    "charging": lambda rng, row: rng.choice(["yes", "no"]),
    "country": lambda rng, row: f"C{row['device']}",
    "received_at": lambda rng, row: iso(row["a"] + 1),
    "expires": lambda rng, row: iso(row["a"] + rng.randint(600, 90_000)),
    "latency_ms": lambda rng, row: round(rng.uniform(1, 500), 3),
    "elapsed": lambda rng, row: rng.randint(1, 5000),
    "id": lambda rng, row: rng.randint(0, 10**9),
    "empty": lambda rng, row: "",
}
DAMAGES = ("none", "column", "doubled", "shuffled", "dropped")


def damaged(rng: random.Random, rows: list[Row], damage: str) -> list[Row]:
    rows = list(rows)
    many = min(_ROWS, len(rows) // 3)
    if damage == "doubled":
        for row in rng.sample(rows, many):
            rows.insert(rows.index(row), row)
    elif damage == "shuffled":
        rng.shuffle(rows)
    elif damage == "dropped":
        kept = {*rng.sample(range(len(rows)), len(rows) - many)}
        rows = [row for place, row in enumerate(rows) if place in kept]
    return rows


def check(number: int, folder: Path) -> str:
    """Writes a truth, reads it, and returns what came of it."""
    rng = random.Random(number)
    name = list(FORMS)[number % len(FORMS)]
    form, damage = FORMS[name], DAMAGES[number // len(FORMS) % len(DAMAGES)]
    truth: Truth = drawn(rng, form.grid)
    rows = damaged(rng, form.rows(truth), damage)
    written = [form.cells(row) for row in rows]
    added = ""
    if damage == "column":
        added = rng.choice(list(COLUMNS))
        for cells, row in zip(written, rows):
            cells[added] = COLUMNS[added](rng, row)
    path = form.write(folder, written)
    try:
        masks = name == "masks"
        log = read_log(path, HOUR, columns="round_seconds=3600" if masks else "")
    except DataError as error:
        assert "\n" not in str(error)
        assert damage != "none", f"{number}: {name}: {error}"
        return f"{damage} refused"
    found = dict(zip(log.clients, log.masks.mean().tolist()))
    right = shares(rows, form.says(rows))
    if name == "masks":
        found.pop(added, None)
        # Of masks the last row is a round.
        last = max(row["a"] for row in rows)
        more = {d: any(r["on"] for r in rows if r["a"] == last and r["device"] == d) for d in right}
        n = last // HOUR
        right = {d: (share * n + more[d]) / (n + 1) for d, share in right.items()}
    assert found == pytest.approx(right, abs=1e-9), f"{number}: {name}, {damage} {added}: {path}"
    return f"{damage} read"


@pytest.mark.long
def test_some_truths_are_read_as_they_are_or_refused(tmp_path: Path) -> None:
    for number in range(0, 2 * len(FORMS) * len(DAMAGES), 4):
        check(number, tmp_path)


@pytest.mark.slow
def test_a_thousand_truths_are_read_as_they_are_or_refused(tmp_path: Path) -> None:
    counts = Counter(check(number, tmp_path) for number in range(1000, 2000))
    # A refusal is right; but it must not be the rule.
    for damage in DAMAGES:
        read, refused = counts[f"{damage} read"], counts[f"{damage} refused"]
        assert read > refused, counts
