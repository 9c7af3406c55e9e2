"""The contract of every registered learner."""

import contract
import numpy as np
import pytest
import torch

from metagcd.config import digest, from_toml, to_toml
from metagcd.data.rows import select
from metagcd.engine.checkpoint import State, load_state, save_state
from metagcd.errors import InputError
from metagcd.methods import METHODS, available, build
from metagcd.types import LabelledSet, UnlabelledSet

every_learner = pytest.mark.parametrize("name", available())


def lived(name, **how):
    """A learner after session 0 and one online session."""
    learner = contract.new(name, **how)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), contract.NOVEL)
    return learner


def floats(learner):
    return {key: value for key, value in learner.state_dict().items() if value.is_floating_point()}


@every_learner
def test_its_config_survives_a_file(name):
    default = METHODS.config_class(name)()
    for config in (default, contract.shrunk(default)):
        assert from_toml(default, to_toml(config)) == config
    assert digest(contract.shrunk(default)) != digest(default)


@every_learner
def test_build_gives_the_learner_that_the_name_says(name):
    assert type(build(name, encoder=contract.encoder(), **_small_head(name))) is METHODS.get(name).target


@every_learner
def test_equal_seeds_give_equal_weights_to_the_bit_and_others_do_not(name):
    first, again, other = (lived(name, seed=seed) for seed in (3, 3, 4))
    assert contract.name_of(first.state_dict()) == contract.name_of(again.state_dict())
    np.testing.assert_array_equal(first.predict(contract.probes()), again.predict(contract.probes()))
    if _trains(name):
        assert contract.name_of(floats(first)) != contract.name_of(floats(other))


@every_learner
def test_a_saved_state_makes_a_new_learner_the_same(name, tmp_path):
    old, fresh = lived(name), contract.new(name)
    save_state(tmp_path / "state", State(old.state_dict(), {}))
    fresh.load_state_dict(load_state(tmp_path / "state").tensors)
    assert fresh.n_classes == old.n_classes == contract.KNOWN + contract.NOVEL
    assert contract.name_of(fresh.state_dict()) == contract.name_of(old.state_dict())
    np.testing.assert_array_equal(fresh.embed(contract.probes()), old.embed(contract.probes()))
    np.testing.assert_array_equal(fresh.predict(contract.probes()), old.predict(contract.probes()))
    for learner in (old, fresh):  # what was loaded must also learn on as what was kept
        learner.discover(contract.unlabelled(), 1)
    assert contract.name_of(fresh.state_dict()) == contract.name_of(old.state_dict())


@every_learner
def test_a_state_does_not_change_while_its_learner_learns_on(name):
    learner = lived(name)
    state = learner.state_dict()
    before = contract.name_of(state)
    learner.discover(contract.unlabelled(), 1)
    assert contract.name_of(state) == before
    assert contract.name_of(learner.state_dict()) != before


@every_learner
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_offline_training_goes_on_where_it_was_interrupted(name, share, tmp_path):
    whole, labelled = contract.new(name), contract.labelled()
    whole.fit_offline(labelled)
    total = contract.reads(labelled.images)
    images = contract.interrupted(labelled.images, int(share * (total - 1)))
    if total:
        with pytest.raises(KeyboardInterrupt):
            contract.new(name, places=tmp_path).fit_offline(LabelledSet(images=images, labels=labelled.labels))
    resumed, rest = contract.new(name, places=tmp_path), contract.labelled()
    kept = any(tmp_path.iterdir())
    resumed.fit_offline(rest)
    assert contract.name_of(resumed.state_dict()) == contract.name_of(whole.state_dict())
    assert contract.reads(rest.images) < total or not kept


@every_learner
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_session_goes_on_where_it_was_interrupted(name, share, tmp_path):
    whole, unlabelled = contract.new(name), contract.unlabelled()
    whole.fit_offline(contract.labelled())
    before = whole.state_dict()
    whole.discover(unlabelled, contract.NOVEL)
    total = contract.reads(unlabelled.images)
    images = contract.interrupted(unlabelled.images, int(share * (total - 1)))
    first, second = contract.new(name, places=tmp_path), contract.new(name, places=tmp_path)
    first.load_state_dict(before)
    if total:
        with pytest.raises(KeyboardInterrupt):
            first.discover(UnlabelledSet(images=images), contract.NOVEL)
    rest = contract.unlabelled()
    kept = any(tmp_path.iterdir())
    second.load_state_dict(before)
    second.discover(rest, contract.NOVEL)
    assert contract.name_of(second.state_dict()) == contract.name_of(whole.state_dict())
    assert contract.reads(rest.images) < total or not kept


