"""The form of an engine's waves, the same in all its rounds: lanes, and bounds known to XLA."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Lanes on an accelerator by the class of the model, as a benchmark found them; another model has
# as many as the largest cohort.
LANES_FILE = Path(__file__).with_name("lanes.json")


@dataclass(frozen=True)
class Waves:
    """How the clients of a round are laid out.

    Attributes:
        lanes: Clients that train side by side.
        clients: Most clients of a cohort.
        steps: Most steps of a client if loops are to have bounds that are known when a program is
            compiled: all waves of a round then take the same number of steps. `None`: each wave
            takes the steps of its longest client, as the device learns in the round.
        equal_steps: Whether all clients take `steps`, so that no step needs a mask.
        every_client: Whether clients without any step have a lane too, as a memory needs.
    """

    lanes: int
    clients: int = 1
    steps: int | None = None
    equal_steps: bool = False
    every_client: bool = False

    @classmethod
    def of(
        cls, platform: str, lanes: int, clients: int, num_steps: np.ndarray, every_client: bool
    ) -> Waves:
        """Returns the form for an engine.

        A single lane on a CPU has no bounds: nothing is padded there, and a loop costs no more. An
        accelerator that does not know a bound copies a condition to the host in every step.

        Args:
            platform: Of the device.
            lanes: Number of lanes.
            clients: Most clients of a cohort.
            num_steps: Steps of every client that there is, `int [N]`.
            every_client: See `Waves`.
        """
        clients = max(1, min(clients, len(num_steps)))
        if lanes == 1 and platform == "cpu":
            return cls(lanes, clients, every_client=every_client)
        trained = num_steps if every_client else num_steps[num_steps > 0]
        most = max(1, int(trained.max(initial=0)))
        return cls(lanes, clients, most, bool(np.all(trained == most)), every_client)

    @property
    def most(self) -> int:
        """Most waves of a round."""
        return -(-self.clients // self.lanes)

    def padded(self, num_waves: int, num_steps: int) -> tuple[int, int]:
        """Returns the numbers of waves and of steps of each that a round is padded to.

        Args:
            num_waves: Waves that have clients.
            num_steps: Steps of its longest client.
        """
        assert self.steps is not None
        steps = self.steps if self.equal_steps else _one_of_few(num_steps, self.steps)
        return max(num_waves, self.most), steps


def default_lanes(
    platform: str, model: object, clients: int, table: Mapping[str, int] | None = None
) -> int:
    """Returns the lanes for a model.

    One on a CPU, where lanes cost what they save; on an accelerator what `LANES_FILE` says, by
    default one for each client of the largest cohort.

    Args:
        platform: Of the device.
        model: The network.
        clients: Most clients of a cohort.
        table: In place of the file's.
    """
    if platform == "cpu":
        return 1
    if table is None:
        table = json.loads(LANES_FILE.read_text())
    return max(1, min(table.get(type(model).__name__, clients), clients))


def _one_of_few(number: int, most: int) -> int:
    """Rounds up to `most` divided by a power of the root of 2: few shapes, few compilations.

    Nothing counts as `most`, for which there is a program already.
    """
    if not 0 < number < most:
        return max(number, most)
    halvings = math.floor(2 * math.log2(most / number))
    return max(number, math.ceil(most * 2 ** (-halvings / 2)))
