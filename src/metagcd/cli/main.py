"""`metagcd`: the commands, and what a person is told when one cannot be carried out."""

import functools
import io
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from importlib.metadata import version
from typing import Any

from metagcd.cli import cache, classes, data, doctor, exporting, inspect, listing, results, run, suite, workspace
from metagcd.errors import InputError, unknown_name

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": run.demo,
    "run": run.run,
    "config": run.config,
    "split": run.split,
    "suite": suite.suite,
    "table": results.table,
    "report": results.report,
    "inspect": inspect.inspect,
    "fit": workspace.fit,
    "discover": workspace.discover,
    "predict": exporting.predict,
    "export": exporting.export,
    "classes list": classes.ls,
    "classes rename": classes.rename,
    "classes merge": classes.merge,
    "classes split": classes.split,
    "classes reject": classes.reject,
    "classes undo": classes.undo,
    "classes history": classes.history,
    "rollback": workspace.rollback,
    "list methods": listing.methods,
    "list sources": listing.sources,
    "list encoders": listing.encoders,
    "list presets": listing.presets,
    "list protocols": listing.protocols,
    "list exports": listing.exports,
    "data get": data.get,
    "data ls": data.ls,
    "cache ls": cache.ls,
    "cache clear": cache.clear,
    "doctor": doctor.doctor,
}
GROUPS = frozenset(name.split()[0] for name in COMMANDS if " " in name)
USAGE, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Carry out one command; exit 2 with one line where the input cannot be used, 130 where it was interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"metagcd {version('metagcd')}")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to stop: as by Ctrl-C
    try:
        parsed(joined(words) or ["--help"])()
    except InputError as error:
        _fail(" ".join(str(error).split()), USAGE)
    except KeyboardInterrupt as interrupt:
        _fail(str(interrupt) or "Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()


def parsed(words: Sequence[str]) -> Callable[[], None]:
    """Return the command with its arguments, not yet begun."""
    from tyro.extras import subcommand_cli_from_dict

    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return subcommand_cli_from_dict(
                {name: _deferred(command) for name, command in COMMANDS.items()},
                prog="metagcd",
                description="Learn labelled image classes once; discover new ones in unlabelled batches.",
                args=words,
            )
    except SystemExit as stop:
        if stop.code not in (0, None):
            _fail(_one_line(said.getvalue()), USAGE)
        raise


def joined(words: Sequence[str]) -> list[str]:
    """Return the words with a group and its command, such as `data get`, made one."""
    if len(words) >= 2 and words[0] in GROUPS and f"{words[0]} {words[1]}" in COMMANDS:
        return [f"{words[0]} {words[1]}", *words[2:]]
    if words and words[0] in GROUPS:
        names = ", ".join(f"`metagcd {name}`" for name in COMMANDS if name.startswith(f"{words[0]} "))
        raise InputError(f"`metagcd {words[0]}` is one of {names}.")
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise unknown_name("command", words[0], {name.split()[0] for name in COMMANDS})
    return list(words)


def _deferred(command: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(command)
    def later(*arguments: Any, **options: Any) -> Callable[[], None]:
        return functools.partial(command, *arguments, **options)

    return later


def _one_line(text: str) -> str:
    """Return the words of an error that the parser framed in a box over several lines."""
    lines = [re.sub(r"[│╭╮╰╯─]", " ", line) for line in text.splitlines()[1:]]
    words = " ".join(" ".join(lines).split())
    return re.split(r" in metagcd| For full helptext", words)[0].replace(" Perhaps", ". Perhaps")


def _fail(text: str, code: int) -> None:
    from metagcd.engine.processes import speaks

    if speaks():  # of processes that fail alike, one tells
        print(f"metagcd: {text}", file=sys.stderr)
    raise SystemExit(code)
