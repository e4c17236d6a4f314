"""Time of the suite's rounds of the decoder over those of a plain loop, whole and with LoRA.

    python -m benchmarks.transformer_round --data_dir DIR [--size page] [--rules full changes]

Both sides run in turns in this process, on the same batches; the loop gets its batches ready-made.
Before, both play rounds from one start and must agree. `page` are the sizes of the study of LoRA,
`small` a tenth of the characters, `tiny` a small model on drawn characters, without `--data_dir`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.hand_written_transformer import RULES, Adapted, hand_written_round
from benchmarks.timing import machine
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import CharacterTransformer, lora
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.resolve import resolve

RANK, CHARACTERS = 4, 90
# Aims: the suite over the loop; a round of LoRA over one of all leaves; weights of both sides.
OVER_LOOP, OVER_FULL, AGREE = 1.1, 1.0, 1e-5


class Size(NamedTuple):
    """Sizes of a comparison; `rate` is the clients' learning rate."""

    clients: int
    steps: int
    batch: int
    length: int
    width: int = 64
    rate: float = 0.5


SIZES = {"page": Size(10, 4, 16, 80), "small": Size(10, 4, 4, 20), "tiny": Size(3, 2, 2, 8, 16)}


def cut_data(data_dir: str | None, size: Size) -> FederatedData:
    """Returns Shakespeare's roles with at least a round's examples, or drawn characters."""
    if data_dir is None:
        random = np.random.default_rng(0)
        x = random.integers(4, CHARACTERS, (100 * size.clients, size.length + 1)).astype(np.int32)
        ends = np.arange(0, len(x) + 1, 50)
        split = ClientExamples(x[:, :-1], x[:, 1:], ends)
        return FederatedData(split, split, CHARACTERS)
    from f3ast_tff.datasets.shakespeare import Shakespeare

    data = Shakespeare(data_dir=data_dir, num_clients=715).build()
    parts = (
        ClientExamples(part.features[:, : size.length], part.labels[:, : size.length], part.offsets)
        for part in (data.train, data.test)
    )
    return FederatedData(*parts, data.num_classes)


class Case:
    """A rule's rounds on both sides, from one start, with the same cohorts and batches."""

    def __init__(self, rule: str, data: FederatedData, size: Size) -> None:
        """Builds the suite's engine and the loop; both compile at their first round."""
        self.rule, self._data, self._size = rule, data, size
        base = CharacterTransformer(CHARACTERS, size.length, size.width)
        model = lora(base, RANK, "kernel")
        self._places = () if rule == "full" else model.places
        given = {
            "task": data,
            "model": base if rule == "full" else model,
            "algorithm": "fedavg",
            "clients_per_round": size.clients,
            "local_steps": size.steps,
            "batch_size": size.batch,
            "client_lr": size.rate,
            **({} if rule == "full" else {"train": "lora", "factors": rule}),
        }
        settings, registry = settings_of(given, builtin_registry())
        settings["initial_weights"] = "sha256:of the benchmark"
        start = (base if rule == "full" else model).initial_weights(0)
        self._builder = Builder(resolve(settings, registry), start=start)
        self._engine = self._builder.engine
        leaves, factors = start[: len(base.leaf_names())], start[len(base.leaf_names()) :]
        pairs = zip(self._places, factors[::2]), zip(self._places, factors[1::2])
        self._model = jax.device_put(Adapted(leaves, *map(dict, pairs)))
        train = data.train
        self._round = hand_written_round(rule, train.features, train.labels, size.rate)
        self._fresh: Any = self._model.a

    def _cohort(self, t: int) -> Cohort:
        enough = np.flatnonzero(self._data.train.sizes >= self._size.batch)
        ids = np.random.default_rng(t).choice(enough, self._size.clients, replace=False)
        return Cohort(ids, np.full(len(ids), 1 / len(ids)))

    def batches(self, t: int) -> np.ndarray:
        """Returns the rows of round t, `int32 [clients, steps, batch]`."""
        ids, train = self._cohort(t).ids, self._data.train
        orders = self._builder.work.orders(t, ids.tolist(), train.sizes[ids].tolist())
        rows = [train.offsets[k] + order.ravel() for k, order in zip(ids, orders)]
        return np.reshape(rows, (len(ids), self._size.steps, -1)).astype(np.int32)

    def suite(self, t: int) -> None:
        """Executes round t by the suite."""
        self._engine.run_rounds(t, [self._cohort(t)])

    def loop(self, rows: np.ndarray) -> None:
        """Executes a round by the loop."""
        weights = np.full(len(rows), 1 / len(rows), np.float32)
        self._model = self._round(self._model, rows, weights, self._fresh)
        jax.block_until_ready(self._model)

    def difference(self, rounds: int) -> float:
        """Plays the first rounds on both sides; returns the largest difference of a weight."""
        for t in range(1, rounds + 1):
            self.suite(t)
            leaves = self._engine.weights()
            if self.rule != "full":
                part: Any = self._builder.model
                leaves = part.whole(leaves)
            # The suite draws FLoRA's factors from its seed.
            factors = leaves[len(self._model.base) :]
            self._fresh = dict(zip(self._places, factors[::2]))
            self.loop(self.batches(t))
        a, b = self._model.a, self._model.b
        own = [*self._model.base, *(each for i in self._places for each in (a[i], b[i]))]
        return max(float(np.abs(x - y).max()) for x, y in zip(leaves, own, strict=True))


