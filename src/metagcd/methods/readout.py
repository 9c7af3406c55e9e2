"""Class ids from features and from what is kept of each class: its mean, and of how many images."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from metagcd.cluster import KMeans, drifted, nearest, prototypes
from metagcd.cluster.kmeans import Plan, centred, search
from metagcd.cluster.lloyd import Anchor, Rule
from metagcd.errors import InputError
from metagcd.types import Array

BANDWIDTH = 0.3
"""Distance, between unit rows, over which images tell how far a class mean has moved; of the order used by SDC."""
CARRIED = ("kmeans", "semi", "prototype")
"""The read-outs of a learner that embeds images and carries the statistics of its classes."""


@dataclass(frozen=True)
class Statistics:
    """What is kept of every class met so far, in the place of its images."""

    means: Float[Tensor, "c d"]
    counts: Int[Tensor, " c"]
    """Images that each mean was taken of."""

    def first(self, classes: int) -> "Statistics":
        """Return the statistics of so many classes, those met first."""
        return Statistics(self.means[:classes], self.counts[:classes])

    def moved(self, before: Float[Array, "n d"], after: Float[Array, "n d"]) -> "Statistics":
        """Return the means where training has moved them to, judged by images it moved (SDC: Yu et al., 2020)."""
        start, end = torch.from_numpy(before), torch.from_numpy(after)
        return Statistics(drifted(self.means, start, end, bandwidth=BANDWIDTH), self.counts)

    def joined(self, features: Float[Array, "n d"], novel: int, *, seed: int, restarts: int) -> "Statistics":
        """Return the statistics with those of novel classes added, which are found among the features."""
        if novel == 0:
            return self
        known = len(self.means)
        found = grouped(features, self, known + novel, seed=seed, restarts=restarts)
        means, counts = prototypes(torch.from_numpy(features), torch.as_tensor(found.labels), n_classes=known + novel)
        return Statistics(torch.cat([self.means, means[known:]]), torch.cat([self.counts, counts[known:]]))

    def assigned(
        self, features: Float[Array, "n d"], ids: Int[Array, " n"], rows: Float[Tensor, "c d"]
    ) -> "Statistics":
        """Return the statistics with those of the classes that `rows` has more: the mean of the images given to each.

        A class that no image is given to has its unit row in the place of a mean, and 0 images.
        """
        known = len(self.means)
        means, counts = prototypes(torch.from_numpy(features), torch.as_tensor(ids), n_classes=len(rows))
        means = torch.where(counts[:, None] > 0, means, functional.normalize(rows, dim=1))
        return Statistics(torch.cat([self.means, means[known:]]), torch.cat([self.counts, counts[known:]]))

    def classify(self, features: Float[Array, "n d"]) -> Int[Array, " n"]:
        """Return the class whose mean is nearest."""
        return np.asarray(nearest(torch.from_numpy(features), self.means), dtype=np.int64)

    def novelty(self, features: Float[Array, "n d"], known: int) -> Float[Array, " n"]:
        """Return how novel each image looks beside the first `known` classes; an image alone or among others alike.

        It is the squared distance to the nearest of their means, less that to the nearest of the others, where there
        are any (docs/counting.md).
        """
        squares = torch.cdist(torch.from_numpy(features), self.means).square()
        far = squares[:, :known].amin(dim=1)
        return np.asarray(far - squares[:, known:].amin(dim=1) if known < len(self.means) else far)


NOTHING = Statistics(torch.zeros(0, 0), torch.zeros(0, dtype=torch.int64))


def taken(features: Float[Array, "n d"], labels: Int[Array, " n"]) -> Statistics:
    """Return the statistics of labelled images, their classes in ascending order."""
    classes, places = np.unique(labels, return_inverse=True)
    return Statistics(*prototypes(torch.from_numpy(features), torch.from_numpy(places), n_classes=len(classes)))


def grouped(features: Float[Array, "n d"], known: Statistics, k: int, *, seed: int, restarts: int) -> KMeans:
    """Cluster the features into `k` groups, of which the first hold the known classes (Vaze et al., 2022).

    Semi-supervised k-means needs of its labelled images nothing but their sum and their number in each class, and these
    are mean times count and count: the images themselves need not be kept.
    """
    novel = k - len(known.means)
    if not 0 <= novel <= len(features):
        raise InputError(
            f"Cannot find {k} classes among {len(features)} images when {len(known.means)} classes are known."
        )
    points, centre = centred(torch.from_numpy(features), spherical=False)
    means, counts = known.means - centre, known.counts.to(points.dtype)
    nothing = points.new_zeros(novel, points.shape[1])
    anchor = Anchor(torch.cat([means * counts[:, None], nothing]), torch.cat([counts, counts.new_zeros(novel)]))
    plan = Plan(k, restarts, seed, Rule())
    return search(points, plan, fixed=means, anchor=anchor)
