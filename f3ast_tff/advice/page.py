"""Advice on a log, and its page of text."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np

from f3ast_tff.advice.candidates import Candidate
from f3ast_tff.advice.plan import Plan, total_variation
from f3ast_tff.advice.trial import RAREST, Trial, candidates_of, mean_of
from f3ast_tff.advice.trial_tasks import SYNTHETIC, has_mnist1d
from f3ast_tff.analysis.compare.judge import FEWEST_DRAWS
from f3ast_tff.analysis.compare.render import cell, earlier
from f3ast_tff.analysis.compare.times import at
from f3ast_tff.availability.logs.log_measures import LogMeasures
from f3ast_tff.availability.logs.time_units import duration_text

_BARS = "▁▂▃▄▅▆▇█"
# Largest ratio of H(r*) to the least H with all clients always online.
_DEAR = 1.25
# Share of H that the gap of r* is within, unless there are many clients.
_CLOSE = 2e-3
_MAX_NAMED = 5
# Seconds after which a client is late in a log, and a log covers all hours.
_DAY = 86_400
_LINE = 100


@dataclass(frozen=True, eq=False)
class Advice:
    """Advice on a log; `str` makes the page.

    Attributes:
        measures: Online clients by round and by client.
        p: Client shares, `float64 [N]`.
        clients: Name of each client; its number if the log has no names.
        unreachable: Clients that are never online, `int64 [m]`; no method trains them.
        fedavg: Weight that FedAvg gives to each client in the long run, `float64 [N]`.
        plans: Rates, H and biases for each K, among the clients that are ever online.
        round_seconds: Length of a round; `None` if unknown.
        client_share: Client share that runs are given; `None` if it follows from p.
        first_round: Round in which each client is first seen, from 1, `int64 [N]`; `None` if the
            log does not tell.
        trial: Scores of methods under the log; `None` without a trial.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import advise
        >>> masks = np.random.default_rng(0).random((240, 30)) < np.linspace(0.1, 0.6, 30)
        >>> advice = advise(masks, ks=[3, 10])
        >>> advice.objective, advice.k, round(advice.fedavg_bias, 1)
        ('p_squared', 3, 0.2)
    """

    measures: LogMeasures
    p: np.ndarray
    clients: tuple[str, ...]
    unreachable: np.ndarray
    fedavg: np.ndarray
    plans: tuple[Plan, ...]
    round_seconds: int | None
    client_share: str | None = None
    first_round: np.ndarray | None = None
    trial: Trial | None = None

    @property
    def objective(self) -> str:
        """The case of eq. (3) for the log's correlation: `"p"` or `"p_squared"`."""
        return self.measures.together.objective

    @property
    def fedavg_bias(self) -> float:
        """Total variation between p and FedAvg's weights, among the clients ever online."""
        p = self.p[self.reached]
        return total_variation(p / p.sum(), self.fedavg[self.reached])

    @property
    def reached(self) -> np.ndarray:
        """Clients that are ever online, `int64 [N - m]`."""
        return np.setdiff1d(np.arange(len(self.p)), self.unreachable)

    @property
    def k(self) -> int:
        """The recommended K.

        It is the largest K whose H(r*) is at most 1.25 times the least H with all clients always
        online. A larger K mostly adds updates of clients that train often enough already.
        """
        cheap = [each.k for each in self.plans if each.bound <= _DEAR * each.bound_if_always]
        return max(cheap) if cheap else min(each.k for each in self.plans)

    @property
    def plan(self) -> Plan:
        """The plan of the recommended K."""
        return next(each for each in self.plans if each.k == self.k)

    @property
    def method(self) -> Candidate:
        """The advised method; without a trial F3AST."""
        return candidates_of(["f3ast", "fedavg"])[0] if self.trial is None else self.trial.advised

    @property
    def flags(self) -> str:
        """Flags of `f3ast-tff run` that choose the method, its objective and K."""
        chosen = {**self.method.settings, "aggregation": self.method.aggregation}
        if self.method.takes_objective:
            chosen["availability_objective"] = self.objective
        chosen |= {"client_share": self.share, "clients_per_round": self.k}
        return " ".join(f"--{name}={value}" for name, value in chosen.items())

    @property
    def share(self) -> str:
        """The client share of runs."""
        by_p = "equal" if np.allclose(self.p, self.p[0]) else "examples"
        return self.client_share or by_p

    def __str__(self) -> str:
        """Returns the page, as text."""
        return page(self)


def page(advice: Advice) -> str:
    """Returns the page: online clients, objective, plans for each K, and a method to begin with."""
    return f"{of_log(advice)}\n\n{of_method(advice)}"


def of_log(advice: Advice) -> str:
    """Returns the page's first part: online clients, objective, plans for each K."""
    return "\n".join([*_online(advice), "", *_objective(advice), "", *_plans(advice)])


def of_method(advice: Advice) -> str:
    """Returns the page's second part: the trial, if any, and a method to begin with."""
    return "\n".join(_method(advice))


