"""The training loop that every learner with one level of optimisation shares."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from metagcd.engine.checkpoint import restore_training, training_state
from metagcd.engine.feed import Batch, Feed
from metagcd.errors import InputError
from metagcd.progress import Bar

Unit = Literal["update", "epoch"]
Objective = Callable[[Batch], Float[Tensor, ""]]
CHECK_EVERY = 20  # Reading a loss waits for the device, so not at every step.


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How parameters follow their gradient."""

    optimiser: Literal["sgd", "adam", "adamw"] = "sgd"
    """The paper says Adam, which cannot take a rate of 0.1 on a ViT block; the released code uses SGD."""
    rate: float = 0.1
    """Learning rate; the paper's gamma (0.1) offline."""
    momentum: float = 0.9
    """Of SGD; released code."""
    weight_decay: float = 5e-5
    """Released code."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """Course of the rate over the stage; released code: cosine offline."""
    final_rate: float = 1e-3
    """Share of the rate that is left at the end of a cosine schedule; released code."""
    warmup: int = 0
    """Updates over which the rate rises from zero; none in the paper, needed by networks trained from scratch."""
    batch: int = 128
    """Images per step, each in two views. The paper says 256 without saying of what; released code: 128 images."""
    clip: float | None = None
    """Largest norm of the gradient; none when absent (the paper does not clip)."""

    def __post_init__(self) -> None:
        """Refuse values that train nothing."""
        if self.rate < 0 or self.batch < 1:
            raise InputError(f"`rate` must not be negative and `batch` at least 1; got {self.rate} and {self.batch}.")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of training with a name of its own within the session."""

    name: str
    amount: int
    unit: Unit
    optimisation: Optimisation

    def updates(self, feed: Feed) -> int:
        """Return the number of gradient updates."""
        return self.amount * (feed.steps(self.optimisation.batch) if self.unit == "epoch" else 1)


def train(trained: nn.Module, objective: Objective, *, feed: Feed, stage: Stage) -> None:
    """Minimise the objective over the feed's batches; a stage that was interrupted goes on where its state was kept."""
    runtime, total = feed.runtime, stage.updates(feed)
    parameters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
    optimiser = make_optimiser(parameters, stage.optimisation)
    found = runtime.keeper.find(stage.name)
    first = restore_training(found, trained, optimiser) if found is not None else 0
    trained.train()
    with runtime.progress.bar(stage.name, total) as bar:
        bar.advance(first)
        batches = feed.training(batch=stage.optimisation.batch, first=first, last=total)
        for step, batch in enumerate(batches, first):
            _set_rate(optimiser, rate_at(stage.optimisation, step, total))
            with runtime.fabric.autocast():
                loss = objective(batch)
            optimiser.zero_grad()
            runtime.fabric.backward(loss)
            if stage.optimisation.clip is not None:
                torch.nn.utils.clip_grad_norm_(parameters, stage.optimisation.clip)
            optimiser.step()
            _watch(loss, stage, step=step, total=total, bar=bar)
            if runtime.keeper.due(stage.name):
                runtime.keeper.keep(stage.name, training_state(trained, optimiser, step + 1))
    runtime.keeper.keep(stage.name, training_state(trained, optimiser, total))
    trained.eval()


def make_optimiser(parameters: list[nn.Parameter], config: Optimisation) -> Optimizer:
    """Return the optimiser that the config names."""
    if config.optimiser != "sgd":
        kind = Adam if config.optimiser == "adam" else AdamW
        return kind(parameters, lr=config.rate, weight_decay=config.weight_decay)
    return SGD(parameters, lr=config.rate, momentum=config.momentum, weight_decay=config.weight_decay)


def rate_at(config: Optimisation, step: int, total: int) -> float:
    """Return the rate of an update among `total`."""
    rate = config.rate * min((step + 1) / (config.warmup + 1), 1.0)
    if config.schedule == "constant":
        return rate
    share = (1 + math.cos(math.pi * step / total)) / 2
    return rate * (config.final_rate + (1 - config.final_rate) * share)


def _set_rate(optimiser: Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate


def _watch(loss: Float[Tensor, ""], stage: Stage, *, step: int, total: int, bar: Bar) -> None:
    bar.advance()
    if step % CHECK_EVERY == 0 or step == total - 1:
        value = float(loss.detach())
        bar.note(f"loss {value:.3f}")
        if not math.isfinite(value):
            raise InputError(
                f"The loss of stage `{stage.name}` is {value} at update {step}; "
                f"try a lower `rate` (now {stage.optimisation.rate}) or set `clip`."
            )
