"""Small workspaces: pictures of plain colours with noise in folders, a small encoder, training of a moment."""

from pathlib import Path

import numpy as np
from PIL import Image

from metagcd.progress import Progress
from metagcd.workspace.learning import Machine
from metagcd.workspace.workspace import Workspace

COLOURS = {
    "ant": (200, 40, 40),
    "bee": (40, 200, 40),
    "fly": (40, 40, 200),
    "wasp": (200, 200, 40),
    "moth": (40, 200, 200),
    "gnat": (200, 40, 200),
}
ENCODER = {"image_size": 8, "patch": 4, "width": 16, "depth": 2, "heads": 2}
SETTINGS = {
    "frozen": {"encoder": ENCODER, "method": {"restarts": 2}},
    "gcd": {
        "encoder": ENCODER,
        "method": {
            "restarts": 2,
            "offline_epochs": 2,
            "online_updates": 2,
            "head": {"hidden": 16, "bottleneck": 8, "width": 16},
        },
    },
}


def pictures(folder: Path, kind: str, *, count: int = 12, seed: int = 0) -> Path:
    """Write pictures of a kind as PNG files, others for every seed; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, list(COLOURS).index(kind)])
    for number in range(count):
        pixels = np.clip(np.array(COLOURS[kind]) + rng.integers(-40, 40, (8, 8, 3)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{kind}-{seed}-{number:03}.png")
    return folder


def labelled(folder: Path, *, kinds: tuple[str, ...] = ("ant", "bee", "fly"), count: int = 20) -> Path:
    """Write a folder of class folders."""
    for kind in kinds:
        pictures(folder / kind, kind, count=count)
    return folder


def batch(folder: Path, kinds: dict[str, int], *, seed: int = 1) -> Path:
    """Write pictures of several kinds in one folder."""
    for kind, count in kinds.items():
        pictures(folder, kind, count=count, seed=seed)
    return folder


def machine(**changes) -> Machine:
    """Return one thread of this processor."""
    return Machine(device="cpu", threads=1, progress=changes.pop("progress", Progress()), **changes)


def new(path: Path, *, method: str = "frozen", **changes) -> Workspace:
    """Return a workspace yet to be fitted."""
    return Workspace.create(path, method=method, encoder="tiny", settings=SETTINGS[method], machine=machine(**changes))


def fitted(tmp_path: Path, **how) -> Workspace:
    """Return a workspace that knows three kinds."""
    workspace = new(tmp_path / "w", **how)
    workspace.fit(labelled(tmp_path / "labelled"))
    return workspace


def lived(tmp_path: Path, **how) -> Workspace:
    """Return a workspace after one session, which brought wasps."""
    workspace = fitted(tmp_path, **how)
    workspace.discover(batch(tmp_path / "first", {"ant": 8, "bee": 8, "wasp": 12}))
    return workspace


def content(folder: Path) -> dict[str, bytes]:
    """Return every byte below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def state(workspace: Workspace) -> tuple:
    """Return all that a user can see of a workspace, but for the time of day."""
    listed = workspace.classes()
    lines = tuple((one.id, one.name, one.status, one.count, one.mean.tobytes()) for one in listed.classes)
    return lines, listed.images, tuple((one.words, one.undone_by) for one in workspace.history().operations)
