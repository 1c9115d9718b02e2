"""The boundary of the world: what comes in at the other side, and pairs that meet across it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.values import keys_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["image_pairs", "where_touching"]


def image_pairs(boxes: Floats, bounds: Floats, alive: NDArray[np.uint8]) -> tuple[Rows, Floats]:
    """Find pairs of boxes of which one overlaps another image of the other, with the offset of the second, (m, d).

    In a periodic world everything exists again at every multiple of the world's size along every axis. Pairs of boxes
    that overlap where they are, are not given. A pair that overlaps in several images is given as often; a box never
    makes a pair with an image of itself. `alive` is 1, or 0 for rows that are not looked at. Pairs are in lexicographic
    order, those of one pair in the order of offsets.

    Exact but for rounding: sums of a corner and an offset are rounded away from the box. One pass over the boxes; all
    else costs in proportion to what is as near to the boundary as the largest boxes there are wide.
    """
    answer: Any = _native.periodic_pairs(boxes, bounds, alive, None, None, None, True, 1)
    _, found, offsets = answer
    order = np.lexsort([*offsets.T[::-1], found[:, 1], found[:, 0]])
    return found[order], offsets[order]


def where_touching(shapes: Shapes, pairs: Rows, bounds: Floats | None) -> tuple[Rows, Floats | None]:
    """Leave out pairs that do not touch; give the others, and what brings the second to the image that is touched.

    Of several images that touch, the first in the order of offsets. `pairs` are of rows of `shapes`, each once, in
    lexicographic order; `bounds` are those of a periodic world, or None. Offsets are None if all touch where they are.
    """
    first, second = np.ascontiguousarray(pairs.T)
    here = overlap_mask(shapes, shapes, first, second)
    if bounds is None or here.all():
        return pairs[here], None
    there = np.flatnonzero(~here)
    wanted = keys_of(pairs[there])
    involved = np.zeros(len(shapes.boxes), np.uint8)
    involved[pairs[there]] = 1

    found, offsets = image_pairs(shapes.boxes, bounds, involved)
    is_wanted = np.isin(keys_of(found), wanted)
    found, offsets = found[is_wanted], offsets[is_wanted]
    first, second = np.ascontiguousarray(found.T)
    touch = overlap_mask(shapes, shapes, first, second, offsets)
    found, offsets = found[touch], offsets[touch]
    keys, first_of = np.unique(keys_of(found), return_index=True)
    every = np.zeros((len(pairs), shapes.dim))
    places = there[np.searchsorted(wanted, keys)]
    every[places] = offsets[first_of]
    here[places] = True
    return pairs[here], every[here]
