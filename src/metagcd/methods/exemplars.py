"""Images that are kept of every class, as what the frozen trunk makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.data.rows import select
from metagcd.engine.feed import Feed
from metagcd.types import Array

KEPT_IN = torch.float16


@dataclass(frozen=True)
class Exemplars:
    """Trunk outputs of a few images of every class, in 16 bits, and the class of each."""

    tokens: Float[Tensor, "e ..."]
    classes: Int[Tensor, " e"]

    def joined(self, feed: Feed, rows: Int[Array, " e"], classes: Int[Array, " e"]) -> "Exemplars":
        """Return the exemplars with the images in these rows of the feed added."""
        if len(rows) == 0:
            return self
        found = replace(feed, images=select(feed.images, rows)).evaluation()
        tokens = torch.cat([tokens.to("cpu", KEPT_IN) for tokens in found])
        before = [self.tokens] if len(self.classes) else []
        return Exemplars(torch.cat([*before, tokens]), torch.cat([self.classes, torch.from_numpy(classes)]))

    def drawn(self, count: int, generator: torch.Generator) -> "Exemplars":
        """Return so many exemplars, drawn with replacement."""
        chosen = torch.randint(len(self.classes), (count,), generator=generator)
        return Exemplars(self.tokens[chosen], self.classes[chosen])

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is kept."""
        return {"exemplars": self.tokens.clone(), "exemplar_classes": self.classes.clone()}

    @classmethod
    def of(cls, state: Mapping[str, Tensor]) -> "Exemplars":
        """Return the exemplars that a state holds."""
        return cls(state["exemplars"].cpu().clone(), state["exemplar_classes"].cpu().clone())


NONE = Exemplars(torch.zeros(0, dtype=KEPT_IN), torch.zeros(0, dtype=torch.int64))


def nearest_to_means(
    features: Float[Array, "n d"], classes: Int[Array, " n"], wanted: range, *, count: int
) -> tuple[Int[Array, " e"], Int[Array, " e"]]:
    """Return the rows of the images of each wanted class that are nearest to its mean, and the class of each."""
    rows = [np.zeros(0, dtype=np.int64)]
    for one in wanted:
        own = np.flatnonzero(classes == one)
        distance = np.linalg.norm(features[own] - features[own].mean(axis=0), axis=1) if len(own) else own
        rows.append(own[np.argsort(distance, kind="stable")[:count]])
    chosen = np.concatenate(rows)
    return chosen, classes[chosen].astype(np.int64)
