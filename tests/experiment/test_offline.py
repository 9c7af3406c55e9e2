from dataclasses import replace

import contract
import pytest
import torch

from metagcd.engine.checkpoint import load_state
from metagcd.experiment.config import ReadoutConfig, RunConfig
from metagcd.experiment.offline import Shared, learn_offline, offline_fields
from metagcd.experiment.run import run
from metagcd.experiment.trial import Hardware
from metagcd.methods.frozen import FrozenConfig
from metagcd.methods.gcd import Gcd, GcdConfig
from metagcd.methods.learner import LearnsInTwo
from metagcd.methods.metagcd import MetaGcdConfig
from metagcd.methods.soft_neighbourhood import NeighbourConfig
from metagcd.protocol import ProtocolSpec

GCD = contract.shrunk(GcdConfig())
PLAIN = replace(
    contract.shrunk(MetaGcdConfig()), meta=False, warmup_epochs=GCD.offline_epochs, warmup=GCD.offline, head=GCD.head
)
META = replace(PLAIN, meta=True)


class InTwo(Gcd):
    """Learns what `gcd` learns, and then the spread of every class."""

    spread = torch.zeros(0)
    encoders = 0

    def fit_offline(self, labelled):
        self.fit_encoder(labelled)
        self.finish_offline(labelled)

    def fit_encoder(self, labelled):
        self.encoders += 1
        super().fit_offline(labelled)

    def finish_offline(self, labelled):
        features = torch.from_numpy(self.embed(labelled.images))
        labels = torch.from_numpy(labelled.labels)
        self.spread = torch.stack([features[labels == label].std(dim=0) for label in labels.unique()])

    def encoder_state(self):
        return super().state_dict()

    def load_encoder_state(self, state):
        super().load_state_dict(state)

    def state_dict(self):
        return {**super().state_dict(), "spread": self.spread.clone()}


def in_two():
    gcd = contract.new("gcd")
    return InTwo(gcd.config, gcd.clusters.setting)


def config(method, **values):
    return RunConfig(
        **{
            "method": method,
            "seeds": (0,),
            "encoder": contract.ENCODER,
            "protocol": ProtocolSpec(known=3, novel=(1,), labelled_fraction=0.1, novel_images=(8,), known_images=(8,)),
            "readout": ReadoutConfig(names=("kmeans",), restarts=1),
            **values,
        }
    )


def scores(results):
    return [(row.session, row.partition, row.assignment, row.all, row.old, row.memory) for row in results.rows]


def test_runs_with_the_same_session_0_learn_it_once_and_come_to_what_they_come_to_alone(tmp_path):
    shared = Hardware(device="cpu", threads=1, shared=tmp_path / "shared")
    alone = Hardware(device="cpu", threads=1)
    first = run(config(GCD), root=tmp_path, hardware=shared)
    (kept,) = (tmp_path / "shared").iterdir()
    written = kept.stat().st_mtime_ns
    second = run(config(PLAIN), root=tmp_path, hardware=shared)
    assert [file.stat().st_mtime_ns for file in (tmp_path / "shared").iterdir()] == [written]
    assert [row.seconds for row in first.rows if row.session == 0] == [
        row.seconds for row in second.rows if row.session == 0
    ]
    assert scores(second) == scores(run(config(PLAIN), directory=tmp_path / "alone", hardware=alone))
    assert scores(first) == scores(run(config(GCD), directory=tmp_path / "gcd", hardware=alone))


def test_the_weights_after_eq_3_are_those_of_either_method_to_the_bit():
    states = []
    for name, method in (("gcd", GCD), ("metagcd", PLAIN)):
        learner = contract.new(name)
        learner = type(learner)(method, replace(learner.clusters.setting, encoder=contract.encoder()))
        learner.fit_offline(contract.labelled())
        states.append(contract.name_of(learner.state_dict()))
    assert states[0] == states[1]


def test_other_seeds_share_nothing(tmp_path):
    hardware = Hardware(device="cpu", threads=1, shared=tmp_path / "shared")
    run(config(GCD, seeds=(0, 1)), root=tmp_path, hardware=hardware)
    assert len(list((tmp_path / "shared").iterdir())) == 2


def test_without_a_shared_folder_nothing_is_shared(tmp_path):
    run(config(GCD), root=tmp_path, hardware=Hardware(device="cpu", threads=1))
    assert [entry.name for entry in tmp_path.iterdir()] == [f"gcd-digits-{config(GCD).digest}"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (config(GCD), config(PLAIN)),
        (config(GCD), config(GCD, readout=ReadoutConfig(repeats=2), seeds=(3, 4), novel_given=False)),
        (config(GCD), config(replace(GCD, online_updates=7))),
        (config(PLAIN), config(replace(PLAIN, neighbours=NeighbourConfig(weights="hard", threshold=0.5)))),
        (config(META), config(replace(META, online_updates=7, restarts=3))),
    ],
)
def test_what_comes_after_session_0_makes_no_other_session_0(one, other):
    assert offline_fields(one) == offline_fields(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (config(GCD), config(replace(GCD, balance=0.1))),
        (config(GCD), config(GCD, encoder=replace(contract.ENCODER, width=8))),
        (config(GCD), config(GCD, augmentation=replace(RunConfig().augmentation, flip=0.1))),
        (config(PLAIN), config(META)),
        (config(META), config(replace(META, neighbours=NeighbourConfig(weights="hard")))),
        (config(PLAIN), config(replace(PLAIN, neighbours=NeighbourConfig(attention="learned")))),
    ],
)
def test_what_session_0_depends_on_makes_another(one, other):
    assert offline_fields(one) != offline_fields(other)


def test_a_method_that_does_not_say_shares_nothing():
    assert offline_fields(config(FrozenConfig())) is None


@pytest.mark.parametrize("first", [lambda: contract.new("gcd"), in_two])
def test_the_first_half_is_taken_up_from_another_method_and_the_second_is_learned(first, tmp_path):
    shared, second, alone = tmp_path / "shared", in_two(), in_two()
    assert isinstance(second, LearnsInTwo)
    learn_offline(first(), contract.labelled(), Shared(shared))
    written = shared.stat().st_mtime_ns
    assert learn_offline(second, contract.labelled(), Shared(shared)) > load_state(shared).values["seconds"]
    assert (second.encoders, shared.stat().st_mtime_ns) == (0, written)
    alone.fit_offline(contract.labelled())
    assert contract.name_of(second.state_dict()) == contract.name_of(alone.state_dict())


def test_a_method_without_halves_takes_up_the_first_half_of_another(tmp_path):
    whole, alone = contract.new("gcd"), contract.new("gcd")
    learn_offline(in_two(), contract.labelled(), Shared(tmp_path / "shared"))
    labelled = contract.labelled()
    learn_offline(whole, labelled, Shared(tmp_path / "shared"))
    alone.fit_offline(contract.labelled())
    assert contract.reads(labelled.images) == 0
    assert contract.name_of(whole.state_dict()) == contract.name_of(alone.state_dict())


def test_with_nothing_shared_both_halves_are_learned_and_nothing_is_written(tmp_path):
    learner, alone = in_two(), in_two()
    assert learn_offline(learner, contract.labelled(), Shared()) > 0
    alone.fit_offline(contract.labelled())
    assert learner.encoders == 1
    assert contract.name_of(learner.state_dict()) == contract.name_of(alone.state_dict())
    assert not list(tmp_path.iterdir())
