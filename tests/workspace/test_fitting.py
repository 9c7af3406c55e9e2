import numpy as np
import pytest
from workspace import small

from metagcd.data.rows import select
from metagcd.errors import InputError
from metagcd.types import Dataset
from metagcd.workspace.catalogue import reading
from metagcd.workspace.learning import config_of


class Interrupted:
    """Images that raise KeyboardInterrupt at a read."""

    def __init__(self, pixels, at=None):
        self._pixels, self._at, self.reads = pixels, at, 0

    def __len__(self):
        return len(self._pixels)

    @property
    def fingerprint(self):
        return "the same"

    def read(self, rows):
        if self.reads == self._at:
            raise KeyboardInterrupt
        self.reads += 1
        return self._pixels[rows]


def dataset(at=None):
    rng = np.random.default_rng(0)
    colours = np.repeat(np.array(list(small.COLOURS.values())[:3]), 20, axis=0)
    pixels = np.clip(colours[:, None, None] + rng.integers(-40, 40, (60, 8, 8, 3)), 0, 255).astype(np.uint8)
    images, labels = Interrupted(pixels, at), np.repeat(np.arange(3), 20)
    rows = np.arange(60)
    train, test = rows[rows % 5 > 0], rows[rows % 5 == 0]
    return images, Dataset(
        train=select(images, train),
        train_labels=labels[train],
        test=select(images, test),
        test_labels=labels[test],
        class_names=("ant", "bee", "fly"),
        fingerprint="",
    )


def test_a_fit_learns_classes_and_tells_how_good_it_is_on_images_it_held_out(tmp_path):
    fitted = small.new(tmp_path / "w").fit(small.labelled(tmp_path / "labelled"))
    assert (fitted.classes, fitted.counts) == (("ant", "bee", "fly"), (20, 20, 20))
    assert (fitted.facts["images"], fitted.facts["held_out"], fitted.accuracy) == (60, 12, 1.0)
    assert fitted.reliability.ece >= 0
    with reading(small.Workspace.open(tmp_path / "w").folder) as catalogue:
        (session,) = catalogue.sessions()
        assert session.number == 0
        assert [one.count for one in catalogue.classes()] == [16, 16, 16]
        features = small.Workspace.open(tmp_path / "w").folder.read(session.features)["features"]
    assert (str(features.dtype), tuple(features.shape)) == ("torch.float16", (60, 16))


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_any_labelled_source_will_do(tmp_path, kind, monkeypatch):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    paths = sorted(small.labelled(tmp_path / "labelled", count=6).rglob("*.png"))
    names = [path.parent.name for path in paths]
    if kind == "csv":
        pa.csv.write_csv(pa.table({"path": list(map(str, paths)), "label": names}), "photos.csv")
    elif kind == "npz":
        np.savez("photos.npz", x=np.stack([np.asarray(Image.open(path)) for path in paths]), y=np.array(names))
    else:
        encoded = [{"bytes": path.read_bytes()} for path in paths]
        pa.parquet.write_table(pa.table({"image": encoded, "label": names}), "photos.parquet")
    workspace = small.new(tmp_path / "w")
    assert workspace.fit(f"photos.{kind}").classes == ("ant", "bee", "fly")
    assert workspace.predict(paths[0].parent).classes == ("ant",) * 6
    again = workspace.discover(tmp_path / "labelled", preview=True)
    assert again.outcome == ("nothing new" if kind == "npz" else "same batch") or kind == "npz"


