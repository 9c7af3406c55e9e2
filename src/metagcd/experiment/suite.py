"""Suites: the runs behind one table or figure of the paper, each row a configuration with a label."""

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from metagcd.config import from_mapping
from metagcd.errors import InputError, unknown_name
from metagcd.experiment.config import RunConfig
from metagcd.experiment.offline import digest_of, offline_fields
from metagcd.experiment.presets import FOLDER, load_preset, preset_names
from metagcd.methods import METHODS
from metagcd.models import ENCODERS

Layout = Literal["improvement", "average", "confusion", "sweep"]


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """One line of the table."""

    name: str
    """Under which published figures of this line stand."""
    label: str
    config: RunConfig
    value: float = float("nan")
    """Of the quantity that the suite sweeps."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The lines of one table or figure on one data set."""

    name: str
    title: str
    dataset: str
    layout: Layout
    rows: tuple[SuiteRow, ...]
    reference: str = ""
    """Name of the row that the others are compared with."""
    quantity: str = ""
    """What a sweep sweeps."""
    remarks: tuple[str, ...] = ()
    """What a reader of its table must know."""

    @property
    def folder(self) -> str:
        """Return the name of the folder of its table: another one for every other set of configurations."""
        digest = digest_of({"rows": [[row.label, row.config.digest] for row in self.rows]})
        return f"{self.name}-{self.dataset}-{digest[:8]}"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a person may choose of a suite."""

    dataset: str = "digits"
    methods: tuple[str, ...] = ()
    """Rows to keep, by method; empty: all."""
    seeds: tuple[int, ...] = ()
    """Empty: those of the presets."""
    encoder: str = ""
    """A registered encoder or a name that timm knows; empty: that of the presets."""
    values: tuple[float, ...] = ()
    """Of a sweep; empty: those of the suite."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings on top of the presets; those of a method hold for the rows whose method has them."""


def suite_names() -> tuple[str, ...]:
    """Return the names of all suites."""
    entries = FOLDER.joinpath("suites").iterdir()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml")))


def load_suite(name: str, choices: Choices) -> Suite:
    """Return the suite of this name with what was chosen."""
    if name not in suite_names():
        raise unknown_name("suite", name, suite_names())
    table = tomllib.loads(FOLDER.joinpath("suites", f"{name}.toml").read_text(encoding="utf-8"))
    if choices.dataset not in datasets():
        raise unknown_name("data set", choices.dataset, datasets())
    for method in choices.methods:
        METHODS.get(method)
    if choices.values and "sweep" not in table:
        raise InputError(f"The suite {name} sweeps nothing; leave `values` out.")
    rows, left_out = _swept(table["sweep"], choices) if "sweep" in table else (_rows(table, choices), ())
    if not rows:
        raise InputError(f"Nothing is left of the suite {name} on {choices.dataset} with these choices.")
    _require_used(choices.overrides, rows)
    return Suite(
        name=name,
        title=table["title"],
        dataset=choices.dataset,
        layout=table["layout"],
        rows=rows,
        reference=table.get("reference", ""),
        quantity=table["sweep"]["key"].removeprefix("method.") if "sweep" in table else "",
        remarks=(*_left_out(left_out), *_unequal(table.get("same_session_0", []), rows)),
    )


def datasets() -> tuple[str, ...]:
    """Return every data set that some preset is for."""
    found = {
        name.removeprefix(f"{method}-")
        for name in preset_names()
        for method in METHODS.names()
        if name.startswith(f"{method}-")
    }
    return tuple(sorted(found))


def _rows(table: Mapping[str, Any], choices: Choices) -> tuple[SuiteRow, ...]:
    described: list[dict[str, Any]] = table.get("row", [])
    if table.get("methods") == "all":
        names = [name for name in METHODS.names() if f"{name}-{choices.dataset}" in preset_names()]
        # The reference comes last, as in the paper.
        names.sort(key=lambda name: name == table.get("reference"))
        described = [{"name": name, "label": name, "method": name} for name in names]
    return tuple(
        SuiteRow(name=row["name"], label=row["label"], config=_config(row["method"], choices, row.get("settings", {})))
        for row in described
        if not choices.methods or row["method"] in choices.methods
    )


