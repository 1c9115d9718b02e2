"""The two steps of a search past memory, over Arrow tables: the tiles that each box meets, and the pairs of a tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.arguments import undamaged
from broadphase.boxes import find_invalid
from broadphase.errors import InvalidBoxError, TooManyPairsError, quoted
from broadphase.scale.columns import BoxColumns, BoxSet, arrow, take
from broadphase.searches import iter_pairs, pairs
from broadphase.tables.arrow import plain_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.scale.planning import Plan

__all__ = ["WIDE", "assign", "assigned", "join", "pair_schema", "portions"]

#: The tile of boxes that meet very many tiles: they are kept apart, and each tile reads all of them.
WIDE = -1
_PORTION = 1 << 20  # pairs
_AT_ONCE = 2  # portions: their rows take less than one portion while it is written


def assign(table: Any, plan: Plan, columns: BoxColumns) -> Any:
    """Assign each box to every tile that it meets.

    Parameters
    ----------
    table : pyarrow.Table
        The boxes.
    plan : Plan
        The tiles.
    columns : BoxColumns
        What the columns mean.

    Returns
    -------
    pyarrow.Table
        The columns named in `columns`, and ``tile`` (int32): a row for each box and each tile that it meets, ascending
        by tile. Boxes that meet more than ``plan.most_copies`` tiles come once, with tile -1.

    Raises
    ------
    InvalidBoxError
        NaN, an empty cell, or lower > upper; names the row.
    FileFormatError
        The table lacks a column.
    ValueError
        One of the columns is called ``tile``, or its data is damaged.

    Notes
    -----
    A pure function. O(n * log(tiles)) time.
    """
    pa = arrow()
    columns.check(table.schema, "the table")
    if "tile" in columns.names:
        raise ValueError("the table has a column tile, the name of the column of tiles: rename it")
    table = undamaged(table.select(columns.names), "the table", is_utf8=False)
    offsets, _, rows, wide = assigned(BoxSet.of(table, columns), plan, columns.margin)
    tiles = np.repeat(np.arange(WIDE, plan.tile_count, dtype=np.int32), [len(wide), *np.diff(offsets)])
    taken = table.combine_chunks().take(pa.array(np.concatenate([wide, rows])))
    return taken.append_column("tile", pa.array(tiles))


def assigned(
    boxes: BoxSet, plan: Plan, margin: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Find the tiles of boxes: InvalidBoxError names the first bad row.

    Gives the offsets, (tiles + 1,), at which the rows of each tile begin; the number of those, (tiles,), whose lower
    corner is in the tile, and which come first; the rows; and rows of wide boxes, which meet more than
    ``plan.most_copies`` tiles, and are in none.
    """
    if boxes.corners.shape[2] != plan.dim:
        raise ValueError(f"the plan is for {plan.dim} axes, and the boxes have {boxes.corners.shape[2]}")
    lower, upper = boxes.grown(margin)
    try:
        found: Any = plan.tiling.assign(lower, upper, plan.most_copies)
        offsets, homes, rows, wide = found
    except _native.InvalidBoxes:
        bad, reasons = find_invalid((boxes.lower, boxes.upper), limit=1)
        raise InvalidBoxError(reasons[0], int(bad[0])) from None
    return offsets, homes, rows, wide


def join(
    left: Any,
    plan: Plan,
    tile: int,
    columns: BoxColumns,
    *,
    left_wide: Any = None,
    right: Any = None,
    right_wide: Any = None,
) -> Any:
    """Find the pairs that belong to one tile.

    A pair belongs to the tile that holds, on every axis, the larger of its two lower corners: to exactly one tile,
    whatever the plan, and to one that both boxes meet. So all tiles together, -1 among them, give each pair once.

    Parameters
    ----------
    left : pyarrow.Table
        The rows that `assign` gave to the tile.
    plan : Plan
        The tiles.
    tile : int
        Number of the tile; -1: the pairs of wide boxes with each other, which `left` and `right` hold then.
    columns : BoxColumns
        What the columns mean.
    left_wide : pyarrow.Table, optional
        The rows that `assign` gave to tile -1.
    right, right_wide : pyarrow.Table, optional
        The same of a second table, with the same columns: pairs are of a box of `left` and one of `right`.

    Returns
    -------
    pyarrow.Table
        ``first`` and ``second``, the ids of each pair; those of one set with the smaller first. Then
        ``first_<name>`` and ``second_<name>`` for each column that is kept.

    Raises
    ------
    ValueError
        There is no such tile, or the corners of the two sets differ in dtype.

    Notes
    -----
    A pure function; the order of the pairs is the same in every run.
    """
    if not WIDE <= tile < plan.tile_count:
        raise ValueError(f"tile must be from -1 to {plan.tile_count - 1}, not {quoted(tile)}")
    region = None if tile == WIDE else plan.bounds[tile]
    boxes: list[Any] = [
        None if one is None else BoxSet.of(undamaged(one, name, is_utf8=False).combine_chunks(), columns)
        for name, one in (("left", left), ("left_wide", left_wide), ("right", right), ("right_wide", right_wide))
    ]
    own, own_wide, theirs, their_wide = boxes
    is_one = right is None
    if is_one:  # boxes with one another (no second), and with wide ones
        compared = [(own, None), *([] if own_wide is None else [(own, own_wide)])]
    else:
        both = ((own, theirs), (own, their_wide), (own_wide, theirs))
        compared = [(first, second) for first, second in both if first is not None and second is not None]
    found: list[Any] = []
    for first, second in compared:
        found += portions(first, second, region, columns, one_set=is_one)
    if found:
        return arrow().concat_tables(found)
    return pair_schema(left.schema, (left if is_one else right).schema, columns).empty_table()


