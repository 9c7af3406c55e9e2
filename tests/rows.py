"""Rows of scores to make tables of."""

from typing import Any

from metagcd.results import Row


def row(**values: Any) -> Row:
    """Return a row with these values and plain ones elsewhere."""
    return Row(
        **{
            "run": "gcd-digits-0123456789",
            "method": "gcd",
            "data": "digits",
            "protocol": "p1",
            "seed": 0,
            "session": 0,
            "partition": "initial",
            "assignment": "global",
            "readout": "kmeans",
            "classes": 7,
            "all": 70.0,
            "old": 80.0,
            "new": float("nan"),
            "seconds": 1.5,
            "memory": 2_000_000,
            **values,
        }
    )
