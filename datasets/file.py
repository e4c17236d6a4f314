"""Data of the user: a CSV or parquet file with a client column, or LEAF's JSON."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.leaf_json import LeafExamples, read_leaf
from f3ast_tff.datasets.task import TaskConfig
from f3ast_tff.files.csv_text import CSV_FORMS, csv_text
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, open_regular
from f3ast_tff.files.packed_files import PACKED, form_of, read_packed
from f3ast_tff.files.table_files import csv_table, read_parquet
from f3ast_tff.settings import REQUIRED, Derived, parameter, register
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger(__name__)

_PARQUET = (".parquet", ".pq")
# Limit on a reader's reason in a message: some readers quote the file.
_REASON = 300
# What pandas calls a column without a name, as of the index that it writes itself.
_UNNAMED = re.compile(r"Unnamed: \d+")
_SPLIT = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}
_ANSWERS = {"true", "false", *(f"{n}{end}" for n in range(10) for end in ("", ".0"))}
_SPLIT_NAME = re.compile(
    r"(is|in)?[-_ ]?(train|test|val|validation)(ing|ion)?([-_ ]?set)?|split|((cv|k)[-_ ]?)?folds?"
)


@register(
    "task",
    "file",
    "File",
    about="a CSV or parquet file with a client column, or LEAF's JSON",
    order=9,
)
@dataclass(frozen=True)
class FileTask(TaskConfig):
    """Configuration of `FederatedData.from_frame`."""

    num_clients: int | None = parameter(  # type: ignore[assignment]
        Derived(lambda known: None, "as in the file"),
        "number of clients N, which the file must have",
        minimum=1,
    )
    data_file: str = parameter(
        REQUIRED, "CSV or parquet file with a client column, or LEAF's JSON", is_input=True
    )
    data_client: str = parameter("client", "column of data_file that says whose an example is")
    data_label: str = parameter("label", "column of data_file with the classes, or values")
    data_values: bool = parameter(
        False, "data_label has values to predict, not classes: for a model that brings a loss"
    )
    data_split: str | None = parameter(
        None, "column of data_file that says train or test; not given: test_fraction, by data_seed"
    )
    test_fraction: float = parameter(
        0.1,
        "share of each client's examples that is for testing, without data_split",
        above=0,
        below=1,
    )

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if self.data_split is not None and self.test_fraction != FileTask.test_fraction:
            allowed = f"must not be given with data_split={self.data_split}"
            raise ParameterError("test_fraction", self.test_fraction, allowed)

    @property
    def draws_test(self) -> bool:
        return super().draws_test or self.data_split is None

    def build(self) -> FederatedData:
        frame, num_left_out = self._read()
        if self.label_counts is not None and self.data_client not in frame.columns:
            # The table of sites says who holds what.
            frame = frame.assign(**{self.data_client: "all"})
        columns = {
            "data_client": self.data_client,
            "data_label": self.data_label,
            "data_split": self.data_split,
        }
        for name, column in columns.items():
            if column is not None and column not in frame.columns:
                allowed = f"must be a column of the file: {listed(frame.columns)}"
                raise ParameterError(name, column, allowed)
        if self.data_split is None:
            _warn_of_a_split(frame.drop(columns=[self.data_client, self.data_label]))
        try:
            data = FederatedData.from_frame(
                frame,
                client=self.data_client,
                label=self.data_label,
                split=self.data_split,
                test_fraction=self.test_fraction,
                seed=self.data_seed,
                num_classes=0 if self.data_values else None,
            )
        except ValueError as error:
            raise ParameterError("data_file", self.data_file, str(error)) from error
        if num_left_out:
            data = replace(data, clients_to_score=data.scored_clients()[1] + num_left_out)
        return data

    def _read(self) -> LeafExamples:
        """The table, and the number of clients that have no row in it."""
        kind, read = self._reader()
        try:
            found = read()
        except FileNotFoundError as error:
            raise ParameterError("data_file", self.data_file, "not found") from error
        # Readers raise many types (OSError, ValueError, UnicodeDecodeError, types of pyarrow ...).
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}"[:_REASON].split())
            allowed = f"cannot be read as {kind}: {reason}"
            raise ParameterError("data_file", self.data_file, allowed) from error
        return found if isinstance(found, LeafExamples) else LeafExamples(found, 0)

    def _reader(self) -> tuple[str, Callable[[], Any]]:
        """The file's form by its ending, and the function that reads it."""
        path = Path(self.data_file)
        form, packed = form_of(path), path.suffix.lower() in PACKED
        if form in _PARQUET and not packed:
            return "parquet", lambda: read_parquet(self.data_file).to_pandas()
        if form == ".json" and not packed:
            for name in ("data_client", "data_label", "data_split", "data_values"):
                if getattr(self, name) != getattr(FileTask, name):
                    allowed = "must not be given with LEAF's JSON, which has no columns"
                    raise ParameterError(name, getattr(self, name), allowed)
            return "LEAF's JSON", lambda: read_leaf(self.data_file)
        if form in CSV_FORMS:
            return "CSV", self._read_csv
        packed_too = "must end in .csv or .tsv (also .csv.gz, .bz2, .xz, .zip, .zst)"
        allowed = f"{packed_too}, .parquet, .pq or .json"
        raise ParameterError("data_file", self.data_file, allowed)

    def _read_csv(self) -> Any:
        import pandas as pd

        with open_regular(self.data_file) as file:
            # As one line of CSV, JSON has as many columns as commas, and takes minutes.
            if file.read(1) in (b"{", b"["):
                raise ValueError("it is JSON, and must end in .json")
        columns = (self.data_client, self.data_label, self.data_split)
        text = csv_text(read_packed(self.data_file, MAX_TEXT_BYTES))
        frame = csv_table(
            text.content,
            sep=text.separator,
            decimal=text.decimal,
            dtype=dict.fromkeys(columns, str),
            skipinitialspace=True,
        )
        unnamed = [c for c in frame.columns if _UNNAMED.fullmatch(c) and c not in columns]
        if unnamed:
            _LOG.warning("not read, columns without a name: %s", ", ".join(unnamed))
            frame = frame.drop(columns=unnamed)
        if self.data_label in frame.columns and self.data_label != self.data_client:
            labels = frame[self.data_label]
            numbers = pd.to_numeric(
                labels.str.replace(text.decimal, ".", regex=False), errors="coerce"
            )
            if not (numbers.isna() & labels.notna()).any():
                frame[self.data_label] = numbers
        return frame


def _warn_of_a_split(others: Any) -> None:
    """A column that says train and test is not what chooses the test examples."""
    for name, column in others.items():
        is_named = _SPLIT_NAME.fullmatch(str(name).lower())
        if not is_named and getattr(column.dtype, "kind", "O") in "biuf":
            continue
        # Arrays, of which pandas can tell no kinds, end at their first rows.
        if not {*column.head().map(lambda value: str(value).lower())} <= _SPLIT | _ANSWERS:
            continue
        words = {str(value).lower() for value in column.unique()}
        if len(words) > 1 and words <= _SPLIT:
            decides = f"it decides with --data_split={name}"
            if words != {"train", "test"}:
                decides += ", once its values are train and test"
            _LOG.warning("column %s says train or test, and is not read: %s", name, decides)
        elif len(words) > 1 and words <= _ANSWERS and is_named:
            decides = "a column of train and test decides, with --data_split"
            _LOG.warning("column %s is read as a feature: by its name %s", name, decides)
