"""The encoder as it comes: what any training has to beat."""

from dataclasses import dataclass

from metagcd.methods import METHODS
from metagcd.methods.carrying import Carrying
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Features of the encoder as it comes; nothing is trained."""

    restarts: int = 10
    """Initialisations of the k-means that finds novel classes in a session."""


@METHODS.register("frozen", FrozenConfig)
class Frozen(Carrying):
    """Features as they come, and the mean of each class; nothing is trained."""

    def __init__(self, config: FrozenConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting, config.restarts)

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Take note of the classes and their means."""
        self.clusters.start(labelled)
        self.clusters.finish(labelled)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Find the novel classes among the images."""
        self.clusters.open_session()
        self.clusters.close_session(unlabelled.images, n_novel)
