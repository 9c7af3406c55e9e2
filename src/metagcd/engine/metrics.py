"""The course of training as JSON lines, and as event files for TensorBoard where these are asked for."""

import json
import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor

from metagcd.errors import InputError
from metagcd.runs import write_atomic

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

Line: TypeAlias = dict[str, Any]
FILE = "metrics.jsonl"
EVENTS = "tensorboard"


@dataclass
class Course:
    """The course of one stage. Without a file, it is told and forgets."""

    file: Path | None
    head: Mapping[str, Any]
    """What every line begins with: which stage."""
    spent: float = 0.0
    """Seconds that the stage took before this process."""
    writer: "SummaryWriter | None" = None
    _images: int = 0
    _began: float = field(default_factory=time.perf_counter)
    _told: float = field(default_factory=time.perf_counter)

    def saw(self, images: int) -> None:
        """Count images of an update."""
        self._images += images

    def tell(self, step: int, **values: float | Tensor | None) -> None:
        """Write one line about an update, with the images per second since the last; without values that are None."""
        if self.file is None:
            return
        now = time.perf_counter()
        told = {name: float(value) for name, value in values.items() if value is not None}
        line = {**self.head, "step": step, **told}
        line["images_per_second"] = round(self._images / max(now - self._told, 1e-9), 1)
        line["seconds"] = round(self.spent + now - self._began, 3)
        self._images, self._told = 0, now
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self.writer is not None:
            _show(self.writer, line)


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where the course of training is written. Without a folder, nowhere."""

    folder: Path | None = None
    tensorboard: bool = False

    @contextmanager
    def course(self, stage: str, first: int, *, number: int = 0) -> Generator[Course]:
        """Open the course of a stage that goes on at update `first`.

        Guaranteed: every update has at most one line. What an interrupted process told of `first` and later, or of
        later stages of this name, is dropped.
        """
        head = {"stage": stage, "number": number}
        if self.folder is None:
            yield Course(None, head)
            return
        lines = _kept(self.folder / FILE, stage, (number, first))
        before = [line for line in lines if line["stage"] == stage and line["number"] == number]
        spent = float(before[-1]["seconds"]) if before else 0.0
        writer = self._events(stage, number, before) if self.tensorboard else None
        try:
            yield Course(self.folder / FILE, head, spent, writer)
        finally:
            if writer is not None:
                writer.close()

    def _events(self, stage: str, number: int, before: list[Line]) -> "SummaryWriter":
        """Return a writer of event files that hold the lines so far, and nothing of what was dropped."""
        from torch.utils.tensorboard.writer import SummaryWriter

        folder = Path(self.folder or "") / EVENTS / (f"{stage}-{number}" if number else stage)
        shutil.rmtree(folder, ignore_errors=True)
        writer = SummaryWriter(str(folder))
        for line in before:
            _show(writer, line)
        return writer


def require_tensorboard() -> None:
    """Raise if event files cannot be written."""
    if find_spec("tensorboard") is None:
        raise InputError(
            "The package `tensorboard` is not installed; install it, or go on without `--tensorboard`: "
            f"the same numbers are in {FILE}."
        )


def _kept(file: Path, stage: str, place: tuple[int, int]) -> list[Line]:
    """Drop from the file what was told of this place of the stage and later; return the rest."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = [line for line in map(_line, text.splitlines()) if line is not None]
    kept = [line for line in lines if line["stage"] != stage or (line["number"], line["step"]) < place]
    content = "".join(json.dumps(line) + "\n" for line in kept)
    if content != text or not file.exists():
        write_atomic(file, content)
    return kept


def _line(text: str) -> Line | None:
    """Return a line of the file; None for one that was cut off."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _show(writer: "SummaryWriter", line: Line) -> None:
    for name, value in line.items():
        if name not in {"stage", "number", "step"}:
            writer.add_scalar(name, value, line["step"])
