"""The verdict on a method of one's own: as text for the terminal, and as a page with curves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from f3ast_tff.advice.ladders import ends_of
from f3ast_tff.advice.own_method import JUDGED_DRAWS, TUNING_DRAWS, Choice, Comparison
from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.judge import Claim, Verdict, judge
from f3ast_tff.analysis.compare.leads import times_of
from f3ast_tff.analysis.compare.methods import pair_in_words, with_what_is_theirs
from f3ast_tff.analysis.compare.pairs import mean_score, paired
from f3ast_tff.analysis.compare.times import Time
from f3ast_tff.analysis.curves import X_AXES, add_legend, draw_panel, legend_columns
from f3ast_tff.analysis.line_styles import looks_of
from f3ast_tff.analysis.report.document import Document, Grid, Listing, Picture, Section, Text
from f3ast_tff.analysis.report.figures import PANEL_WIDTH, WIDTH, new_figure, to_show
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.records.metrics import users_said

_WIDTH = 100
_FAMILIES = (
    "The verdict is that at the last round. The verdicts of each round are a family of their own, "
    "corrected by Holm's rule for the number of methods."
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished comparison.

    Attributes:
        made: The comparison.
        runs: Judged runs by method's name; the user's method is the first.
        chosen: The tuned parameters, by method's name.
        score: Name of the score that decides.
        higher: Whether a higher score is better.
    """

    made: Comparison
    runs: Mapping[str, RunGroup]
    chosen: Mapping[str, Choice]
    score: str
    higher: bool

    @property
    def own(self) -> str:
        """Name of the user's method."""
        return next(iter(self.runs))

    @property
    def title(self) -> str:
        """The methods that are compared."""
        return f"{self.own} against {', '.join([*self.runs][1:])}"

    @cached_property
    def verdicts(self) -> Mapping[Time, Mapping[str, Verdict]]:
        """The verdict on the user's method against each other one, by time, the last one last."""
        own, *others = self.runs
        found = {}
        for time in times_of([*self.runs.values()]):
            pairs = [paired(self.runs[own], self.runs[name], self.score, time) for name in others]
            found[time] = dict(zip(others, judge([Claim(each) for each in pairs])))
        return found

    @property
    def sentences(self) -> list[list[str]]:
        """The lines in words on each pair at the last round, by pair."""
        groups = dict(zip(self.runs, with_what_is_theirs([*self.runs.values()])))
        labels = {group: name for name, group in groups.items()}
        *_, last = self.verdicts.values()
        return [
            pair_in_words(verdict, (groups[self.own], groups[name]), self.score, Time(), labels)
            for name, verdict in last.items()
        ]

    @property
    def what(self) -> str:
        """The score that decides, in words."""
        return self.score.replace("_", " ") + ("" if self.higher else " (lower is better)")

    @property
    def where(self) -> str:
        """The conditions of all runs."""
        return ", ".join(f"{name}={value}" for name, value in self.made.conditions.items())

    @property
    def users(self) -> str:
        """Whom user scores are over, in a sentence."""
        summaries = (run.summary or {} for g in self.runs.values() for run in g.runs.values())
        return f"user scores are over {users_said(summaries)}"

    @property
    def tried(self) -> str:
        """The number of combinations tried per method, in a sentence."""
        counts = {each.name: len(self.made.choices(each)) for each in self.made.methods}
        if len(set(counts.values())) == 1:
            return f"{counts[self.own]} settings tried of each method"
        said = ", ".join(f"{count} of {name}" for name, count in counts.items())
        return f"settings tried: {said}; not equal, so more tries had more chances"

    @property
    def ladders(self) -> list[str]:
        """The values tried of each parameter, in a line each."""
        lines = []
        for name, values in self.made.ladders.items():
            added = self.made.added.get(name, ())
            why = f" ({_listed(added)} added, most methods chose an end)" if added else ""
            lines.append(f"{name}: {_listed(values)}{why}")
        return lines

    @property
    def edges(self) -> str:
        """The choices that are an end of what was tried, in a sentence; `""` for none."""
        said = [
            f"{method} {name} {value:g}"
            for (name, value), methods in self.made.at_ends(self.chosen).items()
            for method in methods
        ]
        return f"at the edge of what was tried: {'; '.join(said)}: widen --tune" if said else ""

    def __str__(self) -> str:
        """Returns the verdict, for the terminal."""
        width = max(map(len, self.runs))
        lines = [
            f"{self.title}: {self.what}, mean of {len(self.runs[self.own].runs)} draws",
            *_wrapped(self.where),
            f"  {'':<{width}} {'mean':>6}  {self.own} minus it",
        ]
        for time, verdicts in self.verdicts.items():
            lines.append(f"  at {time.said}")
            for name, group in self.runs.items():
                row = f"  {name:<{width}} {mean_score(group, self.score, time).mean:>6.3f}"
                if name in verdicts:
                    row += f"  {render.cell(verdicts[name])} {verdicts[name].word}"
                lines.append(row)
        for said in (line for pair in self.sentences for line in pair):
            lines += textwrap.wrap(said, _WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines += [*_wrapped(self.users), "  tuned:"]
        for name, choice in self.chosen.items():
            values = ", ".join(f"{each} {value}" for each, value in choice.items())
            lines.append(f"  {name:<{width}} {values or 'nothing'}")
        for said in filter(None, [self.tried, *self.ladders, self.edges]):
            lines += _wrapped(said)
        return "\n".join(lines)

    def document(self, tuned: pd.DataFrame) -> Document:
        """Returns the page.

        Args:
            tuned: Scores of all combinations tried, of `Comparison.scores_of`.
        """
        sentences = tuple(" ".join(map(str.strip, pair)) for pair in self.sentences)
        return Document(
            self.title,
            [
                Section(
                    "Is it better?",
                    [
                        Listing("At the last round", sentences, folded=False),
                        self._curves(),
                        self._verdict_grid(),
                        Text(_FAMILIES),
                    ],
                ),
                Section(
                    "Tuning",
                    [
                        self._tuned_grid(),
                        Listing("Values tried", tuple(self.ladders), folded=False),
                        Text(
                            f"{_sentence(self.tried)} Each combination ran on the draws "
                            f"{TUNING_DRAWS}; the best mean {self.what} at the last round was "
                            f"chosen, and ran on the draws {JUDGED_DRAWS}."
                        ),
                        *([Text(_sentence(self.edges))] if self.edges else []),
                    ],
                ),
                Section("Conditions", [Text(self.where), Text(_sentence(self.users))]),
            ],
            tables={"verdicts": self._verdict_frame(), "tuning": tuned},
        )

    def _curves(self) -> Picture:
        styles = looks_of(self.runs.values(), told_apart([*self.runs.values()]))
        looks = {group: replace(styles[group], label=name) for name, group in self.runs.items()}
        rows = -(-len(looks) // legend_columns([*self.runs], WIDTH))
        figure, panels = new_figure(
            1, columns=1, panel=(PANEL_WIDTH, 2.6), legend_rows=rows, title_lines=0
        )
        panel, score = panels[0, 0], self.score.replace("_", " ")
        traces = draw_panel(panel, [*looks], self.score, looks)
        panel.set_ylabel(score)
        panel.set_xlabel(X_AXES["rounds"])
        add_legend(figure, looks.values(), "lower center")
        caption = (
            f"{_sentence(self.what)} Mean of {len(self.runs[self.own].runs)} draws, band one "
            "standard deviation over them."
        )
        return Picture("curves", caption, figure, (to_show(panel, X_AXES["rounds"], traces),))

    def _verdict_grid(self) -> Grid:
        head = ("method", *(f"at {time.said}" for time in self.verdicts))
        rows = []
        for name, group in self.runs.items():
            cells = []
            for time, verdicts in self.verdicts.items():
                mean = f"{mean_score(group, self.score, time).mean:.3f}"
                found = verdicts.get(name)
                cells.append(
                    mean if found is None else f"{mean}\n{render.cell(found)} {found.word}"
                )
            rows.append((name, *cells))
        caption = f"Mean {self.what}; below it {self.own} minus the method"
        return Grid("verdicts", caption, head, tuple(rows))

    def _verdict_frame(self) -> pd.DataFrame:
        rows = [
            {"at": time.said, "a": self.own, "b": name, **render.row(verdict)}
            for time, verdicts in self.verdicts.items()
            for name, verdict in verdicts.items()
        ]
        return pd.DataFrame(rows)

    def _tuned_grid(self) -> Grid:
        names = [*self.made.ladders]
        rows = [
            (
                each.name,
                *(self._chosen_cell(each.name, name) for name in names),
                str(len(self.made.choices(each))),
            )
            for each in self.made.methods
        ]
        return Grid("tuned", "Chosen values", ("method", *names, "settings tried"), tuple(rows))

    def _chosen_cell(self, method: str, name: str) -> str:
        value: Any = self.chosen[method].get(name)
        if value is None:
            return "–"
        return f"{value} (an end)" if value in ends_of(self.made.ladders[name]) else str(value)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
