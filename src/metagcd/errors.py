"""What the reader of a message is told when their input cannot be used."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Say, in one line made for the user, why what they gave cannot be used."""


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> InputError:
    """Name the unknown thing, the nearest right one, and all there are."""
    known = sorted(choices)
    nearest = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean `{nearest[0]}`?" if nearest else ""
    return InputError(f"Unknown {kind} `{name}`.{hint} There are: {', '.join(known) or 'none'}.")
