"""The queries of an index in plain NumPy: every box tested against every query, as the definition reads.

Distances and times are in float64, in the order written; an index must return the same numbers to the last bit. Which
boxes are found is decided in whole numbers where float64 is in doubt. O(n * q) time and memory for n boxes and q
queries. Input is not checked: boxes must be free of NaN and have lower <= upper; points,
radii and motions must be finite.

Every function takes two more options. `rows` are the row numbers of the boxes, ascending, where they are not 0 to
n - 1 (the rows in use of an index). `layers` are four integers or arrays of 64 bits: layer and mask of the boxes, layer
and mask of the queries; a box is in the result only if each has a bit of its layer in the other's mask.

Results are those of the methods of the same names: the rows of query j are ``rows[offsets[j]:offsets[j + 1]]``.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import broadphase as bp
from broadphase.index.regions import regions_of_boxes, regions_of_planes, regions_of_views
from broadphase.testing.oracle import corners, overlaps
from oracles import exact
from oracles.exact import whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Layers = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]
    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]
    Rows: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]

DOUBT = 1e-14  # float64 may be wrong about numbers that differ by no more than this share
SHOWN = 10  # numbers of an array that a message names


def query(
    boxes: Any, regions: Any, *, rows: ArrayLike | None = None, layers: Layers | None = None
) -> tuple[Rows, Offsets]:
    """Find the boxes that overlap each of `regions`; boxes that only touch overlap.

    Examples
    --------
    >>> query([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]], [[2, 2, 9, 9], [5, 5, 6, 6]])
    (array([0, 1, 2], dtype=int32), array([0, 3, 3]))
    """
    return ragged(overlaps(*as_float64(regions), *as_float64(boxes), touching=True), rows, layers)


def query_points(boxes: Any, points: ArrayLike, **options: Any) -> tuple[Rows, Offsets]:
    """Find the boxes that each point lies in or on."""
    return query(boxes, (np.asarray(points), np.asarray(points)), **options)


def query_ball(
    boxes: Any, centers: ArrayLike, radii: ArrayLike, *, rows: ArrayLike | None = None, layers: Layers | None = None
) -> tuple[Rows, Offsets]:
    """Find the boxes with a point at most a radius away from each centre."""
    hit, _, _ = near(*as_float64(boxes), np.asarray(centers, np.float64), radii)
    return ragged(hit, rows, layers)


def nearest(
    boxes: Any,
    points: ArrayLike,
    k: int = 1,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    layers: Layers | None = None,
) -> tuple[Rows, Floats]:
    """Find the `k` boxes nearest to each point and their distances; -1 and infinity where there is none.

    Of boxes at one distance, the lower row comes first. A box at infinity is near nothing.
    """
    hit, squared, exponents = near(*as_float64(boxes), np.asarray(points, np.float64), max_distance)
    hit &= allowed(hit.shape, layers)
    fraction, power = np.frexp(squared)
    order = np.lexsort((fraction, np.where(squared > 0, power + 2 * exponents, -4000), ~hit), axis=1)[:, :k]
    found = np.take_along_axis(hit, order, axis=1)
    away = np.take_along_axis(np.ldexp(np.sqrt(squared), exponents), order, axis=1)
    index = np.full((len(hit), k), -1, np.int32)
    distance = np.full((len(hit), k), np.inf)
    index[:, : order.shape[1]] = np.where(found, numbers(hit.shape[1], rows)[order], -1)
    distance[:, : order.shape[1]] = np.where(found, away, np.inf)
    return index, distance


def raycast(boxes: Any, origins: ArrayLike, directions: ArrayLike, *arguments: Any, **options: Any) -> Any:
    """Find the box that each ray meets first and its distance; -1 and infinity for a miss. Options as `raycast_all`."""
    hit, times, lengths, number = ray_hits(boxes, origins, directions, *arguments, **options)
    index, time = first(hit, times, number)
    return index, np.where(index >= 0, distances(time, lengths), np.inf)


def raycast_any(boxes: Any, origins: ArrayLike, directions: ArrayLike, *arguments: Any, **options: Any) -> Bools:
    """Tell whether each ray meets a box. Options as `raycast_all`."""
    hit, *_ = ray_hits(boxes, origins, directions, *arguments, **options)
    return np.asarray(hit.any(axis=1))


def raycast_all(
    boxes: Any, origins: ArrayLike, directions: ArrayLike, *arguments: Any, **options: Any
) -> tuple[Rows, Offsets, Floats]:
    """Find all boxes that each ray meets within `max_distance`, and the distances, in the order met, then by row.

    A ray that starts in a box meets it at 0. A direction may have any length; one of length 0 is a point.
    """
    hit, times, lengths, number = ray_hits(boxes, origins, directions, *arguments, **options)
    order = np.lexsort((times, ~hit), axis=1)
    found = np.take_along_axis(hit, order, axis=1)
    away = distances(np.take_along_axis(times, order, axis=1), lengths[:, None])
    return number[order][found], offsets_of(found), away[found]


def shapecast(
    boxes: Any, moving: Any, motion: ArrayLike, *, rows: ArrayLike | None = None, layers: Layers | None = None
) -> tuple[Rows, Floats]:
    """Find the box that each moving box touches first, and when: 0 at the start of `motion`, 1 at its end.

    -1 and infinity for a miss. Of boxes touched at one time, the lowest row is taken.
    """
    times = touch_times(*as_float64(boxes), *as_float64(moving), np.asarray(motion, np.float64), latest=1.0)
    return first((times <= 1) & allowed(times.shape, layers), times, numbers(times.shape[1], rows))


def query_obb(boxes: Any, *turned: Any, **options: Any) -> tuple[Rows, Offsets]:
    """Find the boxes that overlap each oriented box: centers, half sizes and rotations."""
    return convex(boxes, regions_of_boxes(*turned), **options)


def frustum(boxes: Any, matrices: ArrayLike, **options: Any) -> tuple[Rows, Offsets]:
    """Find the boxes in view of each camera."""
    return convex(boxes, regions_of_views(matrices), **options)


def frustum_planes(boxes: Any, planes: ArrayLike, **options: Any) -> tuple[Rows, Offsets]:
    """Find the boxes that overlap each region between planes."""
    return convex(boxes, regions_of_planes(planes), **options)


def convex(
    boxes: Any, regions: Any, *, rows: ArrayLike | None = None, layers: Layers | None = None
) -> tuple[Rows, Offsets]:
    """Find the boxes that no slab separates from each convex region.

    `regions` begins with ``offsets, axes, least, most, around_lower, around_upper``: the slabs of region j are the rows
    ``offsets[j]`` to ``offsets[j + 1]`` of the three that follow, and the last two are a box around it.
    """
    offsets, axes, least, most, around_lower, around_upper = (np.asarray(part) for part in regions[:6])
    lower, upper = as_float64(boxes)
    meets = overlaps(around_lower, around_upper, lower, upper, touching=True)
    for j in range(len(around_lower)):
        for axis, low, high in zip(*(part[offsets[j] : offsets[j + 1]] for part in (axes, least, most)), strict=True):
            begin = end = np.zeros(len(lower))
            with np.errstate(over="ignore", invalid="ignore"):  # what reaches to both infinities, no slab separates
                for k in np.flatnonzero(axis):
                    begin = begin + axis[k] * (lower if axis[k] > 0 else upper)[:, k]
                    end = end + axis[k] * (upper if axis[k] > 0 else lower)[:, k]
            meets[j] &= ~((end < low) | (begin > high))
    return ragged(meets, rows, layers)


def as_float64(boxes: Any) -> tuple[Floats, Floats]:
    """Give the corners of boxes in any form, as float64."""
    lower, upper = corners(boxes)
    return lower.astype(np.float64), upper.astype(np.float64)


def near(lower: Floats, upper: Floats, points: Floats, radii: ArrayLike) -> tuple[Bools, Floats, NDArray[np.int32]]:
    """Tell which boxes are within a radius of each point, `(q, n)`, and the squares of their distances; 0 inside.

    The squares are in units of a power of 4, and the exponents of its root are the last result: no square is too large
    or too small a number, and nothing is rounded by it.
    """
    total = np.zeros((len(points), len(lower)))
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = [
            np.maximum(np.maximum(lower[:, axis] - at, at - upper[:, axis]), 0.0)
            for axis, at in enumerate(points.T[:, :, None])
        ]
        _, exponents = np.frexp(np.max(gaps, axis=0))
        exponents[np.isinf(gaps).any(axis=0)] = 0
        for gap in gaps:
            total += np.ldexp(gap, -exponents) ** 2
        given = np.broadcast_to(np.asarray(radii, np.float64), len(points))
        squared = np.ldexp(given[:, None], -exponents) ** 2
        hit = (total <= squared) & (total < np.inf)
        for j, i in np.argwhere((np.abs(total - squared) <= DOUBT * squared) & np.isfinite(squared) & (total > 0)):
            hit[j, i] = exact.in_ball(whole(points[j]), whole(given[j]), (whole(lower[i]), whole(upper[i])))
        return hit, total, exponents


def touch_times(
    lower: Floats, upper: Floats, low: Floats, high: Floats, motion: Floats, *, latest: float = np.inf, powers: Any = 0
) -> Floats:
    """Give the first time, from 0 to `latest`, at which each moving box touches each box, `(q, n)`; infinity for never.

    The unit of time is that in which a box moves by ``motion * 2**powers``, for `powers` of shape (q, 1).
    """
    enter = np.zeros((len(low), len(lower)))
    leave = np.full(enter.shape, latest)
    speed = np.ldexp(motion, powers)
    # Infinity minus infinity is a corner of both boxes at one infinity, where no motion takes it away: fmax and fmin
    # pass it over.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for axis in range(lower.shape[1]):
            m = speed[:, axis, None]
            ahead, behind = lower[:, axis] - high[:, axis, None], upper[:, axis] - low[:, axis, None]
            enter = np.where(m == 0, enter, np.fmax(enter, np.where(m > 0, ahead, behind) / m))
            leave = np.where(m == 0, leave, np.fmin(leave, np.where(m > 0, behind, ahead) / m))
            leave[(m == 0) & ((ahead > 0) | (behind < 0))] = -np.inf
        times = np.where(enter <= leave, enter, np.inf)
        doubt = (np.abs(enter - leave) <= DOUBT * np.abs(leave)) & np.isfinite(enter)
        doubt |= (np.ldexp(speed, -np.asarray(powers)) != motion).any(axis=1, keepdims=True)
    moving = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
    box_of = cache(lambda i: (whole(lower[i]), whole(upper[i])))
    query_of = cache(lambda j: ((whole(low[j]), whole(high[j])), whole(motion[j])))
    for j, i in np.argwhere(doubt & moving[:, None]).tolist():
        time = exact.touch_time(*query_of(j), box_of(i))
        times[j, i] = np.inf if time is None or time > latest else enter[j, i]
    return times


def ray_hits(
    boxes: Any,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    layers: Layers | None = None,
) -> tuple[Bools, Floats, Floats, Rows]:
    """Give hits and times of each ray and box, `(q, n)`, the length of each ray's motion, and the row numbers."""
    start, motion = np.asarray(origins, np.float64), np.asarray(directions, np.float64)
    # Neither too long nor too short to be squared; a power of two rounds nothing that counts.
    powers = -np.frexp(np.abs(motion).max(axis=1, initial=0.0))[1][:, None]
    times = touch_times(*as_float64(boxes), start, start, motion, powers=powers)
    motion = np.ldexp(motion, powers)
    squared = np.zeros(len(motion))
    for axis in range(motion.shape[1]):
        squared += motion[:, axis] * motion[:, axis]
    lengths = np.sqrt(squared)
    limit = np.broadcast_to(np.asarray(max_distance, np.float64), lengths.shape)[:, None]
    hit = (times < np.inf) & (distances(times, lengths[:, None]) <= limit) & allowed(times.shape, layers)
    return hit, times, lengths, numbers(times.shape[1], rows)