def _online(advice: Advice) -> list[str]:
    m = advice.measures
    n, online = m.num_clients, m.num_online
    low, middle, high = np.percentile(m.share, (5, 50, 95))
    lines = [
        f"{n} clients, {m.num_rounds} rounds" + _clock(advice),
        "",
        "Who is online",
        _row(
            "on average",
            f"{online.mean():.4g} clients ({online.mean() / n:.1%}), "
            f"{online.min()} to {online.max()}; nobody in {np.mean(online == 0):.1%} of the rounds",
        ),
        _row(
            "a client",
            f"half of them at least {middle:.1%} of the time; 5% at most {low:.1%}, 5% "
            f"at least {high:.1%}",
        ),
    ]
    if never := len(advice.unreachable):
        share = advice.p[advice.unreachable].sum()
        lines.append(
            _row(
                "never",
                f"{never} client{'s' * (never > 1)}, {share:.1%} of p: no method reaches them; "
                "rates and biases leave them out",
            )
        )
    if late := _late(advice):
        lines.append(_row("late", late))
    if m.by_hour is not None:
        lines.append(_row("over a day", _day(m.by_hour)))
    if not np.isnan(m.together.correlation):
        across = f"{m.together.correlation:+.3f} [{m.together.low:+.3f}, {m.together.high:+.3f}]"
        said = f"correlation {across}: of pairs that go together, over all pairs"
        lines.append(_row("across clients", said))
    lags = {"from round to round": m.lag_one, "from day to day": m.lag_day}
    over = [f"{lag:+.2f} {words}" for words, lag in lags.items() if not np.isnan(lag)]
    said = f"correlation {', '.join(over)}" if over else "no client changes its state"
    lines.append(_row("over time", said))
    half, most = np.percentile(m.longest_absence, (50, 95))
    lines.append(
        _row(
            "longest absence",
            f"half of the clients {_span(advice, half)} or more, 5% {_span(advice, most)} or more",
        )
    )
    return lines


def _objective(advice: Advice) -> list[str]:
    sum_of = "p_k / r_k" if advice.objective == "p" else "p_k^2 / r_k"
    return [
        f"Objective: --availability_objective={advice.objective}, H(r) = sum of {sum_of}",
        f"  {advice.measures.together}",
    ]


def _plans(advice: Advice) -> list[str]:
    reached = advice.reached
    ratio = advice.fedavg[reached] / advice.p[reached] * advice.p[reached].sum()
    heavy, light = np.percentile(ratio, (95, 5))
    neglected = np.argsort(ratio, kind="stable")[:_MAX_NAMED].tolist()
    least = ", ".join(f"{advice.clients[reached[n]]} {ratio[n]:.2f}" for n in neglected)
    lines = [
        f"Bias of FedAvg: total variation {advice.fedavg_bias:.3f} between p and what it trains",
        f"  the same for every K; 5% of the clients get at least {heavy:.1f} times the weight that "
        f"p gives them,",
        f"  5% at most {light:.2f} times",
        "  " + textwrap.shorten(f"least: {least}", _LINE - 2, placeholder=" ..."),
        "",
        "Best rates r* and F3AST, by clients per round K",
        f"  {'K':>5} {'rounds with':>12} {'H(r*)':>9} {'if all were':>12} {'largest':>9} "
        f"{'bias of F3AST':>16}",
        f"  {'':>5} {'fewer than K':>12} {'':>9} {'online':>12} {'p / r*':>9} "
        f"{'at first':>9} {'later':>6}",
    ]
    for each in advice.plans:
        lines.append(
            f"  {each.k:>5} {each.short_rounds:>12.1%} {each.bound:>9.4g} "
            f"{each.bound_if_always:>12.4g} {each.largest_weight:>9.3g} "
            f"{each.bias_at_first:>9.3f} {each.bias_later:>6.3f}"
        )
    chosen = advice.plan
    dear = chosen.bound / chosen.bound_if_always
    lines += [
        f"  K = {advice.k}: H(r*) is {dear:.2f} times what it would be if all were always online",
        "  (at first: rounds 1 to 1000; later: after 4000 rounds, its rates being settled)",
    ]
    if chosen.rounds_used < (rounds := advice.measures.num_rounds):
        lines.append(
            f"  (r*, H(r*) and p / r* are estimates from {chosen.rounds_used} of {rounds} rounds)"
        )
    if (above := chosen.gap / chosen.bound) > _CLOSE:
        lines.append(f"  (with so many clients H(r*) may be up to {above:.1%} above the least)")
    return lines


def _method(advice: Advice) -> list[str]:
    trial = advice.trial
    if trial is None:
        return [
            f"Method to begin with: {advice.method.name}",
            "  not tried on this log: without --no-trial, methods run on it and are compared",
        ]
    return [*_scores(trial, len(advice.p)), "", *_choice(trial, _covered(advice, trial))]


def _covered(advice: Advice, trial: Trial) -> str:
    """What part of the log the verdict is about, in words, where that needs to be said."""
    log, rounds = trial.log_rounds, trial.rounds
    said = []
    if log > rounds:
        said.append(f"{rounds} of the log's {log} rounds, spread over it")
    if advice.round_seconds and log * advice.round_seconds < _DAY:
        said.append(f"a log of {duration_text(log * advice.round_seconds)}, less than a day")
    return f" (by {' and '.join(said)})" if said else ""


