"""A row of thumbnails for each class."""

import io

import numpy as np
from PIL import Image

from metagcd.data.contact_sheet import SheetStyle, contact_sheet
from metagcd.data.rows import ArrayImages
from metagcd.types import Dataset, UnlabelledSet

STYLE = SheetStyle(thumbnail=16, columns=4, caption=80, gap=2)


def _dataset(names=("a", "b"), count=9) -> Dataset:
    labels = np.arange(count * len(names)) % len(names)
    pixels = np.broadcast_to((labels * 20 + 10).astype(np.uint8)[:, None, None, None], (len(labels), 4, 4, 3)).copy()
    return Dataset(
        train=ArrayImages(pixels),
        train_labels=labels,
        test=ArrayImages(pixels[:0]),
        test_labels=labels[:0],
        class_names=names,
        fingerprint="",
    )


def _pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)))


def test_each_row_holds_images_of_its_class_and_its_name():
    sheet = _pixels(contact_sheet(_dataset(), STYLE))
    for row, value in enumerate((10, 30)):
        top = 2 + 18 * row
        for column in range(4):
            left = 82 + 18 * column
            assert (sheet[top : top + 16, left : left + 16] == value).all()
        assert sheet[top : top + 16, :80].min() < 100
    assert sheet.shape == (2 + 2 * 18, 80 + 4 * 18 + 4, 3)


def test_the_same_data_give_the_same_bytes():
    assert contact_sheet(_dataset(), STYLE) == contact_sheet(_dataset(), STYLE)


def test_names_of_any_length_and_script_fit_beside_the_images():
    names = ("long " * 100, "日本語", "new\nline", "caf\\xe9", "")
    sheet = _pixels(contact_sheet(_dataset(names, 2), STYLE))
    assert (sheet[:, 80:82] == 255).all()


def test_further_classes_are_counted_and_empty_ones_have_no_images():
    names = tuple(str(number) for number in range(7))
    full = _pixels(contact_sheet(_dataset(names), STYLE))
    short = _pixels(contact_sheet(_dataset(names), SheetStyle(thumbnail=16, columns=4, caption=80, gap=2, rows=5)))
    assert full.shape[0] == 2 + 7 * 18
    assert short.shape[0] == 2 + 5 * 18 + 20
    assert short[-20:].min() < 100
    data = _dataset(("a",), 0)
    assert (_pixels(contact_sheet(data, STYLE))[:, 82:] == 255).all()


def test_unlabelled_images_fill_rows_in_their_order():
    pixels = np.broadcast_to(np.arange(6, dtype=np.uint8)[:, None, None, None], (6, 4, 4, 3)).copy()
    sheet = _pixels(contact_sheet(UnlabelledSet(images=ArrayImages(pixels)), STYLE))
    assert [sheet[10, 90 + 18 * column, 0] for column in range(4)] == [0, 1, 2, 3]
    assert [sheet[28, 90 + 18 * column, 0] for column in range(2)] == [4, 5]
