import shutil

import numpy as np
import pytest
from workspace import small

from metagcd.data.rows import ArrayImages
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.workspace.catalogue import reading
from metagcd.workspace.types import KNOWN, NEW


@pytest.fixture
def workspace(tmp_path):
    return small.fitted(tmp_path)


def members(workspace, one):
    with reading(workspace.folder) as catalogue:
        return {path.rsplit("/", 1)[1] for block in catalogue.images(of_class=one) for path in block.paths}


def test_new_classes_are_found_once_keep_their_id_and_are_recognised_from_then_on(workspace, tmp_path):
    first = workspace.discover(small.batch(tmp_path / "a", {"ant": 8, "wasp": 12}))
    assert (first.outcome, first.session, [one.id for one in first.found]) == ("learned", 1, ["novel-0001"])
    assert first.images.classes[:8] == ("ant",) * 8
    assert first.images.classes[8:] == ("novel-0001",) * 12
    assert (first.images.verdict[:8] == KNOWN).all()
    assert (first.images.verdict[8:] == NEW).all()
    second = workspace.discover(small.batch(tmp_path / "b", {"wasp": 10, "moth": 10}, seed=2))
    assert second.session == 2
    assert [one.id for one in second.found] == ["novel-0002"]
    assert second.images.classes == ("novel-0002",) * 10 + ("novel-0001",) * 10
    assert workspace.classes().ids == ("ant", "bee", "fly", "novel-0001", "novel-0002")
    assert workspace.classes().images == (28, 20, 20, 22, 10)


def test_a_session_without_new_classes_finds_none(workspace, tmp_path):
    found = workspace.discover(small.batch(tmp_path / "a", {"ant": 8, "bee": 8, "fly": 4}))
    assert (found.found, found.count.k, found.session) == ((), 0, 1)
    assert found.facts["known"] == 20


def test_a_preview_tells_what_would_come_of_it_and_changes_no_byte(tmp_path):
    workspace = small.fitted(tmp_path, method="gcd")
    photos, before = small.batch(tmp_path / "a", {"ant": 8, "wasp": 12}), small.content(tmp_path / "w")
    preview = workspace.discover(photos, preview=True)
    assert small.content(tmp_path / "w") == before
    learned = workspace.discover(photos)
    assert (preview.outcome, preview.session) == ("preview", None)
    assert [one.id for one in preview.found] == [one.id for one in learned.found] == ["novel-0001"]
    np.testing.assert_array_equal(preview.images.place, learned.images.place)
    np.testing.assert_array_equal(preview.images.confidence, learned.images.confidence)


def test_the_same_batch_is_known_again_whatever_its_files_are_called(workspace, tmp_path):
    photos = small.batch(tmp_path / "a", {"ant": 8, "wasp": 12})
    first = workspace.discover(photos)
    before = small.content(tmp_path / "w")
    other = tmp_path / "b"
    for number, path in enumerate(sorted(photos.iterdir(), reverse=True)):
        (other / str(number % 3)).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, other / str(number % 3) / f"{number}.png")
    for again in (workspace.discover(photos), workspace.discover(other)):
        assert (again.outcome, again.session) == ("same batch", 1)
        assert sorted(again.images.classes) == sorted(first.images.classes)
    assert small.content(tmp_path / "w") == before


def test_images_met_before_are_not_learned_again(workspace, tmp_path):
    photos = small.batch(tmp_path / "a", {"ant": 8, "wasp": 12})
    workspace.discover(photos)
    small.batch(photos, {"bee": 6}, seed=5)
    shutil.copytree(tmp_path / "labelled" / "fly", photos / "old")
    found = workspace.discover(photos)
    assert (found.session, found.facts["images"], found.facts["met before"]) == (2, 46, 40)
    assert found.facts["known"] == 6
    assert sorted(set(found.images.classes)) == ["ant", "bee", "fly", "novel-0001"]
    assert workspace.classes().images == (28, 26, 20, 12)


def test_a_batch_of_nothing_but_images_met_before_is_no_session(workspace, tmp_path):
    photos = small.batch(tmp_path / "a", {"ant": 8, "wasp": 12})
    workspace.discover(photos)
    next(photos.iterdir()).unlink()
    before = small.content(tmp_path / "w")
    found = workspace.discover(photos)
    assert (found.outcome, found.session) == ("nothing new", None)
    assert small.content(tmp_path / "w") == before


def test_equal_images_of_a_batch_are_learned_once_and_all_are_recorded(workspace, tmp_path):
    photos = small.batch(tmp_path / "a", {"wasp": 12})
    for path in sorted(photos.iterdir())[:5]:
        shutil.copy(path, path.with_name(f"copy-{path.name}"))
    found = workspace.discover(photos)
    assert (found.facts["images"], found.facts["there twice"], found.found[0].images) == (17, 5, 17)
    assert workspace.classes().images[3] == 17
    with reading(workspace.folder) as catalogue:
        assert workspace.folder.read(catalogue.sessions()[1].features)["features"].shape == (12, 16)


