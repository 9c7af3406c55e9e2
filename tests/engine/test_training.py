import math
from dataclasses import replace

import pytest
import torch
from engine import feeds
from torch.utils._python_dispatch import TorchDispatchMode

from metagcd.engine.checkpoint import Keeper
from metagcd.engine.training import Optimisation, Stage, make_optimiser, rate_at, train
from metagcd.errors import InputError
from metagcd.losses import labelled_from_similarity, soft_neighbour_from_similarity
from metagcd.models import ProjectionHead
from metagcd.models.bank_config import BankConfig
from metagcd.models.bank_store import Banks
from metagcd.seeds import Seeds


def stage(amount=7, *, unit="update", **how):
    return Stage(name="warm", amount=amount, unit=unit, optimisation=Optimisation(batch=8, **how))


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("killed_at", [0, 1, 2, 3, 5, 6])
def test_training_that_was_killed_goes_on_to_the_same_weights(tmp_path, killed_at, optimiser):
    chosen = stage(rate=0.01, optimiser=optimiser)
    whole, first, second = (feeds.feed(keeper=Keeper(folder, every=0.0)) for folder in (None, tmp_path, tmp_path))
    course = feeds.trained(chosen, whole)
    with pytest.raises(feeds.KilledError):
        feeds.trained(chosen, first, killed_at=killed_at)
    assert feeds.trained(chosen, second) == course[killed_at:]
    assert torch.equal(feeds.weights(second.encoder.tail), feeds.weights(whole.encoder.tail))


def test_a_stage_that_is_done_is_taken_up_as_it_ended(tmp_path):
    first, second = (feeds.feed(keeper=Keeper(tmp_path)) for _ in range(2))
    assert len(feeds.trained(stage(), first)) == 7
    assert feeds.trained(stage(), second) == []
    assert torch.equal(feeds.weights(second.encoder.tail), feeds.weights(first.encoder.tail))
    assert not second.encoder.tail.training


def test_an_epoch_is_as_many_updates_as_the_feed_has_batches():
    feed = feeds.feed(20)
    assert stage(3, unit="epoch").updates(feed) == 6
    assert stage(3, unit="update").updates(feed) == 3
    assert len(feeds.trained(stage(3, unit="epoch"), feed)) == 6


def test_no_update_changes_no_weight():
    feed = feeds.feed()
    before = feeds.weights(feed.encoder.tail)
    assert feeds.trained(stage(0), feed) == []
    assert torch.equal(feeds.weights(feed.encoder.tail), before)


def test_a_rate_of_0_changes_no_weight():
    feed = feeds.feed()
    before = feeds.weights(feed.encoder.tail)
    feeds.trained(stage(rate=0.0), feed)
    assert torch.equal(feeds.weights(feed.encoder.tail), before)


def test_training_lowers_its_loss():
    feed, losses = feeds.feed(), []

    def loss(features, step):
        losses.append(features.square().mean())
        return losses[-1]

    feeds.trained(stage(30, rate=0.05), feed, loss=loss)
    assert losses[-1] < 0.5 * losses[0]


def test_sgd_with_momentum_weight_decay_and_cosine_follows_the_written_out_sum():
    feed = feeds.feed()
    feed.encoder.tail.double()
    config = Optimisation(batch=8, rate=0.1, momentum=0.9, weight_decay=0.01, schedule="cosine", final_rate=0.1)
    w = float(next(feed.encoder.tail.parameters()).detach().flatten()[0])
    velocity, slope = 0.0, 2.0
    for step in range(4):
        rate = 0.01 + 0.09 * (1 + math.cos(math.pi * step / 4)) / 2
        gradient = slope + 0.01 * w
        velocity = gradient if step == 0 else 0.9 * velocity + gradient
        w -= rate * velocity
    parameter = next(feed.encoder.tail.parameters())
    feeds.trained(
        Stage(name="s", amount=4, unit="update", optimisation=config),
        feed,
        loss=lambda *_: slope * parameter.flatten()[0],
    )
    assert float(parameter.detach().flatten()[0]) == pytest.approx(w, rel=1e-12)


def test_a_cosine_falls_from_the_rate_to_its_final_share_and_a_constant_rate_does_not():
    cosine, constant = (Optimisation(rate=2.0, schedule=kind, final_rate=0.1) for kind in ("cosine", "constant"))
    assert rate_at(cosine, 0, 10) == pytest.approx(2.0)
    assert rate_at(cosine, 5, 10) == pytest.approx(1.1)
    assert rate_at(cosine, 10, 10) == pytest.approx(0.2)
    assert [rate_at(constant, step, 10) for step in (0, 5, 9)] == [2.0] * 3


def test_the_rate_rises_by_equal_steps_over_the_warmup():
    warm = Optimisation(rate=2.0, schedule="constant", warmup=3)
    assert [rate_at(warm, step, 10) for step in range(6)] == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0, 2.0])


def test_clipping_bounds_the_step():
    feed = feeds.feed()
    before = feeds.weights(feed.encoder.tail)
    how = {"rate": 1.0, "momentum": 0.0, "weight_decay": 0.0, "schedule": "constant", "clip": 0.01}
    feeds.trained(stage(1, **how), feed, loss=lambda features, _: 1000 * features.square().sum())
    assert float((feeds.weights(feed.encoder.tail) - before).norm()) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("at", [1, 4, 7])
