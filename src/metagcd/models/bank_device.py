"""Stored rows on their way to a graphics processor, and whether all of them may stay there."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

SHARE = 0.7
"""Part of a device's free memory that stored rows may take; the rest is left to the network and its gradients."""


def fits(size: int, device: torch.device) -> bool:
    """Say whether so many bytes may stay on the device; on the processor rows stay where they are."""
    return device.type == "cuda" and size <= SHARE * torch.cuda.mem_get_info(device)[0]


def ahead_on(device: torch.device, batches: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield the batches on the device; on a graphics processor, each is copied while the one before is in use.

    Only from pinned memory (`pinned_for`) is it the device that copies, and the host free to go on.
    """
    if device.type != "cuda":
        yield from batches
        return
    stream, waiting = torch.cuda.Stream(device), list[tuple[Tensor, torch.cuda.Event]]()
    for batch in batches:
        with torch.cuda.stream(stream):
            moved = batch.to(device, non_blocking=True)
            event = torch.cuda.Event()
            event.record(stream)
        waiting.append((moved, event))
        if len(waiting) > 1:
            yield _arrived(*waiting.pop(0))
    for moved, event in waiting:
        yield _arrived(moved, event)


def pinned_for(device: torch.device, batch: Tensor) -> Tensor:
    """Return the batch in memory that the device can read by itself."""
    return batch.pin_memory() if device.type == "cuda" else batch


def _arrived(moved: Tensor, event: torch.cuda.Event) -> Tensor:
    """Let the stream that computes wait for the copy; the host waits for nothing."""
    current = torch.cuda.current_stream(moved.device)
    current.wait_event(event)
    moved.record_stream(current)
    return moved
