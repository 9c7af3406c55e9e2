"""Results as tables: for programs as frames, for notebooks as HTML."""

import base64
import io
from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape
from importlib.util import find_spec
from typing import Any

from metagcd.data.decode import Decoding, decode
from metagcd.data.pictures import UnreadableError

THUMBNAIL = Decoding(size=72)
STYLE = "display:inline-block;margin:2px;width:72px;height:72px"


def frame(columns: dict[str, Any]) -> Any:
    """Return the columns as a pandas DataFrame where pandas is installed, else as an Arrow table."""
    import pyarrow as pa

    table = pa.table(columns)
    return table.to_pandas() if find_spec("pandas") else table


def html_table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a table as HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def gallery(paths: Iterable[str]) -> str:
    """Return small pictures of files as HTML; those that are gone are left out."""
    from PIL import Image

    found = list[str]()
    for path in paths:
        with suppress(UnreadableError, OSError):
            content = io.BytesIO()
            Image.fromarray(decode(path, THUMBNAIL)).save(content, "JPEG")
            data = base64.b64encode(content.getvalue()).decode()
            found.append(f'<img style="{STYLE}" title="{escape(path)}" src="data:image/jpeg;base64,{data}">')
    return f"<div>{''.join(found)}</div>"
