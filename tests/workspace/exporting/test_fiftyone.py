import json


def test_labels_name_files_and_count_classes(workspace, tmp_path):
    workspace.export("fiftyone", tmp_path / "set", session=1)
    table = json.loads((tmp_path / "set" / "labels.json").read_text())
    files = {path.stem: path for path in (tmp_path / "set" / "data").iterdir()}
    assert set(table["labels"]) == set(files)
    assert len(files) == 24
    for label in table["labels"].values():
        assert label is None or 0 <= label["label"] < len(table["classes"])
        assert label is None or 0 <= label["confidence"] <= 1
    assert sum(label is not None for label in table["labels"].values()) > 0
