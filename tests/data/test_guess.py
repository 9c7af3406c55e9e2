"""What a name or a path means."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import corpus

from metagcd.data import SOURCES
from metagcd.data.guess import source_for
from metagcd.errors import InputError


def test_each_kind_of_path_finds_its_source(tmp_path):
    picture = corpus.plain(0)
    corpus.write(
        tmp_path,
        {
            "classes/a/x.png": picture,
            "classes/README.md": b"text",
            "flat/x.png": picture,
            "mixed/x.png": picture,
            "mixed/sub/x.png": picture,
            "labels.csv": b"path,label\n",
            "list.csv": b"path\n",
            "list.txt": b"x.png\n",
        },
    )
    np.savez(tmp_path / "a.npz", x=np.zeros(1))
    (tmp_path / "hub" / "data").mkdir(parents=True)
    pq.write_table(pa.table({"path": ["x.png"], "label": ["a"]}), tmp_path / "table.parquet")
    for name in ("hub/data/train-0.parquet", "images.parquet"):
        pq.write_table(pa.table({"image": pa.array([picture], pa.binary()), "label": [0]}), tmp_path / name)
    expected = {
        "classes": "folder",
        "flat": "unlabelled",
        "mixed": "unlabelled",
        "hub": "parquet",
        "labels.csv": "manifest",
        "list.csv": "unlabelled",
        "list.txt": "unlabelled",
        "a.npz": "arrays",
        "table.parquet": "manifest",
        "images.parquet": "parquet",
    }
    for name, source in expected.items():
        config = source_for(str(tmp_path / name))
        assert SOURCES.of(config).name == source
        assert config.path == str(tmp_path / name)
    assert SOURCES.of(source_for("digits")).name == "digits"


def test_what_means_nothing_is_refused_in_one_line(tmp_path):
    corpus.write(tmp_path, {"x.png": corpus.plain(0), "bad.parquet": b"no parquet at all", "bad.csv": b"a,b\n"})
    expected = {
        "digitz": "Unknown source `digitz`. Did you mean `digits`",
        "no/such/folder": "There is no file or folder",
        str(tmp_path / "x.png"): "Cannot tell what",
        str(tmp_path / "bad.parquet"): "as Parquet",
        str(tmp_path / "bad.csv"): "has no column `path`",
    }
    for name, words in expected.items():
        with pytest.raises(InputError, match=words) as caught:
            source_for(name)
        assert "\n" not in str(caught.value)
