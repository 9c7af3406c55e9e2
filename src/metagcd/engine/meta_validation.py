"""When meta-training has come to rest, seen on images of session 0 that it does not train on."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from metagcd.engine.checkpoint import State
from metagcd.engine.meta import adapt
from metagcd.engine.meta_task import MetaWork, draw_task, sit
from metagcd.models.functional import parameters_of


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """How low the validation loss has been, and since how many validations."""

    patience: int
    best: float = math.inf
    waited: int = 0

    @property
    def reached(self) -> bool:
        """Say whether there was no progress for as long as one is willing to wait."""
        return self.waited >= self.patience

    @property
    def values(self) -> dict[str, float]:
        """Return what `plateau_of` reads."""
        return {"best": self.best, "waited": self.waited}

    def after(self, loss: float) -> "Plateau":
        """Return the plateau after one more validation."""
        if loss < self.best:
            return replace(self, best=loss, waited=0)
        return replace(self, waited=self.waited + 1)


def plateau_of(state: State | None, patience: int) -> Plateau:
    """Return the plateau that a state was kept with, or the one at the start."""
    if state is None:
        return Plateau(patience=patience)
    return Plateau(patience=patience, best=float(state.values["best"]), waited=int(state.values["waited"]))


def divided(work: MetaWork) -> tuple[MetaWork, MetaWork]:
    """Return the work on the images to train on and on those held out of it, a share of each class.

    Without validations, nothing is held out.
    """
    if not work.plan.validation.every_tasks:
        return work, work
    held_out = np.zeros(len(work.labels), dtype=bool)
    for label in np.unique(work.labels):
        rows = work.feed.seeds.numpy("held-out", int(label)).permutation(np.flatnonzero(work.labels == label))
        held_out[rows[: round(work.plan.validation.fraction * len(rows))]] = True
    return work.among(np.flatnonzero(~held_out)), work.among(np.flatnonzero(held_out))


def validation_loss(work: MetaWork) -> float:
    """Return the mean outer loss after adaptation, over the sessions of the same few pseudo sequences each time."""
    losses: list[Tensor] = []
    parameters = parameters_of(work.network)
    for number in range(work.plan.validation.tasks):
        task = draw_task(work, number, purpose="validation")
        for place in range(work.plan.sessions):
            problem = sit(work, task, place).problem(work.objectives)
            adapted = adapt(problem, parameters, work.plan.inner)
            with torch.no_grad():
                losses.append(problem.outer(adapted))
    return work.feed.runtime.fabric.broadcast(
        float(torch.stack(losses).double().mean())
    )  # processes that share the work end it together
