"""The fused and the host engine, and TFF if installed, repeat TFF's recorded rounds."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.engines.recorded_rounds import (
    ALIKE,
    CASES,
    COMMON,
    FOLDER,
    REPEATED,
    assert_alike,
    configured,
    played,
    recorded,
)

# XLA takes a minute to compile these.
LARGE = ("cafed_cnn", "character_lstm", "resnet18", "resnet18_released")
# The order of TensorFlow's sums depends on the processor's caches and vector units. These cases
# leave `REPEATED` on other processors than the record's: momentum and many layers enlarge rounding.
# The largest differences found are 3.5e-5 in a loss (whose bound is ten times as wide) and 1.4e-6.
BY_PROCESSOR = {"client_momentum": 4e-6, "resnet18_released": 2e-6}


# Of the others these are in `make test`: each compiles a program.
FIRST = ("fedavg", "f3ast", "f3ast_adam", "fedavg_all", "mifa", "scaffold", "delayed_f3ast")


def marks_of(case: str) -> list[pytest.MarkDecorator]:
    return [] if case in FIRST else [pytest.mark.long]


def composition(case: str) -> tuple[str, ...]:
    """Parts of a case that decide its compiled round; cases that share them run in succession."""
    settings = configured(case).settings
    kinds = ("model", "aggregation", "client_optimizer", "server_optimizer", "num_clients")
    return tuple(str(settings[kind]) for kind in kinds)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] if case in LARGE else marks_of(case))
        for case in sorted(CASES, key=composition)
    ],
)
def test_the_fused_engine_repeats(case: str) -> None:
    """Same cohorts, weights, outcomes and models, without TFF."""
    expected, _ = recorded(case)
    assert np.abs(expected["models"][-1] - expected["models"][0]).max() > 1e-3
    assert_alike(played(case, engine="fused", device="cpu"), expected, ALIKE)


@pytest.mark.parametrize(
    "case", [c for c in CASES if configured(c).settings["model"] == "softmax_regression"]
)
def test_the_host_engine_repeats(case: str) -> None:
    """The same with NumPy alone."""
    assert_alike(played(case, engine="host"), recorded(case)[0], ALIKE)


@pytest.mark.tff
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_tff_repeats(case: str) -> None:
    bound = BY_PROCESSOR.get(case, REPEATED)
    assert_alike(played(case, engine="tff"), recorded(case)[0], bound)


@pytest.mark.parametrize(
    "kind",
    ["algorithm", "aggregation", "client_optimizer", "server_optimizer", "delivery", "model"],
)
def test_every_component_is_recorded(kind: str) -> None:
    found = {configured(case).settings[kind] for case in CASES}
    # TFF refuses optimizers that look elsewhere, and models without a Keras form.
    refused = {"sam", "character_transformer"}
    assert found == set(builtin_registry().names(kind)) - refused


def test_there_is_a_file_for_each_case() -> None:
    files = list(FOLDER.iterdir())
    assert {file.name for file in files} == {f"{case}.npz" for case in CASES}
    assert sum(file.stat().st_size for file in files) < 4e6
    for case, settings in CASES.items():
        about = recorded(case)[1]
        assert about["settings"] == {**COMMON, **settings}, f"{case}: record it again"
        assert about["tensorflow-federated"] == "0.87.0" and about["command"].endswith(case)


def test_another_number_is_noticed() -> None:
    expected, _ = recorded("f3ast")
    for name, array in expected.items():
        other = array.copy()
        other.flat[-1] = ~other.flat[-1] if array.dtype == bool else other.flat[-1] + 1
        if np.isnan(np.asarray(array, np.float64).flat[-1]):
            other.flat[-1] = 1
        with pytest.raises(AssertionError, match=name):
            assert_alike({**expected, name: other}, expected, ALIKE)
