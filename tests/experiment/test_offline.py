from dataclasses import replace

import contract
import pytest

from metagcd.experiment.config import ReadoutConfig, RunConfig
from metagcd.experiment.offline import offline_fields
from metagcd.experiment.run import run
from metagcd.experiment.trial import Hardware
from metagcd.methods.frozen import FrozenConfig
from metagcd.methods.gcd import GcdConfig
from metagcd.methods.metagcd import MetaGcdConfig
from metagcd.methods.soft_neighbourhood import NeighbourConfig
from metagcd.protocol import ProtocolSpec

GCD = contract.shrunk(GcdConfig())
PLAIN = replace(
    contract.shrunk(MetaGcdConfig()), meta=False, warmup_epochs=GCD.offline_epochs, warmup=GCD.offline, head=GCD.head
)
META = replace(PLAIN, meta=True)


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
        learner = type(learner)(method, replace(learner._clusters.setting, encoder=contract.encoder()))
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
