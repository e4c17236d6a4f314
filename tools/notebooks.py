"""Executes notebooks of `examples/` and keeps their outputs in them.

    python -m tools.notebooks examples/first_run.ipynb

Outputs are printed text, tables as text and PNG; what changes with each execution is left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

# Longest time of a cell, seconds.
TIMEOUT = 300
_KEPT = ("text/plain", "image/png")


def executed(path: Path, folder: Path) -> Any:
    """Returns a notebook with the outputs of its cells, run in `folder`.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=TIMEOUT, resources=resources, record_timing=False)
    os.environ["TQDM_DISABLE"] = "1"
    # Log errors only: otherwise the kernel warns that it uses a local port.
    client.extra_arguments = ["--log-level=40"]
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                output["data"] = {
                    kind: output["data"][kind] for kind in _KEPT if kind in output["data"]
                }
                output["metadata"] = {}
            if output["output_type"] == "execute_result":
                output["execution_count"] = None
        if cell.cell_type == "code":
            cell["execution_count"] = None
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main(paths: list[str]) -> None:
    """Executes the notebooks and writes them."""
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
