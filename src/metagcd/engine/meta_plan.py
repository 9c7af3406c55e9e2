"""What meta-training is told: how long, on which pseudo sequences, and how the outer level descends."""

from dataclasses import dataclass, field
from typing import Literal

from metagcd.engine.meta import InnerLoop
from metagcd.engine.training import Optimisation, Stage
from metagcd.errors import InputError
from metagcd.protocol import EpisodeSpec


@dataclass(frozen=True, kw_only=True)
class OuterLoop:
    """How the initialisation follows the meta-gradient (Alg. 1, line 13)."""

    optimiser: Literal["sgd", "adam", "adamw"] = "sgd"
    """The paper says Adam for all levels and prints plain descent here; SGD as on the other levels."""
    rate: float = 1e-4
    """Learning rate; the paper's beta."""
    momentum: float = 0.9
    """Of SGD; released code."""
    weight_decay: float = 5e-5
    """Released code."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Course of the rate over all outer updates. The paper names none."""
    meta_batch: int = 128
    """Images of the cumulative pseudo test set per outer update, as many of each class, in two views. Eq. 8 sums over
    all of them; our choice: as many as in a training step."""
    clip: float | None = None
    """Largest norm of the meta-gradient; none when absent (the paper does not clip)."""

    def __post_init__(self) -> None:
        """Refuse an empty batch."""
        if self.meta_batch < 1:
            raise InputError(f"`meta_batch` must be at least 1; got {self.meta_batch}.")

    @property
    def descent(self) -> Optimisation:
        """Return how the parameters follow the gradient."""
        return Optimisation(
            optimiser=self.optimiser,
            rate=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            schedule=self.schedule,
        )


@dataclass(frozen=True, kw_only=True)
class Validation:
    """When meta-training ends early: images of session 0 held out of it show no further progress."""

    every_tasks: int = 0
    """Meta-tasks between two validations; 0: none, all tasks are done. The paper trains until convergence."""
    patience: int = 3
    """Validations without a lower loss after which training ends."""
    fraction: float = 0.2
    """Share of every class's images that is held out, when there are validations."""
    tasks: int = 2
    """Pseudo sequences of held-out images, the same at every validation."""

    def __post_init__(self) -> None:
        """Refuse what holds nothing out."""
        if self.every_tasks < 0 or self.patience < 1 or self.tasks < 1 or not 0 < self.fraction < 1:
            raise InputError(
                "Of `validation`, `every_tasks` must not be negative, `patience` and `tasks` at least 1 and `fraction` "
                f"in (0, 1); got {self}."
            )


@dataclass(frozen=True, kw_only=True)
class MetaPlan:
    """How long, on what, and how each level descends."""

    episode: EpisodeSpec
    tasks: int
    warmups: tuple[Stage, Stage]
    """Of the first task, and of each later one."""
    first_on_all: bool = False
    """Warm up on all images in the first task, not on its pseudo-labelled ones."""
    inner: InnerLoop
    outer: OuterLoop
    validation: Validation = field(default_factory=Validation)

    @property
    def sessions(self) -> int:
        """Return the pseudo sessions of a task, and so its outer updates."""
        return len(self.episode.novel)

    @property
    def updates(self) -> int:
        """Return the outer updates of all tasks."""
        return self.tasks * self.sessions

    def warms_up_after(self, updates: int) -> bool:
        """Say whether a warm-up follows this many outer updates."""
        return updates % self.sessions == 0 and self.warmups[1].amount > 0

    def validates_after(self, updates: int) -> bool:
        """Say whether a validation follows this many outer updates."""
        every = self.validation.every_tasks
        return bool(every) and updates % (every * self.sessions) == 0
