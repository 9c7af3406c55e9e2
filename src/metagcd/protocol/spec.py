"""What a protocol asks for: which classes are known, which are new when, and how many images of each."""

from dataclasses import dataclass
from typing import Literal

from metagcd.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ProtocolSpec:
    """The counts of a protocol; the defaults suit the digits.

    Fields that hold one value per session may hold a single value, which then counts for every session.
    """

    known: int = 7
    """Labelled classes of session 0. 7 of 10 as in the paper's Table 1 for CIFAR10."""
    novel: tuple[int, ...] = (1, 1, 1)
    """New classes of each online session; its length is the number of sessions. As in the paper's CIFAR10."""
    labelled_fraction: float = 0.8
    """Share of every known class's training images that session 0 holds. The paper, section 4.1: 80 %."""
    unit: Literal["session", "class"] = "session"
    """Whether the image counts below are totals of a session, shared evenly by its classes (the paper), or counts
    of every single class (Happy, PromptCCD)."""
    novel_images: tuple[int, ...] = (81,)
    """Images of the new classes, per session. Our choice for the digits: 60 % of some 135 images of a class, as 3000 of
    5000 in the paper's CIFAR10. A session without new classes takes none."""
    known_images: tuple[int, ...] = (54,)
    """Images of the classes met before, per session, never from session 0. Our choice for the digits: 40 % of some 135
    images of a class, as 2000 of 5000 in the paper's CIFAR10."""
    discovered_images: tuple[int, ...] = ()
    """Images of the classes that earlier online sessions brought, per session, where they differ from those of session
    0 (PromptCCD). Empty: `known_images` counts for all classes met before, together (the paper, Happy)."""
    redraw: bool = False
    """Whether every session draws afresh from all that session 0 left, so that an image may come again in a later
    session. Happy's released code does so; otherwise no image is used twice."""
    imbalance: float = 1.0
    """Size of the largest class over that of the smallest. Above 1, class sizes and counts per class fall geometrically
    from class to class, in an order drawn by seed (long-tailed; not in the paper). The test part stays whole."""
    class_order: Literal["natural", "seeded"] | tuple[int, ...] = "natural"
    """Which classes are known and in which order the others come: ascending class ids (the paper does not say), a
    permutation drawn by seed, or the class ids themselves."""

    def __post_init__(self) -> None:
        """Refuse what no data set could satisfy."""
        _require(self.known >= 1, "known", "at least 1", self.known)
        _require(
            len(self.novel) >= 1 and min(self.novel) >= 0, "novel", "one count, 0 or more, per session", self.novel
        )
        _require(0 < self.labelled_fraction <= 1, "labelled_fraction", "in (0, 1]", self.labelled_fraction)
        _require(self.imbalance >= 1, "imbalance", "1 or more", self.imbalance)
        for field in ("novel_images", "known_images", "discovered_images"):
            counts: tuple[int, ...] = getattr(self, field)
            _require(min(counts, default=0) >= 0, field, "counts of 0 or more", counts)
            lengths = (1, len(self.novel)) if field != "discovered_images" else (0, 1, len(self.novel))
            words = f"one value, or one for each of the {len(self.novel)} sessions of `novel`"
            _require(len(counts) in lengths, field, words, counts)

    @property
    def classes(self) -> int:
        """How many classes the protocol uses."""
        return self.known + sum(self.novel)

    def count(self, field: Literal["novel_images", "known_images", "discovered_images"], session: int) -> int:
        """Return the image count of a field for the session at this place (0 is the first online one)."""
        counts: tuple[int, ...] = getattr(self, field)
        return counts[0] if len(counts) == 1 else counts[session]


def _require(holds: bool, field: str, words: str, value: object) -> None:
    if not holds:
        raise InputError(f"`{field}` must be {words}; got {value}.")
