"""Where data sets lie on this machine."""

import os
from pathlib import Path

VARIABLE = "METAGCD_DATA"


def data_root(given: str = "") -> Path:
    """Return the folder given, else the one that METAGCD_DATA names, else the user's cache."""
    chosen = given or os.environ.get(VARIABLE) or "~/.cache/metagcd/data"
    return Path(chosen).expanduser()
