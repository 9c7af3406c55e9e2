"""Lines of a table, as CSV or Parquet."""

from dataclasses import dataclass
from pathlib import Path

from metagcd.workspace.exporting import EXPORTS, Source
from metagcd.workspace.lines import COLUMNS, Format, image_columns, written


@dataclass(frozen=True, kw_only=True)
class CsvConfig:
    """No settings."""


@dataclass(frozen=True, kw_only=True)
class ParquetConfig:
    """No settings."""


@EXPORTS.register("csv", CsvConfig)
def csv(config: CsvConfig, source: Source, output: Path) -> str:
    """A line per image: path, class, name, verdict, confidence, novelty, session; unsure and rejected ones too."""
    del config
    return _lines(source, output, "csv")


@EXPORTS.register("parquet", ParquetConfig)
def parquet(config: ParquetConfig, source: Source, output: Path) -> str:
    """The lines of csv as one Parquet file."""
    del config
    return _lines(source, output, "parquet")


def _lines(source: Source, output: Path, form: Format) -> str:
    names, count = source.names, 0
    with written(output, form, (*COLUMNS, "session")) as write:
        for block in source.blocks():
            write(image_columns(block, names))
            count += len(block)
    return f"{count} images"
