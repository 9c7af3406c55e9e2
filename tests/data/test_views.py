import numpy as np
import pytest
import torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as vision

from metagcd.config import from_toml, to_toml
from metagcd.data.draws import Draw
from metagcd.data.views import Augmentation, evaluation_view, interpolated, train_view, two_views
from metagcd.errors import InputError
from metagcd.types import InputSpec

SPEC = InputSpec(size=28)  # resized to 32
STRONG = Augmentation(
    shift=2, padding="reflect", degrees=20.0, zoom=(0.8, 1.2), brightness=0.3, contrast=0.3, noise=0.05
)
ROWS = np.array([4, 0, 9, 7, 12], dtype=np.int64)


def pictures(height=40, width=40, n=5):
    return np.random.default_rng(0).integers(0, 256, (n, height, width, 3), dtype=np.uint8)


def views(pixels, augmentation, *, images=ROWS, spec=SPEC, seed=1, epoch=0):
    return two_views(pixels, spec=spec, augmentation=augmentation, seed=seed, images=images, epoch=epoch)


def one_by_one(pixels, draw, spec, augmentation):
    """Crop and flip each image by torchvision, with our drawn numbers."""
    out = []
    for place, image in enumerate(torch.from_numpy(pixels).permute(0, 3, 1, 2)):
        x = vision.resize(image, [round(spec.size / spec.crop_fraction)], v2.InterpolationMode.BICUBIC, antialias=True)
        top = int(draw.uniform("top")[place] * (x.shape[1] - spec.size + 1))
        left = int(draw.uniform("left")[place] * (x.shape[2] - spec.size + 1))
        x = vision.crop(x, top, left, spec.size, spec.size)
        if draw.uniform("flip")[place] < augmentation.flip:
            x = vision.horizontal_flip(x)
        out.append(vision.normalize(x / 255, list(spec.mean), list(spec.std)))
    return torch.stack(out)


@pytest.mark.parametrize("shape", [(40, 40), (36, 50), (50, 36), (32, 32), (20, 24)])
def test_a_view_is_torchvisions_resize_crop_flip_and_normalise(shape):
    pixels, augmentation = pictures(*shape), Augmentation()
    draw = Draw(seed=3, images=ROWS, epoch=2, view=1)
    ours = train_view(pixels, spec=SPEC, augmentation=augmentation, draw=draw)
    torch.testing.assert_close(ours, one_by_one(pixels, draw, SPEC, augmentation), rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 40), (37, 53), (32, 32), (28, 28), (9, 9)])
def test_the_evaluation_view_is_torchvisions_resize_and_centre_crop(shape):
    pixels = pictures(*shape)
    transform = v2.Compose(
        [
            v2.Resize(32, v2.InterpolationMode.BICUBIC, antialias=True),
            v2.CenterCrop(28),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(SPEC.mean, SPEC.std),
        ]
    )
    torch.testing.assert_close(
        evaluation_view(pixels, SPEC), transform(torch.from_numpy(pixels).permute(0, 3, 1, 2)), rtol=0, atol=1e-5
    )


def test_small_images_at_the_networks_size_are_only_normalised():
    spec = InputSpec(size=40, crop_fraction=1.0, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    x = evaluation_view(pictures(), spec)
    torch.testing.assert_close(x, torch.from_numpy(pictures()).permute(0, 3, 1, 2) / 255)
    torch.testing.assert_close(views(pictures(), Augmentation(flip=0.0), spec=spec), torch.cat([x, x]))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_a_grey_surface_stays_grey_under_every_interpolation(interpolation):
    spec = InputSpec(size=16, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5), interpolation=interpolation)
    x = evaluation_view(np.full((2, 9, 11, 3), 51, dtype=np.uint8), spec)
    torch.testing.assert_close(x, torch.full((2, 3, 16, 16), (0.2 - 0.5) / 0.5))


def test_two_views_are_the_first_stacked_on_the_second():
    both = views(pictures(), STRONG)
    for view, part in zip((1, 2), both.chunk(2), strict=True):
        draw = Draw(seed=1, images=ROWS, epoch=0, view=view)
        torch.testing.assert_close(part, train_view(pictures(), spec=SPEC, augmentation=STRONG, draw=draw))


def test_the_views_of_an_image_differ_and_so_do_epochs_and_seeds():
    for augmentation in (Augmentation(), STRONG):
        one, two = views(pictures(), augmentation).chunk(2)
        assert not torch.equal(one, two)
        assert not torch.equal(one, views(pictures(), augmentation, epoch=1).chunk(2)[0])
        assert not torch.equal(one, views(pictures(), augmentation, seed=2).chunk(2)[0])


@pytest.mark.parametrize("augmentation", [Augmentation(), STRONG], ids=["plain", "strong"])
def test_an_images_views_do_not_depend_on_the_batch_around_it(augmentation):
    whole = views(pictures(), augmentation).unflatten(0, (2, 5))
    order = np.array([3, 0, 4])
    part = views(pictures()[order], augmentation, images=ROWS[order]).unflatten(0, (2, 3))
    torch.testing.assert_close(part, whole[:, order])


