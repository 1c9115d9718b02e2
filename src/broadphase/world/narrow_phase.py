"""Which pairs touch of shapes that the core does not know, and what is met on the way of what is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.ccd import meetings, no_impacts, ways_of
from broadphase.world.touching import are_among, joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.narrow import Impacts
    from broadphase.world.ccd import Trace
    from broadphase.world.columns import Columns, Placement

    Pairs: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]

__all__ = [
    "impacts_on_the_way", "overlapping_pairs", "touching_images", "touching_in_time", "touching_pairs",
]  # fmt: skip


# How the boundary acts on a body, for the core.
_REFLECTED, _WRAPPED = 1, 2


def touching_pairs(columns: Columns, placement: Placement, pairs: Pairs, workers: int, is_tight: bool = True) -> Pairs:
    """Give the pairs whose shapes touch.

    Parameters
    ----------
    columns : Columns
    placement : Placement
    pairs : ndarray, shape (m, 2), int32
    workers : int
        Threads.
    is_tight : bool
        Whether their boxes are known to overlap.
    """
    boxes = None if is_tight else placement.boxes
    answers: Any = _native.shape_touching(placement.store, pairs[:, 0], pairs[:, 1], boxes, workers)
    touching, unknown = answers
    if len(unknown):  # hulls, meshes and custom shapes
        touching = joined(touching, overlapping_pairs(columns, placement, unknown))
    found: Pairs = touching
    return found


def touching_images(columns: Columns, placement: Placement, pairs: Pairs, offsets: NDArray[np.float64]) -> Pairs:
    """Give the pairs of any shapes that touch where the second is moved by its offset, but not where they are."""
    shapes = columns.shapes_of(placement)
    first, second = np.ascontiguousarray(pairs.T)
    touch = overlap_mask(shapes, shapes, first, second, offsets) & ~overlap_mask(shapes, shapes, first, second)
    found: Pairs = pairs[touch]
    return found


def touching_in_time(
    placement: Placement, pairs: Pairs, order: NDArray[np.int32], weights: Flags, seconds: float, workers: int
) -> tuple[int, Pairs, NDArray[np.int32]]:
    """Test pairs whose boxes overlap until a time is up, but at least a few.

    Parameters
    ----------
    placement : Placement
    pairs : ndarray, shape (m, 2), int32
    order : ndarray, shape (k,), int32
        Which are to be tested, in this order.
    weights : ndarray, shape (slots,), uint8
        How long tests with each row take, roughly.
    seconds : float
        May be negative.
    workers : int
        Threads.

    Returns
    -------
    tested : int
        How many of the order had their turn.
    touching : ndarray, shape (l, 2), int32
        Of these, the pairs whose shapes touch.
    unknown : ndarray, shape (h,), int32
        Of these, the pairs with a hull, a mesh or a custom shape, which are yet to be tested: their places.
    """
    found: Any = _native.shape_touching_in_time(
        placement.store, pairs[:, 0], pairs[:, 1], order, weights, seconds, workers
    )
    tested, touching, unknown = found
    return tested, touching, unknown


def overlapping_pairs(columns: Columns, placement: Placement, pairs: Pairs) -> Pairs:
    """Give the pairs whose shapes touch, of any shapes whose boxes do."""
    shapes = columns.shapes_of(placement)
    found: Pairs = pairs[overlap_mask(shapes, shapes, pairs[:, 0], pairs[:, 1], boxes_overlap=True)]
    return found


def impacts_on_the_way(
    columns: Columns,
    placement: Placement,
    trace: Trace | None,
    alive: NDArray[np.bool_],
    looked_at: Flags,
    renewed: Flags,
    touching: Pairs,
    workers: int,
) -> Impacts:
    """Find what touched a followed body since the last step, and did not touch it then.

    Parameters
    ----------
    columns : Columns
    placement : Placement
        After the step.
    trace : Trace or None
        None where no body is followed.
    alive : ndarray, shape (slots,), bool
    looked_at, renewed : ndarray, shape (slots or more,), uint8
        Rows that this step looks at; rows that were removed since the last step.
    touching : ndarray, shape (m, 2), int32
        Pairs that touched after the last step.
    workers : int
        Threads.

    Raises
    ------
    ValueError
        A followed row that crosses the world too often.
    """
    slots = columns.slots
    if trace is None:
        return no_impacts(columns.dim)
    rows = _near_ways(columns, placement, trace, alive, workers)
    trace, now = trace.of(rows), placement.positions[rows]
    # A row that is not looked at is where it was seen last; one that is seldom looked at only appears where it is seen.
    is_looked_at = looked_at[rows].view(np.bool_)
    if columns.update_intervals is not None:
        is_looked_at = is_looked_at & (trace.is_ccd | (columns.update_intervals[rows] == 1))
    motions = trace.after - trace.before
    motions[~is_looked_at] = 0.0

    def relative_boxes(some: NDArray[np.int32]) -> NDArray[np.float64]:
        boxes: Any = placement.store.relative_boxes(rows[some], placement.rotations)
        found: NDArray[np.float64] = boxes
        return found

    is_periodic, is_there = columns.period_bounds is not None, alive[rows]
    ways = ways_of(trace, motions, now, is_there, columns.bounds, is_periodic, relative_boxes)
    found = meetings(
        columns.shapes_of(placement, slots),
        now,
        motions,
        is_there,
        trace.is_ccd,
        ways,
        columns.period_bounds,
        columns.filters().native(slots),
        rows,
        None if columns.batches is None else columns.batches[rows],
    )
    if not len(found.pairs):
        return found
    fresh = (found.times > 0.0) | renewed[found.pairs].any(axis=1)
    fresh |= ~are_among(found.pairs, touching, is_ordered=True)
    return type(found)(found.pairs[fresh], found.times[fresh], found.normals[fresh])


def _near_ways(
    columns: Columns, placement: Placement, trace: Trace, alive: NDArray[np.bool_], workers: int
) -> NDArray[np.int32]:
    """Give the followed rows and those that may meet them on their ways: a few more than do."""
    turned = None
    if len(trace.turned):
        how = np.full(len(trace.turned), _WRAPPED, np.uint8)
        how[np.isin(trace.turned, trace.bounced)] = _REFLECTED
        turned = trace.turned, how, trace.ends
    found: Any = _native.near_ways(
        trace.before,
        trace.after,
        placement.positions,
        placement.boxes,
        alive.view(np.uint8),
        trace.is_ccd.view(np.uint8),
        None if columns.batches is None else columns.batches[: columns.slots],
        turned,
        columns.bounds,
        columns.period_bounds is not None,
        workers,
    )
    rows: NDArray[np.int32] = found
    return rows
