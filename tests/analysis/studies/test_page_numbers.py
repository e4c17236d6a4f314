"""Numbers in the text of pages, on small pages written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.page_numbers import as_stated, refreshed, without_marks
from f3ast_tff.campaigns import study_folders

HEADER = "task,algorithm,availability,data_seed,seed,round,sample_accuracy,user_accuracy,"
HEADER += "sample_loss,user_loss"
# F3AST's lead over FedAvg's .5, by regime, for draws 0, 1, 2.
LEADS = {"always": (0.1, 0.2, 0.3), "uneven": (-0.1, 0.0, 0.1)}
LEAD = "a=f3ast b=fedavg"
ALWAYS = "where=availability=always"


@pytest.fixture(autouse=True)
def one_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study with scores at rounds 5 and 9; all scores of round 5 are .25."""
    lines = [HEADER]
    for regime, leads in LEADS.items():
        for draw, lead in enumerate(leads):
            for algorithm, score in (("f3ast", 0.5 + lead), ("fedavg", 0.5)):
                given = f"synthetic,{algorithm},{regime},{draw},{draw}"
                lines += [f"{given},5,0.25,0.1,1,1", f"{given},9,{score:.6f},0.1,1,1"]
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "scores.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(study_folders, "STUDIES", tmp_path)


def written(text: str, query: str) -> str:
    """The text of a page with a mark, after its numbers were written."""
    page = refreshed(f"Not .123.\n\nIt {text}, at last.\n\n<!-- numbers\n1: tiny {query}\n-->\n")
    assert page.startswith("Not .123.\n\nIt ") and page.count("<!--1-->") == 1
    return without_marks(page).removeprefix("Not .123.\n\nIt ").removesuffix(", at last.\n\n")


@pytest.mark.parametrize(
    ("old", "query", "new"),
    [
        # .1, .2, .3 have mean .2; the standard error is .1 / sqrt 3, t(0.975; 2) = 4.303.
        ("leads by +.111<!--1-->", f"{LEAD} {ALWAYS}", "leads by +.200"),
        ("leads by 0.11<!--1-->", f"{LEAD} {ALWAYS}", "leads by 0.20"),
        (
            "leads by .11<!--1--> in two draws",
            f"{LEAD} {ALWAYS} draws=0-1",
            "leads by .15 in two draws",
        ),
        ("leads by 11<!--1--> points", f"{LEAD} {ALWAYS} points=true", "leads by 20 points"),
        ("scores .111<!--1-->", f"a=f3ast {ALWAYS}", "scores .700"),
        (
            "scores .111<!--1--> in round 5",
            f"a=f3ast\n  {ALWAYS} round=5",
            "scores .250 in round 5",
        ),
        (
            "leads by +.111, +.111<!--1--> at rounds 5 and 9",
            f"{LEAD} {ALWAYS} round=5,9",
            "leads by +.000, +.200 at rounds 5 and 9",
        ),
        # Means over regimes: .0, .1 and .2 by draw.
        ("leads by .111<!--1-->", f"{LEAD} mean_over=availability", "leads by .100"),
        (
            "leads by .111\nand .111<!--1-->",
            f"{LEAD} cases=availability=always;uneven",
            "leads by .200\nand .000",
        ),
        (
            "leads by .111 to .111<!--1-->",
            f"{LEAD} cases=availability=always;uneven of=lowest,highest",
            "leads by .000 to .200",
        ),
        (
            "scores .111, .111 (users)<!--1-->",
            f"a=f3ast {ALWAYS} score=sample_accuracy,user_accuracy",
            "scores .700, .100 (users)",
        ),
        ("leads by .110, by .111<!--1--> here", f"{LEAD} {ALWAYS}", "leads by .110, by .200 here"),
    ],
)
def test_numbers_before_a_mark_are_written(old: str, query: str, new: str) -> None:
    assert written(old, query) == new


def test_an_interval() -> None:
    """The ends of the interval surround the mean, .2."""
    text = written("is .0 [.000, .000]<!--1-->", f"{LEAD} {ALWAYS} of=mean,low,high")
    mean, low, high = (float(each.strip("[],")) for each in text.split()[1:])
    assert low < 0.2 < high and mean == 0.2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leads by .200", "<!--1--> stands on the page 0 times, must be once"),
        ("leads by .2<!--1--> or .2<!--1-->", "<!--1--> stands on the page 2 times"),
        ("leads by much<!--1-->", "0 numbers stand before <!--1-->, must be 1"),
        ("leads by .2<!--1--> or .2<!--7-->", "the mark <!--7--> has no query"),
    ],
)
def test_a_mark_that_is_wrong(text: str, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        written(text, f"{LEAD} {ALWAYS}")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "differ in availability; name it in where or mean_over"),
        ("where=availability=scarce", "there are none"),
        ("where=reading=paper", "the scores have no column reading"),
        (f"{ALWAYS} score=accuracy", "score 'accuracy' must be of sample_accuracy"),
        (f"{ALWAYS} period=last", "period = last: must be one of final"),
        (f"{ALWAYS} of=mean,lowest", "must be of mean, low, high, or lowest, highest"),
        (f"{ALWAYS} size=1", "size"),
        (f"{ALWAYS} round=5,last", "round=5,last: must be integers"),
    ],
)
def test_a_query_that_is_wrong(more: str, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        written("leads by .200<!--1-->", f"{LEAD} {more}")


@pytest.mark.parametrize(
    ("number", "text", "expected"),
    [
        (0.0104, "+.010", "+.010"),
        (0.0104, "0.01", "0.01"),
        (-0.0104, "−0.010", "−0.010"),
        (-0.0001, "-.000", "-.000"),
        (12.3, "12", "12"),
        (0.25, "-.25", ".25"),
    ],
)
def test_a_number_is_written_as_the_page_writes(number: float, text: str, expected: str) -> None:
    assert as_stated(number, text) == expected
