"""Tables from others: how a CSV file is written, each form, and no more bytes than the limit."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.files import table_files
from f3ast_tff.files.csv_text import csv_text
from f3ast_tff.files.table_files import read_csv, read_parquet

ROOT = Path(__file__).parents[3]
TEXT = b"client,x\na,1\nb,2\n"


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return file.getvalue()


PACKED = {
    ".csv": TEXT,
    ".csv.gz": gzip.compress(TEXT, mtime=0),
    ".csv.bz2": bz2.compress(TEXT),
    ".CSV.XZ": lzma.compress(TEXT),
    ".zip": zipped("x.csv"),
    ".ZIP": zipped("x.csv", "__MACOSX/._x.csv"),
}


@pytest.mark.parametrize("form", PACKED)
def test_every_form_and_its_limit(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"x{form}"
    path.write_bytes(PACKED[form])
    frame = read_csv(path, dtype=str)
    assert frame.to_dict("list") == {"client": ["a", "b"], "x": ["1", "2"]}
    monkeypatch.setattr(table_files, "MAX_TEXT_BYTES", len(TEXT) - 1)
    said = f"its {len(PACKED[form])} bytes hold more than {len(TEXT) - 1} bytes"
    with pytest.raises(ValueError, match=said):
        read_csv(path)


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        (".gz", PACKED[".csv.gz"][:-9], "it is damaged"),
        (".xz", PACKED[".CSV.XZ"][:-9], "it is damaged"),
        (".zip", b"no zip", "it is damaged"),
        (".zip", zipped("a", "b"), "it has 2 files, must have one"),
    ],
    ids=["gz", "xz", "no_zip", "two_files"],
)
def test_damaged_files_are_refused(form: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.csv{form}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_csv(path)


def in_one_gib(code: str, path: Path) -> str:
    """Returns the output of a process with 1 GiB of memory; `path` is its file."""
    # Without `preexec_fn`, which forks: JAX does not survive a fork.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
    done = subprocess.run(
        [sys.executable, "-c", limit + code, str(path)],
        cwd=ROOT,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


FILE_TASK = """
import sys
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets import FileTask
try:
    FileTask(data_file=sys.argv[1]).build()
except ParameterError as error:
    print(error)
"""


@pytest.mark.long
def test_a_small_file_of_many_bytes_takes_no_memory(tmp_path: Path) -> None:
    """630 MB in a file of about 200 kB."""
    path = tmp_path / "x.csv.gz"
    member = gzip.compress(b"a,0,1\n" * 2**20)
    path.write_bytes(gzip.compress(b"client,label,x\n") + member * 100)
    said = in_one_gib(FILE_TASK, path)
    size = path.stat().st_size
    assert said.startswith(f"data_file = {path}: ")
    assert said.endswith(f"its {size} bytes hold more than {2**28} bytes\n")


@pytest.mark.long
def test_a_text_that_occurs_often_takes_its_memory_once(tmp_path: Path) -> None:
    """Written out, the column has 20 GB."""
    path, text = tmp_path / "x.parquet", "x" * 10**6
    codes = pd.Categorical.from_codes([0] * 20_000, [text])
    pd.DataFrame({"client": codes, "label": 0, "x": 0.5}).to_parquet(path)
    assert path.stat().st_size < 2**22
    said = in_one_gib(FILE_TASK, path)
    assert said.endswith("'xxxxxxxxxxxxxxxxxxxx'... is longer than 1000 characters\n")


def test_what_a_parquet_file_declares_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.parquet"
    frame = pd.DataFrame(
        {
            "n": np.arange(100),
            "text": ["a", "b"] * 50,
            "many": [[1.0, 2.0]] * 100,
            "few": [["a"]] * 100,
        }
    )
    frame.to_parquet(path)
    found = read_parquet(path).to_pandas()
    assert caplog.messages == ["not read, texts within others: few"]
    assert found["text"].tolist() == frame["text"].tolist()
    assert found["many"].iloc[-1].tolist() == [1, 2] and list(found) == ["n", "text", "many"]
    # 8 bytes per value, 128 per array, and the texts in packed size.
    declared = 100 * (8 + 8 + 2 * 8 + 128)
    monkeypatch.setattr(table_files, "MAX_PARQUET_BYTES", declared)
    size = path.stat().st_size
    with pytest.raises(ValueError, match=rf"its {size} bytes hold values of 16\d\d\d bytes, more"):
        read_parquet(path)


@pytest.mark.long
def test_200_000_columns_take_seconds(tmp_path: Path) -> None:
    """Ten times as many columns take about ten times as long, not a hundred times."""
    code = """
import sys, time
from f3ast_tff.core.federated_data import FederatedData
import pandas as pd, numpy as np
def seconds(n):
    frame = pd.DataFrame(np.ones((4, n), np.int64), columns=[f"x{i}" for i in range(n)])
    frame.insert(0, "label", 0)
    frame.insert(0, "client", ["a", "a", "b", "b"])
    started = time.process_time()
    assert FederatedData.from_frame(frame, test_fraction=0.5).train.features.shape == (2, n)
    return time.process_time() - started
seconds(10)
print(seconds(200_000))
"""
    assert float(in_one_gib(code, tmp_path)) < 10


@pytest.mark.parametrize(
    ("content", "separator", "first", "decimal"),
    [
        (b"a,b\n1,2\n", ",", 1, "."),
        (b"a;b\n1,5;2\n", ";", 1, ","),
        (b"a;b\n1.5;2\n", ";", 1, "."),
        (b"a\tb\n1,5\t2\n", "\t", 1, ","),
        (b"a|b\n1|2\n", "|", 1, "."),
        (b"| a | b |\n", ",", 1, "."),
        # As often in each line, though another stands more often in the first.
        (b"a, b, c;d\n1;2\n3;4\n", ";", 1, "."),
        (b'"a;b;c",d\n1,2\n', ",", 1, "."),
        # Thousands, unless one is none.
        (b"a;b\n1,012;2\n", ";", 1, "."),
        (b"a;b\n1,012;2,5\n", ";", 1, ","),
        (b"a;b\n0,012;2\n", ";", 1, ","),
        (b"a;b\n1,2,3;4\n", ";", 1, "."),
        # Lines before the names.
        (b"# of May\n\n# run by us, twice\na,b\n1,2\n", ",", 4, "."),
        (b"sep=;\r\na,b;c\r\n1;2\r\n", ";", 2, "."),
        (b"# of May\nsep=;\na;b\n", ";", 3, "."),
        (b'"sep=,"\na,b\n', ",", 2, "."),
        (b"#a,b\n1,2\n", ",", 1, "."),
        (b"Report of May\n\na,b\n1,2\n", ",", 3, "."),
        # Names of one column.
        (b"a\n0,5\n", ",", 1, "."),
        ("a;b\n1;2\n".encode("utf-16"), ";", 1, "."),
        (codecs.BOM_UTF16_BE + "a;b\n1;2\n".encode("utf-16-be"), ";", 1, "."),
        (b"\xef\xbb\xbfa;b\n1;2\n", ";", 1, "."),
        ("a;é\n1;2\n".encode("latin-1"), ";", 1, "."),
        (b"", ",", 1, "."),
    ],
)
def test_separator_first_line_and_decimal_mark(
    content: bytes, separator: str, first: int, decimal: str
) -> None:
    found = csv_text(content)
    assert (found.separator, found.first, found.decimal) == (separator, first, decimal)
    assert found.content.startswith((b"a", b'"a', b"| a")) or not content
