import re
from dataclasses import replace

import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace.catalogue import reading
from metagcd.workspace.page import render
from metagcd.workspace.summary import told


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    workspace = small.fitted(folder)
    workspace.discover(small.batch(folder / "one", {"ant": 6, "bee": 6, "wasp": 12}), n_novel=1)
    workspace.rename("novel-0001", "wasp & <more>")
    workspace.discover(small.batch(folder / "two", {"bee": 8, "fly": 8}, seed=2), n_novel=0)
    return workspace


def page(workspace, tmp_path, **how):
    return workspace.report(tmp_path / "report.html", **how).read_text(encoding="utf-8")


def test_the_page_stands_alone(workspace, tmp_path):
    text = page(workspace, tmp_path)
    assert not re.search(r"<script|https?://|<link (?!rel=\"icon\" href=\"data:)", text)
    assert len(text) < 5_000_000
    assert text.count("<html") == text.count("</html>") == 1


def test_it_tells_of_the_last_session_or_of_the_one_asked_for(workspace, tmp_path):
    last, first = page(workspace, tmp_path), page(workspace, tmp_path, session=1)
    assert "<h1>Session 2 of" in last
    assert "No new class." in last
    assert "Discovered in other sessions" in last
    assert "<h1>Session 1 of" in first
    assert "Discovered in other sessions" not in first
    assert "<h1>The fit of" in page(workspace, tmp_path, session=0)
    with pytest.raises(InputError, match="no session 9; the last one is 2"):
        page(workspace, tmp_path, session=9)


def test_names_are_the_present_ones_and_never_markup(workspace, tmp_path):
    text = page(workspace, tmp_path)
    assert "wasp &amp; &lt;more&gt;" in text
    assert "<more>" not in text


def test_a_discovered_class_is_shown_with_its_pictures_and_its_nearest_class(workspace, tmp_path):
    text = page(workspace, tmp_path, session=1)
    gallery = text[text.index('id="novel-0001"') : text.index('id="taught"')]
    assert gallery.count("data:image/jpeg;base64,") >= 1
    assert re.search(r"nearest then: (ant|bee|fly) \(cosine 0\.\d\d\)", gallery)


def test_pictures_that_are_gone_leave_a_place(workspace, tmp_path):
    with reading(workspace.folder) as catalogue:
        found = told(catalogue, workspace.folder, 1)
    brought = replace(found.brought[0], shown=("/gone/a.png",))
    text = render(replace(found, brought=(brought,)), workspace.folder)
    assert 'class="gone"' in text
    assert "a.png" in text


def test_a_map_histograms_and_the_reliability_diagram_are_drawn(workspace, tmp_path):
    text = page(workspace, tmp_path, session=1)
    for label in ("Map of the images", "Confidence of the images", "Novelty of the images"):
        assert f'aria-label="{label}"' in text
    assert "expected calibration error" in text


def test_every_operation_is_listed(workspace, tmp_path):
    text = page(workspace, tmp_path)
    with reading(workspace.folder) as catalogue:
        operations = told(catalogue, workspace.folder, None).operations
    assert len(operations) == 4
    lineage = text[text.index('<section id="lineage">') :]
    assert lineage.count("<tr><td>") == len(operations)


def test_counts_of_images_are_those_of_the_catalogue(workspace):
    with reading(workspace.folder) as catalogue:
        found = told(catalogue, workspace.folder, 1)
        counts = catalogue.image_counts()
    seen = [*found.brought, *found.earlier, *found.taught]
    assert {one.state.id: one.images for one in seen if one.images} == counts
    assert sum(len(values) for values in found.confidence.values()) == 24
    assert sum(one.here for one in seen) + len(found.confidence["unsure"]) == 24
