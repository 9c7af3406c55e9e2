"""Which images when: specification, split, pseudo sequences."""

from metagcd.protocol.draw import split
from metagcd.protocol.integrity import check
from metagcd.protocol.sequence import Protocol, Session
from metagcd.protocol.spec import ProtocolSpec

__all__ = ["Protocol", "ProtocolSpec", "Session", "check", "split"]
