"""Which pairs touch of any shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.touching import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns, Placement

    Pairs: TypeAlias = NDArray[np.int32]
    Flags: TypeAlias = NDArray[np.uint8]

__all__ = [
    "overlapping_pairs", "touching_images", "touching_in_time", "touching_pairs",
]  # fmt: skip


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
