"""What a long piece of work tells the person who waits for it; silent unless a terminal is watching."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


class Bar:
    """A piece of work under way: `advance` counts, `note` shows a word beside the bar."""

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""

    def note(self, text: str) -> None:
        """Show a word about the present state, such as a loss."""


@dataclass(frozen=True)
class Progress:
    """Where progress goes. `Progress()` is silent; `terminal_progress()` draws bars when somebody watches."""

    console: "Console | None" = None

    def say(self, text: str) -> None:
        """Tell one line that stays."""
        if self.console is not None:
            self.console.print(text, highlight=False, markup=False)

    @contextmanager
    def bar(self, label: str, total: int | None) -> Generator[Bar]:
        """Open a bar for `total` steps."""
        if self.console is None or not self.console.is_terminal:
            yield Bar()
            return
        with _rich_bar(self.console, label, total) as bar:
            yield bar

    def track(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Pass the items on, counting them."""
        with self.bar(label, total) as bar:
            for item in items:
                yield item
                bar.advance()


def terminal_progress(*, quiet: bool = False) -> Progress:
    """Return progress on standard error: lines always, bars only on a terminal, nothing when quiet."""
    if quiet:
        return Progress()
    from rich.console import Console

    return Progress(Console(stderr=True, soft_wrap=True, file=sys.stderr))


@contextmanager
def _rich_bar(console: "Console", label: str, total: int | None) -> Generator[Bar]:
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=30),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[note]}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as drawing:
        task = drawing.add_task(label, total=total, note="")

        class Drawn(Bar):
            def advance(self, steps: int = 1) -> None:
                drawing.advance(task, steps)

            def note(self, text: str) -> None:
                drawing.update(task, note=text)

        yield Drawn()
