"""Score settings on a validation part of session 0: the only place where settings are chosen.

    python benchmarks/tune.py gcd-digits "method.online.rate=1e-4" "method.online.rate=5e-4 method.balance=0.2"
    python benchmarks/tune.py metagcd-digits --seeds 5 --novel 1 1 --turn 3 "" "method.outer.rate=0.0"

Each argument after the preset is one candidate: settings as on the command line, separated by spaces. No session
and no test image of the preset's protocol is read. Prints All/Old/New after every validation session by one read-out,
the mean of All over the online ones, and for every candidate but the first by how much that mean differs from the
first's on the same seeds. With `--turn` every seed has other novel classes. What candidates learn alike offline is
learned once; with `--shared FOLDER`, so it is for later calls.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from metagcd.config import from_mapping, settings
from metagcd.data import load
from metagcd.evaluate import compare
from metagcd.experiment.config import RunConfig
from metagcd.experiment.presets import load_preset
from metagcd.experiment.run import run
from metagcd.experiment.trial import Hardware
from metagcd.experiment.validation import validation_problem
from metagcd.protocol import split
from metagcd.results import Row, cell, pick


def main() -> None:
    """Print one line per candidate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("candidates", nargs="*", default=[""])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--readout", default="kmeans")
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--novel", type=int, nargs="+", default=[], help="novel classes of each validation session")
    parser.add_argument("--turn", type=int, default=0, help="by how many classes the order is turned from seed to seed")
    options = parser.parse_intermixed_args()
    base, first = load_preset(options.preset), np.zeros(0)
    base = replace(base, readout=replace(base.readout, names=(options.readout,)))
    with tempfile.TemporaryDirectory() as folder:
        for number, candidate in enumerate(options.candidates or [""]):
            started = time.perf_counter()
            rows = scored(from_mapping(base, settings(candidate.split())), options, Path(folder))
            online = np.array([cell(row.all for row in own if row.session).mean for own in by_seed(rows)])
            first = first if number else online
            words = [candidate or "as it is", *sessions(rows), f"mean {cell(online).text()}"]
            if number:
                found = compare(online, first)
                words.append(f"{found.difference:+.1f}, p {found.sign_flip_p_value:.3f}")
            print(f"{' | '.join(words)} | {time.perf_counter() - started:.0f} s", flush=True)


def scored(config: RunConfig, options: argparse.Namespace, folder: Path) -> tuple[Row, ...]:
    """Return the rows of a candidate on every seed's validation part."""
    data, rows = load(config.source), list[Row]()
    protocol = split(data.train_labels, data.test_labels, config.protocol, config.split_seed or 0)
    for seed in range(options.seeds):
        novel, turn = tuple(options.novel), options.turn * seed
        smaller, part = validation_problem(replace(config, seeds=(seed,)), data, protocol, novel=novel, turn=turn)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            hardware = Hardware(shared=options.shared or folder / "shared")
            rows += run(smaller, data=part, directory=f"{place}/run", hardware=hardware).rows
    return pick(rows, partition="initial", assignment="global")


def by_seed(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of every seed."""
    return [[row for row in rows if row.seed == seed] for seed in sorted({row.seed for row in rows})]


def sessions(rows: Sequence[Row]) -> list[str]:
    """Return All/Old/New of every session."""
    return [
        "/".join(cell(getattr(row, score) for row in rows if row.session == session).text() for score in kinds)
        for session in sorted({row.session for row in rows})
        for kinds in [("all", "old", "new")]
    ]


if __name__ == "__main__":
    main()
