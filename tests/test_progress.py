import io

import pytest
from rich.console import Console

from metagcd.progress import Progress, terminal_progress


def watched(*, terminal: bool):
    text = io.StringIO()
    return text, Progress(Console(file=text, force_terminal=terminal, soft_wrap=True, width=120))


def test_progress_is_silent_by_default(capsys):
    progress = Progress()
    progress.say("hello")
    with progress.bar("train", 3) as bar:
        bar.advance()
        bar.note("loss 1")
    assert list(progress.track([1, 2], "count")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_lines_stay_and_no_bar_is_drawn_where_no_terminal_watches():
    text, progress = watched(terminal=False)
    with progress.bar("train", 3) as bar:
        bar.advance()
        bar.note("loss 1")
        progress.say("[bold]all 71.0[/bold], 3 of 4")
    assert text.getvalue() == "[bold]all 71.0[/bold], 3 of 4\n"


def test_a_terminal_is_shown_label_count_and_note():
    text, progress = watched(terminal=True)
    with progress.bar("session-1", 8) as bar:
        bar.advance(5)
        bar.note("loss 0.125")
    assert all(word in text.getvalue() for word in ("session-1", "5/8", "loss 0.125"))


def test_tracking_passes_the_items_on_and_counts_them():
    text, progress = watched(terminal=True)
    assert list(progress.track("abc", "letters", 3)) == ["a", "b", "c"]
    assert "3/3" in text.getvalue()


def test_a_failure_goes_through_a_bar():
    _, progress = watched(terminal=True)
    with pytest.raises(KeyError), progress.bar("train", 3):
        raise KeyError


def test_terminal_progress_speaks_on_standard_error_and_not_when_quiet(capsys):
    terminal_progress().say("seed 0")
    terminal_progress(quiet=True).say("seed 1")
    assert capsys.readouterr() == ("", "seed 0\n")
