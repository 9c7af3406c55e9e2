"""What a pseudo sequence of sessions, drawn from session 0, asks for (Alg. 1, line 3)."""

from dataclasses import dataclass

import numpy as np

from metagcd.errors import InputError
from metagcd.protocol.spec import ProtocolSpec

# The paper splits 7 known classes 4/3, 80 as 60/20, 150 as 100/50: at most three sevenths become pseudo-novel.
LARGEST_NOVEL_SHARE = (3, 7)


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """The counts and shares of an episode; the defaults suit the digits and CIFAR10."""

    labelled: int = 4
    """Pseudo-labelled classes. The paper, sequential task sampling: 4 for CIFAR10, 60 for CIFAR100, 100 for
    Tiny-ImageNet."""
    novel: tuple[int, ...] = (1, 1, 1)
    """Pseudo-novel classes of each pseudo session. The paper: as many sessions and classes as online, 3 in all for
    CIFAR10, 20 for CIFAR100, 50 for Tiny-ImageNet."""
    test_fraction: float = 0.2
    """Share of every class's images that is pseudo-test. The paper does not say; our choice."""
    warmup_fraction: float = 0.8
    """Share of a pseudo-labelled class's other images that is labelled; the sessions share the rest evenly. The paper
    says only that this first part is much larger; 80 % is the share of session 0 in the protocol itself."""
    novel_fraction: float = 0.6
    """Share of a pseudo-novel class's other images that comes when it is new; later sessions hold as many of it as of
    a pseudo-labelled one. The paper does not say; online it is 60 % (3000 of 5000, 300 of 500) on all three sets."""

    def __post_init__(self) -> None:
        """Refuse what no labels could satisfy."""
        if self.labelled < 1:
            raise InputError(f"`labelled` must be at least 1; got {self.labelled}.")
        if not self.novel or min(self.novel) < 0:
            raise InputError(f"`novel` must be one count, 0 or more, per pseudo session; got {self.novel}.")
        for field in ("test_fraction", "warmup_fraction", "novel_fraction"):
            if not 0 < getattr(self, field) < 1:
                raise InputError(f"`{field}` must be in (0, 1); got {getattr(self, field)}.")

    @property
    def classes(self) -> int:
        """How many classes an episode uses."""
        return self.labelled + sum(self.novel)


def default_episode(protocol: ProtocolSpec) -> EpisodeSpec:
    """Return the paper's episode for a protocol: as many sessions and new classes as online, the others labelled.

    Note: where that would leave too few labelled classes (Happy: 50 known, 50 new), new classes are thinned out evenly
    until they are no more than three sevenths, the largest share in the paper; sessions left without any are dropped.
    """
    if protocol.known < 3:
        raise InputError(f"Pseudo sessions need at least 3 known classes; `known` is {protocol.known}.")
    share, whole = LARGEST_NOVEL_SHARE
    allowed = protocol.known * share // whole
    novel = protocol.novel
    if sum(novel) > allowed:
        ends = np.cumsum(novel) * allowed // sum(novel)
        novel = tuple(int(count) for count in np.diff(ends, prepend=0) if count)
    return EpisodeSpec(labelled=protocol.known - sum(novel), novel=novel)
