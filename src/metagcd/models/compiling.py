"""The trunk compiled for a long pass where that pays, and whatever else is to run compiled."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from metagcd.models.encoder import Read, Tail, Trunk
from metagcd.progress import Progress

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from metagcd.models.bank_source import BankSource

Compile = Literal["auto", "on", "off"]

OPERATIONS = {"cuda": 2e16}
"""Operations from which compiling is worth its seconds, by kind of device: a guess, as nothing was measured there. On a
processor a compiled trunk is hardly faster than one that is passed few views at a time (docs/performance.md)."""


def compiled_for(source: "BankSource", mode: Compile, progress: Progress) -> "AbstractContextManager[None]":
    """Return a context in which the source's trunk runs compiled if that is asked for, or pays over all its views."""
    if mode == "on" or (mode == "auto" and pays(source)):
        return compiled(source.encoder.trunk, progress)
    return nullcontext()


def pays(source: "BankSource") -> bool:
    """Say whether a pass over all views is long enough; one answer for equal sources, however busy the machine."""
    least = OPERATIONS.get(torch.device(source.loading.device).type)
    if least is None:
        return False
    with FlopCounterMode(display=False) as counter:
        source.layout()  # passes one view
    return counter.get_total_flops() * len(source.images) * len(source.key.views) >= least


@contextmanager
def compiled(part: Trunk | Tail, progress: Progress) -> Generator[None]:
    """Let trunk or tail run compiled for as long as the context lasts; where that fails, as it is, with a line."""
    read = part.read
    part.read = _falling_back(read, progress, type(part).__name__.lower())
    try:
        yield
    finally:
        part.read = read


def _falling_back(read: Read, progress: Progress, name: str) -> Read:
    quick, works = torch.compile(read), True

    def attempt(model: nn.Module, x: Tensor) -> Tensor:
        nonlocal works
        if works:
            # One graph for all sizes of a batch.
            torch._dynamo.maybe_mark_dynamic(x, 0)  # pyright: ignore[reportPrivateUsage]
            try:
                return quick(model, x)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # no compiler, or one that cannot: whatever it raises
                works = False
                line = str(error).strip().partition("\n")[0]
                progress.say(f"The {name} cannot be compiled and runs as it is: {line or type(error).__name__}")
        return read(model, x)

    return attempt
