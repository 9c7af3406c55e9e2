"""A protocol drawn: row numbers for every session, and the digest that names them."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from jaxtyping import Int

from metagcd.protocol.spec import ProtocolSpec
from metagcd.types import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Session:
    """One online session."""

    train: Int[Array, " n"]
    """Training rows of the unlabelled batch, shuffled."""
    test: Int[Array, " m"]
    """Test rows of every class met so far, this session's included."""
    known: tuple[int, ...]
    """Class ids met before this session."""
    novel: tuple[int, ...]
    """Class ids that are new in this session."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Protocol:
    """Which images when: integers only."""

    spec: ProtocolSpec
    seed: int
    offline: Int[Array, " n"]
    """Training rows of session 0."""
    offline_test: Int[Array, " m"]
    """Test rows of the known classes."""
    known: tuple[int, ...]
    """Class ids of session 0."""
    sessions: tuple[Session, ...]
    """The online sessions; the first comes first."""

    @property
    def class_order(self) -> tuple[int, ...]:
        """The class ids in the order in which they are met."""
        return self.known + tuple(label for session in self.sessions for label in session.novel)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits; equal ones mean the same images in the same sessions, whatever the spec says."""
        total = blake2b(digest_size=8)
        parts: list[object] = [self.known, self.offline, self.offline_test]
        for session in self.sessions:
            parts += [session.train, session.test, session.known, session.novel]
        for part in parts:
            content = np.asarray(part, dtype="<i8")
            total.update(len(content).to_bytes(8, "little") + content.tobytes())
        return total.hexdigest()
