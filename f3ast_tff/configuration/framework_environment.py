"""What the frameworks read from the environment, to be set before they are imported."""

from __future__ import annotations

import importlib.util
from collections.abc import MutableMapping

from f3ast_tff.configuration.settings import Settings
from f3ast_tff.errors import SettingError

_FRAMEWORKS = {"tff": "tensorflow_federated", "fused": "jax"}


def check_framework(settings: Settings) -> None:
    """Checks that the engine's framework is installed, without importing it.

    Raises:
        SettingError: If it is not.
    """
    framework = _FRAMEWORKS[settings.engine]
    if importlib.util.find_spec(framework) is None:
        advice = (
            f"needs {framework}, not installed here: pip install 'f3ast-tff[{settings.engine}]'"
        )
        raise SettingError("engine", settings.engine, advice)


def prepare_environment(settings: Settings, environment: MutableMapping[str, str]) -> None:
    """Sets what is not set yet.

    Args:
        settings: Says the engine and the device.
        environment: `os.environ`.
    """
    # TensorFlow's chatter on stderr would bury the progress bar.
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if settings.engine != "fused":
        return
    if settings.device == "cpu":
        environment.setdefault("JAX_PLATFORMS", "cpu")
        return
    # On a GPU: take memory as needed, so that runs can share it, and sum in one order, so that
    # two runs agree.
    environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    xla_flags = environment.get("XLA_FLAGS", "")
    if "xla_gpu_deterministic_ops" not in xla_flags:
        environment["XLA_FLAGS"] = f"{xla_flags} --xla_gpu_deterministic_ops=true".strip()