def test_a_loss_that_is_no_number_stops_training_with_what_to_do(wrong, at):
    with pytest.raises(InputError, match=r"loss of stage `warm` is .*lower `rate` \(now 0.1\) or set `clip`"):
        feeds.trained(stage(), feeds.feed(), loss=lambda features, step: features.sum() * (wrong if step >= at else 1))


def test_the_state_of_broken_training_is_not_kept_as_done(tmp_path):
    keeper = Keeper(tmp_path)
    with pytest.raises(InputError):
        feeds.trained(stage(), feeds.feed(keeper=keeper), loss=lambda features, _: features.sum() * math.nan)
    assert keeper.find("warm") is None


def test_the_optimiser_is_the_one_that_is_named():
    parameters = [torch.nn.Parameter(torch.ones(2))]
    assert isinstance(make_optimiser(parameters, Optimisation(optimiser="adam")), torch.optim.Adam)
    sgd = make_optimiser(parameters, Optimisation(momentum=0.5, weight_decay=0.25, rate=0.125))
    assert isinstance(sgd, torch.optim.SGD)
    assert [sgd.param_groups[0][key] for key in ("momentum", "weight_decay", "lr")] == [0.5, 0.25, 0.125]


@pytest.mark.parametrize("values", [{"rate": -0.1}, {"batch": 0}])
def test_an_optimisation_that_trains_nothing_is_refused(values):
    with pytest.raises(InputError, match=r"`rate` must not be negative and `batch` at least 1"):
        Optimisation(**values)


@pytest.mark.parametrize("optimiser", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("how", [{}, {"clip": 0.01}, {"warmup": 3, "schedule": "constant"}])
def test_a_captured_course_is_the_plain_one(optimiser, how):
    plain, captured = feeds.feed(), feeds.feed()
    captured = replace(captured, runtime=replace(captured.runtime, capture=True))
    chosen, losses = stage(9, rate=0.05, optimiser=optimiser, **how), []
    for source, seen in ((plain, []), (captured, [])):
        losses.append(seen)
        tail, weight = source.encoder.tail.double(), torch.linspace(0, 1, len(source.images))

        def objective(batch, tail=tail, weight=weight, seen=seen):
            loss = (tail(batch.tokens).square().mean(dim=1) * weight[batch.indices].repeat(2)).mean()
            seen.append(float(loss.detach()))
            return loss

        train(tail, objective, feed=source, stage=chosen, capturable=True)
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    found, expected = feeds.weights(captured.encoder.tail), feeds.weights(plain.encoder.tail)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)  # the rate is a tensor in single precision


def test_a_captured_course_that_was_killed_goes_on_to_the_same_weights(tmp_path):
    whole, first, second = (
        replace(made, runtime=replace(made.runtime, capture=True))
        for made in (feeds.feed(keeper=Keeper(folder, every=0.0)) for folder in (None, tmp_path, tmp_path))
    )
    chosen = stage(rate=0.01, optimiser="adam")
    feeds.trained(chosen, whole, capturable=True)
    with pytest.raises(feeds.KilledError):
        feeds.trained(chosen, first, killed_at=4, capturable=True)
    assert len(feeds.trained(chosen, second, capturable=True)) == 3
    assert torch.equal(feeds.weights(second.encoder.tail), feeds.weights(whole.encoder.tail))


class Waits(TorchDispatchMode):
    """Notes every operation that reads a tensor on the host, for which a graphics processor would have to be done."""

    reading = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique")

    def __init__(self, now):
        super().__init__()
        self.now, self.seen = now, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(func.overloadpacket.__name__.startswith(name) for name in self.reading):
            self.seen.append(len(self.now))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_between_its_reports_training_waits_for_nothing(tmp_path, kept, clip):
    source, done = feeds.feed(40), []
    bank = Banks(config=BankConfig(use="on", views=4), root=tmp_path) if kept else Banks()
    source = replace(source, runtime=replace(source.runtime, banks=bank))
    with Seeds(0).torch_scope("head"):
        head = ProjectionHead(source.encoder.dim, hidden=8, bottleneck=4, width=16)
    labels = torch.arange(40) % 3

    def objective(batch):
        done.append(1)
        similarity = head.similarity(source.encoder.tail(batch.tokens))
        near = soft_neighbour_from_similarity(similarity, threshold=0.5, temperature=0.1)
        return near + labelled_from_similarity(
            similarity, labels[batch.indices], balance=0.35, unsupervised_temperature=1.0, supervised_temperature=0.1
        )

    list(source.training(batch=8, first=0, last=1))  # fills the bank
    with Waits(done) as watched:
        train(source.encoder.tail, objective, feed=source, stage=stage(45, clip=clip), capturable=True)
    assert len(done) == 45
    assert set(watched.seen) == {1, 21, 41, 45}


def test_the_watch_sees_what_waits():
    with Waits([]) as watched:
        float(torch.ones(1).sum())
        torch.ones(3).nonzero()
        torch.ones(3) + 1
    assert watched.seen == [0, 0]
