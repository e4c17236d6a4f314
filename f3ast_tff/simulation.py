"""`simulate`: an experiment in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from f3ast_tff.core.errors import Interrupted, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.files.counted_warnings import warnings_counted
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model
from f3ast_tff.records.metrics import Row, shown_scores, users_said
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.run.session import Session, is_interactive
from f3ast_tff.run.simulate_arguments import (
    check_files,
    check_folder,
    check_functions,
    say_if_not_resumable,
    seeds_of,
    start_of,
    texts_of,
)
from f3ast_tff.run.trained_model import TrainedModel
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from f3ast_tff.analysis.results_frame import Results
    from f3ast_tff.analysis.runs import Run


OnRound = Callable[[int, Cohort, RoundOutcome], None]
OnEvaluation = Callable[[Row, TrainedModel], None]


@dataclass(frozen=True, repr=False)
class Simulation:
    """An experiment, finished or stopped.

    Attributes:
        configuration: All components and settings.
        metrics: Metrics with a row per evaluation and the columns of `metrics.csv`.
        selection: Arrays by round, see `SelectionHistory.arrays`: `selected` ids
            `int64 [T, widest]` (-1: none), `delivered`, `weights`; and `final_*`, the strategy's
            last state.
        trained: The model that the last row of `metrics` scores: its weights, `predict`,
            `probabilities`.
        model: The network of these weights.
        summary: Content of `summary.json` without its checksums.
        scoring: The model's own loss and scores, see `Scoring.describe`; `None` without any.
        folder: The run's folder; `None` if no files were written.

    Examples:
        >>> from f3ast_tff import simulate
        >>> result = simulate(algorithm="f3ast", rounds=4, eval_every=2)
        >>> result.metrics["round"].tolist()
        [2, 4]
        >>> result.selection["selected"].shape, [weight.shape for weight in result.weights]
        ((4, 10), [(60, 10), (10,)])
    """

    configuration: Configuration
    metrics: pd.DataFrame
    selection: Mapping[str, np.ndarray]
    trained: TrainedModel
    model: Model | None
    summary: Mapping[str, Any]
    scoring: Mapping[str, Any] | None
    folder: Path | None

    @property
    def weights(self) -> list[np.ndarray]:
        """Weights of the scored model, last round, in the order of `Model.initial_weights`."""
        return list(self.trained.weights)

    @property
    def was_stopped(self) -> bool:
        """Whether Ctrl-C ended it before its last round, in a notebook for example."""
        return bool(self.summary["rounds"] < self.configuration.settings["rounds"])

    def __repr__(self) -> str:
        """The experiment in a line: N, K and the final scores."""
        return f"<Simulation: {', '.join(f'{name} {value}' for name, value in self._said())}>"

    def _repr_html_(self) -> str:
        """The same as a table, in a notebook's own colours, light or dark."""
        rows = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._said())
        return f"<table>{''.join(rows)}</table>"

    def _said(self) -> list[tuple[str, str]]:
        components, settings = self.configuration.components, self.configuration.settings
        said = [(kind, components[kind].display) for kind in ("task", "algorithm", "availability")]
        if (name := settings.get("method_name")) is not None:
            said[1] = ("algorithm", name)
        said.append(("N", str(len(self.selection["p"]))))
        constraint = settings.get("clients_per_round") or settings.get("constraint")
        done = f"{self.summary['rounds']} of " if self.was_stopped else ""
        said += [("K", str(constraint)), ("rounds", f"{done}{settings['rounds']}")]
        final = self.summary["final"]
        found = {name: final[f"test_{name}"] for name in shown_scores(final)}
        # `None` stands for a score that is not finite.
        said += [
            (name.replace("_", " "), "diverged" if value is None else f"{value:.4f}")
            for name, value in found.items()
        ]
        users = users_said([self.summary])
        return [*said, ("users", users)] if users else said

    @property
    def run(self) -> Run:
        """The experiment in the form that the analysis reads from a folder."""
        from f3ast_tff.analysis.runs import Run, described

        settings = dict(self.configuration.settings)
        description = self.configuration.describe()
        many = 0 if self.trained.values else self.trained.num_classes
        description["components"]["task"]["num_classes"] = many
        scoring = {} if self.scoring is None else {"scoring": self.scoring}
        facts = described({"settings": settings, **description, **scoring})
        # A user's objects have no lasting digest; the caller names the method instead.
        plugins = {n: d for n, d in facts["plugins"].items() if n not in facts["method_plugins"]}
        return Run(
            path=self.folder or Path(f"seed {settings['seed']}"),
            metrics=self.metrics,
            summary=dict(self.summary),
            **{**facts, "plugins": plugins},
        )

    def plot(self, path: str | os.PathLike[str] | None = None, metric: str | None = None) -> Figure:
        """Draws a score over the rounds.

        Args:
            path: File to write; `None` for none.
            metric: A column of `metrics`; by default the sample accuracy, or the sample loss if
                labels are values.

        Returns:
            The figure.

        Raises:
            KeyError: If there is no such column.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        metric = metric or f"test_{shown_scores(self.summary['final'])[0]}"
        figure = Figure(figsize=(6, 4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        display = self.configuration.components["algorithm"].display
        axes.plot(self.metrics["round"], self.metrics[metric], label=display)
        axes.set_xlabel("round")
        axes.set_ylabel(metric.removeprefix("test_").replace("_", " "))
        axes.legend()
        if path is not None:
            figure.savefig(path)
        return figure


@overload
def simulate(
    task: Any = ...,
    algorithm: Any = ...,
    availability: Any = ...,
    *,
    rounds: int | None = ...,
    engine: Any = ...,
    folder: str | os.PathLike[str] | None = ...,
    plugins: Sequence[str] = ...,
    on_round: OnRound | None = ...,
    on_evaluation: OnEvaluation | None = ...,
    seeds: None = ...,
    **settings: Any,
) -> Simulation: ...


@overload
def simulate(
    task: Any = ...,
    algorithm: Any = ...,
    availability: Any = ...,
    *,
    seeds: Iterable[int],
    folder: str | os.PathLike[str] | None = ...,
    **settings: Any,
) -> Results: ...


def simulate(
    task: Any = "synthetic",
    algorithm: Any = "f3ast",
    availability: Any = "home_devices",
    *,
    rounds: int | None = None,
    engine: Any = "auto",
    folder: str | os.PathLike[str] | None = None,
    plugins: Sequence[str] = (),
    on_round: OnRound | None = None,
    on_evaluation: OnEvaluation | None = None,
    seeds: Iterable[int] | None = None,
    **settings: Any,
) -> Simulation | Results:
    """Runs an experiment, or one experiment per seed.

    Each component is given by name, as its `Config`, or as a user's object.

    Args:
        task: A name, or `FederatedData`.
        algorithm: A name, a `Strategy` (which is copied), or a function from `StrategyContext` to a
            `Strategy`.
        availability: A name, an `AvailabilityProcess`, or masks `bool [T, N]`, which repeat.
        rounds: Number of rounds; by default the task's.
        engine: `"fused"`, `"tff"` or `"host"`; by default `fused` where JAX is installed, else
            `host`.
        folder: Folder of the run, written as by the command line; replaces `output_dir` and
            `run_name`. A run in the folder is resumed, and made longer by more rounds if that is
            exact; objects must then be registered or have a text `identity`. `None` writes no
            files; then `output_dir`, `run_name`, `client_scores`, `write_masks` and `logger` are
            refused.
        plugins: Files or modules, see the flag `--plugin`.
        on_round: Function called for each round, in order, with its number, cohort and outcome. It
            is late: the call follows the block of rounds, of half a second, that the round is in.
        on_evaluation: Function called after each evaluation with its row of metrics, and the model
            that the row scores: a `TrainedModel` with `weights` and `predict`.
        seeds: Seeds of several runs, in folders named by seed. Each value is the run's `seed`. It
            is also `data_seed`, another draw of the data, unless `data_seed` is given or the task
            is an object.
        **settings: Any further setting by its name (`seed=1`, `client_lr=0.1`, `rate_beta=0.01`,
            `private=("head",)`); also `model`, `aggregation`, `constraint`, `delivery`,
            `client_optimizer` and `server_optimizer`, by name or as objects. `initial_weights` is
            the folder of a run, whose scored model is the start, or a list of arrays.

    Returns:
        The metrics, the selection, and the model; with `seeds` a frame of all runs with methods
        `plot()` and `differences()`. In a notebook, or at Python's prompt, a bar shows the
        progress, and Ctrl-C (Interrupt) returns the rounds so far; with `seeds` the finished runs.

    Raises:
        ParameterError: If a value is not allowed, or a setting's component is not chosen.
        ComponentError: If an object breaks the protocol of its kind.
        DataError: If a data file is missing or damaged.
        EngineError: If the engine is lost.

    Examples:
        >>> from f3ast_tff import simulate
        >>> result = simulate(algorithm="f3ast", availability="home_devices", rounds=50, seed=1)
        >>> round(float(result.metrics["test_sample_accuracy"].iloc[-1]), 1)
        0.8
    """
    check_functions(on_round=on_round, on_evaluation=on_evaluation)
    plugins = texts_of("plugins", plugins)
    chosen = {"task": task, "algorithm": algorithm, "availability": availability}
    given = {**chosen, "engine": engine, "rounds": rounds, **settings}
    callbacks = _callbacks(on_round, on_evaluation)
    check_folder(folder)
    if seeds is None:
        return _run(given, folder, plugins, callbacks)
    if "seed" in settings:
        raise ParameterError("seed", settings["seed"], "must not be given with seeds")
    draws = "data_seed" not in settings and not isinstance(task, FederatedData)
    found: list[Simulation] = []
    with warnings_counted():
        for seed in seeds_of(seeds):
            drawn = {"seed": seed, "data_seed": seed} if draws else {"seed": seed}
            place = None if folder is None else Path(folder) / str(seed)
            try:
                one = _run(given | drawn, place, plugins, callbacks)
            except KeyboardInterrupt:
                if is_interactive():
                    break
                raise
            if one.was_stopped:
                break
            found.append(one)
    return frame_of({"": found})


def _callbacks(on_round: OnRound | None, on_evaluation: OnEvaluation | None) -> list[Any]:
    """The functions given, as one callback; none without any."""
    if on_round is None and on_evaluation is None:
        return []
    ignore = lambda *_: None  # noqa: E731
    both = {"on_round": on_round or ignore, "on_evaluation": on_evaluation or ignore}
    return [SimpleNamespace(**both)]


def _run(
    given: Mapping[str, Any],
    folder: str | os.PathLike[str] | None,
    plugins: Sequence[str],
    callbacks: Sequence[Any],
) -> Simulation:
    """Runs one experiment; see `simulate`."""
    import pandas as pd

    settings = dict(given)
    for name in ("private", "train"):
        if not isinstance(leaves := settings.get(name), (str, type(None))):
            settings[name] = ",".join(texts_of(name, leaves)) or None
    check_files(folder, settings)
    start, settings = start_of(settings)
    if folder is not None:
        place = Path(os.path.abspath(os.path.expanduser(folder)))
        settings.update(output_dir=str(place.parent), run_name=place.name)
    resolvable, registry = settings_of(settings, registry_with(plugins))
    configuration = resolve(resolvable, registry)
    path = None if folder is None else configuration.folder
    if path is not None:
        say_if_not_resumable(path, [p.name for p in configuration.plugins if not p.lasting])
    session = Session(configuration.settings.training.rounds) if is_interactive() else None
    try:
        result = run_experiment(
            configuration,
            path,
            with_model=True,
            progress=session,
            callbacks=callbacks,
            stop=session,
            start=start,
            or_so_far=session is not None,
        )
    except Interrupted:
        # Not a round is done.
        raise KeyboardInterrupt from None
    trained = result.trained
    assert trained is not None
    return Simulation(
        configuration=configuration,
        metrics=pd.DataFrame(result.rows),
        selection=result.selection,
        trained=trained,
        model=result.model,
        summary=result.summary,
        scoring=result.scoring,
        folder=path,
    )


def frame_of(found: Mapping[str, Sequence[Simulation | Results]]) -> Results:
    """Returns runs by the name of their method as a frame, see `results_of`.

    Raises:
        KeyboardInterrupt: If there are none, because Ctrl-C came before the first was done.
    """
    from f3ast_tff.analysis.results_frame import Results, results_of

    if not any(found.values()):
        raise KeyboardInterrupt
    runs = {}
    for name, each in found.items():
        of = [one.runs if isinstance(one, Results) else [one.run] for one in each]
        runs[name] = [run for part in of for run in part]
    return results_of(runs)
