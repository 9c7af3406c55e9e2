"""One root seed, and from it an independent generator for every named purpose."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Seeds:
    """Derive generators from a root seed and the names of what they are for.

    The same root and names give the same numbers, whatever else was drawn before. Numbers come from
    explicit generators, so that the global random state of numpy and torch is as it was.
    """

    root: int

    def integer(self, *names: str | int) -> int:
        """Return a 63-bit seed for this purpose."""
        path = "/".join(str(name) for name in (self.root, *names))
        return int.from_bytes(blake2b(path.encode(), digest_size=8).digest()) >> 1

    def child(self, *names: str | int) -> "Seeds":
        """Return the seeds of a part: a run's method, a method's third session."""
        return Seeds(self.integer(*names))

    def numpy(self, *names: str | int) -> np.random.Generator:
        """Return a numpy generator for this purpose."""
        return np.random.default_rng(self.integer(*names))

    def torch(self, *names: str | int) -> "torch.Generator":
        """Return a torch generator, on the processor, for this purpose."""
        import torch

        return torch.Generator().manual_seed(self.integer(*names))

    @contextmanager
    def torch_scope(self, *names: str | int) -> Generator[None]:
        """Let modules draw their initial weights from this purpose; the global state is put back after."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(self.torch(*names).get_state())
            yield