def distances(times: Floats, lengths: Floats) -> Floats:
    """Turn times into distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        return times * lengths


def first(hit: Bools, times: Floats, number: Rows) -> tuple[Rows, Floats]:
    """Give the row with the least time of each query and that time; -1 and infinity if nothing is hit."""
    if not len(number):
        return np.full(len(hit), -1, np.int32), np.full(len(hit), np.inf)
    best = np.where(hit, times, np.inf).argmin(axis=1)
    some = hit.any(axis=1)
    return np.where(some, number[best], -1).astype(np.int32), np.where(some, times[np.arange(len(hit)), best], np.inf)


def allowed(shape: tuple[int, ...], layers: Layers | None) -> Bools:
    """Tell which boxes `(n)` the layers and masks allow in the result of which query `(q)`."""
    if layers is None:
        return np.ones(shape, bool)
    row_layer, row_mask, layer, mask = (np.asarray(values, np.uint64) for values in layers)
    layer, mask = (np.broadcast_to(values, shape[:1])[:, None] for values in (layer, mask))
    return np.broadcast_to(((row_layer & mask) != 0) & ((layer & row_mask) != 0), shape)


def numbers(count: int, rows: ArrayLike | None) -> Rows:
    """Give the row number of each box."""
    return np.arange(count, dtype=np.int32) if rows is None else np.asarray(rows, np.int32)


def offsets_of(hit: Bools) -> Offsets:
    """Give the place at which the rows of each query begin."""
    return np.concatenate([[0], np.cumsum(hit.sum(axis=1))]).astype(np.int64)


def ragged(hit: Bools, rows: ArrayLike | None, layers: Layers | None) -> tuple[Rows, Offsets]:
    """List the rows of each query one query after the other, ascending within a query."""
    hit = hit & allowed(hit.shape, layers)
    return numbers(hit.shape[1], rows)[np.nonzero(hit)[1]], offsets_of(hit)


def assert_same_answers(actual: Any, expected: Any, label: str = "") -> None:
    """Check that the result of a query is that of the oracle, to the last bit and in the same order.

    Parameters
    ----------
    actual, expected : array_like, or tuple of them
        What a query of an index returns, and what the function of that name here does: rows and offsets, perhaps with
        distances; or one row of values for each query.
    label : str
        What was compared (scene, seed, class), put first in the message.

    Raises
    ------
    AssertionError
        Names the first query whose result differs, and both results.

    Examples
    --------
    >>> assert_same_answers(([0, 2, 1], [0, 2, 3]), ([0, 2, 1], [0, 2, 3]))
    >>> assert_same_answers(([0, 2], [0, 2, 2]), ([0, 2, 1], [0, 2, 3]), "two queries")
    Traceback (most recent call last):
    AssertionError: two queries: query 1: [] where [1] was expected; 1 of 2 queries differ
    """
    head = f"{label}: " if label else ""
    found, wanted = split_by_query(actual), split_by_query(expected)
    if len(found) != len(wanted):
        raise AssertionError(f"{head}results of {len(found)} queries where {len(wanted)} were expected")
    differ = [
        number
        for number, (one, other) in enumerate(zip(found, wanted, strict=True))
        if len(one) != len(other) or not all(map(np.array_equal, one, other))
    ]
    if differ:
        one, other = (" at ".join(map(shortened, results[differ[0]])) for results in (found, wanted))
        raise AssertionError(
            f"{head}query {differ[0]}: {one} where {other} was expected; {len(differ)} of {len(wanted)} queries differ"
        )


def split_by_query(results: Any) -> list[tuple[NDArray[Any], ...]]:
    """Give for each query its part of every array."""
    if isinstance(results, bp.index.QueryResult):
        results = results.rows, results.offsets
    elif isinstance(results, bp.index.RayHitsAll):
        results = results.rows, results.offsets, results.distances
    parts = [np.asarray(part) for part in results] if isinstance(results, tuple) else [np.asarray(results)]
    if len(parts) == 1 or np.issubdtype(parts[1].dtype, np.floating):
        return list(zip(*parts, strict=True))
    rows, offsets, *more = parts
    if (
        offsets[:1].tolist() != [0]
        or (np.diff(offsets) < 0).any()
        or any(len(part) != offsets[-1] for part in (rows, *more))
    ):
        raise AssertionError(f"offsets {shortened(offsets)} do not divide {len(rows)} rows")
    return [tuple(part[begin:end] for part in (rows, *more)) for begin, end in pairwise(offsets)]


def shortened(values: NDArray[Any]) -> str:
    """Write the first numbers of an array, in full precision."""
    few = values.tolist()
    return str(few) if not isinstance(few, list) or len(few) <= SHOWN else f"{str(few[:SHOWN])[:-1]}, ...]"
