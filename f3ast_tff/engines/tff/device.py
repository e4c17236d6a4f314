"""Which device TensorFlow computes on."""

from __future__ import annotations

import logging

import tensorflow as tf

from f3ast_tff.errors import ParameterError


def find_device(name: str) -> str:
    """Returns TensorFlow's name of a device; GPUs then take memory as they need it.

    Args:
        name: `"auto"` (a GPU where there is one), `"cpu"`, `"gpu"`, or a name of TensorFlow's
            (`"/GPU:1"`, or the name of a logical device).

    Returns:
        For example `"/device:GPU:0"`.

    Raises:
        ParameterError: If there is no such device.
    """
    for gpu in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except RuntimeError as error:
            logging.warning("GPU memory cannot grow as needed: %s", error)
    present = [device.name for device in tf.config.list_logical_devices()]
    gpus = [device for device in present if "GPU" in device]
    if name == "auto":
        return gpus[0] if gpus else "/device:CPU:0"
    wanted = {"cpu": "/device:CPU:0", "gpu": "/device:GPU:0"}.get(name)
    if wanted is None:
        try:
            spec = tf.DeviceSpec.from_string(name)
        except ValueError:
            spec = tf.DeviceSpec()
        wanted = f"/device:{spec.device_type}:{spec.device_index or 0}"
    if wanted not in present:
        allowed = f"must be auto, cpu, gpu or a device that TensorFlow sees: {', '.join(present)}"
        raise ParameterError("device", name, allowed)
    return wanted