def _swept(sweep: Mapping[str, Any], choices: Choices) -> tuple[tuple[SuiteRow, ...], tuple[str, ...]]:
    """Return a row for every value that the data set allows, and the others."""
    if choices.methods and sweep["method"] not in choices.methods:
        return (), ()
    base = _config(sweep["method"], choices, sweep.get("settings", {}))
    rows, left_out = list[SuiteRow](), list[str]()
    for value in choices.values or sweep["values"]:
        number = int(value) if float(value).is_integer() and sweep.get("per_session") else value
        setting = [number] * len(base.protocol.novel) if sweep.get("per_session") else number
        config = from_mapping(base, _nested(sweep["key"], setting))
        if _leaves_labelled(config):
            rows.append(SuiteRow(name=f"{number:g}", label=f"{number:g}", config=config, value=float(value)))
        else:
            left_out.append(f"{number:g}")
    return tuple(rows), tuple(left_out)


def _left_out(values: Sequence[str]) -> tuple[str, ...]:
    return (f"Left out, since this data set has too few classes: {', '.join(values)}.",) if values else ()


def _unequal(names: Sequence[str], rows: Sequence[SuiteRow]) -> tuple[str, ...]:
    """Return a warning for every row that learns session 0 otherwise than the first of those that should not."""
    meant = [row for row in rows if row.name in names]
    return tuple(
        f"{row.label} learns session 0 with other settings than {meant[0].label}: they differ in more than one part."
        for row in meant[1:]
        if offline_fields(row.config) != offline_fields(meant[0].config)
    )


def _leaves_labelled(config: RunConfig) -> bool:
    """Say whether pseudo sequences, where the method has them, leave classes to be labelled."""
    episode = getattr(config.method, "episode", None)
    try:
        return episode is None or episode.spec(config.protocol.known).classes <= config.protocol.known
    except InputError:
        return False


def _config(method: str, choices: Choices, settings: Mapping[str, Any]) -> RunConfig:
    """Return the preset with what was chosen on top, and on top of that what makes the row what it is."""
    config = load_preset(f"{method}-{choices.dataset}")
    if choices.encoder:
        own = choices.encoder in ENCODERS.names()
        named = {"name": choices.encoder} if own else {"name": "timm", "model": choices.encoder}
        config = from_mapping(config, {"encoder": named})
    overrides = dict(choices.overrides)
    if "method" in overrides:
        overrides["method"] = _fitting(config.method, overrides["method"])
    config = from_mapping(from_mapping(config, overrides), settings)
    return dataclasses.replace(config, seeds=choices.seeds) if choices.seeds else config


def _fitting(config: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that this config has."""
    kept: dict[str, Any] = {}
    for key, value in table.items():
        below = getattr(config, key, None)
        if dataclasses.is_dataclass(below) and isinstance(value, Mapping):
            kept[key] = _fitting(below, cast(Mapping[str, Any], value))
        elif hasattr(config, key):
            kept[key] = value
    return kept


def _require_used(overrides: Mapping[str, Any], rows: Sequence[SuiteRow]) -> None:
    """Refuse a setting of methods that none of the rows has."""
    used = {path for row in rows for path in _paths(_fitting(row.config.method, overrides.get("method", {})))}
    for path in _paths(overrides.get("method", {})):
        if path not in used:
            raise InputError(f"No method of this suite has the key `method.{path}`; see `metagcd config`.")


def _paths(table: Mapping[str, Any], where: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _paths(cast(Mapping[str, Any], value), f"{where}{key}.")
        else:
            yield f"{where}{key}"


def _nested(path: str, value: Any) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}
