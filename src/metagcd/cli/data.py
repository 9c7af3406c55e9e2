"""`metagcd data`: get published data sets, and see which are there."""

import tyro


def get(name: tyro.conf.Positional[str], *, data_root: str = "", quiet: bool = False) -> None:
    """Download a published data set, check it and unpack it; interrupted downloads continue.

    Args:
        name: The data set, such as cifar100; `metagcd data ls` names all.
        data_root: Folder for data sets; empty: METAGCD_DATA, else ~/.cache/metagcd/data.
        quiet: Show no progress.
    """
    from metagcd.data import download
    from metagcd.data.root import data_root as root_of
    from metagcd.progress import terminal_progress

    folder = download.get(name, root_of(data_root), terminal_progress(quiet=quiet))
    print(f"{name} is in {folder}.")


def ls(*, data_root: str = "") -> None:
    """List the published data sets: which are here, where, and how to get the others.

    Args:
        data_root: Folder for data sets; empty: METAGCD_DATA, else ~/.cache/metagcd/data.
    """
    from metagcd.data.archives import found
    from metagcd.data.download import origins
    from metagcd.data.root import data_root as root_of

    root = root_of(data_root)
    print(f"Data sets in {root}:")
    for name, origin in origins().items():
        place = found(origin, root)
        print(f"{name:<14} {'here' if place else '-':<5} {place or origin.how()}")
