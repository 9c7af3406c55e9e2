"""Commands as a person gives them, and what is said in answer."""

from metagcd.cli.main import main


def said(capsys, *words):
    """Return the exit code and what stood on the two streams."""
    try:
        main(words)
        code = 0
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err
