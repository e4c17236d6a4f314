"""The table of methods in docs/own_server.md: `python -m tools.server_table`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import f3ast_tff
from f3ast_tff.availability import HomeDevicesConfig
from f3ast_tff.core.errors import ParameterError
from tools.component_table import components_in_code

PAGE = Path(__file__).resolve().parents[1] / "docs/own_server.md"
START, END = "<!-- methods, by make docs-tables -->\n", "<!-- end of the methods -->\n"
_HEAD = "| method | class | `aggregation` | note |\n|---|---|---|---|\n"
_ROUNDS, _BLOCKS = 100, HomeDevicesConfig()


def with_methods(page: str) -> str:
    """Returns a page with a row per method that starts on a server of one's own."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{_HEAD}{''.join(_rows())}\n{END}{after}"


def _rows() -> Iterator[str]:
    p = np.full(4, 0.25)
    for component in components_in_code()["algorithm"].values():
        config: Any = component.config
        if config.pooled:
            continue
        notes = []
        try:
            strategy = config.start(p, k=2, rounds=_ROUNDS)
        except ParameterError as error:
            if error.name != "availability":
                continue
            notes = ["give `availability`"]
            strategy = config.start(p, k=2, rounds=_ROUNDS, availability=_BLOCKS.build(p, seed=0))
        if config.server_optimizer != "sgd":
            notes += [f"the server's step ({config.server_optimizer}) is yours"]
        if "repeated" in strategy.may_select:
            notes += ["may draw a client twice"]
        if strategy.needs_losses:
            notes += [f"asks for losses (`{strategy.client_loss}`)"]
        if strategy.needs_outcome:
            notes += ["learns from the outcome"]
        if hasattr(strategy, "renewed"):
            notes += ["`renewed`"]
        path = f"{config.__module__}.{config.__name__}"
        if config.__name__ in dir(f3ast_tff):
            path = f"f3ast_tff.{config.__name__}"
        said = "; ".join(notes)
        yield f"| {component.display} | `{path}` | {config.aggregation} | {said} |\n"


if __name__ == "__main__":
    PAGE.write_text(with_methods(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
