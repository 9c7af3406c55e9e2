"""`metagcd inspect`: what a source holds, before anything is learnt from it."""

from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from metagcd.data.inspect import Inspection


def inspect(
    source: Annotated[str, tyro.conf.Positional],
    /,
    *,
    output: str = "",
    check: Literal["header", "full", "none"] = "full",
    strict: bool = False,
    json: bool = False,
) -> None:
    """Count, measure and check the images of a source; write a contact sheet and the list of skipped files.

    Args:
        source: A source's name, a folder (of class folders or of images), or a .csv, .parquet, .npz or .txt file.
        output: Folder for contact-sheet.png and skipped.csv; empty: inspect-NAME here.
        check: How thoroughly files are looked at: every pixel, their headers (faster), or not at all.
        strict: Stop at the first file that cannot be used.
        json: Print JSON instead of a table.
    """
    from pathlib import Path

    from metagcd.data import SOURCES
    from metagcd.data.contact_sheet import SheetStyle, contact_sheet
    from metagcd.data.guess import source_for
    from metagcd.data.inspect import inspect_dataset
    from metagcd.data.skipped import write_skipped_csv
    from metagcd.runs import write_atomic

    config = _checked(source_for(source), check, strict=strict)
    data = SOURCES.of(config).target(config)
    inspection = inspect_dataset(data)
    folder = Path(output or f"inspect-{Path(source).expanduser().resolve().stem}")
    write_atomic(folder / "contact-sheet.png", contact_sheet(data, SheetStyle()))
    write_skipped_csv(folder / "skipped.csv", inspection.skipped)
    if json:
        _print_json(inspection)
    else:
        _print_table(inspection)
        print(f"Contact sheet and skipped.csv are in {folder}.")


def _checked(config: object, check: str, *, strict: bool) -> object:
    from dataclasses import replace

    from metagcd.data.scan import Check

    return replace(config, check=check, strict=strict) if isinstance(config, Check) else config


def _print_json(inspection: "Inspection") -> None:
    import dataclasses
    import json

    print(json.dumps(dataclasses.asdict(inspection), indent=2))


def _print_table(inspection: "Inspection") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if inspection.classes:
        table = Table("class", "train", "test", box=None, pad_edge=False)
        for one in inspection.classes:
            table.add_row(Text(_printable(one.name)), str(one.train), str(one.test))
        console.print(table, highlight=False, markup=False)
    for line in _facts(inspection):
        console.print(_printable(line), highlight=False, markup=False, soft_wrap=True)


def _facts(inspection: "Inspection") -> list[str]:
    lines = [f"{inspection.images} images, fingerprint {inspection.fingerprint}"]
    if sizes := inspection.sizes:
        spans = (
            f"{name} {a} to {c} (median {b})" for name, (a, b, c) in (("width", sizes.width), ("height", sizes.height))
        )
        lines.append(f"{', '.join(spans)}; {sizes.oblong} not square")
    lines.append(f"{len(inspection.duplicates)} groups of equal files, {inspection.across} across classes or parts")
    lines += [f"  {' = '.join(map(repr, group))}" for group in inspection.duplicates[:5]]
    lines.append(f"{len(inspection.skipped)} files skipped")
    lines += [f"  {one.path!r}: {one.reason}" for one in inspection.skipped[:5]]
    return [*lines, inspection.note] if inspection.note else lines


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
