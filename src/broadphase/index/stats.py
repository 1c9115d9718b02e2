"""Numbers that describe an index, as a mapping that prints as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from broadphase.representations import html_facts

__all__ = ["IndexStats"]


class IndexStats(Mapping[str, Any]):
    """Numbers by name; ``print`` shows a table.

    Most methods have ``method``, ``rows``, ``cells`` or ``nodes``, ``depth``, ``bytes``, and of the last
    `BoxIndex.pairs`: ``pairs`` found, ``tests`` made, ``brute_force_tests``, those of all against all, and
    ``tests_saved``, the difference. ``seconds_of_build``, ``seconds_of_update`` and ``seconds_of_query`` are those of
    the last of each, or None. Other numbers are the method's own.

    Examples
    --------
    >>> print(IndexStats({"method": "octree", "rows": 11, "tests": 29, "cells_by_level": [1, 4]}))
    octree
      rows                          11
      tests                         29
      cells by level              1  4
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"IndexStats({self._values})"

    def __str__(self) -> str:
        lines = [str(self._values.get("method", ""))]
        for name, value in self._values.items():
            if name != "method":
                lines.append(f"  {name.replace('_', ' '):<20} {_shown(name, value):>11}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = ((name.replace("_", " "), _shown(name, value)) for name, value in self._values.items())
        return html_facts("IndexStats", facts)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.startswith("seconds"):
        return f"{1e3 * value:,.3f} ms"
    if isinstance(value, list | tuple):
        return "  ".join(_shown("", part) for part in value)
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if isinstance(value, float) else str(value)
