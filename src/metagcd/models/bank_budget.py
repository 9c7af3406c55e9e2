"""The banks on this disk: their sizes, and which of them make room for a new one. Imports no torch."""

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from metagcd.models.bank_locks import LOCK, locked, unused

_NAME = re.compile(r"[0-9a-f]{16}")
_REMOVED = ".removed-"
SPARE_BYTES = 2**28
"""What is left free on the disk whatever the budget."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One bank on the disk."""

    folder: Path
    bytes: int
    used: float
    """Time of the last use, in seconds since the epoch."""
    complete: bool
    about: str
    """What it holds, in words; empty where that cannot be read."""


def entries(root: Path) -> list[Entry]:
    """Return all banks, the one that was not used for longest first."""
    found = [path for path in root.glob("*") if _NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(filter(None, map(_entry, found)), key=lambda entry: (entry.used, entry.folder.name))


def touch(folder: Path) -> None:
    """Note that the bank is used now."""
    os.utime(folder / LOCK)


def make_room(root: Path, needed: int, budget: int) -> bool:
    """Remove banks that nobody uses, the longest unused first, until `needed` more bytes fit; else remove none.

    The caller holds the root's lock, so that no two processes count on the same room.
    """
    present = entries(root)
    total = sum(entry.bytes for entry in present)
    short = max(total + needed - budget, needed + SPARE_BYTES - shutil.disk_usage(root).free)
    idle = [entry for entry in present if _idle(entry.folder)]
    if needed > budget or short > sum(entry.bytes for entry in idle):
        return False
    for entry in idle:
        if short <= 0:
            break
        short -= entry.bytes if remove(entry.folder) else 0
    return short <= 0


def remove(folder: Path) -> bool:
    """Remove a bank unless it is in use; it is gone at once, even where its files take time."""
    with unused(folder) as free:
        if not free:
            return False
        removed = folder.with_name(f"{_REMOVED}{folder.name}-{os.getpid()}")
        folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
        return True


def clear(root: Path) -> tuple[list[Entry], list[Entry]]:
    """Remove every bank that is not in use; return those that were removed and those that were left."""
    if not root.is_dir():
        return [], []
    with locked(root / LOCK):
        gone: list[Entry] = []
        left: list[Entry] = []
        for entry in entries(root):
            (gone if remove(entry.folder) else left).append(entry)
        for remains in root.glob(f"{_REMOVED}*"):
            shutil.rmtree(remains, ignore_errors=True)
    return gone, left


def _entry(folder: Path) -> Entry | None:
    try:
        used = (folder / LOCK).stat().st_mtime
        size = sum(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:  # removed meanwhile, or made by something else
        return None
    complete = (folder / "complete").exists()
    return Entry(folder=folder, bytes=size, used=used, complete=complete, about=_about(folder))


def _about(folder: Path) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError):
        layout = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["layout"]
        views = "plain views" if layout["views"] == 1 else f"{layout['views']} views"
        return f"{layout['images']} images, {views}, {layout['dtype']}"
    return ""


def _idle(folder: Path) -> bool:
    with unused(folder) as free:
        return free
