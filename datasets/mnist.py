"""MNIST with Dirichlet label allocation, as in CA-Fed's experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.preprocessing import Preprocessing, ScaledPixels
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register

from . import mnist_files
from .cache import prepared
from .dirichlet import check_clients, dirichlet_shares, federate, grouped_shares
from .mnist_files import NUM_CLASSES, read_mnist
from .source import SourceFile
from .task import ADAPTIVE_SERVER_STEPS, DirichletTaskConfig


@register(
    "task", "mnist", "MNIST", about="images of digits, by Dirichlet label allocation", order=6
)
@dataclass(frozen=True)
class MNIST(DirichletTaskConfig):
    """MNIST with each class shared out over clients by Dirichlet(s).

    Images are shared out as in `CIFAR10`, whose docstring covers the test images too (CA-Fed,
    Sec. V-A and App. G1; N = 100, s = 0.5). For MNIST the paper adds: "we use the original
    training/test data split of MNIST and reserve 20% of the training dataset as the validation
    dataset". Here the reserved images are drawn at random and go to no client; the rest is shared
    out.

    Attributes:
        validation_share: Share of the training images that is set aside.
    """

    validation_share: ClassVar[float] = 0.2

    # CA-Fed, as `leaf_synthetic`'s.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 100,
        "rounds": 100,
        "batch_size": 32,
        "client_lr": 0.03,
        "ridge": 0.01,
    }

    dirichlet_groups: int | None = parameter(
        None,
        "share each class out over this many blocks of client ids, whose members are alike",
        minimum=1,
    )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        return mnist_files.MNIST.sources

    def build(self) -> FederatedData:
        """Reads or draws the data.

        Returns:
            Features `uint8 [n, 28, 28, 1]`, labels `int32 [n]` in 0..9.
        """
        files, num_clients, seed = mnist_files.MNIST, self.num_clients, self.data_seed
        num_groups = self.dirichlet_groups
        kept = round((1 - self.validation_share) * files.train.num_images)
        check_clients(num_clients, kept)
        if num_groups is not None and num_groups > num_clients:
            allowed = f"must be at most num_clients, {num_clients}"
            raise ParameterError("dirichlet_groups", num_groups, allowed)

        def prepare() -> FederatedData:
            train, test = read_mnist(self.folder, files)
            chosen = generator(seed, "validation images").permutation(len(train.pixels))[:kept]
            if num_groups is None:
                shares = dirichlet_shares(self.dirichlet_s, NUM_CLASSES, num_clients, seed)
            else:
                shares = grouped_shares(
                    self.dirichlet_s, NUM_CLASSES, num_clients, num_groups, seed
                )
            return federate(train.subset(chosen), test, shares, seed)

        key: dict[str, int | float | str] = {
            "num_clients": num_clients,
            "s": float(self.dirichlet_s),
            "seed": seed,
            "kept": kept,
            "train": files.train.digest,
            "test": files.test.digest,
        }
        if num_groups is not None:
            key["groups"] = num_groups
        return prepared(self.folder, "mnist", key, prepare)

    def preprocessing(self, seed: int) -> Preprocessing:
        return ScaledPixels()
