"""The learner of a workspace: built from its configuration, saved after every session, and taken up again."""

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.config import from_toml
from metagcd.engine.checkpoint import Keeper
from metagcd.engine.runtime import Precision, Runtime, fabric_on
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.methods.learner import Learner, Setting
from metagcd.models import Encoder, encoder_of
from metagcd.models.bank_config import bank_budget, bank_root
from metagcd.models.bank_store import Banks
from metagcd.progress import Progress
from metagcd.seeds import Seeds
from metagcd.types import Array
from metagcd.workspace.catalogue import FitRecord, SessionRecord
from metagcd.workspace.config import WorkspaceConfig
from metagcd.workspace.folder import Folder


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where a workspace computes and what it tells; no part of its configuration."""

    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    precision: Precision = "32-true"
    threads: int = 2
    """Threads that read images ahead."""
    save_every: float = 60.0
    """Seconds between two saves of training under way."""
    wait: float = 60.0
    """Seconds to wait for another process that has the workspace."""
    progress: Progress = dataclasses.field(default_factory=Progress)

    def kind(self) -> str:
        """Return `cuda` or `cpu`: what `auto` comes to here."""
        return str(fabric_on(self.device).device.type)


def encoder_for(config: WorkspaceConfig, *, fresh: bool) -> Encoder:
    """Return the encoder: as it is first made, or with weights that are about to be replaced."""
    network = config.encoder
    if not fresh and any(field.name == "weights" for field in dataclasses.fields(network)):
        network = dataclasses.replace(network, weights="random")  # neither hub nor file is needed again
    return encoder_of(network, Seeds(config.seed).child("encoder"))


def learner_for(config: WorkspaceConfig, encoder: Encoder, machine: Machine, places: Path | None) -> Learner:
    """Return the learner as it is before session 0; `places` is where its training can be interrupted."""
    runtime = Runtime(
        fabric=fabric_on(machine.device, precision=machine.precision),
        progress=machine.progress,
        keeper=Keeper(places, every=machine.save_every),
        banks=Banks(config=config.bank, root=bank_root(), budget=bank_budget(), progress=machine.progress),
        threads=machine.threads,
    )
    seeds = Seeds(config.seed).child("method")
    setting = Setting(encoder=encoder, seeds=seeds, augmentation=config.augmentation, runtime=runtime)
    return METHODS.of(config.method).target(config.method, setting)


def learner_at(
    folder: Folder, fit: FitRecord, session: SessionRecord, machine: Machine, places: Path | None = None
) -> Learner:
    """Return the learner as a session left it."""
    config = config_of(fit)
    encoder = encoder_for(config, fresh=False)
    encoder.load_state_dict(folder.read(fit.encoder))
    return taken_up(learner_for(config, encoder, machine, places), folder, session)


def taken_up(learner: Learner, folder: Folder, session: SessionRecord) -> Learner:
    """Return a new learner with the state that a session left."""
    if session.weights is None:
        raise InputError(f"The weights of session {session.number} were not kept; see `metagcd discover --keep`.")
    learner.load_state_dict(folder.read(session.weights))
    return learner


def config_of(fit: FitRecord) -> WorkspaceConfig:
    """Return the configuration of a fit."""
    return from_toml(WorkspaceConfig(), fit.config, origin="the configuration in the catalogue")


def size_for(encoder: Any) -> int:
    """Return the side of the squares that an encoder's views are cut from."""
    return round(encoder.spec.size / encoder.spec.crop_fraction)


def place_for(folder: Folder, key: str) -> Path:
    """Return where training keeps its place; what another training left there is removed."""
    if folder.stages.is_dir():
        for path in folder.stages.iterdir():
            if path.name != key:
                shutil.rmtree(path, ignore_errors=True)
    return folder.stages / key


def state_of(learner: Learner) -> dict[str, Tensor]:
    """Return what a learner carries on, on the processor."""
    return {name: tensor.detach().cpu() for name, tensor in learner.state_dict().items()}


def halves(features: Float[Array, "n d"]) -> Float[Tensor, "n d"]:
    """Return features in 16 bits, which is what is kept of images."""
    return torch.from_numpy(features).to(torch.float16)
