from dataclasses import replace

import contract
import pytest

from metagcd.data import load
from metagcd.data.sources.digits import DigitsConfig
from metagcd.experiment.config import ReadoutConfig
from metagcd.experiment.suite import Choices, load_suite
from metagcd.experiment.suite_plan import plan, plan_table
from metagcd.experiment.suite_run import directory_of, finished, run_suite
from metagcd.experiment.trial import Hardware
from metagcd.progress import Progress
from metagcd.protocol import ProtocolSpec

HARDWARE = Hardware(device="cpu", threads=1)
SPEC = ProtocolSpec(known=4, novel=(1,), labelled_fraction=0.2, novel_images=(8,), known_images=(8,))


def small(name="table3", seeds=(0,)):
    """A suite with everything about it cut short."""
    suite = load_suite(name, Choices())
    rows = [
        replace(
            row,
            config=replace(
                row.config,
                method=contract.shrunk(row.config.method),
                encoder=contract.ENCODER,
                protocol=SPEC,
                readout=ReadoutConfig(names=("kmeans",), restarts=1),
                seeds=seeds,
            ),
        )
        for row in suite.rows
    ]
    return replace(suite, rows=tuple(rows))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The ablation, carried out."""
    root = tmp_path_factory.mktemp("runs")
    return root, run_suite(small(), root=root, hardware=HARDWARE)


def test_every_row_is_run_under_its_label_where_a_run_by_itself_would_lie(done):
    root, results = done
    suite = small()
    assert list(results.rows) == [row.label for row in suite.rows]
    for one in suite.rows:
        assert results.directories[one.label] == directory_of(one.config, root)
        assert {found.method for found in results.rows[one.label]} == {one.label}
        assert {found.session for found in results.rows[one.label]} == {0, 1}
        assert finished(one.config, directory_of(one.config, root))
    assert len(results.every) == 4 * 2 * 4


def test_rows_that_differ_online_alone_learn_session_0_once(done):
    root, results = done
    plain, neighbours, soft, whole = (
        {found.seconds for found in rows if found.session == 0} for rows in results.rows.values()
    )
    assert neighbours == soft != whole
    assert plain != whole
    assert len(list((root / "offline").iterdir())) == len({step.offline for step in plan(small(), root)})


def test_what_is_finished_is_neither_run_nor_loaded_again(done):
    root, results = done
    images = contract.Watched(load(DigitsConfig()).train)
    data = replace(load(DigitsConfig()), train=images, fingerprint="another")
    again = run_suite(small(), root=root, data=data, hardware=HARDWARE)
    assert again.every == results.every
    assert contract.reads(images) == 0


class Impatient(Progress):
    """Interrupts the process when the second row begins."""

    def say(self, text):
        if "2/4" in text:
            raise KeyboardInterrupt


def test_a_suite_that_was_interrupted_goes_on(tmp_path, done):
    with pytest.raises(KeyboardInterrupt):
        run_suite(small(), root=tmp_path, hardware=HARDWARE, progress=Impatient())
    assert [step.done for step in plan(small(), tmp_path)] == [2, 0, 0, 0]
    resumed = run_suite(small(), root=tmp_path, hardware=HARDWARE)
    _, whole = done
    assert [found.all for found in resumed.every] == [found.all for found in whole.every]


def test_a_plan_of_nothing_run_yet_knows_no_cost_and_writes_nothing(tmp_path):
    steps = plan(small(), tmp_path)
    assert [(step.done, step.total, step.seconds, step.bytes) for step in steps] == [(0, 2, None, None)] * 4
    assert "unknown" in plan_table(small(), steps).notes[0]
    assert not list(tmp_path.iterdir())


def test_a_plan_of_what_is_finished_costs_nothing(done):
    root, _ = done
    steps = plan(small(), root)
    assert [(step.done, step.seconds, step.bytes) for step in steps] == [(2, 0.0, 0.0)] * 4


def test_a_plan_of_more_seeds_costs_what_the_first_did_with_shared_stages_once(done):
    root, results = done
    steps = plan(small(seeds=(0, 1)), root)
    assert [step.done for step in steps] == [0] * 4  # other seeds make another run
    met = set()
    for step in steps:
        offline, online = (results.rows[step.label][place].seconds for place in (0, 4))
        fresh = 0 if step.offline in met else 2
        met.add(step.offline)
        assert step.seconds == pytest.approx(fresh * offline + 2 * online)
        assert step.bytes == (2 + fresh) * max(found.memory for found in results.rows[step.label])
    assert len(met) < 4


def test_runs_on_other_images_say_nothing_about_the_cost(done):
    root, _ = done
    other = small()
    rows = [replace(one, config=replace(one.config, source=DigitsConfig(test_fraction=0.1))) for one in other.rows]
    assert {step.seconds for step in plan(replace(other, rows=tuple(rows)), root)} == {None}


def test_the_plan_is_a_table_with_a_line_per_row(done):
    root, _ = done
    table = plan_table(small(), plan(small(), root))
    assert [line[:2] for line in table.lines] == [(one.label, "2/2") for one in small().rows]
    assert table.notes[0].startswith("In all: 0.0 minutes of training and 0.0 MB")


def test_a_damaged_run_beside_the_suite_does_not_disturb_the_plan(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.toml").write_text("= =")
    assert {step.seconds for step in plan(small(), tmp_path)} == {None}
