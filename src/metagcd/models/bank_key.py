"""What the content of a bank is determined by, and the name made of it."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from metagcd.data.views import Augmentation
from metagcd.models.bank_config import BankDtype
from metagcd.types import InputSpec

PLAIN = (0,)
"""The views of a bank for evaluation: the plain one alone."""


@dataclass(frozen=True, kw_only=True)
class BankKey:
    """All that trunk outputs depend on; equal keys may share a bank."""

    images: str
    """Fingerprint of the images, in their order."""
    trunk: str
    """Digest of the trunk's weights, architecture, cut and type."""
    precision: str
    """Type of the matrix products that surround the trunk."""
    spec: InputSpec
    views: tuple[int, ...]
    """Numbers of the random views; 0 is the plain view."""
    augmentation: Augmentation | None
    """How random views are drawn; none for plain views."""
    seed: int
    redraw: int
    dtype: BankDtype

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Return the key as plain JSON values."""
        return json.loads(json.dumps(asdict(self)))

    @cached_property
    def digest(self) -> str:
        """Return sixteen hexadecimal digits, the name of the bank's folder."""
        return digest_of(json.dumps(self.fields, sort_keys=True).encode())


def digest_of(*parts: bytes | memoryview) -> str:
    """Return sixteen hexadecimal digits that name these bytes."""
    total = blake2b(digest_size=8)
    for part in parts:
        total.update(part)
    return total.hexdigest()
