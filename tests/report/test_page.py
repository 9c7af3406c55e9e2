import pytest
from report.cases import Made, images, made

from metagcd.protocol import ProtocolSpec
from metagcd.report.page import render
from metagcd.report.records import read_records
from metagcd.types import Skipped


@pytest.fixture
def page(tmp_path):
    made(tmp_path / "one")
    made(tmp_path / "two", Made(method="gcd"))
    return render(read_records([tmp_path / "one", tmp_path / "two"]))


def test_the_scores_of_every_run_are_in_the_page(page):
    assert "<td>frozen</td>" in page
    assert "<td>gcd</td>" in page
    assert "70.5 ± 0.7" in page
    assert "41.0 ± 1.4" in page
    assert "partition initial, assignment global" in page


def test_the_page_tells_protocol_note_configuration_versions_and_how_to_repeat_it(page, tmp_path):
    (digest,) = {row.protocol for record in read_records([tmp_path / "one"]) for row in record.rows}
    assert page.count(f"<code>{digest}</code>") == 1
    assert "frozen (seeds 0, 1); gcd (seeds 0, 1)" in page
    assert page.count("A note on the data.") == 1
    assert "seeds = [0, 1]" in page
    assert "<td>numpy</td>" in page
    assert f"metagcd run --config {tmp_path / 'one' / 'config.toml'}" in page


def test_per_class_accuracy_of_the_last_session_is_listed_with_its_kind(page):
    assert page.count("91.7 ± 0.0") == 10
    assert page.count('<td class="left novel">novel</td>') == 4
    assert page.count('<td class="left known">known</td>') == 6


def test_words_are_explained(page):
    for word in ("Session", "Known, novel", "All, Old, New", "Partition", "Assignment"):
        assert f"<dt>{word}</dt>" in page


def test_a_page_about_one_run_needs_no_answers_and_no_split(tmp_path):
    made(tmp_path / "run", Made(answers=False, splits=False, seeds=(0,), note=""))
    page = render(read_records([tmp_path / "run"]))
    assert "<td>frozen</td>" in page
    assert "The split was not kept" in page
    assert 'id="classes"' not in page
    assert 'href="#classes"' not in page
    assert "About the data" not in page


def test_answers_without_a_split_are_shown_without_kinds(tmp_path):
    made(tmp_path / "run", Made(splits=False))
    page = render(read_records([tmp_path / "run"]))
    assert "red lines part" not in page
    assert "known</td>" not in page
    assert "91.7 ± 0.0" in page


def test_runs_under_different_protocols_are_marked(tmp_path):
    made(tmp_path / "one")
    other = ProtocolSpec(known=3, novel=(2,), novel_images=(4,), known_images=(6,), labelled_fraction=0.5)
    made(tmp_path / "two", Made(method="gcd", spec=other))
    assert "must not be compared" in render(read_records([tmp_path / "one", tmp_path / "two"])).split("<details>")[0]
    assert "must not be compared" not in render(read_records([tmp_path / "one"])).split("<details>")[0]


def test_the_last_session_has_a_table_of_its_own_when_there_are_many(page, tmp_path):
    assert "After the last session" not in page
    spec = ProtocolSpec(known=1, novel=(1, 1, 1, 1), novel_images=(4,), known_images=(4,), labelled_fraction=0.3)
    made(tmp_path / "long", Made(spec=spec))
    text = render(read_records([tmp_path / "long"]))
    first = text.split("After the last session")[1].split("After every session")[0]
    assert "session 4" in first
    assert "session 3" not in first


def test_counted_classes_are_drawn_only_where_they_are_not_those_met(page, tmp_path):
    assert "How many classes were told apart" not in page
    made(tmp_path / "run", Made(counted=1))
    assert "How many classes were told apart" in render(read_records([tmp_path / "run"]))


def test_many_runs_are_counted_in_the_title(tmp_path):
    paths = [tmp_path / name for name in "abcde"]
    for path in paths:
        made(path, Made(method=path.name, answers=False))
    assert "<h1>Category discovery: a, b, c and 2 more</h1>" in render(read_records(paths))
    assert "<h1>Category discovery: a, b and c</h1>" in render(read_records(paths[:3]))
    assert "<h1>Category discovery: a</h1>" in render(read_records(paths[:1]))


HOSTILE = '<script>alert("$x$")</script>&amp;\'"><img src=x onerror=alert(1)>'


def test_hostile_names_stay_text(tmp_path):
    names = (HOSTILE, "b", "c", HOSTILE + "d", "e" * 300)
    made(tmp_path / 'run "><script>', Made(names=names, note=HOSTILE, method="<i>m</i>"))
    page = render(read_records([tmp_path / 'run "><script>']), data=images(names))
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;" in page


def test_features_are_drawn_where_they_were_kept(page, tmp_path):
    assert 'id="map"' not in page
    assert 'href="#map"' not in page
    made(tmp_path / "run", Made(features=True))
    text = render(read_records([tmp_path / "run"]), data=images(Made().names))
    part = text.split('<section id="map">')[1].split("</section>")[0]
    assert "frozen, seed 0, after session 2" in part
    assert "60 test images" in part
    assert "novel: elk" in part
    assert "var(--paper)" in part


def test_time_and_memory_of_every_session_are_listed(page):
    part = page.split("Time and memory of every session")[1].split("</table>")[0]
    assert part.count("<td>2,000,000</td>") == 2 * 3
    assert part.count("<td>1.5 ± 0.0</td>") == 2 * 3


def test_what_was_skipped_is_told(page, tmp_path):
    assert "No file of the source: all could be used." in page
    made(tmp_path / "run", Made(skipped=tuple(Skipped(path=f"<{n}>.png", reason="cut short") for n in range(9))))
    part = render(read_records([tmp_path / "run"])).split('<section id="skipped">')[1].split("</section>")[0]
    assert "9 files of the source could not be used" in part
    assert "these are the first 5" in part
    assert part.count("cut short") == 5
    assert "&lt;4&gt;.png" in part


def test_known_or_novel_is_shown_where_it_was_told(tmp_path):
    made(tmp_path / "told", Made(spotted=True))
    page = render(read_records([tmp_path / "told"]))
    assert "<h3>Known or novel</h3>" in page
    assert "91.0 ± 1.4" in page
    made(tmp_path / "silent")
    assert "<h3>Known or novel</h3>" not in render(read_records([tmp_path / "silent"]))
