"""Name -> (what is built, its config dataclass); a registry fills itself from the files of a package."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from metagcd.errors import unknown_name

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A registered component."""

    name: str
    target: T
    config: type[Any]


@dataclass(frozen=True)
class Place:
    """Where a component stands: known from the source text alone, without importing it."""

    module: str
    summary: str


class Registry(Generic[T]):
    """The components of one kind, registered by the files of one package.

    Names and summaries are read from the source text, so that listing them imports nothing heavy; a
    component's module is imported when it is asked for.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._entries: dict[str, Entry[T]] = {}

    def register(self, name: str, config: type[Any]) -> Callable[[U], U]:
        """Register the decorated class or function under `name`, configured by the dataclass `config`."""

        def add(target: U) -> U:
            if name in self._entries:
                raise ValueError(f"Two {self.kind}s are registered as `{name}`.")
            self._entries[name] = Entry(name, target, config)  # type: ignore[arg-type]
            return target

        return add

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._places.keys() | self._entries.keys()))

    def summary(self, name: str) -> str:
        """Return the first line of the component's docstring."""
        if name in self._places:
            return self._places[name].summary
        return (self.get(name).target.__doc__ or "").strip().partition("\n")[0]

    def get(self, name: str) -> Entry[T]:
        """Return a component by name, importing its module at need."""
        if name not in self._entries and name in self._places:
            import_module(self._places[name].module)
        if name not in self._entries:
            raise unknown_name(self.kind, name, self.names())
        return self._entries[name]

    def config_class(self, name: str) -> type[Any]:
        """Return the config dataclass of a component."""
        return self.get(name).config

    def of(self, config: object) -> Entry[T]:
        """Return the component that this config belongs to."""
        for entry in self._entries.values():
            if type(config) is entry.config:
                return entry
        raise ValueError(f"No {self.kind} has the config {type(config).__name__}.")

    @cached_property
    def _places(self) -> dict[str, Place]:
        spec = find_spec(self.package)
        folders = (spec and spec.submodule_search_locations) or []
        files = sorted(path for folder in folders for path in Path(folder).glob("*.py"))
        return {
            name: Place(f"{self.package}.{file.stem}", summary)
            for file in files
            if file.stem != "__init__"
            for name, summary in registered(file)
        }


def registered(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and summary of every component that a source file registers."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            for decorator in node.decorator_list:
                match decorator:
                    case ast.Call(func=ast.Attribute(attr="register"), args=[ast.Constant(value=str(name)), *_]):
                        yield name, (ast.get_docstring(node) or "").partition("\n")[0]
                    case _:
                        pass
