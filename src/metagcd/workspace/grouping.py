"""Find groups among images that no known class explains: too many at first, then merged until each stands apart."""

from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from metagcd.cluster import nearest
from metagcd.cluster.kmeans import Plan, search
from metagcd.cluster.lloyd import Anchor, Rule, cluster_sums
from metagcd.cluster.points import as_points
from metagcd.types import Array
from metagcd.workspace.judge import Judge
from metagcd.workspace.nearness import Own, nearness, usual_variances
from metagcd.workspace.separation import Clouds, separation
from metagcd.workspace.table import spreads, squared_residuals
from metagcd.workspace.types import ClassTable

FEWEST = 4
"""Fewest images of a new class; our choice: three may lie near one another by chance."""
MOST = 512
"""Most groups that a search starts with."""
RESTARTS = 3
"""Initialisations of the first k-means; merging mends what one gets wrong."""
ROUNDS = 3
"""Rounds of k-means between two rounds of merging."""
HEAVY = 1e3
"""Weight of a known mean beside all images of a session: known means do not move."""
UNLIKELY = 0.05
"""Novelty below which an image starts no group."""
TINY = 1e-12
FAR = 1e12
"""Stretch of a distance that takes a class out of the question."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Images in which groups are sought, and what is known beside them."""

    features: Float[Array, "n d"]
    novelty: Float[Array, " n"]
    table: ClassTable
    judge: Judge

    def rows(self, chosen: Int[Array, " r"] | Bool[Array, " n"]) -> "Pool":
        """Return some of the images, beside the same classes."""
        return replace(self, features=self.features[chosen], novelty=self.novelty[chosen])


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """The images of a pool in known classes and, after these, in groups."""

    labels: Int[Array, " n"]
    table: ClassTable
    """The known classes, and the groups as further rows."""


def grouping(pool: Pool, first: Float[Array, "g d"], *, n_novel: int | None = None) -> Grouping:
    """Return the groups that stand apart from one another and from every known class, merged from the first ones.

    Where their number is given, as many are returned as long as there are images for them.
    """
    stages, known = [settled(pool, first)], len(pool.table)
    while len(stages[-1].table) > known:
        partner, firmness = partners(pool, stages[-1])
        part = np.where(firmness < 1, partner, -1)
        if (part < 0).all():
            break
        stages.append(settled(pool, joined_means(stages[-1], part, known=known)))
    if n_novel is None:
        return stages[-1]
    enough = [stage for stage in stages if len(stage.table) - known >= n_novel]
    found = enough[-1] if enough else stages[0]
    while len(found.table) - known > n_novel:
        partner, firmness = partners(pool, found)
        weakest = np.arange(len(partner)) == int(firmness.argmin())
        found = settled(pool, joined_means(found, np.where(weakest, partner, -1), known=known))
    return found


def first_means(pool: Pool, *, n_novel: int | None, seed: int) -> Float[Array, "g d"]:
    """Return the means of more groups than there will be classes; known classes hold their places beside them."""
    candidates = as_points(pool.features[pool.novelty >= UNLIKELY])
    count, known = min(number_to_start(pool, n_novel), len(candidates)), len(pool.table)
    if count == 0:
        return pool.features[:0]
    means = as_points(pool.table.means)
    weight = means.new_full((known,), HEAVY * len(candidates))
    sums = torch.cat([means * weight[:, None], means.new_zeros(count, means.shape[1])])
    anchor = Anchor(sums, torch.cat([weight, weight.new_zeros(count)])) if known else None
    plan = Plan(known + count, RESTARTS, seed, Rule(rounds=50))
    found = search(candidates, plan, fixed=means if known else None, anchor=anchor)
    return np.asarray(found.centroids)[known:]


def number_to_start(pool: Pool, n_novel: int | None) -> int:
    """Return how many groups to start with: thrice as many as the images not explained would make classes."""
    unexplained = float(pool.novelty.sum())
    explained = pool.features[pool.novelty < UNLIKELY]
    size = 5.0 * FEWEST
    if len(explained) and len(pool.table):
        counts = np.bincount(nearest(as_points(explained), as_points(pool.table.means)).numpy())
        size = max(float(np.median(counts[counts > 0])), FEWEST)
    guess = min(ceil(3 * unexplained / size + sqrt(unexplained)), int(unexplained / 2), MOST)
    return max(guess, 3 * (n_novel or 0))


