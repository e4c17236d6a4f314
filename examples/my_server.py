"""A server's rule of your own, to audit: the mean of the clients that replied, by their examples.

f3ast-tff audit my_server.py:aggregate
"""

import numpy as np


def aggregate(model: np.ndarray, updates: list[np.ndarray], weights: list[float]) -> np.ndarray:
    """Returns the new model; updates are clients' models minus the one that they were sent."""
    if not updates:
        return model
    return model + np.average(updates, axis=0, weights=weights)
