"""Advice for sites: what each quorum costs in hours, and whose model it makes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.advice.site_quorums import AtQuorum, SiteTimes
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, difference_of_common
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.availability.logs.site_logs import SiteLog
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.randomness import generator, normals
from f3ast_tff.datasets.label_counts import SiteCounts
from f3ast_tff.delivery import Arrivals
from f3ast_tff.records.outputs import read_client_scores
from f3ast_tff.simulation import simulate

FEWEST_SITES, MOST_SITES = 3, 50
# Quorums of a trial, the last waits for all; rounds of its runs, and their examples by default, of
# which the smallest site has a few.
_TRIED, ROUNDS, _EXAMPLES, _FEWEST = 4, 60, 4000, 5
METHODS: Mapping[str, Mapping[str, Any]] = {
    "FedAvg": {
        "algorithm": "fedavg",
        "baseline_sampling": "uniform",
        "baseline_average": "examples",
    },
    "F3AST": {"algorithm": "f3ast", "rate_beta": 0.05},
}


def times_of(log: SiteLog, table: SiteCounts | None) -> SiteTimes:
    """Returns the sites of a log, with log-normal times of their replies.

    Args:
        log: The log.
        table: Examples of the sites by class; `None` for sites alike.

    Raises:
        DataError: If there are fewer than 3 or more than 50 sites, or one never replied.
        ParameterError: If the table lacks a site.
    """
    number = len(log.sites)
    if not FEWEST_SITES <= number <= MOST_SITES:
        raise DataError(f"{number} sites: must be {FEWEST_SITES} to {MOST_SITES}")
    never = [name for name, share in zip(log.sites, log.presence) if share == 0]
    if never:
        raise DataError(f"site {never[0]} never replied: leave it out, no quorum can bring it back")
    examples = np.ones(number)
    if table is not None:
        missing = [name for name in log.sites if name not in table.sites]
        if missing:
            allowed = f"has no row for site {missing[0]} of the log"
            raise ParameterError("label_counts", listed(table.sites), allowed)
        places = [table.sites.index(name) for name in log.sites]
        examples = table.counts[places].sum(axis=1).astype(float)
    columns = [np.log(column[np.isfinite(column)]) for column in log.seconds.T]
    return SiteTimes(
        log.sites,
        seconds=np.array([math.exp(np.median(column)) for column in columns]),
        spread=np.array([column.std() for column in columns]),
        presence=log.presence,
        examples=examples,
    )


def page(sites: SiteTimes, table: SiteCounts | None, found: Sequence[AtQuorum]) -> Iterator[str]:
    """Yields the lines about sites, quorums and classes."""
    width = max(8, *(len(name) for name in sites.names))
    share = sites.examples / sites.examples.sum()
    yield "Sites"
    yield f"  {'':<{width}}  replies   median  varies by      data"
    for k, name in enumerate(sites.names):
        times = f"{time_said(sites.seconds[k]):>7}     x {math.exp(sites.spread[k]):4.2f}"
        yield f"  {name:<{width}}  {sites.presence[k]:7.1%}  {times}  {share[k]:8.1%}"
    if table is None:
        yield "  all sites count alike: give --label_counts for their sizes and classes"
    yield ""
    yield "Quorum, and the weight of each site in FedAvg's model"
    heads = " ".join(f"{name[:7]:>7}" for name in sites.names)
    yield f"  quorum  succeeds  a round  {heads}"
    for each in found:
        weights = " ".join(f"{weight:7.1%}" for weight in each.weight)
        spent = time_said(each.seconds)
        yield f"  {each.quorum:6d}  {each.succeeds:8.1%}  {spent:>7}  {weights}"
    yield f"  {'its share of the data':<25} {' '.join(f'{value:7.1%}' for value in share)}"
    yield "  a round: mean time per successful round, with the failed ones before it"
    if table is not None and len(table.classes) > 1:
        yield ""
        yield from _classes(sites, table, found)
    yield ""
    for each in found:
        if each.left_out.any():
            names = [name for name, out in zip(sites.names, each.left_out) if out]
            held = f"{share[each.left_out].sum():.0%} of the data"
            yield f"  quorum {each.quorum} leaves out most of the time: {', '.join(names)}; {held}"


def _classes(sites: SiteTimes, table: SiteCounts, found: Sequence[AtQuorum]) -> Iterator[str]:
    counts = table.counts[[table.sites.index(name) for name in sites.names]]
    mixes = counts / counts.sum(axis=1, keepdims=True)
    yield "Share of each class in FedAvg's model"
    heads = " ".join(f"{name[:9]:>9}" for name in table.classes)
    yield f"  quorum     {heads}"
    for each in found:
        yield f"  {each.quorum:6d}     {' '.join(f'{v:9.1%}' for v in each.weight @ mixes)}"
    whole = counts.sum(axis=0) / counts.sum()
    yield f"  {'data':>6}     {' '.join(f'{v:9.1%}' for v in whole)}"


def time_said(seconds: float) -> str:
    """Returns a time in the unit that suits it.

    Examples:
        >>> from f3ast_tff.advice.sites import time_said
        >>> [time_said(value) for value in (12.3, 5400, 86400 * 3)]
        ['12.3 s', '1.50 h', '3.0 d']
    """
    for unit, length, digits in (("d", 86400.0, 1), ("h", 3600.0, 2), ("min", 60.0, 1)):
        if seconds >= 1.5 * length or (unit == "h" and seconds >= length):
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.1f} s"


@dataclass(frozen=True)
class Replies:
    """A delivery with the sites' own times: the first q replies count, else the round fails.

    Attributes:
        sites: The sites.
        quorum: q.
        seed: Seed of the times.
    """

    sites: SiteTimes
    quorum: int
    seed: int

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """Returns the first q replies."""
        z = normals(self.seed, "site replies", ids, round_number)
        seconds = self.sites.seconds[ids] * np.exp(self.sites.spread[ids] * z)
        if len(ids) < self.quorum:
            last = float(seconds.max(initial=0))
            return Arrivals(np.ones(len(ids), bool), seconds, last, failed=len(ids) > 0)
        end = float(np.sort(seconds)[self.quorum - 1])
        return Arrivals(seconds <= end, seconds, end)


@dataclass(frozen=True)
class Tried:
    """Runs of a trial at one quorum.

    Attributes:
        quorum: q.
        method: Name of the method.
        worst: Mean accuracy of the worst site at the end.
        loss: Its difference from FedAvg that waits for all; `None` for that itself.
    """

    quorum: int
    method: str
    worst: float
    loss: PairedDifference | None


def tried_quorums(number: int) -> list[int]:
    """Returns the quorums of a trial: from half of the sites to all."""
    return sorted({round(q) for q in np.linspace(number / 2, number, _TRIED)})


def trial(
    sites: SiteTimes,
    draws: int,
    settings: Mapping[str, Any],
    on_run: Callable[[], object] = lambda: None,
) -> list[Tried]:
    """Runs FedAvg and F3AST at some quorums on the mirrored task.

    Args:
        sites: The sites.
        draws: Draws of data, presence and times, at least 2.
        settings: Settings of the runs: `label_counts` in the order of the sites, `task` ...
        on_run: Called after each run.

    Raises:
        ParameterError: If a setting is not allowed.
        DataError: If the data is missing or damaged.
    """
    number = len(sites.names)
    given = {"rounds": ROUNDS, "partition": "counts", "model": "softmax_regression", **settings}
    given = {"engine": "host", "clients_per_round": number, "client_share": "examples", **given}
    given["eval_every"] = given["rounds"]
    wanted = max(_EXAMPLES / sites.examples.sum(), _FEWEST / sites.examples.min())
    given.setdefault("scale", min(1.0, float(wanted)))
    worst: dict[tuple[int, str], dict[Pair, float]] = {}
    for draw in range(draws):
        rng = generator(draw, "presence of sites")
        masks = rng.random((given["rounds"], number)) < sites.presence
        for quorum in tried_quorums(number):
            for name, method in METHODS.items():
                score = _worst(
                    {
                        **given,
                        **method,
                        "availability": masks,
                        "delivery": Replies(sites, quorum, draw),
                        "data_seed": draw,
                        "seed": draw,
                    }
                )
                worst.setdefault((quorum, name), {})[Pair(draw, draw)] = score
                on_run()
    all_of = worst[number, "FedAvg"]
    return [
        Tried(
            quorum,
            name,
            float(np.mean(list(scores.values()))),
            None if scores is all_of else difference_of_common(scores, all_of),
        )
        for (quorum, name), scores in worst.items()
    ]


def _worst(given: Mapping[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as place:
        simulate(**given, folder=Path(place) / "run", client_scores=True)
        by_round = read_client_scores(Path(place) / "run")
    accuracy: np.ndarray = by_round[max(by_round)]["accuracy"]
    return float(np.nanmin(accuracy))


def trial_said(found: Sequence[Tried], task: str, rounds: int, draws: int) -> Iterator[str]:
    """Yields the lines about a trial."""
    of = f"{rounds} rounds, {draws} draws"
    yield f"Tried on {task} with the sizes, classes and times of your sites: {of}"
    yield "  quorum  method  worst site  minus FedAvg that waits for all"
    for each in found:
        found_loss = each.loss
        loss = ""
        if found_loss is not None:
            ends = f"[{found_loss.low:+.3f}, {found_loss.high:+.3f}]"
            loss = f"{found_loss.mean:+.3f} {ends}"
        yield f"  {each.quorum:6d}  {each.method:<7} {each.worst:10.3f}  {loss}".rstrip()
