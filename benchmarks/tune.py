"""Score settings on a validation part of session 0: the only place where settings are chosen.

    python benchmarks/tune.py gcd-digits "method.online.rate=1e-4" "method.online.rate=5e-4 method.balance=0.2"

Each argument after the preset is one candidate: settings as on the command line, separated by spaces. No session
and no test image of the preset's protocol is read. Prints All/Old/New after every validation session, by one read-out.
Candidates that learn session 0 alike learn it once; with `--shared FOLDER`, so do those of later calls.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from metagcd.config import from_mapping, settings
from metagcd.data import load
from metagcd.experiment.presets import load_preset
from metagcd.experiment.run import run
from metagcd.experiment.trial import Hardware
from metagcd.experiment.validation import validation_problem
from metagcd.protocol import split
from metagcd.results import cell, pick


def main() -> None:
    """Print one line per candidate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("candidates", nargs="*", default=[""])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--readout", default="kmeans")
    parser.add_argument("--shared", type=Path)
    options = parser.parse_intermixed_args()
    base = replace(load_preset(options.preset), seeds=tuple(range(options.seeds)))
    base = replace(base, readout=replace(base.readout, names=(options.readout,)))
    data = load(base.source)
    protocol = split(data.train_labels, data.test_labels, base.protocol, base.split_seed or 0)
    with tempfile.TemporaryDirectory() as folder:
        hardware = Hardware(shared=options.shared or Path(folder) / "session-0")
        for number, candidate in enumerate(options.candidates):
            config, part = validation_problem(from_mapping(base, settings(candidate.split())), data, protocol)
            started = time.perf_counter()
            found = run(config, data=part, directory=f"{folder}/run-{number}", hardware=hardware)
            rows = pick(found.rows, partition="initial", assignment="global")
            scores = [
                "/".join(cell(getattr(row, score) for row in rows if row.session == session).text() for score in kinds)
                for session in sorted({row.session for row in rows})
                for kinds in [("all", "old", "new")]
            ]
            print(
                f"{candidate or 'as it is'} | {' | '.join(scores)} | {time.perf_counter() - started:.0f} s", flush=True
            )


if __name__ == "__main__":
    main()
