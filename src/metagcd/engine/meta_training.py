"""Meta-training: an initialisation learned on pseudo sequences of sessions (Algorithm 1)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from metagcd.engine.checkpoint import State, restore_training, training_state
from metagcd.engine.distributed import average, of_first
from metagcd.engine.feed import Batch
from metagcd.engine.finite import CHECK_EVERY, Moment, Watch
from metagcd.engine.meta import Parameters, meta_gradient
from metagcd.engine.meta_task import MetaWork, Sitting, Task, draw_task, sit
from metagcd.engine.meta_validation import Plateau, divided, plateau_of, validation_loss
from metagcd.engine.training import make_optimiser, rate_at, set_rate, train
from metagcd.models.functional import parameters_of

STAGE = "meta"


@dataclass(frozen=True)
class _Done:
    """What an outer update tells."""

    images: int
    loss: Tensor
    rate: float
    norm: Tensor
    """Of the gradient."""
    clipped: bool

    @property
    def values(self) -> dict[str, float | Tensor | None]:
        return {"loss": self.loss, "rate": self.rate, "gradient_norm": self.norm if self.clipped else None}


def meta_train(work: MetaWork) -> None:
    """Train the network into an initialisation; training that was interrupted goes on where its state was kept.

    Guaranteed: after an interruption at any moment the same bits come out.
    """
    plan, runtime = work.plan, work.feed.runtime
    trained, held_out = divided(work)
    optimiser = make_optimiser([p for p in work.network.parameters() if p.requires_grad], plan.outer.descent)
    found = of_first(runtime.fabric, partial(runtime.keeper.find, STAGE))
    step = restore_training(found, work.network, optimiser) if found is not None else 0
    plateau = plateau_of(found, plan.validation.patience)
    watch, moment = Watch(runtime.fabric.device), _moment(trained)
    with runtime.progress.bar(STAGE, plan.updates) as bar, runtime.metrics.course(STAGE, step) as course:
        bar.advance(step)
        while step < plan.updates and not plateau.reached:
            for done in _rest_of_task(trained, optimiser, step):
                step += 1
                bar.advance()
                course.saw(done.images)
                watch.saw(step - 1, done.loss, done.norm)
                validating, due, last = plan.validates_after(step), runtime.keeper.due(STAGE), step == plan.updates
                told = validating or (step - 1) % CHECK_EVERY == 0 or last
                if due or validating or last or plan.warms_up_after(step):
                    watch.saw_all(step - 1, work.network.parameters())
                if due or told or plan.warms_up_after(step):
                    moment.require(watch)
                    bar.note(f"loss {float(done.loss):.3f}")
                validated = validation_loss(held_out) if validating else None
                plateau = plateau if validated is None else plateau.after(validated)
                if told:
                    course.tell(step - 1, validation_loss=validated, **done.values)
                if due:
                    runtime.keeper.keep(STAGE, _state(work, optimiser, step, plateau))
    runtime.keeper.keep(STAGE, _state(work, optimiser, step, plateau))


def _rest_of_task(work: MetaWork, optimiser: Optimizer, step: int) -> Iterator[_Done]:
    """Do the outer updates from this one to the last of its meta-task; yield each."""
    number, begin = divmod(step, work.plan.sessions)
    task = draw_task(work, number)
    if begin == 0:
        _warm_up(work, task, number)
    work.network.eval()  # so that what an update does depends on parameters and images alone
    for place in range(begin, work.plan.sessions):
        yield _outer_update(work, optimiser, task, place)


def _warm_up(work: MetaWork, task: Task, number: int) -> None:
    """Train on the pseudo-labelled classes (Alg. 1, line 6), or first of all on every class."""
    whole = number == 0 and work.plan.first_on_all
    rows = np.arange(len(work.labels)) if whole else task.episode.labelled
    feed = work.feed if whole else work.part(rows, task.seeds.child("warm-up"))

    def objective(batch: Batch) -> Float[Tensor, ""]:
        return work.objectives.warm_up(batch, work.classes(rows[batch.rows]))

    stage = work.plan.warmups[min(number, 1)]
    if stage.amount:
        train(work.network, objective, feed=feed, stage=replace(stage, number=number))


def _outer_update(work: MetaWork, optimiser: Optimizer, task: Task, place: int) -> _Done:
    """Move the parameters against the meta-gradient of a pseudo session (Alg. 1, line 13)."""
    plan, step = work.plan, task.number * work.plan.sessions + place
    sitting, parameters = sit(work, task, place), parameters_of(work.network)
    loss, gradient = _meta_gradient(work, sitting, parameters)
    average(list(gradient.values()), work.feed.ranks)
    for name, parameter in parameters.items():
        parameter.grad = gradient[name]
    clip = math.inf if plan.outer.clip is None else plan.outer.clip
    norm = torch.nn.utils.clip_grad_norm_(list(parameters.values()), clip)
    set_rate(optimiser, rate_at(plan.outer.descent, step, plan.updates))
    optimiser.step()
    images = len(sitting.judged.rows) + sum(len(batch.rows) for batch in sitting.unlabelled)
    rate = rate_at(plan.outer.descent, step, plan.updates)
    return _Done(images, loss, rate, norm, clipped=plan.outer.clip is not None)


def _moment(work: MetaWork) -> Moment:
    def batches(step: int) -> Sequence[Batch]:
        number, place = divmod(step, work.plan.sessions)
        sitting = sit(work, draw_task(work, number), place)
        return (*sitting.unlabelled, sitting.judged)

    return Moment(STAGE, work.plan.outer.rate, work.feed.runtime.keeper, batches)


def _meta_gradient(work: MetaWork, sitting: Sitting, parameters: Parameters) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the outer loss and its gradient, computed in parts where memory asks for it.

    Note: where the graphs of all inner updates are kept (`recompute = false`), parts would not help.
    """
    inner, runtime = work.plan.inner, work.feed.runtime
    compute = partial(meta_gradient, sitting.problem(work.objectives), parameters, inner, cuts=runtime.micro.cuts)
    if inner.order == 2 and not inner.recompute:
        return compute()
    views = max(len(batch.tokens) for batch in (*sitting.unlabelled, sitting.judged))
    return runtime.micro.attempt(compute, work.feed.encoder.tail, views=views, runtime=runtime)


def _state(work: MetaWork, optimiser: Optimizer, step: int, plateau: Plateau) -> State:
    state = training_state(work.network, optimiser, step)
    return State(state.tensors, state.values | plateau.values)