def portions(
    first: BoxSet,
    second: BoxSet | None,
    region: NDArray[Any] | None,
    columns: BoxColumns,
    *,
    one_set: bool,
    chunk: int = _PORTION,
) -> Iterator[Any]:
    """Yield the pairs of one part of space, as `join`, `chunk` pairs at a time.

    No `second`: pairs within the first. A `region`, (2, d), has a lower corner, which belongs to it, and an upper one,
    which does not; None: all of space. `one_set`: all are boxes of one set, so that the smaller id comes first.
    """
    if second is not None and first.corners.dtype != second.corners.dtype:
        raise ValueError(f"the corners of the two sets are {first.corners.dtype} and {second.corners.dtype}")
    first, begin = _those_inside_first(first, region, columns.margin)
    other, other_begin = (first, begin) if second is None else _those_inside_first(second, region, columns.margin)
    filters: dict[str, Any] = first.filters
    if second is not None:
        filters = {name: (values, other.filters[name]) for name, values in filters.items()}
    boxes = first.corners, None if second is None else other.corners
    options: Any = {"touching": columns.touching, "margin": columns.margin, **filters}
    found: Iterator[NDArray[Any]]
    try:
        # Found at once, pairs take three quarters of the time.
        whole = pairs(*boxes, max_pairs=_AT_ONCE * chunk, **options)
        found = (whole[row : row + chunk] for row in range(0, len(whole), chunk))
    except TooManyPairsError:
        found = iter_pairs(*boxes, chunk=chunk, **options)
    lower, other_lower = first.grown(columns.margin)[0], other.grown(columns.margin)[0]
    shift = 0
    if one_set and second is not None:
        shift = len(first)
        first = other = BoxSet.concatenated([first, other])
    for rows in found:
        i, j = rows[:, 0], rows[:, 1]
        if region is not None:
            # The larger of two corners inside is inside. Only for the other pairs has it to be computed.
            belongs = (i < begin) & (j < other_begin)
            rest = np.flatnonzero(~belongs)
            if len(rest):
                belongs[rest] = inside(region, np.maximum(lower[i[rest]], other_lower[j[rest]]))
                i, j = i[belongs], j[belongs]
        if len(i):
            yield _pair_table(first, i, other, j + shift if shift else j, columns, one_set=one_set)


def inside(region: NDArray[Any], points: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which points, of shape (n, d), a half-open region holds; infinite sides hold everything beyond."""
    found = np.ones(len(points), np.bool_)
    for k in range(points.shape[1]):
        # Arrays of one number: a number by itself would be rounded to the type of the points.
        if region[0, k] > -np.inf:
            found &= points[:, k] >= region[0, k : k + 1]
        if region[1, k] < np.inf:
            found &= points[:, k] < region[1, k : k + 1]
    return found


def _those_inside_first(boxes: BoxSet, region: NDArray[Any] | None, margin: float) -> tuple[BoxSet, int]:
    """Move the boxes whose lower corners lie in a region before the others, and count them."""
    if region is None:
        return boxes, len(boxes)
    home = inside(region, boxes.grown(margin)[0])
    count = int(np.count_nonzero(home))
    if not home[:count].all():
        boxes = boxes.take(np.argsort(~home, kind="stable"))
    return boxes, count


def pair_schema(first: Any, second: Any, columns: BoxColumns) -> Any:
    """Return the schema of pairs, from those of the sets that their boxes belong to."""
    pa = arrow()
    ids, kept = [], []
    for side, schema in (("first", first), ("second", second)):
        is_number = columns.id is None or pa.types.is_integer(schema.field(columns.id).type)
        ids.append(pa.field(side, pa.int64() if is_number else pa.large_string()))
        kept += [pa.field(f"{side}_{name}", plain_type(schema.field(name).type)) for name in columns.keep]
    return pa.schema([*ids, *kept])


def _pair_table(
    first: BoxSet, i: NDArray[Any], second: BoxSet, j: NDArray[Any], columns: BoxColumns, *, one_set: bool
) -> Any:
    pa = arrow()
    ids, others = take(first.ids, i), take(second.ids, j)
    if one_set and not columns.keep and isinstance(ids, np.ndarray):
        ids, others = np.minimum(ids, others), np.maximum(ids, others)
    elif one_set:
        swapped = _greater(ids, others)
        i, j = np.where(swapped, j, i), np.where(swapped, i, j)
        ids, others = take(first.ids, i), take(second.ids, j)
    table = pa.table({"first": ids, "second": others})
    for side, boxes, rows in (("first", first, i), ("second", second, j)):
        for name in columns.keep:
            table = table.append_column(f"{side}_{name}", take(boxes.kept.column(name), rows))
    return table


def _greater(ids: Any, others: Any) -> Any:
    if isinstance(ids, np.ndarray):
        return ids > others
    return arrow("compute").greater(ids, others).to_numpy(zero_copy_only=False)
