"""Which source a name or a path means."""

from pathlib import Path
from typing import Any

from metagcd.data import SOURCES
from metagcd.data.lists import read_csv
from metagcd.errors import InputError, unknown_name


def source_for(path: str) -> Any:
    """Return the config of the source that a registered name, a folder or a file means.

    A folder with Parquet files is `parquet`, one whose pictures all lie in sub-folders is `folder`, any other
    `unlabelled`; a table with labels is `manifest`, a list without them `unlabelled`.
    """
    if path in SOURCES.names():
        return SOURCES.config_class(path)()
    place = Path(path).expanduser()
    if place.is_dir():
        return _config(_of_folder(place), place)
    if not place.exists() and not place.suffix and len(place.parts) == 1:
        raise unknown_name("source", path, SOURCES.names())
    if not place.exists():
        raise InputError(f"There is no file or folder {path!r}.")
    return _config(_of_file(place), place)


def _of_folder(place: Path) -> str:
    from metagcd.data.scan import visible, walk

    if any(name.lower().endswith(".parquet") for name in walk(str(place), [])):
        return "parquet"
    inside = [entry for entry in place.iterdir() if visible(entry.name)]
    return "folder" if any(entry.is_dir() for entry in inside) and not any(map(_picture, inside)) else "unlabelled"


def _of_file(place: Path) -> str:
    kind = place.suffix.lower()
    if kind == ".csv":
        return "manifest" if "label" in read_csv(place, ("path",)) else "unlabelled"
    if kind == ".parquet":
        return _of_parquet(place)
    if kind in (".npz", ".txt"):
        return "arrays" if kind == ".npz" else "unlabelled"
    raise InputError(f"Cannot tell what {str(place)!r} is; expected a folder or a .csv, .parquet, .npz or .txt file.")


def _of_parquet(place: Path) -> str:
    return "manifest" if lists_paths(place) else "parquet"


def lists_paths(place: Path) -> bool:
    """Say whether a Parquet file holds paths of images, and not the images."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    from metagcd.data.lists import first_line
    from metagcd.data.sources.parquet import image_columns

    try:
        schema = pq.read_schema(place)
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {str(place)!r} as Parquet: {first_line(error)}") from error
    return "path" in schema.names and not image_columns(schema)


def _picture(path: Path) -> bool:
    from metagcd.data.pictures import UnreadableError, picture_size

    try:
        return bool(path.is_file() and picture_size(path))
    except (UnreadableError, OSError):
        return False


def _config(name: str, place: Path) -> Any:
    return SOURCES.config_class(name)(path=str(place))
