"""The encoder as it comes: what any training has to beat."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from metagcd.methods import METHODS
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting, memory_of
from metagcd.methods.readout import CARRIED, Statistics
from metagcd.types import Array, Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Features of the encoder as it comes; nothing is trained."""

    restarts: int = 10
    """Initialisations of the k-means that finds novel classes in a session."""


@METHODS.register("frozen", FrozenConfig)
class Frozen:
    """Features as they come, and the mean of each class; nothing is trained."""

    readouts = CARRIED

    def __init__(self, config: FrozenConfig, setting: Setting) -> None:
        self.config = config
        self._clusters = Clusters(setting, config.restarts)

    @property
    def n_classes(self) -> int:
        """Return how many classes were met."""
        return self._clusters.n_classes

    @property
    def statistics(self) -> Statistics:
        """Return what is kept of every class."""
        return self._clusters.statistics

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of the class means."""
        return memory_of(self.state_dict())

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Take note of the classes and their means."""
        self._clusters.start(labelled)
        self._clusters.finish(labelled)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Find the novel classes among the images."""
        self._clusters.open_session()
        self._clusters.close_session(unlabelled.images, n_novel)

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features."""
        return self._clusters.embed(images)

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the nearest mean for every image."""
        return self._clusters.predict(images)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is carried from session to session."""
        return self._clusters.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        self._clusters.load_state_dict(state)
