"""One seed of a run: what it works on and where it keeps things."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metagcd.data import Dataset
from metagcd.engine.checkpoint import Keeper
from metagcd.engine.metrics import Metrics
from metagcd.engine.micro import MicroBatch
from metagcd.engine.runtime import Precision, Runtime, fabric_on
from metagcd.experiment.config import RunConfig
from metagcd.methods import METHODS
from metagcd.methods.learner import Learner, Setting
from metagcd.models import encoder_of
from metagcd.models.bank_config import bank_budget, bank_root
from metagcd.models.bank_store import Banks
from metagcd.models.compiling import Compile
from metagcd.progress import Progress
from metagcd.protocol import Protocol
from metagcd.runs import RunDirectory
from metagcd.seeds import Seeds

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Where a run takes place; no part of the configuration, since results should not depend on it."""

    device: str = "auto"
    precision: Precision = "32-true"
    threads: int = 2
    """Threads that read images ahead."""
    save_every: float = 60.0
    """Seconds between two saves within a stage of training."""
    keep: int = 1
    """States of a stage that are kept; when the newest is damaged, the one before it is gone on from."""
    tensorboard: bool = False
    """Write event files beside the metrics."""
    micro_batch: int | None = None
    """Views that go through the tail at a time; None: all of a batch, fewer once memory has run out. Second-order
    updates take all."""
    bank_budget: float | None = None
    """Disk that stored trunk outputs may take, in 10^9 bytes; None: METAGCD_BANK_BUDGET, else 20. What does not fit is
    computed anew, with the same result."""
    capture: bool = False
    """Capture updates as a CUDA graph where the learner allows it; on a processor they run as they are."""
    compile: Compile = "auto"
    """Compile the frozen trunk for the pass that fills a bank; `auto`: where that was measured to pay. `on` compiles
    the tail in training too."""
    shared: Path | None = None
    """Folder of states after session 0 that runs share; None: every run learns session 0 itself."""

    def fabric(self) -> "Fabric":
        """Return the Fabric of this hardware."""
        return fabric_on(self.device, precision=self.precision)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One seed of a run."""

    config: RunConfig
    run: RunDirectory
    seed: int
    data: Dataset
    protocol: Protocol
    fabric: "Fabric"
    hardware: Hardware
    progress: Progress
    seeds: Seeds = field(init=False)

    def __post_init__(self) -> None:
        """Derive the generators of this seed."""
        object.__setattr__(self, "seeds", Seeds(self.seed))

    def state_file(self, session: int) -> Path:
        """Return where the learner's state after a session is kept."""
        return self.run.seed(self.seed) / f"session-{session}.safetensors"

    @property
    def places(self) -> Path:
        """Return where a session keeps its place while it is learned."""
        return self.run.seed(self.seed) / "stages"

    def classes(self, labels: np.ndarray) -> np.ndarray:
        """Return labels renumbered in the order in which their classes are met."""
        place = np.full(len(self.data.class_names), -1, dtype=np.int64)
        place[list(self.protocol.class_order)] = np.arange(len(self.protocol.class_order))
        return place[labels]

    def setting(self) -> Setting:
        """Return what the learner is given."""
        runtime = Runtime(
            fabric=self.fabric,
            progress=self.progress,
            keeper=Keeper(self.places, every=self.hardware.save_every, last=self.hardware.keep),
            metrics=Metrics(
                folder=self.run.seed(self.seed) if self.fabric.is_global_zero else None,
                tensorboard=self.hardware.tensorboard,
            ),
            micro=MicroBatch(self.hardware.micro_batch),
            banks=Banks(
                config=self.config.bank,
                root=bank_root(),
                budget=bank_budget(self.hardware.bank_budget),
                compile=self.hardware.compile,
                progress=self.progress,
            ),
            capture=self.hardware.capture,
            compile=self.hardware.compile,
            threads=self.hardware.threads,
        )
        return Setting(
            encoder=encoder_of(self.config.encoder, self.seeds.child("encoder")),
            seeds=self.seeds.child("method"),
            augmentation=self.config.augmentation,
            runtime=runtime,
        )

    def learner(self, setting: Setting) -> Learner:
        """Return the learner as it is before session 0."""
        return METHODS.of(self.config.method).target(self.config.method, setting)
