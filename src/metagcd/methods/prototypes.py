"""Nearest class mean over a frozen encoder; what is far from every mean is where new classes are looked for."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.cluster import kmeans, nearest
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.methods.carrying import Carrying
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting
from metagcd.methods.readout import Statistics
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class PrototypesConfig:
    """One mean per class; new ones by k-means among the images that are far from all means."""

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
class Prototypes(Carrying):
    """Nearest class mean on frozen features; new classes by k-means on what is far from all known ones."""

    def __init__(self, config: PrototypesConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting, config.restarts)
        self._radius = torch.tensor(0.0)

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Take the mean of every class, and how far from it images lie."""
        self.clusters.start(labelled)
        self.clusters.finish(labelled)
        features = torch.from_numpy(self.embed(labelled.images))
        _, places = torch.as_tensor(labelled.labels).unique(return_inverse=True)
        self._radius = (features - self.statistics.means[places]).norm(dim=1).quantile(self.config.far)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add the means of the clusters of far images."""
        clusters = self.clusters
        clusters.open_session()
        features = torch.from_numpy(self.embed(unlabelled.images))
        novel = clusters.counted(features.numpy()) - self.n_classes if n_novel is None else n_novel
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
        """Return what is kept of the classes, and the radius."""
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
