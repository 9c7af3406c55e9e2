"""All that a workspace is made with, in one frozen value; it is kept in the catalogue."""

from dataclasses import dataclass, field
from typing import Any

from metagcd.config import component
from metagcd.data.decode import Decoding
from metagcd.data.views import Augmentation
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.models import ENCODERS
from metagcd.models.bank_config import BankConfig


@dataclass(frozen=True, kw_only=True)
class WorkspaceConfig:
    """A method and an encoder, and how pictures reach them: the same for the labelled images and every later batch."""

    method: Any = component(METHODS, "metagcd")
    """The learner; `name` chooses."""
    encoder: Any = component(ENCODERS, "tiny")
    """The network; `name` chooses."""
    decoding: Decoding = field(default_factory=Decoding)
    """How a picture becomes a square. `size` follows the encoder unless it is given."""
    augmentation: Augmentation = field(default_factory=Augmentation)
    """How training views differ from the plain image."""
    bank: BankConfig = field(default_factory=BankConfig)
    """Which views are drawn once, and how what the trunk makes of them is kept."""
    held_out: float = 0.2
    """Share of every labelled class that is not learned from, but tells how good and how sure decisions are; where the
    source has a test part, that serves instead."""
    seed: int = 0
    """Initial weights, views, order of batches, clusters."""

    def __post_init__(self) -> None:
        """Refuse shares that hold out nothing or everything."""
        if not 0 < self.held_out < 1:
            raise InputError(f"`held_out` must be in (0, 1); got {self.held_out}.")
