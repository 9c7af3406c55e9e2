"""Meta-training on a few random images: what it does, and that it can be interrupted anywhere."""

import dataclasses

import numpy as np
import pytest
import torch
from engine import feeds

from metagcd.data.rows import ArrayImages, select
from metagcd.engine.checkpoint import Keeper, load_state
from metagcd.engine.meta import InnerLoop
from metagcd.engine.meta_plan import MetaPlan, OuterLoop, Validation
from metagcd.engine.meta_task import MetaWork, Objectives, draw_task, sit
from metagcd.engine.meta_training import meta_train
from metagcd.engine.meta_validation import divided
from metagcd.engine.training import Optimisation, Stage
from metagcd.errors import InputError
from metagcd.losses import info_nce, labelled, supcon
from metagcd.models.functional import call
from metagcd.protocol import EpisodeSpec

LABELS = np.arange(60) % 5
WARM = Stage(name="warm-up", amount=1, unit="epoch", optimisation=Optimisation(rate=0.01, batch=8))
PLAN = MetaPlan(
    episode=EpisodeSpec(labelled=3, novel=(1, 1), test_fraction=0.25),
    tasks=3,
    warmups=(dataclasses.replace(WARM, amount=2), WARM),
    inner=InnerLoop(updates=2, rate=0.01, batch=4),
    outer=OuterLoop(rate=0.01, meta_batch=10),
)


def unit(features):
    return torch.nn.functional.normalize(features, dim=-1)


class Calls:
    """The three losses of a tail, which count how often they are asked for and may be interrupted."""

    def __init__(self, tail, killed_at=None, worth=1.0):
        self.tail, self.killed_at, self.worth, self.count = tail, killed_at, worth, 0

    def _z(self, batch, parameters=None):
        if self.count == self.killed_at:
            raise feeds.KilledError
        self.count += 1
        return unit(self.tail(batch.tokens) if parameters is None else call(self.tail, parameters, batch.tokens))

    def warm_up(self, batch, classes):
        z = self._z(batch)
        return labelled(z, classes, balance=0.5, unsupervised_temperature=0.5, supervised_temperature=0.5)

    def inner(self, parameters, batch):
        return info_nce(self._z(batch, parameters), temperature=0.5)

    def outer(self, parameters, batch, classes):
        return self.worth * supcon(self._z(batch, parameters), classes, temperature=0.5)


def work(plan=PLAN, *, folder=None, killed_at=None, worth=1.0):
    """The same sixty random images, network and seeds at each call."""
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 3), dtype=np.uint8)
    feed = feeds.feed(images=select(ArrayImages(pixels), range(60)), keeper=Keeper(folder, every=0.0))
    calls = Calls(feed.encoder.tail, killed_at, worth)
    objectives = Objectives(warm_up=calls.warm_up, inner=calls.inner, outer=calls.outer)
    return MetaWork(network=feed.encoder.tail, objectives=objectives, plan=plan, feed=feed, labels=LABELS), calls


def after(plan=PLAN, *, exact=False, **how):
    """The weights after meta-training, in 64 bits where that is asked for, and the number of losses it took."""
    made, calls = work(plan, **how)
    if exact:
        made.network.double()
    meta_train(made)
    return feeds.weights(made.network), calls.count


ON_ALL = dataclasses.replace(PLAN, first_on_all=True)
WATCHED = dataclasses.replace(PLAN, validation=Validation(every_tasks=1, patience=1, tasks=1, fraction=0.4))


@pytest.mark.parametrize("plan", [PLAN, WATCHED, ON_ALL])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.7, 0.99])
def test_meta_training_that_was_killed_goes_on_to_the_same_weights(tmp_path, plan, share):
    whole, total = after(plan)
    with pytest.raises(feeds.KilledError):
        after(plan, folder=tmp_path, killed_at=int(share * total))
    resumed, rest = after(plan, folder=tmp_path)
    assert torch.equal(resumed, whole)
    assert rest <= total - int(share * total) + 20  # at most an outer update or a validation is done again


def test_what_is_done_is_taken_up_as_it_ended(tmp_path):
    whole, _ = after(folder=tmp_path)
    again, calls = after(folder=tmp_path)
    assert calls == 0
    assert torch.equal(again, whole)


