import json
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from metagcd.errors import InputError


def test_every_task_leads_to_its_image_and_proposes_a_class_of_the_setup(workspace, tmp_path):
    root = Path(workspace.folder.path).parent
    workspace.export("label_studio", tmp_path / "tasks.json", session=1, settings={"root": str(root)})
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    setup = ElementTree.parse(tmp_path / "tasks.xml").getroot()
    choices = {one.get("value") for one in setup.iter("Choice")}
    assert len(tasks) == 24
    for task in tasks:
        address = task["data"]["image"]
        assert address.startswith("/data/local-files/?d=batch/")
        assert (root / unquote(address.partition("?d=")[2])).is_file()
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("class", "image", "choices")
        assert set(result["value"]["choices"]) <= choices
        assert 0 <= prediction["score"] <= 1
    assert setup.find("Choices").get("toName") == setup.find("Image").get("name") == "image"
    assert setup.find("Image").get("value") == "$image"


def test_images_that_could_not_be_served_are_an_error(workspace, tmp_path):
    with pytest.raises(InputError, match="below `root`"):
        workspace.export("label_studio", tmp_path / "tasks.json", settings={"root": str(tmp_path / "elsewhere")})
    assert not list(tmp_path.iterdir())