def _scores(trial: Trial, num_clients: int) -> list[str]:
    name = trial.score.replace("_", " ")
    tasks = list(trial.scores)
    part = "" if trial.clients == num_clients else f"{trial.clients} of the clients a draw, "
    ranked = trial.ranked
    best = ranked[0]
    differences = trial.differences(ranked, best)
    width = max(map(len, ranked))
    heads = [*tasks, "mean"] if len(tasks) > 1 else tasks
    heads = [*heads, "rarest 5th"] if trial.knows_rarest else heads
    lines = [
        f"Tried on this log: {name} after {trial.rounds} rounds, {trial.draws} draws, {part}"
        f"K = {trial.k}",
        f"  {'':<{width}} " + " ".join(f"{head:>10}" for head in heads) + "  minus the best",
    ]
    for method in ranked:
        scores = [mean_of(trial.scores[task][method]) for task in tasks]
        scores += [mean_of(trial.means[method])] if len(tasks) > 1 else []
        scores += [trial.rarest(method)] if trial.knows_rarest else []
        row = f"  {method:<{width}} " + " ".join(f"{score:>10.3f}" for score in scores)
        if method in differences:
            row += f"  {cell(differences[method].turned)}"
        lines.append(row)
    if trial.users and "user" in name:
        lines.append(f"  user scores are over {trial.users}")
    if tasks == [SYNTHETIC] and not has_mnist1d():
        lines.append(
            "  on this task alone: pip install 'f3ast-tff[trial]' adds a network, on MNIST-1D"
        )
    return lines


def _choice(trial: Trial, covered: str) -> list[str]:
    names = trial.deployable or [each.name for each in trial.candidates]
    level, advised = trial.level(names), trial.advised.name
    lines = [f"Method to begin with: {advised}"]
    if trial.draws < FEWEST_DRAWS:
        lines.append(f"  no verdict: {FEWEST_DRAWS} draws are needed{covered}")
    elif len(level) > 1:
        said = f"too close to call between {', '.join(level)}: the simplest of them{covered}"
        lines += textwrap.wrap(said, _LINE - 2, initial_indent="  ", subsequent_indent="  ")
    elif trial.knows_rarest:
        said = "for all clients or for the fifth that is there least"
        lines.append(f"  each of the others that a server can run is behind {said}{covered}")
    else:
        lines.append(f"  better than each of the others that a server can run{covered}")
    rare = trial.differences(names, advised, RAREST) if trial.knows_rarest else {}
    for name, verdict in trial.differences(names, advised).items():
        lines.append(f"  {advised} minus {name}: {cell(verdict)} at round {trial.rounds}")
        seen = trial.rounds_seen[:2]
        times = [(at(t), trial.paired(advised, name, trial.score, t)) for t in seen]
        more = [f"before: {earlier(times)}"] if times else []
        more += [f"rarest fifth: {cell(rare[name])}, {rare[name].word}"] if name in rare else []
        lines += [f"    {'; '.join(more)}"] if more else []
    above = [name for name in trial.means if name not in names]
    if above:
        differences = trial.differences([advised, *above], advised)
        for name in above:
            lines.append(
                f"  in simulation only, {name}: {cell(differences[name].turned)} to {advised}"
            )
    return lines


def _row(name: str, text: str) -> str:
    return f"  {name:<16} {text}"


def _late(advice: Advice) -> str:
    """Clients that appear a day or more after the log's start, in words."""
    if advice.first_round is None or not advice.round_seconds:
        return ""
    wait = (advice.first_round - 1) * advice.round_seconds
    late = np.flatnonzero(wait >= _DAY)
    if not len(late):
        return ""
    some = ", ".join(advice.clients[k] for k in late[:2]) + ", ..." * (len(late) > 2)
    words = f"client{'s' * (len(late) > 1)} ({some}) first seen after a day or more"
    return textwrap.shorten(f"{len(late)} {words}: away before", _LINE - 19, placeholder=" ...")


def _clock(advice: Advice) -> str:
    if advice.round_seconds is None:
        return ""
    return f" of {duration_text(advice.round_seconds)}, {_span(advice, advice.measures.num_rounds)}"


def _span(advice: Advice, rounds: float) -> str:
    if advice.round_seconds is None:
        return f"{rounds:.0f} rounds"
    return duration_text(rounds * advice.round_seconds)


def _day(by_hour: np.ndarray) -> str:
    top = max(float(by_hour.max()), 1e-12)
    bars = "".join(_BARS[min(int(share / top * len(_BARS)), len(_BARS) - 1)] for share in by_hour)
    least, most = int(by_hour.argmin()), int(by_hour.argmax())
    low, high = (f"{by_hour[k]:.1%} in hour {24 * k / len(by_hour):.3g}" for k in (least, most))
    return f"{low}, {high} {bars}"
