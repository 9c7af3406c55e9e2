"""`metagcd list`: what there is, by name; nothing heavy is imported for it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metagcd.registry import Registry


def methods() -> None:
    """List the learners."""
    from metagcd.methods import METHODS

    _show(METHODS)


def sources() -> None:
    """List where images can come from."""
    from metagcd.data import SOURCES

    _show(SOURCES)


def encoders() -> None:
    """List the encoders; beside them, every name that timm knows."""
    from metagcd.models import ENCODERS

    _show(ENCODERS)


def exports() -> None:
    """List the formats of `metagcd export`."""
    from metagcd.workspace.exporting import EXPORTS

    _show(EXPORTS)


def presets() -> None:
    """List the named configurations: METHOD-DATA."""
    from metagcd.experiment.presets import preset_names

    print("\n".join(preset_names()))


def protocols() -> None:
    """List the named protocols: which images come when."""
    from metagcd.protocol import named_protocol, protocol_names

    for name in protocol_names():
        spec = named_protocol(name)
        print(f"{name:<28} {spec.known} known classes, then {len(spec.novel)} sessions with {sum(spec.novel)} novel")


def _show(registry: "Registry[Any]") -> None:
    names = registry.names()
    width = max(map(len, names), default=0)
    for name in names:
        print(f"{name:<{width}}  {registry.summary(name)}")
