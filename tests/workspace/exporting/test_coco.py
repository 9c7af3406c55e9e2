import json


def test_images_annotations_and_categories_refer_to_one_another(workspace, tmp_path):
    workspace.export("coco", tmp_path / "coco.json", session=1)
    table = json.loads((tmp_path / "coco.json").read_text())
    assert set(table) >= {"info", "licenses", "images", "annotations", "categories"}
    images = {one["id"]: one for one in table["images"]}
    categories = {one["id"]: one for one in table["categories"]}
    assert len(images) == 24
    assert {one["name"] for one in categories.values()} >= {"ant", "bee", "fly"}
    assert {one["supercategory"] for one in categories.values()} <= {"taught", "discovered"}
    assert len({one["id"] for one in table["annotations"]}) == len(table["annotations"]) > 0
    for one in table["annotations"]:
        image = images[one["image_id"]]
        assert one["category_id"] in categories
        assert one["bbox"] == [0, 0, image["width"], image["height"]] == [0, 0, 8, 8]
        assert one["area"] == 64
        assert 0 <= one["score"] <= 1


def test_sizes_can_be_left_out(workspace, tmp_path):
    workspace.export("coco", tmp_path / "coco.json", settings={"sizes": False})
    assert {(one["width"], one["height"]) for one in json.loads((tmp_path / "coco.json").read_text())["images"]} == {
        (0, 0)
    }