def settled(pool: Pool, groups: Float[Array, "g d"]) -> Grouping:
    """Let groups move to their images while known means stay; groups of fewer than two images go."""
    points, fixed, means = as_points(pool.features), as_points(pool.table.means), as_points(groups)
    for _ in range(ROUNDS):
        labels = nearest(points, torch.cat([fixed, means]))
        sums, counts = cluster_sums(points, labels[None], len(fixed) + len(means))
        kept = counts[0, len(fixed) :] >= 2
        means = sums[0, len(fixed) :][kept] / counts[0, len(fixed) :][kept][:, None]
    labels = nearest(points, torch.cat([fixed, means]))
    return Grouping(labels=labels.numpy(), table=extended(pool, means.numpy(), labels.numpy()))


def extended(pool: Pool, means: Float[Array, "g d"], labels: Int[Array, " n"]) -> ClassTable:
    """Return the table with groups as further classes."""
    known = len(pool.table)
    own = labels >= known
    place = torch.from_numpy(labels[own] - known)
    squares = squared_residuals(as_points(pool.features[own]), as_points(means), place)
    sums = torch.zeros(len(means), dtype=torch.float64).index_add_(0, place, squares.double()).numpy()
    counts = np.bincount(labels[own] - known, minlength=len(means))
    groups = ClassTable(
        ids=tuple(f"group {place}" for place in range(len(means))),
        means=means.astype(pool.table.means.dtype),
        spreads=spreads(sums, counts),
        counts=counts,
        known=np.zeros(len(means), dtype=np.bool_),
    )
    return pool.table.joined(groups)


def partners(pool: Pool, found: Grouping) -> tuple[Int[Array, " g"], Float[Array, " g"]]:
    """Return the class or group that every group is rather a part of, and how firmly it stands apart: 1 is enough."""
    known, judge = len(pool.table), pool.judge
    least = separation(clouds_of(pool, found), flatness=judge.flatness)[known:].min(1)
    firm = judge.apart * (1 + judge.caution / np.sqrt(np.maximum(found.table.counts[known:], 1)))
    apart = least.values.numpy() / np.maximum(firm, TINY)
    alike, place = beside_others(pool, found)
    unlike = alike / judge.alike
    return np.where(apart < np.minimum(unlike, 1), least.indices.numpy(), place), np.minimum(apart, unlike)


def beside_others(pool: Pool, found: Grouping) -> tuple[Float[Array, " g"], Int[Array, " g"]]:
    """Return the mean novelty of every group's images beside all other classes, and the one most are nearest to."""
    known, k = len(pool.table), len(found.table)
    inside = found.labels >= known
    place = found.labels[inside] - known
    without = Own(place=found.labels[inside], stretch=np.full(len(place), FAR))
    near = nearness(pool.features[inside], found.table, temperature=pool.judge.temperature, own=without)
    counts = np.maximum(np.bincount(place, minlength=k - known), 1)
    novelty = np.bincount(place, pool.judge.novelty(near, prior=0.5), k - known) / counts
    votes = np.bincount(place * k + near.place, minlength=(k - known) * k).reshape(-1, k)
    return novelty, votes.argmax(1)


def clouds_of(pool: Pool, found: Grouping) -> Clouds:
    """Return known classes and groups as clouds: the former lie where they are known to lie."""
    own = np.where(np.arange(len(found.table)) < len(pool.table), 0, found.table.counts)
    points = as_points(pool.features)
    usual = torch.from_numpy(usual_variances(found.table)).to(points.dtype).sqrt()
    labels, means = torch.from_numpy(found.labels), as_points(found.table.means)
    return Clouds(points, labels, means, torch.from_numpy(own).to(points.dtype), usual)


def joined_means(found: Grouping, partner: Int[Array, " g"], *, known: int) -> Float[Array, "h d"]:
    """Join groups to their partners, the smallest first, each at most once; what is part of a known class goes."""
    counts = found.table.counts[known:].astype(np.float64)
    sums = found.table.means[known:] * counts[:, None]
    gone, fixed = set[int](), set[int]()
    for place in np.argsort(counts, kind="stable").tolist():
        other = int(partner[place]) - known
        if partner[place] < 0 or place in fixed or other in gone:
            continue
        gone.add(place)
        if other >= 0:
            sums[other] += sums[place]
            counts[other] += counts[place]
            fixed.add(other)
    kept = [place for place in range(len(counts)) if place not in gone]
    return (sums[kept] / np.maximum(counts[kept], 1)[:, None]).astype(found.table.means.dtype)
