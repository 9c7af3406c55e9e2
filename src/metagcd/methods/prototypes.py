"""Nearest class mean, the encoder frozen after session 0; new classes are sought among what is far from every mean."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.cluster import kmeans, nearest
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import ContrastiveConfig, make_network
from metagcd.methods.frozen_after import FrozenAfter
from metagcd.methods.learner import Setting
from metagcd.methods.readout import Statistics
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class PrototypesConfig(ContrastiveConfig):
    """Eq. 3 over session 0, then a frozen encoder: means, new ones among the images that are far from all means."""

    far: float = 0.9
    """An image is far when it is farther from the nearest mean than this share of labelled images from their own; our
    choice."""
    restarts: int = 10
    """Initialisations of k-means; our choice."""

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        if not 0 <= self.far <= 1:
            raise InputError(f"`far` must be in [0, 1]; got {self.far}.")


@METHODS.register("prototypes", PrototypesConfig)
class Prototypes(FrozenAfter):
    """Nearest class mean, the encoder frozen after session 0; new classes by k-means on what is far from all known."""

    def __init__(self, config: PrototypesConfig, setting: Setting) -> None:
        self.config = self.session_0 = config
        self.clusters = Clusters(setting, config.restarts)
        self.network = make_network(config.head, setting)
        self._radius = torch.tensor(0.0)

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Take note of how far from their means images lie."""
        features = torch.from_numpy(self.embed(labelled.images))
        _, places = torch.as_tensor(labelled.labels).unique(return_inverse=True)
        self._radius = (features - self.statistics.means[places]).norm(dim=1).quantile(self.config.far)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add the means of the clusters of far images."""
        clusters = self.clusters
        clusters.open_session()
        features = torch.from_numpy(self.embed(unlabelled.images))
        novel = clusters.novel_among(features.numpy(), n_novel)
        if novel:
            far = features[far_rows(features, self.statistics.means, radius=float(self._radius), least=novel)]
            seed = clusters.setting.seeds.integer("novel", clusters.session)
            found = kmeans(far, novel, seed=seed, restarts=self.config.restarts)
            counts = torch.as_tensor(found.labels).bincount(minlength=novel)
            old = self.statistics
            means = torch.cat([old.means, torch.as_tensor(found.centroids)])
            clusters.statistics = Statistics(means, torch.cat([old.counts, counts]))
        clusters.n_classes += novel

    def state_dict(self) -> dict[str, Tensor]:
        """Return the network, what is kept of the classes, and the radius."""
        return {**super().state_dict(), "radius": self._radius.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        super().load_state_dict(state)
        self._radius = state["radius"].cpu().clone()


def far_rows(features: Float[Tensor, "n d"], means: Float[Tensor, "c d"], *, radius: float, least: int) -> list[int]:
    """Return the rows that are farther than `radius` from every mean, but never fewer than `least`: the farthest."""
    if least > len(features):
        raise InputError(f"Cannot find {least} new classes in {len(features)} images.")
    distance = (features - means[nearest(features, means)]).norm(dim=1)
    order = distance.argsort(descending=True, stable=True)
    return sorted(order[: max(int((distance > radius).sum()), least)].tolist())
