"""What is said of a group: how wide, how firm, what it is like, and which images show it best."""

import numpy as np
import torch
from jaxtyping import Float, Int

from metagcd.cluster.points import as_points
from metagcd.types import Array
from metagcd.workspace.types import ClassTable, Group

SHOWN = 9
"""Images that represent a group, at most: a gallery of three by three."""
CENTRAL = 0.5
"""Part of a group, nearest to its mean, that representatives are taken from: the others may not belong to it."""


def described(features: Float[Array, "n d"], rows: Int[Array, " m"], row: int, table: ClassTable, known: int) -> Group:
    """Return the group whose images are these `rows`, and which is the class `row` of the table."""
    mean, own = table.means[row], features[rows]
    nearest, similarity = nearest_class(mean, table.means[:known])
    return Group(
        rows=rows,
        mean=mean,
        spread=float(table.spreads[row]),
        cohesion=cohesion(own, row, table),
        nearest=nearest,
        nearest_similarity=similarity,
        representatives=rows[representatives(own, mean)],
    )


def nearest_class(mean: Float[Array, " d"], means: Float[Array, "c d"]) -> tuple[int, float]:
    """Return the class whose mean has the largest cosine with a mean, and this cosine; -1 and 0 without classes."""
    lengths = np.linalg.norm(means, axis=1) * np.linalg.norm(mean)
    if len(means) == 0:
        return -1, 0.0
    cosines = means @ mean / np.maximum(lengths, np.finfo(means.dtype).tiny)
    best = int(cosines.argmax())
    return best, float(np.clip(cosines[best], -1, 1))


def cohesion(own: Float[Array, "m d"], row: int, table: ClassTable) -> float:
    """Return the mean silhouette of a group's images, by distances to means (Hruschka et al., 2004), at least 0.

    Each image is left out of the mean of its own group.
    """
    near, count = as_points(own), int(table.counts[row])
    distance = torch.cdist(near, as_points(table.means.astype(own.dtype)))
    inside = distance[:, row] * (count / max(count - 1, 1))
    distance[:, row] = torch.inf
    outside = distance.amin(1) if len(table) > 1 else inside
    larger = torch.maximum(inside, outside)
    level = torch.where(larger > 0, (outside - inside) / larger.clamp(min=torch.finfo(larger.dtype).tiny), 0)
    return float(level.mean().clamp(0, 1)) if len(own) else 0.0


def representatives(own: Float[Array, "m d"], mean: Float[Array, " d"]) -> Int[Array, " r"]:
    """Return typical images: first the medoid, then each time the central image farthest from those chosen."""
    if len(own) == 0:
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(((own - mean) ** 2).sum(1), kind="stable")
    central = order[: max(SHOWN, int(np.ceil(CENTRAL * len(own))))]
    chosen = [0]
    points = own[central].astype(np.float64)
    least = ((points - points[0]) ** 2).sum(1)
    while len(chosen) < min(SHOWN, len(central)):
        farthest = int(least.argmax())
        if least[farthest] <= 0:  # the others are copies of what is shown: by their order
            chosen += [place for place in range(len(central)) if place not in set(chosen)][: SHOWN - len(chosen)]
            break
        chosen.append(farthest)
        least = np.minimum(least, ((points - points[farthest]) ** 2).sum(1))
    return central[chosen]
