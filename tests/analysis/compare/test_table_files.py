"""Files of scores: their forms, JSON of one object, and what is no table."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number
from f3ast_tff.analysis.compare.table_files import read_table
from tests.analysis.compare.test_judge_table import HEAD, LEAD, MINE, THEIRS
from tests.analysis.compare.test_table_shapes import MINE as MINE_SCORES
from tests.analysis.compare.test_table_shapes import RUNS
from tests.analysis.compare.test_table_shapes import THEIRS as THEIR_SCORES

ROWS = HEAD + MINE + THEIRS
# The same scores as percentages: a hundred times the lead.
POINTS = "mine is better than fedavg by 10.000 [8.701, 11.299] over 4 seeds."


# Cells of what was not measured, which are left out.
GAPS = "".join(
    f"{m},{n},{gap}\n" for m in ("mine", "fedavg") for n, gap in enumerate(("-", "n/a"), 4)
)


COUNT = itertools.count(1)
MARKDOWN = ("| " + ROWS.replace(",", " | ").replace("\n", " |\n| ").removesuffix("| ")).replace(
    "\n", "\n|---|:--|--:|\n", 1
)
LATEX = r"""% Seeds
\begin{tabular}{llr}
\toprule
""" + ROWS.replace(",", " & ").replace("\n", " \\\\\n").replace(".83", r"\textbf{$.83$}").replace(
    "mine & 0", "\\midrule\nmine & 0"
)


def with_decimal_commas(text: str) -> str:
    return text.replace(",", ";").replace(".", "0,")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", ROWS.encode("utf-8-sig"), LEAD),
        ("a.csv", ROWS.replace(",", ";").encode(), LEAD),
        ("a.csv", ROWS.replace(",", "\t").encode("utf-16"), LEAD),
        ("a.csv", with_decimal_commas(ROWS).encode(), LEAD),
        ("a.txt", ROWS.replace(",", "\t").encode(), LEAD),
        ("a.csv", ROWS.replace(",", " , ").encode(), LEAD),
        ("a.csv", ROWS.replace("\n", "\r\n").encode(), LEAD),
        ("a.csv", ("sep=;\r\n" + with_decimal_commas(ROWS)).encode(), LEAD),
        ("a.csv", (ROWS + GAPS).encode(), LEAD),
        ("a.csv", (ROWS.replace(",.7", ",7").replace(",.8", ",8").replace("\n", "%\n")
            .replace("accuracy%", "accuracy") + GAPS).encode(), POINTS),
        ("a.csv", ("# of May\n" + ROWS + "\n\n").encode(), LEAD),
        ("a.csv", ("R&D of May\n\n" + ROWS).encode(), LEAD),
        ("a.csv", ROWS.replace(",.7", ",7").replace(",.8", ",8").replace("\n", "%\n")
            .replace("accuracy%", "accuracy").encode(), POINTS),
        ("a.csv", ROWS.replace("method", "Méthode").encode("latin-1"), LEAD),
        # R's row names: a heading fewer than cells.
        ("a.csv", re.sub(r"(?m)^(?=mine|fedavg)", lambda _: f"{next(COUNT)},", ROWS).encode(),
            LEAD),
        ("a.csv", re.sub(r"\.(\d+)", r'"0,\1"', ROWS).encode(), LEAD),
        ("a.csv", ROWS.replace(",.81", ",**.81**").encode(), LEAD),
        ("a.csv", re.sub(r"\.(\d\d)", "\\1\u202f%", ROWS).encode(), POINTS),
        ("a.csv", ROWS.replace("accuracy", "reward").replace(",.", ",\u2212.").replace(
            "mine", "x").replace("fedavg", "mine").replace("x", "fedavg").encode(), LEAD),
        ("a.md", MARKDOWN.encode(), LEAD),
        ("a.md", MARKDOWN.replace(".83", "**.83**").replace("mine", "`mine`").encode(), LEAD),
        ("a.md", ("# Scores\n\nOf May.\n\n" + MARKDOWN).encode(), LEAD),
        ("a.txt", re.sub(r"(?m)^\| | \|$", "", MARKDOWN).replace("|---|:--|--:|", "---+-:-+--")
            .encode(), LEAD),
        ("a.tex", ROWS.replace(",", " & ").encode(), LEAD),
        ("a.tex", LATEX.encode(), LEAD),
    ],
)  # fmt: skip
def test_forms(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert judge_table(read_table(tmp_path / name)).frame()["sentence"].tolist() == [said]


def test_parquet_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    frame = pd.read_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.json", orient="records")
    for name in ("a.parquet", "a.json"):
        assert judge_table(read_table(tmp_path / name)).results[0].sentence == LEAD


def test_rows_are_named_by_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# a\n" + HEAD + MINE + "\n" + "fedavg,0,bad\n")
    with pytest.raises(RunsError, match="holds text in row 8: 'bad'"):
        judge_table(read_table(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"PK\3\4", "save it as CSV"),
        ("a.dta", b"<stata_dta>", "save it as CSV"),
        ("a.json", b'{"a": [1]', "is no table"),
        ("a.json", b"[1, 2]", "an object per row"),
        ("a.json", b'{\n"rows": [{"a": 1}]\n}', "line 1: .* an object per row"),
        ("a.csv", b"a,b\n", "it has no rows"),
        ("a.csv", b"a,b\n1,2,3\n1,2,3\n", "its rows have more values"),
        # Ends of lines, not row names.
        ("a.csv", b"a,b\n1,2,\n2,3,\n", "delete separators at the ends of lines"),
        ("a.csv", b"# x\n\nacc;seed; acc\n1;2;3\n", "two columns have the name 'acc'"),
        ("a.jsonl", b'{"a": 1, "a": 2}', "line 1: it names 'a' twice"),
        ("a.json", b'[{"a": 1, "a": 2}]', "names 'a' twice"),
        ("a.json", b"[" * 10**5, "nested too deeply"),
        ("a.jsonl", b'{"a":' * 10**5, "line 1: it is nested too deeply"),
        ("a.jsonl", b'{"a": %s}' % (b"1" * 5000), "line 1: Exceeds the limit"),
        ("a.jsonl", b"\n".join(b'{"k%d": 1}' % n for n in range(2000)), "have 2000 keys"),
    ],
)
def test_no_tables(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunsError, match=said):
        read_table(tmp_path / name)


def test_an_integer_that_no_float_holds_is_as_infinite_as_its_text(tmp_path: Path) -> None:
    text = f'{{"method": "a", "acc": 1{"0" * 400}}}\n' * 2
    (tmp_path / "a.jsonl").write_text(text)
    assert [as_number(value) for value in read_table(tmp_path / "a.jsonl")["acc"]] == [math.inf] * 2
    seeds = [f'{{"method": "{m}", "seed": {s}, "acc": {a}}}' for m, a in (("a", 0.5), ("b", 0.6))
             for s in ("1" * 400, 2, 3)]  # fmt: skip
    (tmp_path / "b.jsonl").write_text("\n".join(seeds))
    assert len(judge_table(read_table(tmp_path / "b.jsonl")).results) == 1
    assert as_number("1e400") == math.inf and as_number(-(10**400)) == -math.inf


@pytest.mark.long
@pytest.mark.parametrize("line", ["#\n", "\n", "# a,b,c\n"])
def test_a_million_lines_before_the_names_are_passed_over_at_once(
    line: str, tmp_path: Path
) -> None:
    """In time linear in their number: 3 s; a quadratic reader takes minutes."""
    (tmp_path / "a.csv").write_text(line * 10**6 + ROWS)
    began = time.process_time()
    assert read_table(tmp_path / "a.csv").index[0] == 10**6 + 2
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROWS.replace(",", " "), "blanks separate it"),
        # R's.
        ('"method" "seed" "accuracy"\n' + "".join(f'"{n}" {row}\n' for n, row in enumerate(
            (MINE + THEIRS).replace(",", " ").splitlines(), 1)), "blanks separate it"),
        (",accuracy,accuracy\nmethod,fedavg,mine\nseed,,\n0,.71,.81\n1,.74,.83\n2,.70,.80\n"
         "3,.71,.82\n", "two lines of names; if by method and seed"),
        ("seed,accuracy,accuracy\n,fedavg,mine\n0,.71,.81\n1,.74,.83\n2,.70,.80\n3,.71,.82\n",
         "two lines of names; if by method and seed"),
        ("seed,fedavg,fedavg,mine,mine\n,accuracy,f1,accuracy,f1\n0,.71,1,.81,1\n1,.74,1,.83,1\n"
         "2,.70,1,.80,1\n3,.71,1,.82,1\n", "two lines of names; if by seed and method"),
    ],
)  # fmt: skip
def test_other_forms_are_read_by_the_call(text: str, said: str, cwd: Path) -> None:
    Path("a.csv").write_text(text)
    with pytest.raises(RunsError, match=said) as refused:
        read_table(Path("a.csv"))
    found = eval(str(refused.value).partition("in pandas: ")[2], {"pd": pd})
    table = read_table(Path("scores.csv")) if found is None else found
    assert judge_table(table).results[0].sentence == LEAD


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Results of May,,\n" + ROWS, "its first line is not the names of its columns: begin it"),
        (re.sub(r",(\.\d+)", r",tensor(\1)", ROWS),
         r"accuracy holds text, such as 'tensor\(\.81\)': give numbers, inf if never reached"),
        # As decimals, mine had 1.01 rounds and fedavg 987.
        ("method;seed;loss\n" + "".join(f"mine;{s};1,01{s}\nfedavg;{s};98{s}\n" for s in range(4)),
         r"'1,010'; if commas mark thousands, in pandas: table\['loss'\] = table\['loss'\].str"),
        (ROWS.replace("1\n", "1%\n"), r"not all have %, if all are percentages, in pandas: table"),
    ],
)  # fmt: skip
def test_what_may_be_read_in_two_ways_is_asked(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RunsError, match=said):
        judge_table(read_table(tmp_path / "a.csv"))


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="is a folder, not a table; f3ast-tff compare reads"):
        read_table(tmp_path)


ROUNDS = [{"round": n, "accuracy": n / 10, "loss": 1 - n / 10} for n in (1, 2, 3)]
FRAME = pd.DataFrame(RUNS, columns=["method", "seed", "accuracy"])
GIVEN: dict[str, Any] = {}
CURVES = {"accuracy": [0.1, 0.2, 0.3], "loss": [0.9, 0.8, 0.7]}


def call_for(found: Any, name: str) -> str:
    for indent in (None, 1):
        Path(name).write_text(json.dumps(found, indent=indent))
        with pytest.raises(RunsError) as error:
            read_table(Path(name))
        said = str(error.value)
        assert "\n" not in said and "it must hold an object per row" in said
    call = re.search(r"In pandas \((.*)\), .*?: (pd\..*)", said)
    if call is None:
        return ""
    exec(call[1], GIVEN)
    return call[2]


@pytest.mark.parametrize(
    ("name", "found", "rounds"),
    [
        # Flower's results and its History, Sacred's metrics.
        ("results.json", {"centralized_evaluate": ROUNDS, "federated_evaluate": ROUNDS}, 3),
        ("hist.json", {"losses_centralized": [[1, 0.9]], "metrics_distributed": {},
                       "metrics_centralized": {"accuracy": [[1, 0.1], [2, 0.2], [3, 0.3]]}}, 3),
        ("metrics.json", {"test.acc": {"steps": [1, 2, 3], "timestamps": ["a", "b", "c"],
                                       "values": [0.1, 0.2, 0.3]}}, 3),
        ("trainer_state.json", {"epoch": 3.0, "log_history": ROUNDS}, 3),
        ("a.json", {str(row["round"]): {"accuracy": row["accuracy"]} for row in ROUNDS}, 3),
        ("history.json", CURVES, 3),
    ],
)  # fmt: skip
def test_files_of_one_run(name: str, found: Any, rounds: int, cwd: Path) -> None:
    call, _, then = call_for(found, name).partition(" for each run")
    assert then == ", then pd.concat of all"
    table = eval(call, GIVEN)
    assert table["method"].tolist() == ["NAME"] * rounds
    score = next(n for n in ("accuracy", "test.acc") if n in table)
    assert table[score].tolist() == [0.1, 0.2, 0.3] and "round" in table


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (json.loads(FRAME.to_json()), "over 4 seeds"),
        (json.loads(FRAME.to_json(orient="index")), "over 4 seeds"),
        (json.loads(FRAME.to_json(orient="split")), "over 4 seeds"),
        ({"results": FRAME.to_dict("records")}, "over 4 seeds"),
        ({"mine": MINE_SCORES, "fedavg": THEIR_SCORES}, "over 4 and 4 runs, not paired"),
        ({m: {f"seed_{s}": v for n, s, v in RUNS if n == m} for m in ("mine", "fedavg")},
         "over 4 seeds"),
        ({m: {str(s): [0.1, v] for n, s, v in RUNS if n == m} for m in ("mine", "fedavg")},
         "at round 1 over 4 seeds"),
    ],
)  # fmt: skip
def test_files_of_methods(found: Any, said: str, cwd: Path) -> None:
    """A lead of (.10 + .09 + .10 + .11) / 4."""
    table = eval(call_for(found, "a.json"), GIVEN)
    columns = {"score": "value"} if "value" in table else {}
    (row,) = judge_table(table, columns=columns, higher=True).frame().to_dict("records")
    assert row["a"] == "mine" and row["verdict"] == "better" and said in row["sentence"]
    assert row["difference"] == pytest.approx(0.1)


def test_curves_of_methods_are_one_run_each(cwd: Path) -> None:
    call = call_for({"mine": CURVES, "fedavg": CURVES}, "a.json")
    with pytest.raises(RunsError, match="mine and fedavg have 1 run each"):
        judge_table(eval(call, GIVEN))


def test_folders_of_sacred(cwd: Path) -> None:
    for number, (method, seed, value) in enumerate(RUNS):
        folder = Path("runs", str(number))
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"algorithm": method, "seed": seed}))
        (folder / "run.json").write_text(json.dumps({"experiment": {}, "result": value}))
    call = call_for({"experiment": {"name": "x"}, "result": 0.8, "status": "COMPLETED"}, "run.json")
    table = eval(call, GIVEN)
    assert list(judge_table(table).frame()["difference"]) == pytest.approx([0.1])
    # An object per file, with all that is to know.
    assert "glob" in call_for({"algorithm": "mine", "seed": 1, "accuracy": 0.8}, "config.json")
