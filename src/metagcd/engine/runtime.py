"""Where training runs, what it tells, and where it keeps its place."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal

import torch

from metagcd.engine.checkpoint import Keeper
from metagcd.engine.metrics import Metrics
from metagcd.engine.micro import MicroBatch
from metagcd.errors import InputError
from metagcd.models.bank_store import Banks
from metagcd.models.compiling import Compile
from metagcd.progress import Progress

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Precision = Literal["32-true", "bf16-mixed"]
PATIENCE = timedelta(days=1)
"""How long a process waits for the others: while one fills a bank, say. What started them notices when one ends."""


@cache
def processor() -> "Fabric":
    """Return the Fabric of one process on the processor."""
    return fabric_on("cpu")


def fabric_on(device: str = "auto", *, devices: int = 1, nodes: int = 1, precision: Precision = "32-true") -> "Fabric":
    """Return a Fabric for `auto`, `cpu` or `cuda`; of several devices or nodes, it is yet to be launched."""
    from lightning_fabric import Fabric
    from lightning_fabric.strategies import DDPStrategy

    if device not in {"auto", "cpu", "cuda"}:
        raise InputError(f"`device` must be auto, cpu or cuda; got {device}.")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("There is no CUDA device here; use `--device cpu`, or see `metagcd doctor`.")
    accelerator = "cuda" if device == "auto" and torch.cuda.is_available() else "cpu" if device == "auto" else device
    strategy = DDPStrategy(timeout=PATIENCE) if devices * nodes > 1 else "auto"
    return Fabric(accelerator=accelerator, devices=devices, num_nodes=nodes, strategy=strategy, precision=precision)


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Where training runs, what it tells, and where it keeps its place."""

    fabric: "Fabric" = field(default_factory=processor)
    progress: Progress = field(default_factory=Progress)
    keeper: Keeper = field(default_factory=Keeper)
    metrics: Metrics = field(default_factory=Metrics)
    micro: MicroBatch = field(default_factory=MicroBatch)
    banks: Banks = field(default_factory=Banks)
    """Stored trunk outputs; by default none are stored."""
    capture: bool = False
    """Capture the updates of learners that allow it as a CUDA graph; on a processor they run as they are."""
    compile: Compile = "off"
    """`on`: let the tail of every learner with one level of optimisation train compiled."""
    evaluation_batch: int = 256
    """Images embedded at a time."""
    threads: int = 2
    """Threads that read and decode images ahead."""
