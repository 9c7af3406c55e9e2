import inspect
import json

import numpy as np
import pyarrow as pa
import pytest
from workspace import small

import metagcd
from metagcd.errors import InputError


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return small.lived(tmp_path_factory.mktemp("workspace"))


def rows(frame):
    """Return the lines of a frame, whichever library it is of."""
    return frame.to_pylist() if isinstance(frame, pa.Table) else json.loads(frame.to_json(orient="records"))


def test_its_verbs_have_the_names_that_others_rely_on():
    assert metagcd.Workspace is small.Workspace
    for verb in (
        "create",
        "open",
        "fit",
        "discover",
        "predict",
        "rollback",
        "rename",
        "merge",
        "split",
        "reject",
        "undo",
    ):
        assert inspect.isfunction(inspect.unwrap(getattr(metagcd.Workspace, verb))) or callable(
            getattr(metagcd.Workspace, verb)
        )
    assert inspect.signature(metagcd.Workspace.create).parameters["path"]
    assert inspect.signature(metagcd.Workspace.discover).parameters["preview"].default is False


def test_a_workspace_is_not_made_over_another_nor_opened_where_none_is(workspace, tmp_path):
    with pytest.raises(InputError, match="holds a workspace already"):
        metagcd.Workspace.create(workspace.folder.path)
    with pytest.raises(InputError, match="holds no workspace"):
        metagcd.Workspace.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no workspace"):
        small.new(tmp_path / "nowhere").rename("a", "b")
    assert not (tmp_path / "nowhere").exists()


def test_images_are_decided_one_by_one_and_nothing_is_learned(workspace, tmp_path):
    photos = small.batch(tmp_path / "p", {"ant": 4, "wasp": 3, "gnat": 2}, seed=7)
    before = small.content(workspace.folder.path)
    found = workspace.predict(photos)
    assert found.classes[:4] == ("ant",) * 4
    assert found.classes[6:] == ("novel-0001",) * 3
    assert (found.novelty[4:6] > found.novelty[:4].max()).all()
    one = workspace.predict(small.batch(tmp_path / "one", {"wasp": 1}, seed=7))
    np.testing.assert_allclose(one.confidence, found.confidence[6:7], atol=1e-5)
    assert small.content(workspace.folder.path) == before


def test_results_are_frames_with_a_line_per_image_class_or_command(workspace, tmp_path):
    photos = small.batch(tmp_path / "p", {"ant": 2, "wasp": 1}, seed=7)
    lines = rows(workspace.predict(photos).to_frame())
    assert [line["class"] for line in lines] == ["ant", "ant", "novel-0001"]
    assert {"path", "class", "name", "verdict", "confidence", "novelty"} == set(lines[0])
    assert lines[0]["path"].endswith("ant-7-000.png")
    classes = rows(workspace.classes().to_frame())
    assert [(line["id"], line["images"]) for line in classes][3] == ("novel-0001", 12)
    assert [line["kind"] for line in rows(workspace.history().to_frame())] == ["fit", "discover"]


def test_pandas_is_used_where_it_is_installed_and_not_needed(monkeypatch, workspace):
    monkeypatch.setattr("metagcd.workspace.frames.find_spec", lambda _: None)
    assert isinstance(workspace.classes().to_frame(), pa.Table)


def test_results_are_shown_in_notebooks_with_galleries(workspace, tmp_path):
    listed = workspace.classes()._repr_html_()
    assert listed.count("<img") == len(workspace.classes().galleries[3])
    assert "novel-0001" in listed
    photos = small.batch(tmp_path / "p", {"ant": 2, "moth": 9}, seed=7)
    shown = workspace.discover(photos, preview=True)._repr_html_()
    assert shown.count("<img") >= 3
    assert "<table>" in workspace.predict(photos)._repr_html_()
    assert "session 1" in workspace.history()._repr_html_()


def test_names_in_a_notebook_are_text(workspace):
    from metagcd.workspace.frames import html_table

    assert "<b>" not in html_table(("a",), [("<b>",)])


def test_every_command_is_in_the_history_with_its_time(workspace):
    fit, session = workspace.history().operations
    assert (fit.kind, session.kind) == ("fit", "discover")
    assert session.words.endswith("28 images, novel-0001")
    assert fit.time <= session.time
    assert fit.time[10] == "T"
