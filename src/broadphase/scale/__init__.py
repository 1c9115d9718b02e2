"""Pairs of more boxes than fit into memory, from files to files; and its two steps, for engines of your own.

`pairs` is the whole of it, on one machine or on Ray. `plan` divides space into tiles, `assign` gives boxes to the tiles
that they meet, and `join` finds the pairs of one tile: pure functions over Arrow tables, for any engine that can group
rows by a column. Needs pyarrow: ``pip install "broadphase[scale]"``.
"""

from broadphase.scale.columns import BoxColumns
from broadphase.scale.engine import pairs, plan
from broadphase.scale.planning import Plan
from broadphase.scale.report import Report
from broadphase.scale.tiles import WIDE, assign, join

__all__ = ["WIDE", "BoxColumns", "Plan", "Report", "assign", "join", "pairs", "plan"]