class Times(NamedTuple):
    """Seconds of rounds, `[repeats, 2]`: by the wall's clock and of the processor."""

    suite: np.ndarray
    loop: np.ndarray


def measured(cases: Sequence[Case], repeats: int) -> list[Times]:
    """Returns the times of rounds of all cases and sides, run in turns."""

    def seconds(play: Callable[[Any], None], of: Any) -> tuple[float, float]:
        started = time.perf_counter(), time.process_time()
        play(of)
        return time.perf_counter() - started[0], time.process_time() - started[1]

    found: list[list[Any]] = [[[], []] for _ in cases]
    for t in range(1, repeats + 1):
        for case, (suite, loop) in zip(cases, found):
            rows = case.batches(t)
            # Each side is first as often as the other.
            for side in (0, 1) if t % 2 else (1, 0):
                if side:
                    loop.append(seconds(case.loop, rows))
                else:
                    suite.append(seconds(case.suite, t))
    return [Times(*map(np.array, each)) for each in found]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a table of ratios; the exit code is 1 if an aim is missed or the sides disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir")
    parser.add_argument("--size", choices=list(SIZES), default="page")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--repeats", type=int, default=21)
    given = parser.parse_args(argv)
    size = SIZES[given.size]
    if given.data_dir is None and given.size != "tiny":
        parser.error("--data_dir is needed, except with --size tiny")
    data = cut_data(given.data_dir, size)
    print(f"{given.size}: {size}; medians of {given.repeats} in turns; {machine()}", flush=True)
    cases, met = [Case(rule, data, size) for rule in given.rules], True
    for case in cases:
        difference = case.difference(rounds=2)
        met &= difference < AGREE
        print(f"{case.rule}: weights differ by {difference:.1e} at most", flush=True)
    times = measured(cases, given.repeats)
    full = dict(zip(given.rules, times)).get("full")
    print("| rule | ms, processor | over the loop: processor, wall | over full: processor, wall |")
    print("|---|---|---|---|")
    for rule, each in zip(given.rules, times):
        over_loop = np.median(each.suite / each.loop, axis=0)
        met &= over_loop[1] <= OVER_LOOP
        row = [rule, f"{1000 * np.median(each.suite[:, 1]):.1f}", _said(over_loop)]
        over_full = None if full is None else np.median(each.suite / full.suite, axis=0)
        met &= over_full is None or over_full[1] <= OVER_FULL
        print(f"| {' | '.join([*row, '-' if over_full is None else _said(over_full)])} |")
    return int(not met)


def _said(ratios: np.ndarray) -> str:
    wall, processor = ratios
    return f"{processor:.2f}, {wall:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
