"""A configuration as TOML in which every key is explained by its field's docstring."""

import ast
import dataclasses
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

import tomli_w

from metagcd.config import to_mapping


def described(config: Any, path: str = "") -> str:
    """Return the configuration as TOML with each field's docstring as a comment above it."""
    meanings, table = field_docstrings(type(config)), to_mapping(config)
    lines, tables = list[str](), list[str]()
    for field in dataclasses.fields(config):
        value, words = getattr(config, field.name), meanings.get(field.name, "")
        comment = "\n".join(f"# {line}" for line in textwrap.wrap(words, 110))
        if "registry" in field.metadata or dataclasses.is_dataclass(value):
            own = f"{path}{field.name}"
            name = f'name = "{table[field.name]["name"]}"\n' if "registry" in field.metadata else ""
            tables.append(f"{comment}\n[{own}]\n{name}{described(value, f'{own}.')}")
        else:
            lines.append(f"{comment}\n{tomli_w.dumps({field.name: table[field.name]}).strip()}")
    return "\n".join([*lines, *tables]) + "\n"


@cache
def field_docstrings(config: type[Any]) -> dict[str, str]:
    """Return the docstring under each field of a dataclass, read from its source text and that of what it inherits."""
    found: dict[str, str] = {}
    for own in reversed(config.__mro__[:-1]):
        found |= _own_docstrings(own)
    return found


def _own_docstrings(config: type[Any]) -> dict[str, str]:
    node = ast.parse(textwrap.dedent(inspect.getsource(config))).body[0]
    found: dict[str, str] = {}
    body = node.body if isinstance(node, ast.ClassDef) else []
    for statement, following in pairwise(body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(words.split())
            case _:
                pass
    return found
