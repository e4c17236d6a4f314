"""Label distributions of the clients, and processes that follow them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import (
    AvailabilityConfig,
    AvailabilityProcess,
    IndependentAvailability,
)
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.component import component_of


def label_distribution(examples: ClientExamples, num_classes: int) -> np.ndarray:
    """Returns nu_kc, the share of class c among client k's labels, `float64 [N, C]`.

    Args:
        examples: Training examples by client; negative labels (pads) do not count.
        num_classes: C, larger than every label.

    Returns:
        Rows of sum 1; a row of zeros for a client without a label.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import ClientExamples, FederatedData
        >>> from f3ast_tff.availability import label_distribution
        >>> data = np.zeros((3, 1)), np.array([0, 0, 1]), np.array([0, 2, 3])
        >>> label_distribution(ClientExamples(*data), 2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    n = examples.num_clients
    labels = examples.labels.reshape(len(examples.labels), -1)
    owner = np.broadcast_to(np.repeat(np.arange(n), examples.sizes)[:, None], labels.shape)
    counts_it = labels >= 0
    cells = owner[counts_it] * num_classes + labels[counts_it]
    counts = np.bincount(cells, minlength=n * num_classes).reshape(n, num_classes)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def drawn_labels(num_clients: int, num_classes: int, alpha: float, seed: int) -> np.ndarray:
    """Returns label distributions without data, `float64 [N, C]`.

    Each client has 100 labels, drawn with shares that follow Dirichlet(alpha, .., alpha).
    """
    rng = generator(seed, "preview labels")
    shares = rng.dirichlet(np.full(num_classes, alpha), num_clients)
    return rng.multinomial(100, shares) / 100


def distribution_of(data: FederatedData, has_classes: bool, name: str) -> np.ndarray:
    """Returns `label_distribution` of the training clients.

    Args:
        data: The run's data.
        has_classes: Whether its labels are classes.
        name: Availability process that asks, for errors.

    Raises:
        ParameterError: If the labels are values.
    """
    if not has_classes:
        allowed = "reads the clients' classes, and the labels of this data are values"
        raise ParameterError("availability", name, allowed)
    return label_distribution(data.train, data.num_classes)


@dataclass(frozen=True)
class LabelledConfig(AvailabilityConfig):
    """Base of the `Config` of a process whose probabilities follow the clients' labels.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff.availability import IndependentAvailability, LabelledConfig
        >>> from f3ast_tff.settings import register
        >>> @register("availability", "first_label", about="q_k is the share of class 0")
        ... @dataclass(frozen=True)
        ... class FirstLabelConfig(LabelledConfig):
        ...     def build_labelled(self, labels, seed):
        ...         return IndependentAvailability(labels[:, 0], seed)
        >>> labels = np.array([[1, 0], [0.25, 0.75]])
        >>> process = FirstLabelConfig().build(np.ones(2) / 2, seed=0, labels=labels)
        >>> process.stationary.tolist()
        [1.0, 0.25]
    """

    @property
    def needs_labels(self) -> bool:
        """Always true."""
        return True

    def build(
        self, p: np.ndarray, seed: int, labels: np.ndarray | None = None
    ) -> AvailabilityProcess:
        """Returns the process.

        Args:
            p: Client shares p_k, `float64 [N]`; only N is used.
            seed: Seed of all draws.
            labels: nu, `float64 [N, C]`; see `label_distribution`.

        Raises:
            ParameterError: If there is no label distribution, or a parameter does not fit it.
            ValueError: If `labels` has another number of clients.
        """
        if labels is None:
            name = component_of(self).name
            raise ParameterError("availability", name, "needs data: it follows the clients' labels")
        if labels.ndim != 2 or len(labels) != len(p):
            raise ValueError(f"labels have shape {labels.shape}: must be [{len(p)}, classes]")
        return self.build_labelled(labels, seed)

    def build_labelled(self, labels: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process of a label distribution; a subclass defines it."""
        raise ComponentError(f"{type(self).__name__} does not say what it builds")


@register(
    "availability",
    "smallest_label",
    "Smallest label",
    about="independent, q_k from 0.1 to 1 by the client's smallest label (MIFA)",
    order=17,
)
@dataclass(frozen=True)
class SmallestLabelConfig(LabelledConfig):
    """q_k = p_min + (1 - p_min) min(labels of k) / (C - 1).

    Gu et al., "Fast Federated Learning in the Presence of Arbitrary Device Unavailability",
    NeurIPS 2021, arXiv 2106.04159, Sec. 7, with two classes per client. In its public code, as
    here, p_min is the least participation rate. FLGo exchanges p_min and 1 - p_min, so that q_k is
    at least 0.9.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import SmallestLabelConfig
        >>> labels = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]])
        >>> process = SmallestLabelConfig().build(np.ones(3) / 3, seed=0, labels=labels)
        >>> process.stationary.tolist()
        [0.1, 0.55, 1.0]
    """

    smallest_label_least: float = parameter(
        0.1, "p_min, probability of a client whose smallest label is 0", minimum=0, maximum=1
    )

    def build_labelled(self, labels: np.ndarray, seed: int) -> IndependentAvailability:
        """A client without a label gets p_min."""
        least, smallest = self.smallest_label_least, np.argmax(labels > 0, axis=1)
        q = least + (1 - least) * smallest / max(labels.shape[1] - 1, 1)
        return IndependentAvailability(q, seed)