def test_tensors_and_arrays_give_the_same_views():
    pixels = pictures()
    torch.testing.assert_close(views(torch.from_numpy(pixels), STRONG), views(pixels, STRONG), rtol=0, atol=0)
    pixels.flags.writeable = False
    torch.testing.assert_close(evaluation_view(pixels, SPEC), evaluation_view(pictures(), SPEC), rtol=0, atol=0)


@pytest.mark.parametrize(("padding", "mode"), [("zero", "constant"), ("reflect", "reflect")])
def test_a_shift_pads_and_crops(padding, mode):
    spec = InputSpec(size=8, crop_fraction=1.0, mean=(0.0, 0.0, 0.0), std=(1 / 255, 1 / 255, 1 / 255))
    pixels, augmentation = pictures(8, 8), Augmentation(shift=3, padding=padding, flip=0.0)
    draw = Draw(seed=1, images=ROWS, epoch=0, view=1)
    wide = np.pad(pixels, ((0, 0), (3, 3), (3, 3), (0, 0)), mode=mode)
    places = [[int(draw.uniform(name)[i] * 7) for name in ("top", "left")] for i in range(5)]
    expected = np.stack([wide[i, top : top + 8, left : left + 8] for i, (top, left) in enumerate(places)])
    x = train_view(pixels, spec=spec, augmentation=augmentation, draw=draw)
    torch.testing.assert_close(x, torch.from_numpy(expected).permute(0, 3, 1, 2).float())


def test_rotation_and_zoom_are_torchvisions_affine_map():
    spec = InputSpec(size=32, crop_fraction=1.0, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    augmentation = Augmentation(flip=0.0, degrees=30.0, zoom=(0.7, 1.3))
    draw = Draw(seed=1, images=ROWS, epoch=0, view=1)
    pixels = pictures(32, 32)
    angle, zoom = draw.uniform("angle", -30.0, 30.0), draw.uniform("zoom", 0.7, 1.3)
    expected = torch.stack(
        [
            vision.affine(image, float(angle[i]), [0, 0], float(zoom[i]), [0.0, 0.0], v2.InterpolationMode.BILINEAR)
            for i, image in enumerate(torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255)
        ]
    )
    ours = train_view(pixels, spec=spec, augmentation=augmentation, draw=draw)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "change"), [("brightness", vision.adjust_brightness), ("contrast", vision.adjust_contrast)]
)
def test_tone_is_torchvisions_jitter(name, change):
    spec = InputSpec(size=16, crop_fraction=1.0, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    draw = Draw(seed=1, images=ROWS, epoch=0, view=1)
    pixels = pictures(16, 16)
    factor = draw.uniform(name, 0.5, 1.5)
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    expected = torch.stack([change(image, float(factor[i])) for i, image in enumerate(images)])
    ours = train_view(pixels, spec=spec, augmentation=Augmentation(flip=0.0, **{name: 0.5}), draw=draw)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-3)


def test_noise_has_the_stated_strength_on_the_unit_scale():
    spec = InputSpec(size=40, crop_fraction=1.0, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    added = views(pictures(), Augmentation(flip=0.0, noise=0.1), spec=spec)
    plain = views(pictures(), Augmentation(flip=0.0), spec=spec)
    assert (added - plain).std().item() == pytest.approx(0.1, rel=0.03)


def test_an_empty_batch_has_no_views():
    assert views(pictures(n=0), STRONG, images=ROWS[:0]).shape == (0, 3, 28, 28)
    assert evaluation_view(pictures(n=0), SPEC).shape == (0, 3, 28, 28)


def test_an_augmentation_survives_a_file():
    assert from_toml(Augmentation(), to_toml(STRONG)) == STRONG


@pytest.mark.parametrize(
    "wrong", [{"shift": -1}, {"flip": 1.5}, {"zoom": (1.0,)}, {"zoom": (1.2, 0.8)}, {"contrast": 2.0}, {"noise": -0.1}]
)
def test_strengths_that_make_no_picture_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Augmentation(**wrong)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("augmentation", [Augmentation(), STRONG], ids=["plain", "strong"])
def test_a_graphics_processor_makes_the_same_views(augmentation):
    pixels = torch.from_numpy(pictures())
    # Resizing may round a byte the other way: one level is 1 / 255, over a deviation of 0.22, and a contrast of 1.3.
    there = views(pixels.cuda(), augmentation)
    assert there.is_cuda
    torch.testing.assert_close(there.cpu(), views(pixels, augmentation), rtol=0, atol=0.03)
    torch.testing.assert_close(
        evaluation_view(pixels.cuda(), SPEC).cpu(), evaluation_view(pixels, SPEC), rtol=0, atol=0.02
    )


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [[13, 17], [64, 48]])
def test_bytes_that_are_resized_as_numbers_are_rarely_off_by_a_level_in_each_direction(interpolation, size):
    pixels = torch.from_numpy(pictures()).permute(0, 3, 1, 2)
    spec = InputSpec(size=8, interpolation=interpolation)
    found = interpolated(pixels, size, spec).int()
    expected = torch.nn.functional.interpolate(pixels, size, mode=interpolation, antialias=True).int()
    assert found.shape == expected.shape
    assert (found - expected).abs().max() <= 2
    assert (found != expected).double().mean() < 0.1
