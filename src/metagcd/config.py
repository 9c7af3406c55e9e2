"""Frozen dataclasses <-> strict TOML, and the digest that names a configuration."""

import dataclasses
import tomllib
import types
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import tomli_w

from metagcd.errors import InputError, unknown_name
from metagcd.registry import Registry

C = TypeVar("C")
NOTHING = "none"  # TOML has no word for it, and leaving a key out means: as it is below.


def component(registry: Registry[Any], default: str) -> Any:
    """Declare a field that holds the config of one component of a registry, chosen by `name` in the file."""
    return dataclasses.field(default_factory=lambda: registry.config_class(default)(), metadata={"registry": registry})


def to_mapping(config: Any) -> dict[str, Any]:
    """Return the config as plain tables, lists and values; what is absent (None) is written as `NOTHING`."""
    table: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if "registry" in field.metadata:
            table[field.name] = {"name": field.metadata["registry"].of(value).name, **to_mapping(value)}
        else:
            table[field.name] = NOTHING if value is None else _plain(value)
    return table


def from_mapping(base: C, mapping: Mapping[str, Any], *, where: str = "", passed_over: list[str] | None = None) -> C:
    """Return `base` with the values of the mapping in place of its own; refuse what does not fit.

    A key that a class names in `RETIRED`, with why and what to do, is refused too, unless there is a list
    `passed_over` to put that in.
    """
    retired: Mapping[str, str] = getattr(base, "RETIRED", {})
    hints = get_type_hints(type(base))
    fields = {field.name: field for field in dataclasses.fields(cast(Any, base))}
    changes: dict[str, Any] = {}
    for key, value in mapping.items():
        if key in retired:
            words = f"`{where}{key}` is no part of a configuration any more: {retired[key]}."
            if passed_over is None:
                raise InputError(words)
            passed_over.append(words)
            continue
        if key not in fields:
            raise unknown_name("key", f"{where}{key}", [f"{where}{name}" for name in fields])
        path = f"{where}{key}"
        current = getattr(base, key)
        if "registry" in fields[key].metadata:
            current, rest = _chosen(fields[key].metadata["registry"], current, _table(value, path))
            changes[key] = from_mapping(current, rest, where=f"{path}.", passed_over=passed_over)
        elif dataclasses.is_dataclass(current):
            changes[key] = from_mapping(current, _table(value, path), where=f"{path}.", passed_over=passed_over)
        else:
            changes[key] = convert(value, hints[key], path)
    return dataclasses.replace(cast(Any, base), **changes)


def to_toml(config: Any) -> str:
    """Return the config as TOML text that `from_toml` reads back to an equal config."""
    return tomli_w.dumps(to_mapping(config))


def from_toml(base: C, text: str, *, origin: str = "the configuration", passed_over: list[str] | None = None) -> C:
    """Return `base` overlaid with TOML text; see `from_mapping` for what is passed over."""
    try:
        mapping = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{origin} is not valid TOML: {error}.") from error
    return from_mapping(base, mapping, passed_over=passed_over)


def read_toml(base: C, path: Path, *, passed_over: list[str] | None = None) -> C:
    """Return `base` overlaid with a TOML file."""
    return from_toml(base, _text(path), origin=str(path), passed_over=passed_over)


def settings(words: Iterable[str]) -> dict[str, Any]:
    """Return the tables that `key.of.tables=value` settings describe; what is not a TOML value is text.

    `key=@FILE` takes the value from a file: a TOML value, or a list of words, such as a class order.
    """
    tables: dict[str, Any] = {}
    for word in words:
        path, sign, text = word.partition("=")
        *parents, key = path.split(".")
        if not sign or not key:
            raise InputError(f"A setting looks like key=value; got `{word}`.")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise InputError(f"`{word}` sets part of a key that another setting gave a value.")
        table[key] = _of_file(Path(text[1:])) if text.startswith("@") else _value(text)
    return tables


def digest(config: Any) -> str:
    """Return ten hexadecimal digits that name this configuration."""
    return blake2b(to_toml(config).encode(), digest_size=5).hexdigest()


def reason(error: Exception) -> str:
    """Return the operating system's words without its numbers and paths."""
    return getattr(error, "strerror", None) or str(error)


def convert(value: Any, hint: Any, path: str) -> Any:
    """Return the value as the annotated type, or say what was expected at this key."""
    origin = get_origin(hint)
    if origin is Union or origin is types.UnionType:
        if value == NOTHING and type(None) in get_args(hint):
            return None
        return _first_that_fits(value, get_args(hint), path)
    if origin is Literal:
        if value not in get_args(hint):
            raise unknown_name(f"value of `{path}`", str(value), [str(choice) for choice in get_args(hint)])
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(convert(item, get_args(hint)[0], f"{path}[{place}]") for place, item in enumerate(value))  # pyright: ignore[reportUnknownVariableType]
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    if hint is type(None) and value is None:
        return None
    raise InputError(f"`{path}` must be {_words(hint)}; got {value!r}.")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _of_file(path: Path) -> Any:
    text = _text(path)
    found = _value(text.strip())
    return [_value(word) for word in text.split()] if isinstance(found, str) else found


def _first_that_fits(value: Any, hints: tuple[Any, ...], path: str) -> Any:
    for hint in hints:
        try:
            return convert(value, hint, path)
        except InputError:
            continue
    raise InputError(f"`{path}` must be {' or '.join(_words(hint) for hint in hints)}; got {value!r}.")


def _words(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"a list of {_words(get_args(hint)[0])}s"
    if get_origin(hint) is Literal:
        return " or ".join(repr(choice) for choice in get_args(hint))
    names = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(hint, str(hint))


def _chosen(registry: Registry[Any], current: Any, table: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the config of the component that the table names, and what else stands in the table."""
    entry = registry.get(str(table.get("name", registry.of(current).name)))
    rest = {key: value for key, value in table.items() if key != "name"}
    return current if type(current) is entry.config else entry.config(), rest


def _table(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"`{path}` must be a table; got {value!r}.")
    return cast(Mapping[str, Any], value)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_mapping(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in cast(tuple[Any, ...], value)]
    return value
