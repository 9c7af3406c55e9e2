"""Time indexing a folder of very many pictures, and the memory it takes.

    python benchmarks/indexing.py                    # a million files; needs a million free directory entries
    python benchmarks/indexing.py --check header     # the same, with every header read
    python benchmarks/indexing.py --quick            # a tiny run that shows that everything works

The tree has classes of 1,000 files each. All entries are hard links to a few pictures, because a million files of their
own would take long to make: to a program that lists them they are files like others, but their headers come from a warm
cache. Memory is the peak of the whole process; indexing runs in one that does nothing else, and loads no torch.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from metagcd.data.scan import Check, scan

PER_CLASS = 1_000
LINKS = 20_000
"""Hard links to one file; file systems allow 32,000 to 65,000."""


def make_entries(tree: Path, entries: int) -> None:
    """Fill class folders with hard links to small pictures that lie beside the tree."""
    rng = np.random.default_rng(0)
    for number in range(entries):
        place, original = tree / f"class{number // PER_CLASS:05}", tree.parent / f"original{number // LINKS}.jpg"
        if number % PER_CLASS == 0:
            place.mkdir(parents=True)
        if number % LINKS == 0:
            Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(original)
        os.link(original, place / f"{number:08}.jpg")


def measure(tree: str, check: Literal["none", "header"]) -> dict[str, float]:
    """Index a tree in this process; return how many files it found, the seconds, and the memory in MB."""
    before, start = peak_memory(), time.perf_counter()
    found = scan(tree, Check(check=check))
    seconds = time.perf_counter() - start
    return {"entries": len(found.paths), "seconds": seconds, "peak": peak_memory(), "before": before}


def peak_memory() -> float:
    """Return the most memory that this process has held, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny run")
    parser.add_argument("--entries", type=int, default=1_000_000, help="how many files")
    parser.add_argument("--check", choices=["none", "header"], default="none", help="list only, or read every header")
    parser.add_argument("--folder", type=Path, help="where files are made and removed; default: the system's")
    parser.add_argument("--measure", help="index this existing tree, print JSON, and nothing else")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.entries = 2_500
    return chosen


def main() -> None:
    """Make the tree, index it in a fresh process, print what that took."""
    chosen = arguments()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure, chosen.check)))
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as temporary:
        tree = Path(temporary) / "tree"
        make_entries(tree, chosen.entries)
        command = [sys.executable, __file__, "--measure", str(tree), "--check", chosen.check]
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert result["entries"] == chosen.entries
    print(f"{chosen.entries} entries, check={chosen.check!r}")
    print(f"seconds      {result['seconds']:8.1f} (target for a million: below 30)")
    print(f"peak memory  {result['peak']:8.0f} MB (target: below 1,000; {result['before']:.0f} before indexing)")


if __name__ == "__main__":
    main()
