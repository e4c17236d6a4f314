"""Numbers that pages state: pages of this repository, and small pages written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.analysis.stated_numbers import (
    PHRASES,
    as_stated,
    main,
    numbers_of,
    read_stated,
    unlisted_numbers,
    wrong_phrases,
)

ROOT = Path(__file__).resolve().parents[2]
HEADER = "task,algorithm,availability,data_seed,seed,round,sample_accuracy,user_accuracy,"
HEADER += "sample_loss,user_loss"
# F3AST's lead over FedAvg's .5, by regime, for draws 0, 1, 2.
LEADS = {"always": (0.1, 0.2, 0.3), "uneven": (-0.1, 0.0, 0.1)}
QUERY = 'page = "page.md"\nscores = "scores.csv"\n'
LEAD = f'{QUERY}a = {{algorithm = "f3ast"}}\nb = {{algorithm = "fedavg"}}\n'
ALWAYS = 'where = {availability = "always"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with scores at rounds 5 and 9; all scores of round 5 are .25."""
    lines = [HEADER]
    for regime, leads in LEADS.items():
        for draw, lead in enumerate(leads):
            for algorithm, score in (("f3ast", 0.5 + lead), ("fedavg", 0.5)):
                given = f"synthetic,{algorithm},{regime},{draw},{draw}"
                lines += [f"{given},5,0.25,0.1,1,1", f"{given},9,{score:.6f},0.1,1,1"]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wrong(folder: Path, page: str, *phrases: str) -> list[str]:
    (folder / "page.md").write_text(page)
    tables = "\n".join(f"[[phrase]]\n{each}" for each in phrases)
    (folder / "phrases.toml").write_text(tables)
    content = read_stated(Path("phrases.toml"))
    return wrong_phrases(content, numbers_of(content.phrases))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        # .1, .2, .3 have mean .2; the standard error is .1 / sqrt 3, t(0.975; 2) = 4.303.
        ("leads by +.200", LEAD + ALWAYS),
        ("leads by 0.20", LEAD + ALWAYS),
        ("leads by 20 points", LEAD + ALWAYS + "points = true\n"),
        ("scores .700", f'{QUERY}{ALWAYS}a = {{algorithm = "f3ast"}}\n'),
        ("scores .250 in round 5", f'{QUERY}{ALWAYS}a = {{algorithm = "f3ast"}}\nwhen = 5\n'),
        # Means over regimes: .0, .1 and .2 by draw.
        ("leads by .100", LEAD + 'mean_over = ["availability"]\n'),
        (
            "leads by .200 and .000",
            LEAD + 'cases = [{availability = "always"}, {availability = "uneven"}]\n',
        ),
        (
            "leads by .000 to .200",
            LEAD
            + 'cases = [{availability = "always"}, {availability = "uneven"}]\n'
            + 'of = ["lowest", "highest"]\n',
        ),
        ("leads by .200, the paper's .110", LEAD + ALWAYS + 'other = [".110"]\n'),
    ],
)
def test_numbers_that_hold(folder: Path, text: str, query: str) -> None:
    """A line break of the page counts as a blank."""
    page = f"It {text.replace(' ', chr(10), 1)}.\n"
    assert wrong(folder, page, f'{query}text = "{text}"\n') == []


def test_an_interval(folder: Path) -> None:
    """The ends of the interval surround the mean, .2."""
    query = LEAD + ALWAYS + 'of = ["low", "mean", "high"]\ntext = "from 0.0 by 0.2 to 9.9"\n'
    (line,) = wrong(folder, "from 0.0 by 0.2 to 9.9", query)
    low, mean, high = (float(each) for each in line.partition("gives ")[2].split(", "))
    assert low < 0.2 < high and mean == 0.2


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("leads by +.201", "leads by +.201", "states +.201; scores.csv gives +.200"),
        ("leads by .200", "leads by -.200", "stands there 0 times, must be once"),
        ("leads by .200, leads by .200", "leads by .200", "stands there 2 times, must be once"),
        ("leads by .200 or .2", "leads by .200 or .2", "states 2 numbers, must be 1"),
    ],
)
def test_a_page_that_differs(folder: Path, page: str, text: str, said: str) -> None:
    assert said in wrong(folder, page, f'{LEAD}{ALWAYS}text = "{text}"\n')[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "differ in availability; name it in where or mean_over"),
        ('where = {availability = "scarce"}', "there are none in scores.csv"),
        ('where = {reading = "paper"}', "scores.csv has no column reading"),
        ('score = "accuracy"', "score 'accuracy' must be of sample_accuracy"),
        ('when = "last"', "when 'last' must be a round or of final"),
        ('of = ["mean", "lowest"]', "must be of mean, low, high, or of lowest, highest"),
        ("size = 1", "size must be one of page, text, scores"),
    ],
)
def test_a_query_that_is_wrong(folder: Path, more: str, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        wrong(folder, "leads by .200", f'{LEAD}text = "leads by .200"\n{more}\n')


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


def test_numbers_of_no_phrase(folder: Path) -> None:
    """Numbers in code, in generated tables and with two decimals need no phrase."""
    page = "\n".join(
        [
            "# Page",
            "It leads by .200, the paper by .110; beta is `.002`, p .25, and .333 is loose.",
            "",
            "```sh\npython -m f3ast_tff.analysis.score_tables --scores scores.csv\n```",
            "",
            "| F3AST | 0.123 |",
            "",
            "## Further",
            "| by hand | 0.456 |",
            "```python\nx = 0.789\n```",
        ]
    )
    (folder / "page.md").write_text(page)
    elsewhere = '[[elsewhere]]\npage = "page.md"\ntext = "the paper by .110"\nreason = "its"\n'
    phrase = f'[[phrase]]\n{LEAD}{ALWAYS}text = "leads by .200"\n'
    (folder / "phrases.toml").write_text(f'complete = ["page.md"]\n{phrase}{elsewhere}')
    content = read_stated(Path("phrases.toml"))
    assert wrong_phrases(content, numbers_of(content.phrases)) == []
    assert [line.split()[1] for line in unlisted_numbers(content)] == [".333", "0.456"]


def test_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that differs makes the command fail; the table shows the CSV's number."""
    query = f'{LEAD}{ALWAYS}text = "leads by .201"\n'
    assert wrong(folder, "leads by .201", query)
    assert main(["x", "--phrases=phrases.toml"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "| page | phrase | from the CSV | CSV |",
        "|---|---|---|---|",
        "| page.md | leads by .201 | .200 | scores.csv |",
    ]
    assert "states .201; scores.csv gives .200" in captured.err


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_pages_state_what_their_csv_gives(at_root: None) -> None:
    content = read_stated(Path(PHRASES))
    assert wrong_phrases(content, numbers_of(content.phrases)) == []


def test_complete_pages_list_every_number(at_root: None) -> None:
    assert unlisted_numbers(read_stated(Path(PHRASES))) == []
