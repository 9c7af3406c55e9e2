"""Names made fit for figures."""


def short(name: str, width: int = 14) -> str:
    """Return the name without its middle where it is long."""
    text = " ".join(name.split())
    # Names of one kind often differ at the end alone.
    return plain(text if len(text) <= width else f"{text[: width // 2]}…{text[1 - width // 2 :]}")


def plain(text: str) -> str:
    """Return text that is not taken for a formula."""
    return text.replace("$", r"\$")
