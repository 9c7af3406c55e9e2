"""All that determines a result, in one frozen value."""

from dataclasses import dataclass, field
from typing import Any

from metagcd.config import component, digest
from metagcd.data import SOURCES
from metagcd.data.views import Augmentation
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.models import ENCODERS
from metagcd.models.bank_config import BankConfig
from metagcd.protocol import ProtocolSpec


@dataclass(frozen=True, kw_only=True)
class ReadoutConfig:
    """How class ids are read off a learner at evaluation."""

    names: tuple[str, ...] = ()
    """Read-outs to score: `kmeans`, `semi`, `prototype` or `head`; empty: all that the learner has."""
    restarts: int = 10
    """Initialisations of k-means, of which the best is kept."""
    repeats: int = 1
    """Seeds of a read-out by k-means whose scores are averaged."""

    def __post_init__(self) -> None:
        """Refuse counts that read nothing."""
        if self.restarts < 1 or self.repeats < 1:
            raise InputError(
                f"`restarts` and `repeats` of the read-out must be at least 1; got {self.restarts} and {self.repeats}."
            )


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A method on a source under a protocol, for some seeds."""

    source: Any = component(SOURCES, "digits")
    """Where images come from; `name` chooses, the other keys are the source's own."""
    protocol: ProtocolSpec = field(default_factory=ProtocolSpec)
    """Which classes and how many images come when."""
    split: str = ""
    """A manifest written by `metagcd split`, to be used instead of drawing from `protocol`."""
    split_seed: int | None = 0
    """Seed of the draw of images and classes. Absent: the run's own seed, so that every seed has another split."""
    encoder: Any = component(ENCODERS, "tiny")
    """The network; `name` chooses."""
    augmentation: Augmentation = field(default_factory=Augmentation)
    """How training views differ from the plain image."""
    bank: BankConfig = field(default_factory=BankConfig)
    """Which views are drawn once, and how what the trunk makes of them is kept."""
    method: Any = component(METHODS, "gcd")
    """The learner; `name` chooses."""
    readout: ReadoutConfig = field(default_factory=ReadoutConfig)
    """How class ids are read off."""
    novel_given: bool = True
    """Whether learner and read-out are told how many classes each session brings; otherwise the learner counts them."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """One repetition per seed: initial weights, views, order of batches, k-means."""

    def __post_init__(self) -> None:
        """Refuse seeds that name no set of repetitions."""
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise InputError(f"`seeds` must be different numbers of 0 or more; got {list(self.seeds)}.")

    @property
    def title(self) -> str:
        """Return `method-source`."""
        return f"{METHODS.of(self.method).name}-{SOURCES.of(self.source).name}"

    @property
    def digest(self) -> str:
        """Return ten hexadecimal digits that name the configuration."""
        return digest(self)
