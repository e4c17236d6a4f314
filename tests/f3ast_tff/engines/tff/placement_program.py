"""Runs a round on the second of two logical CPUs and logs it; started by a test."""

from __future__ import annotations

import tensorflow as tf

from f3ast_tff.engines.tff.runtime import InProcessRuntime
from tests.f3ast_tff.engines.product_process import product_process

if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    one = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [one, one])
    tf.debugging.set_log_device_placement(True)
    runtime = InProcessRuntime(product_process(), "/CPU:1")
    feed = [tf.data.Dataset.from_tensor_slices(tf.ones([n, 3])) for n in (2, 5)]
    output = runtime.next(runtime.initialize(), feed)
    # Each loop adds 3 * 3 * 0.5 for each of the 7 rows.
    assert float(output.state) == 2 * 7 * 4.5, output
