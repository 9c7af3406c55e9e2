"""Named configurations: a method on a data set under its protocol."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, cast

from metagcd.errors import unknown_name
from metagcd.methods import METHODS

if TYPE_CHECKING:
    from metagcd.experiment.config import RunConfig

FOLDER = files("metagcd") / "presets"


def preset_names() -> tuple[str, ...]:
    """Return every preset: the files, and every method on every data set that has none."""
    composed = {f"{method}-{data}" for method in METHODS.names() for data in _stems(FOLDER / "data")}
    return tuple(sorted(composed | set(_stems(FOLDER))))


def load_preset(name: str) -> "RunConfig":
    """Return the configuration of a preset such as `metagcd-cifar100`."""
    from metagcd.config import from_mapping
    from metagcd.experiment.config import RunConfig

    return from_mapping(RunConfig(), preset_mapping(name))


def preset_mapping(name: str) -> dict[str, Any]:
    """Return the tables of a preset, what it includes first and its own on top."""
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    if name in _stems(FOLDER):
        return _read(name)
    method, data = next(
        (method, name.removeprefix(f"{method}-")) for method in METHODS.names() if _composes(method, name)
    )
    return overlaid(_read(f"data/{data}"), {"method": {"name": method}})


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of `below` with those of `above` on top; a component of another name starts afresh."""
    if "name" in above and "name" in below and above["name"] != below["name"]:
        return dict(above)
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlaid(merged[key], cast(Mapping[str, Any], value)) if both else value
    return merged


def _composes(method: str, name: str) -> bool:
    return name.startswith(f"{method}-") and name.removeprefix(f"{method}-") in _stems(FOLDER / "data")


def _read(name: str) -> dict[str, Any]:
    *folders, stem = name.split("/")
    own = tomllib.loads(FOLDER.joinpath(*folders, f"{stem}.toml").read_text(encoding="utf-8"))
    merged: dict[str, Any] = {}
    for other in own.pop("include", []):
        merged = overlaid(merged, _read(other))
    return overlaid(merged, own)


def _stems(folder: Traversable) -> tuple[str, ...]:
    entries = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml")))
