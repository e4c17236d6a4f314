"""Seconds to prepare CIFAR-100, to open it in a fresh process, and to get a cohort's batches.

python -m benchmarks.data_layer --data_dir=DIR   (with cifar-100-python/ or its archive)
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved, machine, peak_mib, seconds_of
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import ImageCrops
from f3ast_tff.datasets import CIFAR100, cifar_files

PREPARE_LIMIT_S = 120.0
OPEN_LIMIT_S = 2.0
COHORT_LIMIT_S = 5e-3
COHORT = 10
REPEATS = 5
OPEN = """
import sys
from f3ast_tff.datasets import CIFAR100
assert CIFAR100(num_clients=500, data_dir=sys.argv[1]).build().train.num_clients == 500
"""


def link_files(data_dir: Path, folder: Path) -> None:
    """Links the given files into an empty folder, so that they are prepared anew."""
    for name in (cifar_files.CIFAR100.folder, cifar_files.CIFAR100.archive):
        if (data_dir / name).exists():
            (folder / name).symlink_to((data_dir / name).resolve())


def cohort_seconds(data: FederatedData) -> tuple[float, float, int]:
    """Returns seconds to get a cohort's batches, seconds to copy their bytes, and the bytes."""
    work = LocalTraining(batch_size=20, drop_remainder=True)
    crops = ImageCrops(image=32, crop=24)
    train = data.train

    def batches(round_number: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        ids = np.random.default_rng(round_number).choice(train.num_clients, COHORT, replace=False)
        found = []
        for k in ids.tolist():
            order = work.order(round_number, k, int(train.sizes[k]))
            draws = crops.draws(round_number, k, order.shape)
            rows = order.ravel() + train.offsets[k]
            found.append((train.features[rows], train.labels[rows], draws))
        return found

    flat = np.concatenate([features for features, _, _ in batches(1)])
    tasks = {"batches": batches, "copy": lambda _: flat.copy()}
    medians = interleaved(tasks, repeats=200)
    return medians["batches"], medians["copy"], flat.nbytes


def main() -> int:
    """Prints the figures; the exit code is 1 if one passes its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir", type=Path, required=True, help="folder of CIFAR-100's files")
    data_dir = parser.parse_args().data_dir
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link_files(data_dir, folder)
        preparing = seconds_of("-c", OPEN, name)
        peak = peak_mib()
        data = CIFAR100(num_clients=500, data_dir=str(folder)).build()
        arrays = (data.train.features, data.test.features)
        started = time.perf_counter()
        for array in arrays:
            np.save(folder / "copy.npy", array)
        writing = time.perf_counter() - started
        opening = float(np.median([seconds_of("-c", OPEN, name) for _ in range(REPEATS)]))
        python = float(np.median([seconds_of("-c", "import numpy") for _ in range(REPEATS)]))
        batches, copy, num_bytes = cohort_seconds(data)
    size = sum(array.nbytes for array in arrays) / 2**20
    print(
        f"CIFAR-100, {machine()}\n"
        f"prepare, process start to end: {preparing:.1f} s (limit {PREPARE_LIMIT_S:.0f}), peak "
        f"memory {peak:.0f} MiB; writing its {size:.0f} MiB alone: {writing:.2f} s\n"
        f"open in a fresh process, start to end: {opening:.2f} s (limit {OPEN_LIMIT_S:.0f}); "
        f"`import numpy` alone: {python:.2f} s\n"
        f"batches of {COHORT} clients x 100 images: {1e3 * batches:.2f} ms (limit "
        f"{1e3 * COHORT_LIMIT_S:.0f}), {batches / copy:.1f} x a copy of the same "
        f"{num_bytes / 2**20:.1f} MiB ({1e3 * copy:.2f} ms)"
    )
    limits = ((preparing, PREPARE_LIMIT_S), (opening, OPEN_LIMIT_S), (batches, COHORT_LIMIT_S))
    return int(any(seconds > limit for seconds, limit in limits))


if __name__ == "__main__":
    raise SystemExit(main())
