"""Label Studio: tasks with the class as pre-annotation, for a person to confirm."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from metagcd.errors import InputError
from metagcd.workspace.exporting import EXPORTS, Labelled, Source
from metagcd.workspace.lines import whole

SERVED = "/data/local-files/?d="
"""Where Label Studio serves files of its own machine."""


@dataclass(frozen=True, kw_only=True)
class LabelStudioConfig:
    """Settings of the Label Studio export."""

    root: str = ""
    """The folder that Label Studio serves (its LOCAL_FILES_DOCUMENT_ROOT); empty: the root of the file system."""


@EXPORTS.register("label_studio", LabelStudioConfig)
def label_studio(config: LabelStudioConfig, source: Source, output: Path) -> str:
    """Label Studio tasks (JSON) with the class as prediction; the labelling setup lies beside it as XML."""
    root = os.path.abspath(config.root or os.sep)  # noqa: PTH100 - a path that need not be there
    names, count = source.names, 0
    with whole(output) as scratch, scratch.open("w", encoding="utf-8") as stream:
        stream.write("[")
        for image in source.labelled():
            stream.write(("," if count else "") + "\n" + json.dumps(_task(image, root, names)))
            count += 1
        stream.write("\n]\n")
    alive = [one.name for one in source.catalogue.classes() if one.status == "alive"]
    setup = output.with_suffix(".xml")
    with whole(setup) as scratch:
        scratch.write_text(_setup(alive), encoding="utf-8")
    return f"{count} tasks; the labelling setup is {setup}"


def _task(image: Labelled, root: str, names: dict[str, str]) -> dict[str, Any]:
    task: dict[str, Any] = {"data": {"image": _address(image.path, root), "number": image.number}}
    if image.likeliest is not None:
        choice = {"choices": [names[image.likeliest]]}
        result = [{"from_name": "class", "to_name": "image", "type": "choices", "value": choice}]
        task["predictions"] = [{"model_version": "metagcd", "score": round(image.confidence, 4), "result": result}]
    return task


def _address(path: str, root: str) -> str:
    relative = os.path.relpath(path, root)
    if relative.startswith(os.pardir):
        raise InputError(f"{path!r} does not lie below `root` {root!r}, so Label Studio could not serve it.")
    return SERVED + quote(os.fsencode(relative))


def _setup(names: list[str]) -> str:
    choices = "\n".join(f"    <Choice value={quoteattr(name)}/>" for name in names)
    return (
        '<View>\n  <Image name="image" value="$image"/>\n'
        f'  <Choices name="class" toName="image">\n{choices}\n  </Choices>\n</View>\n'
    )