def test_files_do_not_grow_in_number_with_the_tasks(tmp_path):
    after(folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["meta.safetensors", "warm-up.safetensors"]


def test_later_tasks_warm_up_for_as_long_as_they_are_told():
    without = dataclasses.replace(PLAN, warmups=(PLAN.warmups[0], dataclasses.replace(WARM, amount=0)))
    fewer, more = after(without)[1], after(PLAN)[1]
    made, _ = work()
    per_epoch = [len(draw_task(made, number).episode.labelled) // 8 for number in (1, 2)]
    assert more - fewer == sum(per_epoch)


def test_the_first_warm_up_may_be_on_all_images():
    fewer, more = after(PLAN)[1], after(ON_ALL)[1]
    made, _ = work()
    labelled = len(draw_task(made, 0).episode.labelled)
    assert more - fewer == PLAN.warmups[0].amount * (60 // 8 - labelled // 8)


def test_no_rate_changes_no_weight():
    still = dataclasses.replace(WARM, optimisation=Optimisation(rate=0.0, batch=8))
    plan = dataclasses.replace(PLAN, warmups=(still, still), outer=OuterLoop(rate=0.0, meta_batch=10))
    before = feeds.weights(work()[0].network)
    assert torch.equal(after(plan)[0], before)


def test_the_order_of_the_gradient_matters_to_what_is_learned():
    first = dataclasses.replace(PLAN, inner=dataclasses.replace(PLAN.inner, rate=0.5, order=1))
    second = dataclasses.replace(PLAN, inner=dataclasses.replace(PLAN.inner, rate=0.5))
    kept = dataclasses.replace(PLAN, inner=dataclasses.replace(PLAN.inner, rate=0.5, recompute=False))
    assert not torch.allclose(after(first)[0], after(second)[0], atol=1e-5)
    torch.testing.assert_close(after(kept, exact=True)[0], after(second, exact=True)[0], rtol=1e-9, atol=1e-12)


def test_a_sitting_is_judged_on_the_test_images_of_all_sessions_so_far_in_equal_numbers():
    made, _ = work()
    task = draw_task(made, 0)
    for place, session in enumerate(task.episode.sessions):
        sitting = sit(made, task, place)
        classes, counts = np.unique(sitting.classes.numpy(), return_counts=True)
        assert set(classes) == set(session.known + session.novel)
        assert counts.max() - counts.min() <= 1
        assert len(sitting.unlabelled) == PLAN.inner.updates


def test_a_sitting_depends_on_its_task_and_place_alone():
    made, _ = work()
    once, again, other = (sit(made, draw_task(made, number), 1) for number in (0, 0, 1))
    assert torch.equal(once.judged.tokens, again.judged.tokens)
    assert torch.equal(once.unlabelled[1].tokens, again.unlabelled[1].tokens)
    assert not torch.equal(once.judged.tokens, other.judged.tokens)


def test_no_image_is_both_trained_on_and_held_out():
    made, _ = work(WATCHED)
    trained, held_out = divided(made)
    rows = [set(part.feed.images.rows.tolist()) for part in (trained, held_out)]
    assert rows[0] | rows[1] == set(range(60))
    assert not rows[0] & rows[1]
    assert set(held_out.labels) == set(trained.labels) == set(range(5))


def test_it_ends_when_the_validation_loss_no_longer_falls():
    none = dataclasses.replace(WARM, amount=0)
    plan = dataclasses.replace(WATCHED, tasks=9, warmups=(none, none), outer=OuterLoop(rate=0.0, meta_batch=10))
    _, losses = after(plan)
    # Two tasks of two sessions, each with two inner losses, the same again on the way back, and one outer loss;
    # a validation of two sessions after each task, with no way back.
    assert losses == 2 * 2 * (2 + 2 + 1) + 2 * 2 * (2 + 1)


@pytest.mark.parametrize("worth", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_it_with_the_images_saved(tmp_path, worth):
    with pytest.raises(InputError, match=r"stage `meta` is .* at update 0.*meta-not-finite\.safetensors"):
        after(folder=tmp_path, worth=worth)
    saved = load_state(tmp_path / "meta-not-finite.safetensors")
    assert set(saved.tensors) == {f"{n}.{part}" for n in range(3) for part in ("rows", "tokens")}


@pytest.mark.parametrize("wrong", [{"every_tasks": -1}, {"patience": 0}, {"tasks": 0}, {"fraction": 1.0}])
def test_a_validation_that_holds_nothing_out_is_refused(wrong):
    with pytest.raises(InputError, match="`validation`"):
        Validation(**wrong)


def test_an_empty_meta_batch_is_refused():
    with pytest.raises(InputError, match="`meta_batch` must be at least 1"):
        OuterLoop(meta_batch=0)
