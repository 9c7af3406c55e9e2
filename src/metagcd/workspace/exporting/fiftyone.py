"""FiftyOne: the layout of its `FiftyOneImageClassificationDataset`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from metagcd.workspace.exporting import EXPORTS, Source
from metagcd.workspace.exporting.tree import placing
from metagcd.workspace.lines import whole


@dataclass(frozen=True, kw_only=True)
class FiftyOneConfig:
    """Settings of the FiftyOne export."""

    how: Literal["link", "copy"] = "link"
    """`link`: symbolic links, which take no room; `copy`: files that stand alone."""


@EXPORTS.register("fiftyone", FiftyOneConfig)
def fiftyone(config: FiftyOneConfig, source: Source, output: Path) -> str:
    """FiftyOne: data/ with links or copies, labels.json with class and confidence."""
    place = placing(output, config.how)
    classes = [one for one in source.catalogue.classes() if one.status == "alive"]
    number = {one.id: row for row, one in enumerate(classes)}
    labels, missing = dict[str, Any](), 0
    for image in source.labelled():
        if not Path(image.path).is_file():
            missing += 1
            continue
        stem = place(image.path, "data", f"{image.number:07}").stem
        own = None if image.own is None else number[image.own]
        labels[stem] = None if own is None else {"label": own, "confidence": round(image.confidence, 4)}
    with whole(output / "labels.json") as scratch:
        scratch.write_text(json.dumps({"classes": [one.name for one in classes], "labels": labels}), encoding="utf-8")
    return f"{len(labels)} images" + (f"; {missing} are not where they were" if missing else "")
