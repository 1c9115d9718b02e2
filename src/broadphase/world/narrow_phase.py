"""Which pairs touch of shapes that the core does not know, and what is met on the way of what is followed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow import Impacts
from broadphase.narrow.row_pairs import impacts, overlap_mask
from broadphase.world.touching import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    trace: Trace,
    alive: Flags,
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
    trace : Trace
    alive, looked_at, renewed : ndarray, shape (slots or more,), uint8
        Rows in use; rows that this step looks at; rows that were removed since the last step.
    touching : ndarray, shape (m, 2), int32
        Pairs that touched after the last step.
    workers : int
        Threads.

    Raises
    ------
    ValueError
        A followed row that crosses the world too often.
    """
    turned = None
    if len(trace.turned):
        how = np.where(trace.is_bounced, np.uint8(_REFLECTED), np.uint8(_WRAPPED))
        turned = trace.turned, how, trace.ends
    others = None
    if columns.geometries:
        shapes = columns.shapes_of(placement, columns.slots)
        others = partial(impacts, shapes, shapes)
    answers: Any = _native.impacts_on_the_way(
        placement.store,
        placement.boxes,
        placement.rotations,
        trace.before,
        trace.after,
        placement.positions,
        alive,
        trace.is_ccd,
        looked_at,
        columns.update_intervals,
        renewed,
        columns.batches,
        turned,
        columns.bounds,
        columns.period_bounds is not None,
        columns.filters().native(columns.slots),
        touching[:, 0],
        touching[:, 1],
        others,
        None,
        workers,
    )
    found, endless = answers[:2]
    if endless is not None:
        row, most, begin, motion = endless
        raise ValueError(
            f"row {row} has ccd=True and crosses the world more than {most} times in one step: from {begin} by {motion}"
        )
    return Impacts(*found)
