"""The boundary of the world: what comes in at the other side, and pairs that meet across it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native, thresholds
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.world.values import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes

    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]
    Meets: TypeAlias = Callable[[NDArray[np.intp], Floats], NDArray[np.bool_]]

__all__ = ["image_pairs", "images_of", "parts_of_images", "where_touching"]

# Of one query: some 100 MB of scratch memory.
_MOST_IMAGES = 1_000_000
# Of coordinates: what rounding may take from the images that a shape has.
_ROOM = 2.0**-40


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


def images_of(
    lower: Floats, upper: Floats, around: Floats, bounds: Floats, meets: Meets | None = None
) -> tuple[NDArray[np.intp], Floats]:
    """Find the images of boxes, (q, d), that may meet shapes in a periodic world: of which box each is, and its shift.

    `around` is a box around everything in the world, (2, d). Where a box has many images, ``meets(rows, boxes)`` is
    called to say which boxes, (m, 2, d), overlap the shapes that `rows` of `lower` and `upper` are around: only the
    images of the shape are given then. They are found by halving ranges of worlds: 2**d times as many ranges are looked
    at as there are images, for each halving of the box. Boxes that are infinitely far away have no image here. A box,
    or a shape, with more images than can be tested raises ValueError.

    >>> corner = np.array([[9.5, 4.0]])
    >>> world = np.array([[0.0, 0.0], [10.0, 10.0]])
    >>> images_of(corner - 1, corner + 1, world, world)
    (array([0, 0]), array([[-10.,   0.], [  0.,   0.]]))
    """
    period = bounds[1] - bounds[0]
    with np.errstate(invalid="ignore"):
        first, last = np.ceil((around[0] - upper) / period), np.floor((around[1] - lower) / period)
        images = np.nan_to_num(np.maximum(last - first + 1, 0), nan=0.0)  # along each axis
    number = images.prod(axis=1)
    rows = np.flatnonzero(number > (_MOST_IMAGES if meets is None else thresholds.FEW_IMAGES))
    # A shape has at least one image for each period that it reaches across along an axis.
    too_many = rows if meets is None else np.flatnonzero(images.max(axis=1, initial=0.0) > _MOST_IMAGES)
    if len(too_many):
        raise _too_many(too_many[0], number)
    images[rows] = 0
    counts = images.astype(np.int64)
    origin = np.repeat(np.arange(len(lower)), counts.prod(axis=1))
    place = np.arange(len(origin)) - np.searchsorted(origin, origin)
    shifts = np.empty((len(origin), lower.shape[1]))
    for axis in reversed(range(lower.shape[1])):
        of_axis = counts[origin, axis]
        shifts[:, axis] = (first[origin, axis] + place % of_axis) * period[axis]
        place //= of_axis
    if meets is None or not len(rows):
        return origin, shifts
    room = _ROOM * np.maximum(np.abs(lower), np.abs(upper)).max(axis=1)[:, np.newaxis]
    first, last, found = first[rows], last[rows], [(origin, shifts)]
    while len(rows):
        boxes = np.stack([around[0] - last * period - room[rows], around[1] - first * period + room[rows]], axis=1)
        kept = meets(rows, boxes)
        rows, first, last = rows[kept], first[kept], last[kept]
        if len(rows) > _MOST_IMAGES and np.bincount(rows).max() > _MOST_IMAGES:
            raise _too_many(np.bincount(rows).argmax(), number)
        is_one = (first == last).all(axis=1)
        found.append((rows[is_one], first[is_one] * period))
        rows, first, last = rows[~is_one], first[~is_one], last[~is_one]
        for axis in range(lower.shape[1]):
            wide = np.flatnonzero(first[:, axis] < last[:, axis])
            middle = np.floor(first[wide, axis] / 2 + last[wide, axis] / 2)
            rows = np.concatenate([rows, rows[wide]])
            first, last = np.concatenate([first, first[wide]]), np.concatenate([last, last[wide]])
            last[wide, axis] = middle
            first[len(first) - len(wide) :, axis] = middle + 1
    origin, shifts = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(origin, kind="stable")
    return origin[order], shifts[order]


def parts_of_images(
    origin: NDArray[np.intp], shifts: Floats, boxes: Floats, around: Floats, meets: Meets, count: int
) -> tuple[NDArray[np.intp], Floats]:
    """Find where in a periodic world the images of shapes are, if they have many: mostly, each is in a part only.

    Gives places of images, each once or more, and a box around a part of each, (k, 2, d). `boxes` are around the
    images, (m, 2, d), and `count` is how many bodies there are: in each part there should be a few.
    """
    many = np.bincount(origin)[origin] > thresholds.FEW_IMAGES if len(origin) else np.zeros(0, np.bool_)
    dimension, which = boxes.shape[2], np.flatnonzero(many)
    if not len(which):
        return np.arange(len(origin)), boxes
    room = _ROOM * np.abs(boxes[which] - shifts[which][:, np.newaxis]).max(axis=(1, 2))
    low, high = np.maximum(boxes[which, 0], around[0]), np.minimum(boxes[which, 1], around[1])
    for _ in range(int(np.log2(max(1, count / 4)) / dimension)):
        halves, lower, upper, rooms = which, low, high, room
        for axis in range(dimension):
            middle = lower[:, axis] / 2 + upper[:, axis] / 2
            halves, rooms = np.tile(halves, 2), np.tile(rooms, 2)
            lower, upper = np.tile(lower, (2, 1)), np.tile(upper, (2, 1))
            upper[: len(middle), axis] = lower[len(middle) :, axis] = middle
        parts = np.stack([lower - rooms[:, np.newaxis], upper + rooms[:, np.newaxis]], axis=1)
        kept = meets(origin[halves], parts - shifts[halves][:, np.newaxis])
        if kept.mean() > thresholds.WORTH_HALVING:
            break
        which, low, high, room = halves[kept], lower[kept], upper[kept], rooms[kept]
    parts = np.stack([low - room[:, np.newaxis], high + room[:, np.newaxis]], axis=1)
    return np.concatenate([np.flatnonzero(~many), which]), np.concatenate([boxes[~many], parts])


def _too_many(row: np.intp, number: Floats) -> ValueError:
    return ValueError(
        f"row {row} of the queries reaches across {number[row]:.3g} periods of the world;"
        f" at most {_MOST_IMAGES:,} can be tested"
    )
