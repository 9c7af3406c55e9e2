"""The list of files that were not used, for the person who has to mend them."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from metagcd.runs import write_atomic
from metagcd.types import Skipped


def write_skipped_csv(path: Path, skipped: Iterable[Skipped]) -> None:
    """Write path and reason of every skipped file, whole or not at all.

    Names with newlines, commas and quotes are quoted; bytes of a name that are not UTF-8 are escaped.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("path", "reason"))
    table.writerows((one.path, one.reason) for one in skipped)
    write_atomic(path, text.getvalue().encode("utf-8", "backslashreplace"))
