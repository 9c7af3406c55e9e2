"""One seed of a run: what it works on and where it keeps things."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metagcd.data import Dataset
from metagcd.engine.checkpoint import Keeper
from metagcd.engine.distributed import launched
from metagcd.engine.metrics import Metrics
from metagcd.engine.micro import MicroBatch
from metagcd.engine.processes import among_others, started_here
from metagcd.engine.runtime import Precision, Runtime
from metagcd.errors import InputError
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
    devices: int = 1
    """Processes that train together on this machine, one per device. Of several machines, `torchrun` says how many."""
    precision: Precision = "32-true"
    threads: int = 2
    """Threads that read images ahead, in every process."""
    save_every: float = 60.0
    """Seconds between two saves within a stage of training."""
    keep: int = 1
    """States of a stage that are kept; when the newest is damaged, the one before it is gone on from."""
    tensorboard: bool = False
    """Write event files beside the metrics."""
    micro_batch: int | None = None
    """Views that go through the tail at a time; None: all of a batch, fewer once memory has run out."""
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

    def __post_init__(self) -> None:
        """Refuse a number of processes that is none."""
        if self.devices < 1:
            raise InputError(f"`devices` must be at least 1; got {self.devices}.")

    @property
    def to_be_started(self) -> bool:
        """Say whether several processes are asked for, and this is not one of them."""
        return self.devices > 1 and not among_others()

    def require_devices(self) -> None:
        """Refuse more processes than there are devices; on a processor any number may share it."""
        import torch

        there = torch.cuda.device_count() if self.device != "cpu" else 0
        if (there or self.device == "cuda") and self.devices > there:
            raise InputError(f"There are {there} CUDA devices here; got `devices` {self.devices}.")

    def fabric(self) -> "Fabric":
        """Return the Fabric of this hardware, joined with that of the other processes."""
        if self.devices not in {1, started_here()}:
            words = f"There are {started_here()} processes here already and `devices` says {self.devices}"
            raise InputError(f"{words}; leave it out.")
        return launched(self.device, precision=self.precision)


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

    @property
    def writes(self) -> bool:
        """Say whether this process is the one that writes."""
        return self.fabric.is_global_zero

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
            keeper=Keeper(
                self.places if self.writes else None, every=self.hardware.save_every, last=self.hardware.keep
            ),
            metrics=Metrics(
                folder=self.run.seed(self.seed) if self.writes else None, tensorboard=self.hardware.tensorboard
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
