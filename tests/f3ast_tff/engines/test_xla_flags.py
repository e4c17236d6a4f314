"""Determinism on a GPU by `XLA_FLAGS`."""

from __future__ import annotations

import pytest

from f3ast_tff.engines.xla_flags import has_deterministic_ops, with_deterministic_ops

FLAG = "--xla_gpu_deterministic_ops"


@pytest.mark.parametrize(
    ("given", "then", "holds"),
    [
        ("", f"{FLAG}=true", True),
        ("--xla_dump_to=/a", f"--xla_dump_to=/a {FLAG}=true", True),
        (FLAG, FLAG, True),
        (f"{FLAG}=false", f"{FLAG}=false", False),
        (f"{FLAG}=true {FLAG}=false", f"{FLAG}=true {FLAG}=false", False),
    ],
)
def test_the_flag_is_added_unless_it_is_there(given: str, then: str, holds: bool) -> None:
    assert with_deterministic_ops(given) == then
    assert has_deterministic_ops(then) == holds
    assert not has_deterministic_ops("--xla_dump_to=/a")
