"""Which images when: specification, split, pseudo sequences."""

from metagcd.protocol.draw import split
from metagcd.protocol.episode import Episode, PseudoSession, draw_episode
from metagcd.protocol.episode_spec import EpisodeSpec, default_episode
from metagcd.protocol.integrity import check
from metagcd.protocol.manifest import read_manifest, to_json, write_manifest
from metagcd.protocol.named import named_protocol, protocol_names
from metagcd.protocol.sequence import Protocol, Session
from metagcd.protocol.spec import ProtocolSpec

__all__ = [
    "Episode",
    "EpisodeSpec",
    "Protocol",
    "ProtocolSpec",
    "PseudoSession",
    "Session",
    "check",
    "default_episode",
    "draw_episode",
    "named_protocol",
    "protocol_names",
    "read_manifest",
    "split",
    "to_json",
    "write_manifest",
]
