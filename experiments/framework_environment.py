"""What the frameworks read from the environment, to be set before they are imported."""

from __future__ import annotations

from collections.abc import MutableMapping

from experiments.settings import Settings


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
