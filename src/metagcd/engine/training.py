"""The training loop that every learner with one level of optimisation shares."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from metagcd.engine.capture import Captured
from metagcd.engine.checkpoint import State, restore_training, training_state
from metagcd.engine.distributed import average, of_first
from metagcd.engine.feed import Batch, Feed
from metagcd.engine.finite import CHECK_EVERY, Moment, Watch
from metagcd.engine.runtime import Runtime
from metagcd.errors import InputError
from metagcd.models.compiling import compiled

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Unit = Literal["update", "epoch"]
Objective = Callable[[Batch], Float[Tensor, ""]]
Outcome = tuple[Float[Tensor, ""], Float[Tensor, ""] | None]
"""The loss of an update, and the norm of the gradient where it is clipped."""


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
        if self.warmup < 0:
            raise InputError(f"`warmup` must not be negative; got {self.warmup}.")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of training with a name of its own within the session."""

    name: str
    amount: int
    unit: Unit
    optimisation: Optimisation
    number: int = 0
    """Which of several stages of this name; the state of another one is not gone on from."""

    def updates(self, feed: Feed) -> int:
        """Return the number of gradient updates."""
        return self.amount * (feed.steps(self.optimisation.batch) if self.unit == "epoch" else 1)


def train(trained: nn.Module, objective: Objective, *, feed: Feed, stage: Stage, capturable: bool = False) -> None:
    """Minimise the objective over the feed's batches; a stage that was interrupted goes on where its state was kept.

    An objective is `capturable` if it takes of a batch nothing but its tokens and indices and their number.
    """
    runtime, total = feed.runtime, stage.updates(feed)
    captured = capturable and runtime.capture and feed.ranks.count == 1
    parameters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
    optimiser = make_optimiser(parameters, stage.optimisation, captured=captured)
    first = _resumed(stage, runtime, trained, optimiser)
    trained.train()
    update: Callable[[Batch], Outcome] = partial(
        _update, objective, parameters=parameters, optimiser=optimiser, feed=feed, clip=stage.optimisation.clip
    )
    update = Captured(update, may_capture=lambda: runtime.micro.size is None) if captured else update
    watch, moment = Watch(runtime.fabric.device), _moment(feed, stage)
    with (
        _compiled_tail(feed, captured=captured),
        runtime.progress.bar(stage.name, total) as bar,
        runtime.metrics.course(stage.name, first, number=stage.number) as course,
    ):
        bar.advance(first)
        batches = feed.training(batch=stage.optimisation.batch, first=first, last=total)
        for step, batch in enumerate(batches, first):
            set_rate(optimiser, rate_at(stage.optimisation, step, total))
            loss, norm = update(batch)
            course.saw(len(batch.rows))
            watch.saw(step, loss)
            due, last = runtime.keeper.due(stage.name), step == total - 1
            if due or last:
                watch.saw_all(step, parameters)
            if due or last or step % CHECK_EVERY == 0:
                moment.require(watch)
                bar.note(f"loss {float(loss):.3f}")
            if last or step % CHECK_EVERY == 0:
                course.tell(step, loss=loss, rate=rate_at(stage.optimisation, step, total), gradient_norm=norm)
            bar.advance()
            if due:
                runtime.keeper.keep(stage.name, _state(stage, trained, optimiser, step + 1))
    runtime.keeper.keep(stage.name, _state(stage, trained, optimiser, total))
    trained.eval()


def _update(
    objective: Objective,
    batch: Batch,
    *,
    parameters: list[nn.Parameter],
    optimiser: Optimizer,
    feed: Feed,
    clip: float | None,
) -> Outcome:
    """Move the parameters against the gradient of one batch; the host waits for nothing."""
    runtime = feed.runtime
    work = partial(_backward, objective, batch, optimiser=optimiser, fabric=runtime.fabric)
    loss = runtime.micro.attempt(work, feed.encoder.tail, views=len(batch.tokens), runtime=runtime)
    average([p.grad for p in parameters if p.grad is not None], feed.ranks)
    norm = None if clip is None else torch.nn.utils.clip_grad_norm_(parameters, clip)
    optimiser.step()
    return loss, norm


def _compiled_tail(feed: Feed, *, captured: bool) -> AbstractContextManager[None]:
    """Return a context in which the tail runs compiled if that is asked for, or belongs to what is captured."""
    runtime = feed.runtime
    wanted = runtime.compile == "on" or (captured and runtime.fabric.device.type == "cuda")
    return compiled(feed.encoder.tail, runtime.progress) if wanted else nullcontext()


def _moment(feed: Feed, stage: Stage) -> Moment:
    def batches(step: int) -> Sequence[Batch]:
        return tuple(feed.training(batch=stage.optimisation.batch, first=step, last=step + 1))

    return Moment(stage.name, stage.optimisation.rate, feed.runtime.keeper, batches)


def _backward(objective: Objective, batch: Batch, *, optimiser: Optimizer, fabric: "Fabric") -> Float[Tensor, ""]:
    """Leave the gradient of the loss in the parameters, and nothing of an earlier attempt; return the loss."""
    optimiser.zero_grad()
    with fabric.autocast():
        loss = objective(batch)
    fabric.backward(loss)
    return loss.detach()


def make_optimiser(parameters: list[nn.Parameter], config: Optimisation, *, captured: bool = False) -> Optimizer:
    """Return the optimiser that the config names.

    Where its steps are captured, its rate is a tensor beside the parameters, which `set_rate` writes to, and only the
    fused kernels leave it there.
    """
    chosen: dict[str, Any] = {"lr": config.rate, "weight_decay": config.weight_decay}
    if captured:
        chosen |= {"lr": torch.tensor(config.rate, device=parameters[0].device), "fused": True}
    if config.optimiser != "sgd":
        kind = Adam if config.optimiser == "adam" else AdamW
        return kind(parameters, capturable=captured, **chosen)
    return SGD(parameters, momentum=config.momentum, **chosen)


def rate_at(config: Optimisation, step: int, total: int) -> float:
    """Return the rate of an update among `total`."""
    rate = config.rate * min((step + 1) / (config.warmup + 1), 1.0)
    if config.schedule == "constant":
        return rate
    share = (1 + math.cos(math.pi * step / total)) / 2
    return rate * (config.final_rate + (1 - config.final_rate) * share)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """Let the optimiser's next step have this rate."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _resumed(stage: Stage, runtime: Runtime, trained: nn.Module, optimiser: Optimizer) -> int:
    found = of_first(runtime.fabric, partial(runtime.keeper.find, stage.name))
    if found is None or found.values.get("number", 0) != stage.number:
        return 0
    return restore_training(found, trained, optimiser)


def _state(stage: Stage, trained: nn.Module, optimiser: Optimizer, step: int) -> State:
    state = training_state(trained, optimiser, step)
    return State(state.tensors, state.values | {"number": stage.number})
