"""The encoder as it comes: what any training has to beat."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from metagcd.methods import METHODS
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting, memory_of
from metagcd.types import Array, Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Features of the encoder as it comes; nothing is trained."""

    restarts: int = 10
    """Initialisations of k-means in `predict`."""


@METHODS.register("frozen", FrozenConfig)
class Frozen:
    """Features as they come, clustered by k-means; nothing is trained."""

    readouts = ("kmeans",)

    def __init__(self, config: FrozenConfig, setting: Setting) -> None:
        self.config = config
        self._clusters = Clusters(setting, config.restarts)

    @property
    def n_classes(self) -> int:
        """Return how many classes were met."""
        return self._clusters.n_classes

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of the two numbers it carries."""
        return memory_of(self.state_dict())

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Take note of the classes."""
        self._clusters.start(labelled)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Take note of the novel classes."""
        self._clusters.open_session()
        self._clusters.close_session(unlabelled.images, n_novel)

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features."""
        return self._clusters.embed(images)

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the cluster of every image."""
        return self._clusters.predict(images)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is carried from session to session."""
        return self._clusters.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        self._clusters.load_state_dict(state)
