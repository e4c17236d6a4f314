"""`f3ast-tff advise` for a log of sites: quorum by quorum."""

from __future__ import annotations

import csv
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from f3ast_tff.advice import sites as advice
from f3ast_tff.advice.site_quorums import SiteTimes, by_quorum
from f3ast_tff.availability.logs.site_logs import read_site_log
from f3ast_tff.datasets.label_counts import SiteCounts, read_counts
from f3ast_tff.files.exit_codes import written
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import progress

PAGE = "page.txt"


def advise_sites(
    path: Path, given: Mapping[str, Any], draws: int, out: Path, *, no_trial: bool
) -> None:
    """Prints the advice and writes it to a folder.

    Args:
        path: Log of sites.
        given: Given settings of runs; `label_counts` are the sites' sizes and classes.
        draws: Draws of the trial.
        out: Folder of the page.
        no_trial: Whether no method runs.

    Raises:
        DataError: If the log cannot be read.
        ParameterError: If a setting does not fit.
    """
    log = read_site_log(path)
    counts = given.get("label_counts")
    table = None if counts is None else read_counts(counts)
    sites = advice.times_of(log, table)
    lines = [f"{path}: read as {log.read_as}", ""]
    lines += advice.page(sites, table, by_quorum(sites))
    show("\n".join(lines), flush=True)
    rest = []
    lacks = [flag for flag in ("label_counts", "task") if flag not in given]
    if lacks:
        rest.append(f"No trial: it needs --{' and --'.join(lacks)} (a task is mnist or cifar10)")
    elif table is not None and not no_trial:
        rest += _trial(sites, table, given, draws)
    show("\n".join(rest))
    with written("out", str(out)):
        (out / PAGE).write_text("\n".join([*lines, *rest]) + "\n", encoding="utf-8")
    show(f"\n{out}: {PAGE} is written")


def _trial(sites: SiteTimes, table: SiteCounts, given: Mapping[str, Any], draws: int) -> list[str]:
    runs = len(advice.tried_quorums(len(sites.names))) * len(advice.METHODS) * draws
    with tempfile.TemporaryDirectory() as place:
        # The sites of the log, in its order.
        path = Path(place) / "sites.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["site", *table.classes])
            for name in sites.names:
                rows.writerow([name, *table.counts[table.sites.index(name)].tolist()])
        settings = {**given, "label_counts": str(path)}
        with progress(f"trial: {runs} runs", runs, "run") as bar:
            # What is scaled is said once, by the first run; a trial's warnings are many.
            logging.disable(logging.WARNING)
            try:
                found = advice.trial(sites, draws, settings, bar.update)
            finally:
                logging.disable(logging.NOTSET)
    rounds = int(given.get("rounds", advice.ROUNDS))
    return list(advice.trial_said(found, str(given["task"]), rounds, draws))