@every_learner
def test_the_trunk_does_not_change(name):
    network = contract.encoder()
    before = network.weights_digest
    lived(name, network=network)
    assert network.weights_digest == before
    assert all(not parameter.requires_grad for parameter in network.trunk.parameters())


@every_learner
def test_a_session_is_asked_for_images_alone(name):
    learner, unlabelled = contract.new(name), contract.unlabelled()
    learner.fit_offline(contract.labelled())
    learner.discover(unlabelled, contract.NOVEL)
    assert contract.asked(unlabelled.images) <= {"read", "fingerprint", "rows"}
    assert not hasattr(unlabelled, "labels")


@every_learner
def test_the_global_random_state_of_torch_and_numpy_is_as_it_was(name):
    before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002 - what must not be touched
    learner = lived(name)
    learner.predict(contract.probes())
    after = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002 - what must not be touched
    assert torch.equal(before[0], after[0])
    np.testing.assert_equal(after[1], before[1])


@every_learner
def test_memory_is_the_bytes_that_its_saved_state_holds(name, tmp_path):
    learner, file = lived(name), tmp_path / "state"
    save_state(file, State(learner.state_dict(), {}))
    data = file.read_bytes()
    assert learner.memory_bytes == len(data) - 8 - int.from_bytes(data[:8], "little")
    assert type(learner.memory_bytes) is int


@every_learner
def test_features_are_unit_rows_in_the_order_of_the_images(name):
    learner, images = lived(name), contract.probes()
    features, order = learner.embed(images), np.random.default_rng(0).permutation(len(images))
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(learner.embed(select(images, order)), features[order], atol=1e-5)
    assert np.abs(features[0] - features[1:]).max() > 1e-3
    assert learner.embed(select(images, [])).shape == (0, features.shape[1])


@every_learner
def test_predictions_are_class_ids_that_the_learner_knows_of(name):
    learner = contract.new(name)
    learner.fit_offline(contract.labelled())
    assert len(np.unique(learner.predict(contract.probes()))) > 1
    learner.discover(contract.unlabelled(), contract.NOVEL)
    predicted = learner.predict(contract.probes())
    assert predicted.shape == (40,)
    assert predicted.dtype == np.int64
    assert predicted.min() >= 0
    assert predicted.max() < learner.n_classes
    np.testing.assert_array_equal(learner.predict(contract.probes()), predicted)


@every_learner
def test_discovering_before_session_0_is_an_error_for_the_reader(name):
    with pytest.raises(InputError, match="offline"):
        contract.new(name).discover(contract.unlabelled(), 1)


@every_learner
def test_an_empty_session_0_is_an_error_for_the_reader(name):
    empty = LabelledSet(images=select(contract.probes(), []), labels=np.zeros(0, dtype=np.int64))
    with pytest.raises(InputError, match="empty"):
        contract.new(name).fit_offline(empty)


@every_learner
def test_a_session_may_bring_no_class(name):
    learner = contract.new(name)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), 0)
    assert learner.n_classes == contract.KNOWN
    assert set(learner.predict(contract.probes())) <= set(range(contract.KNOWN))


@every_learner
def test_it_counts_the_novel_classes_when_their_number_is_not_given(name):
    first, again = contract.new(name), contract.new(name)
    for learner in (first, again):
        learner.fit_offline(contract.labelled())
        learner.discover(contract.unlabelled(), None)
    assert contract.KNOWN <= first.n_classes == again.n_classes < 40
    assert contract.name_of(first.state_dict()) == contract.name_of(again.state_dict())


@every_learner
def test_it_says_how_its_class_ids_can_be_read_off(name):
    assert "kmeans" in contract.new(name).readouts
    assert METHODS.summary(name).endswith(".")


def _trains(name):
    network = contract.encoder()
    before = contract.name_of(network.tail.state_dict())
    contract.new(name, network=network).fit_offline(contract.labelled())
    return contract.name_of(network.tail.state_dict()) != before


def _small_head(name):
    has_head = hasattr(METHODS.config_class(name)(), "head")
    return {"head": {"hidden": 8, "bottleneck": 4, "width": 8}} if has_head else {}
