"""k-means with many restarts: explore on a sample, finish the best on all points.

Every restart is seeded by greedy k-means++ and run to convergence on one random sample, all restarts in the same matrix
products; the best few then run on all points, comparing only those whose bounds leave a doubt.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.cluster.lloyd import Anchor, Rule, run_all
from metagcd.cluster.points import KMeans, as_points, check_counts, unit_rows
from metagcd.cluster.seeding import plus_plus
from metagcd.cluster.swaps import improve
from metagcd.types import Array

SAMPLE = 2048
"""Fewest points in the sample, so that small problems are solved on all their points."""
PER_CLUSTER = 20
"""Points in the sample for each cluster; twenty place a centroid well enough to rank the restarts."""
SEEDS = 8192
"""Points of the sample that may become a first centroid: as many as a table of distances holds."""
SPARE = 4
"""Such points for each cluster at least."""
SCOUTING = 3
"""Rounds on the sample that every restart gets before the hopeless are dropped."""
SURVIVORS = 3
"""Restarts that go on; moving centroids brings more than converging every restart, for less."""
TRIALS = 12
"""Most times that moves of centroids are tried on the sample."""
LAST_TRIALS = 4
"""The same on all points, if the sample is not all of them."""


@dataclass(frozen=True)
class Plan:
    """How the points are clustered: clusters, restarts, rule and seed."""

    k: int
    restarts: int
    seed: int
    rule: Rule


def kmeans(
    x: Array | Tensor,
    k: int,
    *,
    seed: int,
    restarts: int = 10,
    spherical: bool = False,
    rule: Rule | None = None,
) -> KMeans:
    """Cluster the rows of `x` into `k` groups; the best of `restarts` runs by inertia.

    Work happens on the device of `x`, in its precision (single unless it is double). The same seed gives the same
    clusters. With `spherical` the rows are brought to length one and the centroids are kept there.
    """
    points = as_points(x)
    check_counts(len(points), k, restarts)
    plan = Plan(k, restarts, seed, replace(rule or Rule(), spherical=spherical))
    points, centre = centred(points, spherical=spherical)
    found = search(points, plan)
    return delivered(x, replace(found, centroids=found.centroids + centre))


def centred(points: Float[Tensor, "n d"], *, spherical: bool) -> tuple[Float[Tensor, "n d"], Float[Tensor, " d"]]:
    """Return the points about their mean, where products lose least; for `spherical` the unit rows about zero."""
    if spherical:
        return unit_rows(points), points.new_zeros(points.shape[1])
    centre = points.mean(0)
    return points - centre, centre


def search(
    points: Float[Tensor, "n d"],
    plan: Plan,
    *,
    fixed: Float[Tensor, "f d"] | None = None,
    anchor: Anchor | None = None,
) -> KMeans:
    """Explore on a sample, finish the best on all points."""
    generator = torch.Generator().manual_seed(plan.seed)
    size = min(len(points), max(SAMPLE, PER_CLUSTER * plan.k))
    sample = points
    if size < len(points):
        sample = points[torch.randperm(len(points), generator=generator)[:size].to(points.device)]
    seeds = sample[: max(SEEDS, SPARE * plan.k)]
    start = plus_plus(seeds, plan.k, restarts=plan.restarts, generator=generator, fixed=fixed)
    share = anchor and anchor.scaled(size / len(points))
    # Where the sample is everything, converging every restart costs little, and none is dropped on a first impression.
    brief = plan.rule if sample is points else replace(plan.rule, rounds=min(SCOUTING, plan.rule.rounds))
    scouted, cost, _ = run_all(sample, start, brief, share)
    survivors = scouted[cost.argsort(stable=True)[:SURVIVORS]]
    improved = [improve(sample, survivor, plan.rule, share, trials=TRIALS) for survivor in survivors]
    best = min(improved, key=lambda found: found.inertia)
    if sample is points:
        return best
    return improve(points, as_points(best.centroids), plan.rule, anchor, trials=LAST_TRIALS)


def delivered(x: Array | Tensor, found: KMeans) -> KMeans:
    """Return arrays where arrays were given."""
    if isinstance(x, Tensor):
        return found
    return replace(found, labels=as_array(found.labels), centroids=as_array(found.centroids))


def as_array(values: Array | Tensor) -> Array:
    """Return the values as an array."""
    return values.numpy() if isinstance(values, Tensor) else values