def test_names_of_folders_are_not_read_and_that_is_said(workspace, tmp_path, capsys):
    from rich.console import Console

    plain = small.batch(tmp_path / "plain", {"ant": 8, "wasp": 12, "moth": 12})
    named = tmp_path / "named"
    for path in plain.iterdir():
        # Names that would mislead whoever read them.
        folder = named / ("ant" if path.name.startswith("moth") else "bee")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.name)
    quiet = workspace.discover(plain, preview=True)
    told = small.machine(progress=Progress(Console(stderr=True, soft_wrap=True)))
    found = type(workspace).open(tmp_path / "w", machine=told).discover(named)
    assert "their names are not read" in capsys.readouterr().err
    by_name = [
        {path.rsplit("/", 1)[1]: one for path, one in zip(result.images.paths, result.images.classes, strict=True)}
        for result in (quiet, found)
    ]
    assert by_name[0] == by_name[1]


def test_a_rejected_class_does_not_come_back(workspace, tmp_path):
    workspace.discover(small.batch(tmp_path / "a", {"ant": 8, "wasp": 12}))
    workspace.reject("novel-0001")
    found = workspace.discover(small.batch(tmp_path / "b", {"wasp": 12, "moth": 9}, seed=2))
    assert [one.id for one in found.found] == ["novel-0002"]
    assert (found.facts["rejected"], found.facts["known"]) == (12, 0)
    assert [(one.id, one.status) for one in workspace.classes().classes][3:] == [
        ("novel-0001", "rejected"),
        ("novel-0002", "alive"),
    ]


def test_merged_classes_stay_merged_and_names_stay_given(workspace, tmp_path):
    workspace.discover(small.batch(tmp_path / "a", {"wasp": 12, "moth": 12}))
    workspace.merge("novel-0001", "novel-0002")
    workspace.rename("novel-0001", "flies")
    found = workspace.discover(small.batch(tmp_path / "b", {"wasp": 6, "moth": 6, "ant": 3}, seed=2))
    listed = workspace.classes()
    assert listed.ids[:4] == ("ant", "bee", "fly", "novel-0001")
    assert "novel-0002" not in listed.ids
    assert listed.classes[3].name == "flies"
    assert "flies" in found.images.names
    assert listed.images[3] >= 24


@pytest.mark.parametrize("images", [1, 2])
def test_sessions_of_few_images_are_decided_with_the_encoder_as_it_is(workspace, tmp_path, images):
    found = workspace.discover(small.batch(tmp_path / "a", {"ant": images}))
    assert (found.facts["adapted"], found.session, len(found.images)) == (False, 1, images)


def test_identical_images_make_a_session(workspace):
    pixels = np.full((20, 8, 8, 3), 128, dtype=np.uint8)
    found = workspace.discover(ArrayImages(pixels))
    assert (found.facts["images"], found.facts["there twice"]) == (20, 19)
    assert len(set(found.images.classes)) == 1


def test_an_empty_folder_is_told_and_nothing_is_changed(workspace, tmp_path):
    (tmp_path / "empty").mkdir()
    before = small.content(tmp_path / "w")
    for path in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(InputError, match=path.name):
            workspace.discover(path)
    after = small.content(tmp_path / "w")
    assert before.pop("lock") is not None
    assert after.pop("lock") is not None
    assert after == before


def test_a_workspace_without_weights_says_which_file_is_missing(workspace, tmp_path):
    with reading(workspace.folder) as catalogue:
        name = catalogue.sessions()[0].weights
    (workspace.folder.files / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        workspace.discover(small.batch(tmp_path / "a", {"ant": 3}))
    assert len(workspace.classes()) == 3


def test_the_encoder_adapts_and_the_means_follow(tmp_path):
    workspace = small.fitted(tmp_path, method="gcd")
    before = {one.id: one.mean for one in workspace.classes().classes}
    found = workspace.discover(small.batch(tmp_path / "a", {"ant": 10, "wasp": 12}))
    after = {one.id: one.mean for one in workspace.classes().classes}
    assert found.facts["adapted"]
    assert all((before[one] != after[one]).any() for one in before)
    with reading(workspace.folder) as catalogue:
        fit, session = catalogue.sessions()
    assert fit.weights != session.weights


def test_a_session_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    workspace = small.fitted(tmp_path, method="gcd", save_every=0.0)
    photos = small.batch(tmp_path / "a", {"ant": 10, "wasp": 12})
    expected = workspace.discover(photos, preview=True)
    before = small.state(workspace)
    from metagcd.workspace import discovering

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(discovering, "state_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.discover(photos)
    assert small.state(workspace) == before
    (place,) = workspace.folder.stages.iterdir()
    assert list(place.iterdir())
    found = workspace.discover(photos)
    np.testing.assert_array_equal(found.images.confidence, expected.images.confidence)
    assert not workspace.folder.stages.exists()


def test_few_weights_are_kept_where_that_is_asked_for(workspace, tmp_path):
    for number in range(3):
        workspace.discover(small.batch(tmp_path / str(number), {"ant": 4}, seed=number + 1), keep=1)
    with reading(workspace.folder) as catalogue:
        assert [session.weights is None for session in catalogue.sessions()] == [False, True, True, False]
    with pytest.raises(InputError, match="were not kept"):
        workspace.rollback(2)
    workspace.rollback(0)


def test_no_image_is_stored(workspace, tmp_path):
    photos = small.batch(tmp_path / "a", {"ant": 8, "wasp": 12})
    workspace.discover(photos)
    kept = b"".join(small.content(tmp_path / "w").values())
    for path in [*photos.iterdir(), *(tmp_path / "labelled" / "ant").iterdir()]:
        assert path.read_bytes()[40:80] not in kept
