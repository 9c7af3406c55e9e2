"""Whether what training computes stays a number, found out without waiting for the device at every update."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from metagcd.engine.checkpoint import Keeper, State
from metagcd.engine.feed import Batch
from metagcd.errors import InputError

CHECK_EVERY = 20  # Reading a value waits for the device, so not at every step.
NEVER = 2**62


class Watch:
    """Notes on the device at which update something was first no number, to be read later."""

    def __init__(self, device: torch.device) -> None:
        self._first = torch.full((), NEVER, dtype=torch.int64, device=device)
        self._value = torch.zeros((), device=device)

    def saw(self, step: int, *values: Tensor) -> None:
        """Look at numbers of an update."""
        seen = torch.stack([value.detach().float() for value in values]).sum()
        bad = ~seen.isfinite() & (self._first == NEVER)
        self._first = self._first.masked_fill(bad, step)
        self._value = torch.where(bad, seen, self._value)

    def saw_all(self, step: int, parameters: Iterable[Tensor]) -> None:
        """Look at what an update has left."""
        self.saw(step, *(parameter.detach().sum() for parameter in parameters))

    def found(self) -> tuple[int, float] | None:
        """Return the first such update and what it had instead of a number, if there is one; this waits."""
        step = int(self._first)
        return None if step == NEVER else (step, float(self._value))


@dataclass(frozen=True)
class Moment:
    """Where a stage stands: what to name when its loss is no number."""

    stage: str
    rate: float
    keeper: Keeper
    batches: Callable[[int], Sequence[Batch]]
    """Draws what an update was computed on once more."""

    def require(self, watch: Watch) -> None:
        """Raise if an update had no number for its loss, and save the batches it was computed on."""
        found = watch.found()
        if found is None:
            return
        step, value = found
        tensors: dict[str, Tensor] = {}
        for number, batch in enumerate(self.batches(step)):
            tensors |= {f"{number}.rows": torch.from_numpy(batch.rows), f"{number}.tokens": batch.tokens}
        name = f"{self.stage}-not-finite"
        self.keeper.keep(name, State(tensors, {"step": step, "value": str(value)}))
        folder = self.keeper.folder
        saved = "" if folder is None else f" Its images are in {folder / name}.safetensors."
        raise InputError(
            f"The loss of stage `{self.stage}` is {value} at update {step}; "
            f"try a lower `rate` (now {self.rate}) or set `clip`.{saved}"
        )
