"""What to cite: this suite, and the papers of components, runs and campaigns. Text and BibTeX.

f3ast-tff cite                               # this suite
f3ast-tff cite f3ast smartphones cifar100    # and methods, availability, tasks, models by name
f3ast-tff cite runs/demo                     # and all that a folder of runs used
f3ast-tff cite table3_cifar100 mine.toml     # and all that campaigns use

Names are those of the flags. The output is a .bib file as it is: BibTeX skips the text before it.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import f3ast_tff
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.exit_codes import fail
from f3ast_tff.files.messages import show
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.flags import UsageError, wants_help
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import nearest

_TABLE = Path(__file__).with_name("papers.toml")
_WIDTH = 100
# Fields of BibTeX after the authors and the title; the first three are where a paper appeared.
_PLACES = {"journal": "article", "booktitle": "inproceedings", "institution": "techreport"}
_FIELDS = (*_PLACES, "volume", "number", "pages", "year", "doi")
# Kinds of which one expects a paper.
_EXPECTED = ("task", "algorithm", "availability")
# A setting and its value, such as ("algorithm", "f3ast").
Use = tuple[str, str]
Paper = Mapping[str, Any]


@cache
def suite() -> Paper:
    """Returns this suite's own entry."""
    return {**_table()["suite"], "note": f"Version {f3ast_tff.__version__}"}


@cache
def papers() -> tuple[Paper, ...]:
    """Returns the papers; see `papers.toml`."""
    return tuple(_table()["paper"])


def uses_of(paper: Paper) -> list[Use]:
    """Returns the settings that a paper stands behind."""
    lists = ((key, value) for key, value in paper.items() if isinstance(value, list))
    return [(key, each) for key, value in lists if key != "authors" for each in value]


def main(argv: Sequence[str]) -> int:
    """Prints what to cite; returns the exit code."""
    words = argv[1:]
    if wants_help(words):
        show((__doc__ or "").strip())
        return 0
    try:
        used = {use for word in words for use in _uses(word)}
    except (ParameterError, UsageError, ValueError) as error:
        return fail(error)
    cited = [paper for paper in papers() if used.intersection(uses_of(paper))]
    lines = ["this suite", *_indented(text_of(suite()))]
    for paper in cited:
        behind: dict[str, list[str]] = {}
        for key, value in uses_of(paper):
            if (key, value) in used:
                behind.setdefault(key, []).append(value)
        said = (f"{key} {', '.join(values)}" for key, values in behind.items())
        lines += [*textwrap.wrap("; ".join(said), _WIDTH), *_indented(text_of(paper))]
    known = {use for paper in papers() for use in uses_of(paper)}
    bare = sorted(value for key, value in used if key in _EXPECTED and (key, value) not in known)
    if bare:
        lines.append(f"without a paper of its own: {', '.join(bare)}")
    show("\n".join([*lines, "", *map(bibtex_of, [suite(), *cited])]))
    return 0


def text_of(paper: Paper) -> str:
    """Returns authors, title, place, year and addresses, in one line."""
    names = [" ".join(reversed(name.split(", "))) for name in paper.get("authors", [])]
    place = next((paper[key] for key in _PLACES if key in paper), "")
    when = ", ".join(filter(None, [place, str(paper.get("year", paper.get("note")))]))
    doi = f" https://doi.org/{paper['doi']}" if "doi" in paper else ""
    arxiv = f" arXiv {paper['arxiv']}" if "arxiv" in paper else ""
    authors = f"{', '.join(names)}. " if names else ""
    return f"{authors}{paper['title']}. {when}.{doi}{arxiv}"


def bibtex_of(paper: Paper) -> str:
    """Returns the entry of a paper; one whose authors are not known here says so."""
    # A name without a comma is an organisation.
    names = [name if ", " in name else f"{{{name}}}" for name in paper.get("authors", [])]
    fields = {"author": " and ".join(names)} if names else {"note": "Authors: see the paper"}
    fields |= {"title": f"{{{paper['title']}}}"}
    fields |= {key: str(paper[key]) for key in (*_FIELDS, "note") if key in paper}
    if "arxiv" in paper:
        fields |= {"eprint": paper["arxiv"], "archivePrefix": "arXiv"}
    kind = next((kind for key, kind in _PLACES.items() if key in paper), "misc")
    lines = (f"  {key} = {{{value}}}" for key, value in fields.items())
    return f"@{kind}{{{paper['key']},\n" + ",\n".join(lines) + "\n}"


def _table() -> dict[str, Any]:
    with _TABLE.open("rb") as file:
        return tomllib.load(file)


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _uses(word: str) -> set[Use]:
    """Settings that a name, a folder of runs or a campaign has.

    Raises:
        UsageError: If it is none of them.
        ValueError: If a folder has no run, or the file of a campaign is wrong.
    """
    registry = builtin_registry()
    if found := {(kind, word.lower()) for kind in KINDS if word.lower() in registry.names(kind)}:
        return found
    # Imported late: names alone are answered at once.
    if Path(word).is_dir():
        from f3ast_tff.analysis.runs import load_runs

        return _in_use(run.settings for run in load_runs(word))
    from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file

    campaigns = built_in_campaigns()
    if word.endswith(".toml") or word in campaigns:
        from f3ast_tff.campaigns.grid import plan

        planned = plan(find_grid_file(word), {}, to_run=False)
        return _in_use(run.identity for run in planned.runs)
    near = nearest(word, [*campaigns, *(name for kind in KINDS for name in registry.names(kind))])
    hint = f"; did you mean {near}?" if near else ""
    raise UsageError(
        f"{word!r} must be a component's name, such as f3ast, a folder of runs, or a campaign{hint}"
    )


def _in_use(runs: Iterable[Mapping[str, Any]]) -> set[Use]:
    """Values of the settings that papers stand behind; parts of an availability count alone."""
    keys, found = {key for paper in papers() for key, _ in uses_of(paper)}, set[Use]()
    for run in runs:
        found |= {(key, str(run[key])) for key in keys if run.get(key) is not None}
        parts = str(run.get("availability_parts") or "").split(",")
        found |= {("availability", part.strip()) for part in parts if part.strip()}
    return found
