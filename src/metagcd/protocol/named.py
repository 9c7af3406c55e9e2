"""Protocols that come with the package, by name."""

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable

from metagcd.config import from_mapping
from metagcd.errors import unknown_name
from metagcd.protocol.spec import ProtocolSpec


def protocol_names() -> tuple[str, ...]:
    """Return the names of all protocols that come with the package, sorted."""
    return tuple(sorted(_files()))


def named_protocol(name: str) -> ProtocolSpec:
    """Return a protocol that comes with the package; its file says where the counts are from."""
    there = _files()
    if name not in there:
        raise unknown_name("protocol", name, there)
    table = tomllib.loads(there[name].read_text(encoding="utf-8"))["protocol"]
    return from_mapping(ProtocolSpec(), table, where="protocol.")


def _files() -> dict[str, Traversable]:
    folder = files("metagcd").joinpath("presets", "protocols")
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
