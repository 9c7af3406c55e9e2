import numpy as np
import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace.catalogue import reading


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("deciding")
    workspace = small.fitted(path)
    workspace.discover(small.batch(path / "first", {"ant": 8, "wasp": 12, "moth": 9}))
    return path / "w"


@pytest.fixture
def workspace(template, tmp_path):
    import shutil

    shutil.copytree(template, tmp_path / "w")
    return type(small.new(tmp_path / "x")).open(tmp_path / "w", machine=small.machine())


def counts(workspace):
    listed = workspace.classes()
    return dict(zip(listed.ids, listed.images, strict=True))


def paths(workspace, one):
    with reading(workspace.folder) as catalogue:
        return sorted(path for block in catalogue.images(of_class=one) for path in block.paths)


def test_a_name_is_changed_and_the_id_stays(workspace):
    assert workspace.rename("novel-0001", "wasp") == "rename novel-0001 to wasp"
    assert [(one.id, one.name) for one in workspace.classes().classes][3] == ("novel-0001", "wasp")
    workspace.rename("wasp", "Vespula")
    assert workspace.classes().classes[3].name == "Vespula"


@pytest.mark.parametrize(
    ("one", "name", "told"),
    [
        ("novel-0001", "ant", "`ant` is the name of another class, ant; `metagcd classes merge` joins both"),
        ("novel-0001", "novel-0002", "name of another class"),
        ("novel-0001", "  ", "1 to 200 letters"),
        ("novel-0001", "two\nlines", "on one line"),
        ("novel-0009", "x", "Unknown class `novel-0009`"),
    ],
)
def test_a_name_that_cannot_be_is_told(workspace, one, name, told):
    before = small.state(workspace)
    with pytest.raises(InputError, match=told):
        workspace.rename(one, name)
    assert small.state(workspace) == before


def test_classes_are_merged_into_the_first(workspace):
    before = counts(workspace)
    own, other = workspace.classes().classes[3:5]
    workspace.merge("novel-0001", "novel-0002")
    after = counts(workspace)
    assert after == {**{one: before[one] for one in ("ant", "bee", "fly")}, "novel-0001": 21}
    joined = workspace.classes().classes[3]
    expected = (own.count * own.mean + other.count * other.mean) / (own.count + other.count)
    np.testing.assert_allclose(joined.mean, expected, rtol=1e-5)
    assert joined.count == own.count + other.count
    assert len(paths(workspace, "novel-0001")) == 21


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (("novel-0001",), "two or more different classes"),
        (("ant", "ant"), "two or more different classes"),
        (("novel-0001", "ant"), "`ant` was taught with labels and has to stay; name it first"),
    ],
)
def test_what_cannot_be_merged_is_told(workspace, chosen, told):
    with pytest.raises(InputError, match=told):
        workspace.merge(*chosen)


def test_a_class_that_was_merged_wrongly_is_split_along_its_parts(workspace):
    parts = [paths(workspace, one) for one in ("novel-0001", "novel-0002")]
    workspace.merge("novel-0001", "novel-0002")
    assert workspace.split("novel-0001") == "split novel-0001: novel-0003"
    assert [paths(workspace, one) for one in ("novel-0001", "novel-0003")] == parts
    new = workspace.classes().classes[-1]
    assert (new.id, new.parent, new.known, new.count) == ("novel-0003", "novel-0001", False, 9)
    assert set(workspace.classes().galleries[-1]) <= set(parts[1])


def test_the_parts_of_a_split_have_the_statistics_of_their_images(workspace):
    workspace.merge("novel-0001", "novel-0002")
    whole = workspace.classes().classes[3]
    workspace.split("novel-0001")
    parts = workspace.classes().classes[3:]
    mean = sum(one.count * one.mean for one in parts) / sum(one.count for one in parts)
    np.testing.assert_allclose(mean, whole.mean, atol=1e-3)


def test_images_of_a_taught_class_can_become_a_class_of_their_own(workspace):
    workspace.split("ant")
    listed = workspace.classes()
    assert [one.known for one in listed.classes if one.id in ("ant", "novel-0003")] == [True, False]
    assert counts(workspace)["ant"] + counts(workspace)["novel-0003"] == 28


@pytest.mark.parametrize("into", [1, 0, 13])
def test_more_parts_than_images_are_refused(workspace, into):
    with pytest.raises(InputError, match=f"Cannot make {into} classes of the 12 images of `novel-0001`"):
        workspace.split("novel-0001", into=into)


def test_a_taught_class_cannot_be_rejected_nor_any_twice(workspace):
    with pytest.raises(InputError, match="`ant` was taught with labels"):
        workspace.reject("ant")
    workspace.reject("novel-0001")
    with pytest.raises(InputError, match="`novel-0001` is rejected already"):
        workspace.reject("novel-0001")
    with pytest.raises(InputError, match="rejected class cannot be merged"):
        workspace.merge("novel-0002", "novel-0001")
    with pytest.raises(InputError, match="undo that first"):
        workspace.split("novel-0001")


@pytest.mark.parametrize(
    "decide",
    [
        lambda w: w.rename("novel-0001", "wasp"),
        lambda w: w.merge("ant", "novel-0001"),
        lambda w: w.split("novel-0001", into=3),
        lambda w: w.reject("novel-0001", "novel-0002"),
        lambda w: w.rollback(0),
    ],
)
def test_every_decision_can_be_undone(workspace, decide):
    before = small.state(workspace)
    decide(workspace)
    assert small.state(workspace)[0] != before[0]
    workspace.undo()
    assert small.state(workspace)[:2] == before[:2]
    assert len(workspace.history().operations) == len(before[2]) + 2


def test_going_back_brings_back_weights_and_classes_as_they_were(tmp_path):
    workspace = small.fitted(tmp_path, method="gcd")
    photos, probe = (
        small.batch(tmp_path / "a", {"ant": 10, "wasp": 12}),
        small.batch(tmp_path / "p", {"bee": 5}, seed=9),
    )
    before, predicted = small.state(workspace), workspace.predict(probe)
    first = workspace.discover(photos)
    workspace.rollback(0)
    assert small.state(workspace)[:2] == before[:2]
    np.testing.assert_array_equal(workspace.predict(probe).confidence, predicted.confidence)
    again = workspace.discover(photos)
    assert [one.id for one in again.found] == ["novel-0002"]
    assert [one.id for one in first.found] == ["novel-0001"]
    np.testing.assert_array_equal(again.images.confidence, first.images.confidence)