def test_a_fitted_workspace_is_not_fitted_again_unless_that_is_asked_for(tmp_path):
    workspace = small.lived(tmp_path)
    before = small.state(workspace)
    with pytest.raises(InputError, match="has been fitted already"):
        workspace.fit(tmp_path / "labelled")
    assert small.state(workspace) == before
    other = small.labelled(tmp_path / "other", kinds=("moth", "gnat"))
    again = type(workspace)(workspace.folder, small.new(tmp_path / "x").wanted, workspace.machine)
    again.fit(other, force=True)
    assert workspace.classes().ids == ("gnat", "moth")
    assert workspace.predict(other / "moth").classes == ("moth",) * 20
    workspace.undo()
    assert small.state(workspace)[:2] == before[:2]
    assert workspace.predict(tmp_path / "labelled" / "bee").classes == ("bee",) * 20


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_fit_goes_on_where_it_was_interrupted(tmp_path, share):
    images, data = dataset()
    whole = small.new(tmp_path / "whole", method="gcd", save_every=0.0)
    whole.fit(data)
    interrupted, half = (
        dataset(at=int(share * images.reads)),
        small.new(tmp_path / "half", method="gcd", save_every=0.0),
    )
    with pytest.raises(KeyboardInterrupt):
        half.fit(interrupted[1])
    resumed = dataset()
    half.fit(resumed[1])
    assert small.state(half)[0] == small.state(whole)[0]
    assert not half.folder.stages.exists()
    names = [{path.name for path in one.folder.files.iterdir()} for one in (half, whole)]
    assert names[0] == names[1]


def test_training_that_was_begun_on_other_images_is_not_gone_on_with(tmp_path):
    workspace = small.new(tmp_path / "w", method="gcd", save_every=0.0)
    images, data = dataset()
    small.new(tmp_path / "whole", method="gcd").fit(data)
    with pytest.raises(KeyboardInterrupt):
        workspace.fit(dataset(at=images.reads - 1)[1])
    assert list(workspace.folder.stages.glob("*/*.safetensors"))
    workspace.fit(small.labelled(tmp_path / "labelled"))
    other = small.new(tmp_path / "other", method="gcd")
    other.fit(tmp_path / "labelled")
    assert small.state(workspace)[0] == small.state(other)[0]


def _one_image(path):
    small.pictures(path / "ant", "ant", count=1)


def _one_class(path):
    small.pictures(path / "ant", "ant", count=9)


def _a_class_with_one_image(path):
    small.labelled(path)
    small.pictures(path / "wasp", "wasp", count=1)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda _: None, "no file or folder"),
        (lambda path: path.mkdir(), "has no labels|No readable image"),
        (_one_image, "has one class"),
        (_one_class, "has one class; at least 2"),
        (_a_class_with_one_image, "Class `wasp` has 1 image to learn from"),
        (lambda path: small.pictures(path, "ant"), "has no labels: give a folder with a folder per class"),
    ],
)
def test_what_cannot_be_learned_is_told_and_leaves_nothing(tmp_path, make, told):
    make(tmp_path / "photos")
    with pytest.raises(InputError, match=told) as error:
        small.new(tmp_path / "w").fit(tmp_path / "photos")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "w").exists()


def test_later_pictures_are_decoded_as_the_labelled_ones_were(tmp_path):
    settings = {**small.SETTINGS["frozen"], "decoding": {"fit": "pad", "size": 12}, "held_out": 0.5}
    workspace = small.Workspace.create(
        tmp_path / "w", method="frozen", encoder="tiny", settings=settings, machine=small.machine()
    )
    fitted = workspace.fit(small.labelled(tmp_path / "labelled"))
    assert fitted.facts["held_out"] == 30
    with reading(workspace.folder) as catalogue:
        config = config_of(catalogue.fit())
    assert (config.decoding.fit, config.decoding.size, config.held_out) == ("pad", 12, 0.5)


def test_pictures_are_stored_at_the_size_that_the_encoder_asks_for(tmp_path):
    workspace = small.fitted(tmp_path)
    with reading(workspace.folder) as catalogue:
        assert config_of(catalogue.fit()).decoding.size == 8


def test_two_classes_can_be_learned_by_every_method(tmp_path):
    settings = {
        "encoder": small.ENCODER,
        "method": {"warmup_epochs": 1, "online_updates": 1, "head": {"hidden": 8, "bottleneck": 4, "width": 8}},
    }
    workspace = small.Workspace.create(tmp_path / "w", encoder="tiny", settings=settings, machine=small.machine())
    workspace.fit(small.labelled(tmp_path / "labelled", kinds=("ant", "bee")))
    with reading(workspace.folder) as catalogue:
        assert config_of(catalogue.fit()).method.meta is False
