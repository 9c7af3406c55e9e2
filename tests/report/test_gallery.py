import base64
import io

from PIL import Image
from report.cases import Made, images, made

from metagcd.data import SOURCES, load
from metagcd.report.gallery import Size, class_names, data_of, galleries
from metagcd.report.records import read_records

NAMES = Made().names


def one(tmp_path, how=Made()):  # noqa: B008
    (record,) = read_records([made(tmp_path / "run", how)])
    return record


def test_only_clusters_of_novel_classes_are_shown(tmp_path):
    (gallery,) = galleries([(one(tmp_path), images(NAMES))], Size())
    assert [cluster.title for cluster in gallery.clusters] == [
        "cluster 13, mapped to dog",
        "cluster 14, mapped to elk",
    ]
    assert [cluster.size for cluster in gallery.clusters] == [12, 12]
    assert (gallery.seed, gallery.left_out) == (0, 0)


def test_captions_are_the_names_of_the_true_classes(tmp_path):
    (gallery,) = galleries([(one(tmp_path), images(NAMES))], Size(images=12))
    shown = [(thumbnail.name, thumbnail.right) for thumbnail in gallery.clusters[0].thumbnails]
    assert shown.count(("dog", True)) == 11
    assert shown.count(("cat", False)) == 1


def test_pictures_are_those_of_the_images(tmp_path):
    (gallery,) = galleries([(one(tmp_path), images(NAMES))], Size(side=16))
    thumbnail = next(thumbnail for thumbnail in gallery.clusters[0].thumbnails if thumbnail.right)
    head, content = thumbnail.source.split(",")
    assert head == "data:image/png;base64"
    picture = Image.open(io.BytesIO(base64.b64decode(content)))
    assert picture.size == (16, 16)
    assert picture.getpixel((3, 3)) == (3 * 51, 3 * 51, 3 * 51)


def test_what_does_not_fit_is_left_out_and_counted(tmp_path):
    pairs = [(one(tmp_path), images(NAMES))]
    (few,) = galleries(pairs, Size(clusters=1))
    assert (len(few.clusters), few.left_out) == (1, 1)
    (none,) = galleries(pairs, Size(characters=10))
    assert (len(none.clusters), none.left_out) == (0, 2)
    (full,) = galleries(pairs, Size())
    room = sum(cluster.characters for cluster in full.clusters)
    first, second = galleries(pairs * 2, Size(characters=room))
    assert (len(first.clusters), len(second.clusters)) == (2, 0)


def test_without_images_splits_or_answers_there_is_no_gallery(tmp_path):
    data = images(NAMES)
    assert galleries([(one(tmp_path / "a"), None)], Size()) == ()
    assert galleries([(one(tmp_path / "b", Made(splits=False)), data)], Size()) == ()
    assert galleries([(one(tmp_path / "c", Made(answers=False)), data)], Size()) == ()


def test_images_of_another_fingerprint_are_not_used(tmp_path):
    record = one(tmp_path, Made(source="digits"))
    assert data_of(record, load(SOURCES.get("digits").config())) is None
    assert data_of(record, None) is None
    assert data_of(record, images(NAMES)) is not None
    assert data_of(one(tmp_path / "other"), None) is None


def test_class_names_follow_the_order_in_which_classes_were_met(tmp_path):
    record = one(tmp_path)
    assert class_names(record, images(NAMES)) == NAMES
    assert class_names(record, None) == ()
