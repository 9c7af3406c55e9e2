"""Continual generalised category discovery: learn labelled image classes once, then discover new ones.

Importing this package is cheap; what needs torch is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metagcd import cluster, evaluate, losses, methods, models, protocol
    from metagcd.experiment.config import RunConfig
    from metagcd.experiment.presets import load_preset, preset_names
    from metagcd.experiment.run import Results, run
    from metagcd.workspace.workspace import Workspace

_HOMES = {
    "RunConfig": "metagcd.experiment.config",
    "Results": "metagcd.experiment.run",
    "run": "metagcd.experiment.run",
    "Workspace": "metagcd.workspace.workspace",
    "load_preset": "metagcd.experiment.presets",
    "preset_names": "metagcd.experiment.presets",
}
_PARTS = ("cluster", "evaluate", "losses", "methods", "models", "protocol")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"metagcd.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `metagcd` has no attribute `{name}`")


__all__ = [
    "Results",
    "RunConfig",
    "Workspace",
    "cluster",
    "evaluate",
    "load_preset",
    "losses",
    "methods",
    "models",
    "preset_names",
    "protocol",
    "run",
]
