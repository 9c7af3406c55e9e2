"""`metagcd cache`: the trunk outputs that are kept for later runs."""


def ls(*, check: bool = False) -> None:
    """List the stored trunk outputs, the last used first: size, last use, what they hold.

    Args:
        check: Read everything and compare checksums; what is damaged is filled again when a run needs it.
    """
    from datetime import datetime

    from metagcd.models.bank_budget import entries
    from metagcd.models.bank_config import bank_root

    root = bank_root()
    found = entries(root)
    print(f"{len(found)} banks in {root}, {_size(sum(entry.bytes for entry in found))}.")
    for entry in reversed(found):
        used = datetime.fromtimestamp(entry.used)
        state = _checked(entry.folder.name) if check else "complete" if entry.complete else "partial"
        print(f"{entry.folder.name}  {_size(entry.bytes):>9}  {used:%Y-%m-%d %H:%M}  {state:<8}  {entry.about}")


def clear() -> None:
    """Remove all stored trunk outputs that no process uses at present."""
    from metagcd.models.bank_budget import clear as clear_banks
    from metagcd.models.bank_config import bank_root

    root = bank_root()
    gone, left = clear_banks(root)
    print(f"Removed {len(gone)} banks, {_size(sum(entry.bytes for entry in gone))}, from {root}.")
    for entry in left:
        print(f"{entry.folder.name} is in use and was left.")


def _checked(name: str) -> str:
    from metagcd.models.bank_config import bank_root
    from metagcd.models.bank_files import BankFiles

    files = BankFiles(bank_root() / name)
    return "damaged" if files.damaged() else "complete" if files.is_complete() else "partial"


def _size(count: int) -> str:
    return f"{count / 10**9:.1f} GB" if count >= 10**8 else f"{count / 10**6:.1f} MB"
