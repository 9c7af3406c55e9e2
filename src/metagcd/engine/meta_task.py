"""A meta-task: a pseudo sequence of sessions, and the bi-level problem that each of its sessions poses."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from metagcd.data.loader import class_balanced_batch
from metagcd.data.rows import select
from metagcd.engine.feed import Batch, Feed
from metagcd.engine.meta import Bilevel, Parameters
from metagcd.engine.meta_plan import MetaPlan
from metagcd.protocol import Episode, draw_episode
from metagcd.seeds import Seeds
from metagcd.types import Array

Classes = Int64[Tensor, " b"]


@dataclass(frozen=True, kw_only=True)
class Objectives:
    """The losses of Algorithm 1."""

    warm_up: Callable[[Batch, Classes], Float[Tensor, ""]]
    """Line 6, of the network as it is (Eq. 3)."""
    inner: Callable[[Parameters, Batch], Float[Tensor, ""]]
    """Line 10, of unlabelled images (Eq. 4)."""
    outer: Callable[[Parameters, Batch, Classes], Float[Tensor, ""]]
    """Line 13, of labelled images (Eq. 2)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MetaWork:
    """What is trained, by which losses, on which labelled images, and how."""

    network: nn.Module
    objectives: Objectives
    plan: MetaPlan
    feed: Feed
    """The images of session 0."""
    labels: Int[Array, " n"]

    def among(self, rows: Int[Array, " m"]) -> "MetaWork":
        """Return the same work on some of the images."""
        return replace(self, feed=self.part(rows, self.feed.seeds), labels=self.labels[rows])

    def part(self, rows: Int[Array, " m"], seeds: Seeds) -> Feed:
        """Return some of the images as a feed with seeds of its own."""
        return replace(self.feed, images=select(self.feed.images, rows), seeds=seeds)

    def classes(self, rows: Int[Array, " b"]) -> Classes:
        """Return the labels of some of the images."""
        classes = torch.from_numpy(self.labels[rows].astype(np.int64))
        return classes.to(self.feed.runtime.fabric.device, non_blocking=True)  # waiting for it would be of no use


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A pseudo sequence, and the seeds of all that is drawn in it."""

    number: int
    """Counted from the first meta-task."""
    episode: Episode
    seeds: Seeds


@dataclass(frozen=True, kw_only=True, eq=False)
class Sitting:
    """One pseudo session: the images to adapt to, and the cumulative pseudo test images to be judged on."""

    unlabelled: tuple[Batch, ...]
    judged: Batch
    classes: Classes

    def problem(self, objectives: Objectives) -> Bilevel[Batch]:
        """Return the bi-level problem (Alg. 1, lines 10 and 13)."""
        return Bilevel(
            inner=objectives.inner,
            batches=self.unlabelled,
            outer=lambda parameters: objectives.outer(parameters, self.judged, self.classes),
        )


def draw_task(work: MetaWork, number: int, *, purpose: str = "task") -> Task:
    """Draw a pseudo sequence (Alg. 1, line 3)."""
    seeds = work.feed.seeds.child(purpose, number)
    return Task(number=number, episode=draw_episode(work.labels, work.plan.episode, seeds), seeds=seeds)


def sit(work: MetaWork, task: Task, place: int) -> Sitting:
    """Draw the batches of the pseudo session at this place, the test images of all before it included."""
    session, seeds = task.episode.sessions[place], task.seeds.child("session", place)
    inner = work.part(session.train, seeds.child("inner"))
    unlabelled = inner.training(batch=work.plan.inner.batch, first=0, last=work.plan.inner.updates)
    met = task.episode.sessions[: place + 1]
    tests = np.concatenate([task.episode.labelled_test, *(one.test for one in met)])  # P; Alg. 1, lines 8 and 12
    drawn = class_balanced_batch(work.labels[tests], batch=work.plan.outer.meta_batch, rng=seeds.numpy("meta_batch"))
    rows = np.unique(tests[drawn])  # a small class is drawn whole, and each of its images once
    (judged,) = work.part(rows, seeds.child("outer")).training(batch=len(rows), first=0, last=1)
    return Sitting(unlabelled=tuple(unlabelled), judged=judged, classes=work.classes(rows[judged.rows]))
