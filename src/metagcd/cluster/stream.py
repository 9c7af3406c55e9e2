"""Mini-batch k-means (Sculley, 2010) over rows that need not fit in memory."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.cluster.bounds import inertia
from metagcd.cluster.kmeans import PER_CLUSTER, SAMPLE, Plan, search
from metagcd.cluster.lloyd import Rule, assign, cluster_sums
from metagcd.cluster.points import KMeans, as_points, check_counts
from metagcd.types import Array

ROWS = 16384
"""Rows that are in memory at a time."""


def streamed_kmeans(x: Array, k: int, *, seed: int, restarts: int = 10, passes: int = 2) -> KMeans:
    """Cluster the rows of an array that is read block by block, such as a memory-mapped file.

    Centroids come from k-means on a random sample. Each pass then reads the rows in order, in blocks that the seed
    shuffles, and every centroid follows the running mean of the points it was given, counted anew in each pass. One
    more pass gives the labels and the inertia. Beside the labels, memory holds the sample, one block and the centroids.
    """
    check_counts(len(x), k, restarts)
    generator = torch.Generator().manual_seed(seed)
    size = min(len(x), max(SAMPLE, PER_CLUSTER * k))
    chosen = np.sort(torch.randperm(len(x), generator=generator)[:size].numpy())
    sample = read(x, chosen)
    centre = sample.mean(0)
    found = search(sample - centre, Plan(k, restarts, seed, Rule()))
    centroids = as_points(found.centroids)
    starts = torch.arange(0, len(x), ROWS)
    for _ in range(passes):
        order = starts[torch.randperm(len(starts), generator=generator)].tolist()
        centroids = one_pass(x, order, centroids, centre)
    labels = np.empty(len(x), dtype=np.int64)
    total = 0.0
    for start in starts.tolist():
        block = read(x, slice(start, start + ROWS)) - centre
        own = assign(block, centroids[None])[0][0]
        labels[start : start + ROWS] = own.numpy()
        total += inertia(block, centroids, own)
    return replace(found, labels=labels, centroids=(centroids + centre).numpy(), inertia=total, rounds=passes)


def one_pass(
    x: Array, starts: list[int], centroids: Float[Tensor, "k d"], centre: Float[Tensor, " d"]
) -> Float[Tensor, "k d"]:
    """Let every centroid become the running mean of the points it is nearest to, block after block."""
    seen = centroids.new_zeros(len(centroids))
    for start in starts:
        block = read(x, slice(start, start + ROWS)) - centre
        sums, counts = cluster_sums(block, assign(block, centroids[None])[0], len(centroids))
        seen = seen + counts[0]
        # c + (sum - count * c) / seen is the running mean; a centroid without points stays.
        centroids = centroids + (sums[0] - counts[0][:, None] * centroids) / seen.clamp(min=1)[:, None]
    return centroids


def read(x: Array, rows: slice | Array) -> Float[Tensor, "b d"]:
    """Return some rows in memory, checked."""
    return as_points(np.array(x[rows]))
