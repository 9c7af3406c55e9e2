"""COCO: images, categories, and an annotation that covers the whole image."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metagcd.data.pictures import UnreadableError, picture_size
from metagcd.workspace.exporting import EXPORTS, Source
from metagcd.workspace.lines import printable, whole


@dataclass(frozen=True, kw_only=True)
class CocoConfig:
    """Settings of the COCO export."""

    sizes: bool = True
    """Read width and height from the files; off, both are 0, as for files that are gone."""


@EXPORTS.register("coco", CocoConfig)
def coco(config: CocoConfig, source: Source, output: Path) -> str:
    """COCO JSON: a category per class, an annotation over all of every image that is not unsure."""
    classes = [one for one in source.catalogue.classes() if one.status == "alive"]
    place = {one.id: number for number, one in enumerate(classes, start=1)}
    categories = [
        {"id": place[one.id], "name": one.name, "supercategory": "taught" if one.known else "discovered"}
        for one in classes
    ]
    images, annotations = list[dict[str, Any]](), list[dict[str, Any]]()
    for image in source.labelled():
        width, height = _size(image.path) if config.sizes else (0, 0)
        number = len(images) + 1
        images.append({"id": number, "file_name": printable(image.path), "width": width, "height": height})
        if image.own is not None:
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": place[image.own],
                    "bbox": [0, 0, width, height],
                    "area": width * height,
                    "iscrowd": 0,
                    "score": round(image.confidence, 4),
                }
            )
    table = {"info": {"description": "metagcd"}, "licenses": []}
    table |= {"images": images, "categories": categories, "annotations": annotations}
    with whole(output) as scratch:
        scratch.write_text(json.dumps(table), encoding="utf-8")
    return f"{len(images)} images, {len(annotations)} annotations, {len(categories)} categories"


def _size(path: str) -> tuple[int, int]:
    try:
        return picture_size(path)
    except UnreadableError:
        return 0, 0
