"""An update as one piece of work on tensors that stay where they are, which a graphics processor can repeat by itself.

An update is a few hundred small operations, and to ask for each of them takes the host longer than the device needs to
do it. Captured once as a CUDA graph, they are asked for as one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import torch

from metagcd.engine.feed import Batch

T = TypeVar("T")
WARM_UP = 3
"""Updates before the capture, PyTorch's advice: what is allocated, chosen or compiled at first must be there."""


def always() -> bool:
    """Say yes."""
    return True


@dataclass(eq=False)
class Captured(Generic[T]):
    """Do the work on a copy of each batch at a fixed place; on a graphics processor, capture it and replay that.

    The work may depend on the batch's tokens and indices alone, must not wait for the device, and what it returns is
    overwritten by the next call. Every call does the work once; on a processor there is nothing to capture, and the
    work is simply done. A batch of another shape than the first is not copied, and nothing is replayed for it.
    """

    work: Callable[[Batch], T]
    may_capture: Callable[[], bool] = always
    _held: Batch | None = None
    _calls: int = 0
    _graph: Any = None
    _result: list[T] = field(default_factory=list[T])

    def __call__(self, batch: Batch) -> T:
        """Return what the work returns for this batch."""
        held = self._copied(batch)
        if held is None or held.tokens.device.type != "cuda" or not self.may_capture():
            return self.work(held or batch)
        self._calls += 1
        if self._graph is None and self._calls <= WARM_UP:
            return self._beside(held)
        return self._replay(held)

    def _copied(self, batch: Batch) -> Batch | None:
        """Return the batch at its fixed place."""
        if self._held is None:
            self._held = Batch(batch.rows, batch.tokens.clone(), place=batch.indices.clone())
            return self._held
        held, place = self._held, self._held.indices
        if held.tokens.shape != batch.tokens.shape or place.shape != batch.indices.shape:
            return None
        held.tokens.copy_(batch.tokens, non_blocking=True)
        place.copy_(batch.indices, non_blocking=True)
        return held

    def _beside(self, held: Batch) -> T:
        """Do the work on a stream beside the usual one, as what precedes a capture must be."""
        usual, beside = torch.cuda.current_stream(), torch.cuda.Stream()
        beside.wait_stream(usual)
        with torch.cuda.stream(beside):
            result = self.work(held)
        usual.wait_stream(beside)
        return result

    def _replay(self, held: Batch) -> T:
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            # Other threads go on reading batches ahead.
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._result.append(self.work(held))  # asked for, not done
        self._graph.replay()
        return self._result[0]
