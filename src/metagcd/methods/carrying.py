"""What learners share that carry features and class means: such a learner says how it trains, and nothing else."""

from collections.abc import Mapping
from typing import Protocol

from jaxtyping import Float, Int
from torch import Tensor, nn

from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import load_network, network_state
from metagcd.methods.learner import Learner, memory_of
from metagcd.methods.readout import CARRIED, Statistics
from metagcd.types import Array, Images


class Carrying(Learner, Protocol):
    """A learner that embeds images, carries the statistics of its classes, and may train a network.

    What derives from it sets `clusters` and writes `fit_offline` and `discover`; what it trains it names in `trained`.
    A classifier of its own goes into `predict`, and further tensors into the two methods of its state.
    """

    readouts: tuple[str, ...] = CARRIED
    clusters: Clusters

    @property
    def trained(self) -> nn.Module | None:
        """Return what is trained and carried on; None where nothing is."""
        return None

    @property
    def n_classes(self) -> int:
        """Return how many classes were met."""
        return self.clusters.n_classes

    @property
    def statistics(self) -> Statistics:
        """Return what is kept of every class."""
        return self.clusters.statistics

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of all that is carried on."""
        return memory_of(self.state_dict())

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features of the encoder, without any head."""
        return self.clusters.embed(images)

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the nearest mean for every image."""
        return self.clusters.predict(images)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is trained, and what is kept of the classes."""
        own = {} if self.trained is None else network_state(self.trained)
        return {**own, **self.clusters.state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        self.clusters.load_state_dict(state)
        self.sized(self.clusters.n_classes)
        if self.trained is not None:
            load_network(self.trained, state)

    def sized(self, classes: int) -> None:
        """Give what is trained the size that it has with so many classes; most have one size."""
