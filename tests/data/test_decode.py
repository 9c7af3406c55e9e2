"""Every readable picture comes out upright and in its colours; every other says why not."""

import io
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from data import corpus
from PIL import Image

from metagcd.data.decode import Decoding, decode
from metagcd.data.pictures import UnreadableError

READABLE = corpus.readable() + corpus.oriented()


@pytest.mark.parametrize("odd", READABLE, ids=lambda odd: odd.name)
def test_an_odd_but_readable_file_comes_out_upright_and_in_its_colours(odd, tmp_path):
    path = tmp_path / odd.name
    path.write_bytes(odd.content)
    pixels = decode(path, Decoding(size=corpus.SIDE))
    assert pixels.shape == (corpus.SIDE, corpus.SIDE, 3)
    assert np.abs(corpus.quarters(pixels) - np.array(odd.quarters)).max() <= odd.tolerance
    assert np.array_equal(decode(odd.content, Decoding(size=corpus.SIDE)), pixels)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_each_orientation_gives_the_same_pixels_everywhere(orientation):
    exif = Image.Exif()
    exif[corpus.ORIENTATION] = orientation
    content = corpus.encode(corpus.turned(orientation), exif=exif)
    assert np.array_equal(decode(content, Decoding(size=corpus.SIDE)), corpus.picture())


def test_a_camera_held_upright_writes_orientation_six():
    # The definition by its best known case: 6 means "turn clockwise by a quarter to see it upright".
    exif = Image.Exif()
    exif[corpus.ORIENTATION] = 6
    content = corpus.encode(np.rot90(corpus.picture(), 1).copy(), exif=exif)
    assert np.array_equal(decode(content, Decoding(size=corpus.SIDE)), corpus.picture())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [(n, *rest) for n, rest in corpus.unreadable().items()],
    ids=corpus.unreadable().keys(),
)
def test_an_unreadable_file_says_why_in_a_few_words(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=words) as caught:
        decode(path, Decoding(size=8))
    assert "\n" not in caught.value.reason
    assert len(caught.value.reason) < 120


def test_no_warning_reaches_the_reader_and_pillow_is_left_as_it_was():
    before = Image.MAX_IMAGE_PIXELS
    filters = list(warnings.filters)
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\xff\xff\0\0\x01\0\0\0"
    content = corpus.encode(corpus.picture(), "JPEG", exif=exif)
    with pytest.warns(UserWarning, match="Tag data larger than file|Corrupt EXIF"):
        Image.open(io.BytesIO(content)).getexif()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: decode(content, Decoding(size=8)), range(64)))
    assert before == Image.MAX_IMAGE_PIXELS
    assert warnings.filters == filters


def test_the_middle_of_a_long_picture_is_kept_whatever_its_direction():
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 255
    for pixels in (wide, wide.transpose(1, 0, 2).copy()):
        assert decode(corpus.encode(pixels), Decoding(size=10)).min() == 255


def test_squash_keeps_all_and_pad_keeps_proportions():
    wide = np.zeros((10, 30, 3), np.uint8)
    squashed = decode(corpus.encode(wide), Decoding(size=30, fit="squash"))
    assert squashed.max() == 0
    padded = decode(corpus.encode(wide), Decoding(size=30, fit="pad", background=(9, 8, 7)))
    assert padded[10:20].max() == 0
    assert np.array_equal(np.unique(np.concatenate((padded[:10], padded[20:])).reshape(-1, 3), axis=0), [[9, 8, 7]])


def test_a_transparent_picture_lies_on_the_background_when_padded():
    content = corpus.encode(np.zeros((4, 8, 4), np.uint8))
    assert np.array_equal(
        np.unique(decode(content, Decoding(size=8, fit="pad", background=(1, 2, 3))).reshape(-1, 3), axis=0),
        [[1, 2, 3]],
    )


def test_rows_are_cut_at_the_bottom_of_the_upright_picture():
    pixels = np.full((25, 20, 3), 200, np.uint8)
    pixels[20:] = 0
    assert decode(corpus.encode(pixels), Decoding(size=20, crop_bottom=5)).min() == 200
    assert decode(corpus.encode(pixels), Decoding(size=20)).min() == 0
    assert decode(corpus.encode(pixels), Decoding(size=4, crop_bottom=1000)).shape == (4, 4, 3)


def test_an_unchanged_size_gives_the_pixels_of_the_file():
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    assert np.array_equal(decode(corpus.encode(pixels), Decoding(size=16)), pixels)


def test_a_large_jpeg_decoded_at_a_fraction_resembles_one_decoded_whole():
    ramp = np.linspace(0, 255, 800).astype(np.uint8)
    pixels = np.stack(
        (np.tile(ramp, (800, 1)), np.tile(ramp[:, None], (1, 800)), np.full((800, 800), 99, np.uint8)), -1
    )
    jpeg = decode(corpus.encode(pixels, "JPEG", quality=95), Decoding(size=20, crop_bottom=400)).astype(int)
    exact = decode(corpus.encode(pixels), Decoding(size=20, crop_bottom=400)).astype(int)
    assert np.abs(jpeg - exact).max() <= 4


def test_more_pixels_than_the_limit_are_refused_before_decoding():
    with pytest.raises(UnreadableError, match="32 x 32 pixels are more than the limit of 1000"):
        decode(corpus.encode(corpus.picture()), Decoding(size=8, pixel_limit=1000))


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "kind"), [("1", "PNG"), ("L", "PNG"), ("L", "JPEG")])
def test_twenty_thousand_pixels_square_are_decoded(mode, kind):
    image = Image.new(mode, (20_000, 20_000), 0)
    image.paste(255 if mode == "L" else 1, (0, 0, 10_000, 20_000))
    stream = io.BytesIO()
    image.save(stream, kind)
    del image
    pixels = decode(stream.getvalue(), Decoding(size=32))
    assert pixels[:, 2:13].min() > 250
    assert pixels[:, 19:30].max() < 5
