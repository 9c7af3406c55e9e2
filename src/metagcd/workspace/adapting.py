"""Let the encoder adapt to a session, and the classes follow it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from metagcd.cluster import drifted
from metagcd.methods.learner import Learner
from metagcd.methods.readout import BANDWIDTH
from metagcd.types import Array, Images, UnlabelledSet
from metagcd.workspace.types import ClassTable, Sorted

FEWEST = 16
"""Fewest images that the encoder adapts to; fewer are decided of with the encoder as it is. Our choice."""
Sort = Callable[[Float[Array, "n d"], ClassTable], Sorted]


@dataclass(frozen=True, kw_only=True, eq=False)
class Adapted:
    """A session after the encoder has adapted to it."""

    features: Float[Array, "n d"]
    """Of its images, under the encoder as it is now."""
    found: Sorted
    trained: bool
    """Whether the encoder has changed."""


def adapt(learner: Learner, images: Images, table: ClassTable, sort: Sort) -> Adapted:
    """Sort, let the learner adapt, and sort again on what it makes of the images then.

    The learner is told how many new classes the first look found; the second look counts anew, on better features.
    The means of the classes move as the learner's own do. How the learner numbers classes is of no further concern:
    the catalogue alone says which class is which.
    """
    before = learner.embed(images)
    found = sort(before, table)
    if len(images) < FEWEST:
        return Adapted(features=before, found=found, trained=False)
    learner.discover(UnlabelledSet(images=images), len(found.groups))
    after = learner.embed(images)
    if np.array_equal(before, after):
        return Adapted(features=before, found=found, trained=False)
    return Adapted(features=after, found=sort(after, moved(table, before, after)), trained=True)


def moved(table: ClassTable, before: Float[Array, "n d"], after: Float[Array, "n d"]) -> ClassTable:
    """Return the table with its means where training has moved them to, judged by the images it moved."""
    means, start, end = (torch.from_numpy(np.asarray(one, dtype=np.float32)) for one in (table.means, before, after))
    return replace(table, means=drifted(means, start, end, bandwidth=BANDWIDTH).numpy())


def in_order(found: Sorted, order: Int[Array, " n"]) -> Sorted:
    """Return the outcome for images of which `order` was sorted, in the order in which they came."""
    groups = tuple(
        replace(group, rows=np.sort(order[group.rows]), representatives=order[group.representatives])
        for group in found.groups
    )
    return replace(found, scores=found.scores.rows(np.argsort(order)), groups=groups)
