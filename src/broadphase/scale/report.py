"""What a search over files has found, and where its time went."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from broadphase.errors import quoted

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """The result of `broadphase.scale.pairs`.

    Attributes
    ----------
    pair_count : int
        Number of pairs, in all files of the output.
    box_count : int
        Number of boxes, of both sets.
    tiles : int
        Number of tiles that were joined.
    copies : int
        How many more times boxes were read because they meet several tiles.
    wide : int
        Boxes that meet so many tiles that each tile reads them.
    seconds_by_stage : dict of str to float
        Wall time: ``plan``, ``assign`` and ``join``.
    busy_seconds : dict of str to float
        Of all threads together: ``read``, ``assign``, ``spill`` (boxes by tile, to the disk), ``load``, ``join`` and
        ``write``. Empty where another engine ran them.
    bytes_by_stage : dict of str to int
        ``assign``: bytes of the boxes by tile; ``join``: bytes of the output.
    resumed_tiles : int
        Of the tiles, those that an earlier run had joined.
    dataset : ray.data.Dataset, optional
        The pairs, where they were not written to files.
    """

    pair_count: int
    box_count: int
    tiles: int
    copies: int
    wide: int
    seconds_by_stage: dict[str, float] = field(default_factory=dict)
    busy_seconds: dict[str, float] = field(default_factory=dict)
    bytes_by_stage: dict[str, int] = field(default_factory=dict)
    resumed_tiles: int = 0
    dataset: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return all but the data set, for JSON."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "dataset"}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Report:
        """Make a report of what `to_dict` returned; ValueError or TypeError if that is damaged."""
        report = cls(**facts)
        for one in fields(cls):
            value = getattr(report, one.name)
            if one.name == "dataset":
                is_right = value is None
            elif one.type == "int":
                is_right = _is_number(value, int)
            else:
                kinds = (int,) if one.name == "bytes_by_stage" else (int, float)
                is_right = isinstance(value, dict) and all(_is_number(number, *kinds) for number in value.values())
            if not is_right:
                raise ValueError(f"{one.name} is {quoted(value)}")
        return report

    def __str__(self) -> str:
        """Return a few lines for people."""
        seconds = ", ".join(f"{stage} {time:.2f} s" for stage, time in self.seconds_by_stage.items())
        share = self.copies / max(self.box_count, 1)
        lines = [
            f"{self.pair_count:,} pairs of {self.box_count:,} boxes",
            f"{self.tiles:,} tiles; {share:.1%} copies, {self.wide:,} wide boxes",
            f"{seconds}; spilled {self.bytes_by_stage.get('assign', 0) / 1e6:,.0f} MB, "
            f"wrote {self.bytes_by_stage.get('join', 0) / 1e6:,.0f} MB",
        ]
        if self.resumed_tiles:
            lines.append(f"{self.resumed_tiles:,} tiles were there from an earlier run")
        return "\n".join(lines)


def _is_number(value: Any, *kinds: type) -> bool:
    return type(value) in kinds and 0 <= value < math.inf
