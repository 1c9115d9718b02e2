"""Spheres around the objects of an index, by row: their check, and tests of them against boxes, rays and regions.

Each test is computed in doubles first, with a bound of the rounding error; where that leaves a doubt, in whole numbers
or fractions, which do not round. Only regions of planes and oriented boxes are decided within rounding, as for boxes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase.arguments import as_reals
from broadphase.boxes.checking import require_finite
from broadphase.boxes.forms import as_corners
from broadphase.boxes.making import from_spheres

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    #: Centers, (n, d), and radii, (n,) or one number.
    SphereArrays: TypeAlias = tuple[ArrayLike, ArrayLike] | None
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]

__all__ = [
    "Spheres", "ball_meets_box", "ball_meets_region", "ball_meets_turned_box", "boxes_with_spheres", "entry_of_box",
    "entry_of_ray", "lengths_of",
]  # fmt: skip

# Above the relative error of the few operations of each test: numbers that differ by more are in their true order.
_DOUBT = 2.0**-44
_ROUGH = 2.0**-40  # likewise, for numbers within 1 that more operations have rounded
_LARGE = 1020  # binary exponent; sums of larger numbers may overflow
_LARGEST = float(np.finfo(np.float64).max)
_TOGETHER = 1 << 16  # moving boxes at once, each of which takes a kilobyte
_SINGULAR = 1e-12  # planes that meet at a smaller angle count as parallel


class Spheres(NamedTuple):
    """The sphere of each row, float64, (capacity, d) and (capacity,); an infinite radius means none."""

    centers: Floats
    radii: Floats

    @staticmethod
    def of(column: Floats) -> Spheres:
        """Return the spheres of a column of `BoxStore`, (capacity, d + 1)."""
        return Spheres(column[:, :-1], column[:, -1])

    def having(self, rows: Rows) -> Flags:
        """Return which rows have a sphere."""
        return np.isfinite(self.radii[rows])

    def touch(self, pairs: Rows, corners: NDArray[Any]) -> Flags:
        """Return whether the spheres of each pair touch; a missing sphere is replaced by the box, in `corners`."""
        first, second = pairs[:, 0], pairs[:, 1]
        touch = np.ones(len(pairs), np.bool_)
        has_first, has_second = self.having(first), self.having(second)
        both = has_first & has_second
        near, far = first[both], second[both]
        center = self.centers[far]
        touch[both] = ball_meets_box(self.centers[near], self.radii[near], center, center, self.radii[far])
        for has, lacks, of, other in ((has_first, has_second, first, second), (has_second, has_first, second, first)):
            alone = has & ~lacks
            box = corners[other[alone]].astype(np.float64)
            touch[alone] = ball_meets_box(self.centers[of[alone]], self.radii[of[alone]], box[:, 0], box[:, 1])
        return touch

    def intersect(self, pairs: Rows, boxes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return positions, normals and depths of pairs that have a sphere or two; see `Octree.records`.

        `boxes`, (m, 2, 2, d), are those of both, which replace missing spheres.
        """
        has = self.having(pairs)
        # From a sphere to the other's center, or to the nearest point of the other's box.
        is_turned: Flags = np.logical_not(has[:, 0])
        own, other = np.where(is_turned, pairs[:, 1], pairs[:, 0]), np.where(is_turned, pairs[:, 0], pairs[:, 1])
        rows = np.arange(len(pairs))
        box = boxes[rows, np.where(is_turned, 0, 1)]
        center, radius = self.centers[own], self.radii[own]
        is_round: Flags = has[:, 0] & has[:, 1]
        target = np.where(is_round[:, np.newaxis], self.centers[other], np.clip(center, box[:, 0], box[:, 1]))
        way = target - center
        length = np.sqrt((way * way).sum(axis=1))
        depth = radius + np.where(is_round, self.radii[other], 0.0) - length
        normal = way / np.where(length > 0, length, 1.0)[:, np.newaxis]
        # If the centers coincide, along the first axis. If a center is inside a box, through the nearest face.
        within = length == 0
        walls = np.concatenate([center - box[:, 0], box[:, 1] - center], axis=1)
        walls[is_round] = 0.0
        wall = walls.argmin(axis=1)
        dim = center.shape[1]
        inward = np.where(wall < dim, 1.0, -1.0)
        normal[within, wall[within] % dim] = inward[within]
        depth += np.where(within, walls[rows, wall], 0.0)
        # The overlap reaches from `depth` before the end of the sphere to its end.
        position = center + normal * np.where(np.isfinite(depth), radius - depth / 2, 0.0)[:, np.newaxis]
        return position, np.where(is_turned[:, np.newaxis], 0 - normal, normal), depth

    def normals(self, rows: Rows, positions: Floats, directions: Floats, distances: Floats) -> Floats:
        """Return the normals where rays hit spheres; zero for rays that begin inside."""
        normal = positions - self.centers[rows]
        is_point = ~normal.any(axis=1)
        normal[is_point] = 0 - directions[is_point]
        length = np.sqrt((normal * normal).sum(axis=1, keepdims=True))
        found: Floats = normal / np.where(length > 0, length, 1.0)
        found[distances == 0] = 0.0
        return found


def boxes_with_spheres(boxes: Any, spheres: Any) -> tuple[Any, Floats | None]:
    """Return the box of every object, from its sphere where it has only that, and the checked spheres.

    `spheres` is a tuple of centers, (n, d), and radii, (n,) or one number, or None; the result has both in one array,
    (n, d + 1), with the radius last.
    """
    if spheres is None:
        if boxes is None:
            raise ValueError("either boxes or spheres are needed")
        return boxes, None
    if not isinstance(spheres, tuple) or len(spheres) != 2:
        raise ValueError("spheres must be a tuple (centers, radii)")
    centers, radii = as_reals(spheres[0], "spheres: centers"), as_reals(spheres[1], "spheres: radii")
    centers, radii = centers.copy(), radii.copy()  # as they are checked
    if centers.ndim != 2 or radii.ndim > 1 or (radii.ndim == 1 and len(radii) != len(centers)):
        raise ValueError(f"spheres have shapes {centers.shape} and {radii.shape}; (n, d) and (n,) are needed")
    require_finite(centers, "spheres: centers")
    radii = np.broadcast_to(radii, (len(centers),))
    if not (radii >= 0).all():
        raise ValueError(f"spheres: the radius of row {int((~(radii >= 0)).argmax())} is not 0 or more")
    has_sphere = np.isfinite(radii)
    around = from_spheres(centers, np.where(has_sphere, radii, 0))
    column = np.column_stack([centers, radii]).astype(np.float64, copy=False)
    if boxes is None:
        if not has_sphere.all():
            raise ValueError(f"spheres: row {int((~has_sphere).argmax())} has neither a box nor a finite radius")
        return around, column
    lower, upper = as_corners(boxes)
    if lower.shape != centers.shape:
        raise ValueError(f"boxes are {lower.shape[0]} of {lower.shape[1]} dimensions, spheres {centers.shape}")
    only = has_sphere & (lower == -np.inf).all(axis=1) & (upper == np.inf).all(axis=1)
    boxes = np.stack([lower, upper], axis=1)
    if only.any():
        # In the wider dtype: a box rounded to a narrower one might not contain its sphere.
        boxes = boxes.astype(np.result_type(boxes, around))
        boxes[only] = around[only]
    return boxes, column


def lengths_of(ways: Floats) -> Floats:
    """Return the length of each vector, whose squares may overflow or vanish."""
    scale = np.ldexp(1.0, np.frexp(np.abs(ways).max(axis=1, initial=0.0))[1] - 1)  # a power of two: exact
    with np.errstate(over="ignore"):
        lengths: Floats = np.sqrt(((ways / scale[:, np.newaxis]) ** 2).sum(axis=1)) * scale
    return lengths


def ball_meets_box(
    center: Floats, radius: Floats, lower: Floats, upper: Floats, more: Floats | float = 0.0
) -> NDArray[np.bool_]:
    """Return whether closed balls meet closed boxes, row by row. Exact.

    Balls are finite, corners may be infinite; `more`, (k,) or one number, is added to the radii.
    """
    more = np.broadcast_to(np.asarray(more, np.float64), radius.shape)
    side = np.clip(center, lower, upper)  # the nearest point of the box
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        gaps = np.abs(center - side)
        reach = radius + more
        gaps, reach = _scaled(gaps, reach)
        squared, limit = (gaps * gaps).sum(axis=1), reach * reach
        meets: Flags = squared <= limit
        is_sure = np.abs(squared - limit) > _DOUBT * (squared + limit)  # False for NaN, too
    is_sure |= (center == side).all(axis=1)
    at = np.flatnonzero(~is_sure & np.isfinite(side).all(axis=1))  # a side at infinity is never met
    meets[np.isinf(side).any(axis=1)] = False
    if len(at):
        c, s, one, other = _whole(center[at], side[at], radius[at], more[at])
        squared = ((c - s) ** 2).sum(axis=1)
        meets[at] = (squared <= (one + other) ** 2).astype(np.bool_)
    return meets


def ball_meets_turned_box(center: Floats, radius: Floats, middle: Floats, half: Floats, turn: Floats) -> Flags:
    """Return whether balls meet oriented boxes, whose axes are the columns of `turn`, (k, d, d), row by row.

    Balls that touch are never missed. One that misses by less than rounding may be found, unless the axes are
    coordinate axes, in any order.
    """
    reach = (np.abs(turn) @ half[:, :, np.newaxis])[:, :, 0]
    with np.errstate(over="ignore"):
        meet = ball_meets_box(center, radius, middle - reach, middle + reach)
    turned = np.flatnonzero(np.abs(turn).sum(axis=(1, 2)) != turn.shape[1])
    axes = turn[turned]
    center, middle, half, radius = _scaled(center[turned], middle[turned], half[turned], radius[turned])
    own = np.linalg.solve(axes, (center - middle)[:, :, np.newaxis])[:, :, 0]
    gaps = np.maximum(np.abs(own) - half, 0.0)
    # Along axes that are not quite perpendicular, distances are too long by at most this share.
    skew = np.abs(axes.swapaxes(1, 2) @ axes - np.eye(axes.shape[1])).sum(axis=(1, 2))
    meet[turned] = np.sqrt((gaps * gaps).sum(axis=1)) * (1 - skew) <= radius + _DOUBT
    return meet


def entry_of_ray(origin: Floats, direction: Floats, limit: Floats, center: Floats, radius: Floats) -> Floats:
    """Return the distances at which rays enter closed balls, row by row; infinity for a miss.

    Whether a ray hits is decided exactly, also at its end, `limit`, which may be infinite; the distance is rounded, and
    finite. Directions may have any length, also 0.
    """
    starts_inside = ball_meets_box(center, radius, origin, origin)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        along = _scaled(direction)[0]
        down = np.where(_exponent(origin, center) > _LARGE, -4, 0)  # a difference that may overflow
        to_origin = np.ldexp(origin, down[:, np.newaxis]) - np.ldexp(center, down[:, np.newaxis])
        exponent = _exponent(to_origin, np.ldexp(radius, down)) - down
        offset = np.ldexp(to_origin, -(exponent + down)[:, np.newaxis])
        r, length = np.ldexp(radius, -exponent), np.ldexp(limit, -exponent)
        hits, is_sure = _hits(offset, along, r, length)
        hits &= is_sure
        at = np.flatnonzero(~is_sure & ~starts_inside & (direction != 0).any(axis=1))
        if len(at):
            hits[at] = _hits_exactly(origin[at], direction[at], limit[at], center[at], radius[at])
        # The point nearest to the center first, then back by half the chord: this does not cancel where the ball is
        # far away (E. Haines et al., "Precision Improvements for Ray/Sphere Intersection", Ray Tracing Gems, 2019).
        squared = (along * along).sum(axis=1)
        squared[squared == 0] = 1.0
        nearest = -(offset * along).sum(axis=1) / squared
        miss = offset + nearest[:, np.newaxis] * along
        chord = np.maximum(r * r - (miss * miss).sum(axis=1), 0.0)
        distance = np.maximum(nearest * np.sqrt(squared) - np.sqrt(chord), 0.0)
        distance = np.ldexp(distance, exponent)
    found = np.where(hits, np.minimum(np.minimum(distance, limit), _LARGEST), np.inf)
    found[starts_inside] = 0.0
    return found


def entry_of_box(lower: Floats, upper: Floats, motion: Floats, center: Floats, radius: Floats) -> Floats:
    """Return the times at which moving closed boxes touch closed balls, row by row; infinity for never.

    Whether a box touches is decided exactly, also at the end of its motion; the time is rounded, from 0 to 1. `motion`
    is the way of the corners from time 0 to 1.
    """
    parts = range(0, max(len(lower), 1), _TOGETHER)
    given = [[part[begin : begin + _TOGETHER] for part in (lower, upper, motion, center, radius)] for begin in parts]
    return np.concatenate([_entry_of_few(*some) for some in given])


def _entry_of_few(lower: Floats, upper: Floats, motion: Floats, center: Floats, radius: Floats) -> Floats:
    touches_at_once = ball_meets_box(center, radius, lower, upper)
    with np.errstate(all="ignore"):
        down = np.where(_exponent(lower, upper, motion, center) > _LARGE, -4, 0)  # sums that may overflow
        at, low, high, way = (np.ldexp(part, down[:, np.newaxis]) for part in (center, lower, upper, motion))
        low, high, way, reach = _scaled(low - at, high - at, way, np.ldexp(radius, down))
        # Along each axis, the gap is linear except where a side of the box passes the center. So the sum of squares is
        # a parabola on each piece of time in between.
        passing = np.concatenate([-low / way, -high / way], axis=1)
        ends = np.sort(np.clip(np.nan_to_num(passing, nan=0.0), 0.0, 1.0), axis=1)
        ends = np.concatenate([np.zeros((len(ends), 1)), ends, np.ones((len(ends), 1))], axis=1)
        begin, end = ends[:, :-1], ends[:, 1:]
        middle, moves = (begin + end) / 2, []
        for to_low, to_high, speed in zip(
            low.T[:, :, np.newaxis], high.T[:, :, np.newaxis], way.T[:, :, np.newaxis], strict=True
        ):
            is_after, is_before = to_low + middle * speed > 0, to_high + middle * speed < 0
            gap = np.where(is_after, to_low, np.where(is_before, to_high, 0.0))
            moves.append((gap, np.where(is_after | is_before, speed, 0.0)))
        a, b = sum(speed * speed for _, speed in moves), sum(gap * speed for gap, speed in moves)
        limit = (reach * reach)[:, np.newaxis]
        lowest = np.clip(np.nan_to_num(-b / a, nan=0.0), begin, end)
        away: Floats = np.add.reduce([(gap + lowest * speed) ** 2 for gap, speed in moves])
        doubt = away.min(axis=1) - limit[:, 0]
        touches = doubt <= 0
        # Back from the lowest point of the piece to where the limit is reached, or to where the piece begins.
        room, slope = limit - away, np.maximum(-(b + a * lowest), 0.0)
        back = room / (slope + np.sqrt(slope * slope + a * room))
        # 0 / 0: the ball is touched only there, or during the whole piece if nothing moves along a gap.
        back = np.where(np.isnan(back), np.where(a > 0, 0.0, np.inf), back)
        entry = np.clip(lowest - back, begin, end)
        entry = np.where(away <= limit, entry, np.inf).min(axis=1)
    unsure = np.flatnonzero((np.abs(doubt) <= _ROUGH) & ~touches_at_once)
    for row in unsure.tolist():
        touches[row] = _touches_exactly(lower[row], upper[row], motion[row], center[row], float(radius[row]))
    first = np.take_along_axis(lowest, away.argmin(axis=1)[:, np.newaxis], axis=1)[:, 0]
    found = np.where(touches, np.where(np.isfinite(entry), entry, first), np.inf)
    found[touches_at_once] = 0.0
    return found


def _touches_exactly(lower: Floats, upper: Floats, motion: Floats, center: Floats, radius: float) -> bool:
    """Return whether a moving box touches a ball, in fractions."""
    low, high, way = (list(map(Fraction, part.tolist())) for part in (lower, upper, motion))
    at, limit = list(map(Fraction, center.tolist())), Fraction(radius) ** 2

    def gaps(time: Fraction) -> list[Fraction]:
        return [
            max(a + time * v - c, c - b - time * v, Fraction(0)) for a, b, v, c in zip(low, high, way, at, strict=True)
        ]

    passing = [(c - side) / v for a, b, v, c in zip(low, high, way, at, strict=True) if v for side in (a, b)]
    ends = sorted({Fraction(0), Fraction(1), *(time for time in passing if 0 < time < 1)})
    times = [*ends]
    for begin, end in pairwise(ends):
        # In between, gaps are linear: the sum of their squares is least where its slope is zero.
        first, last = gaps(begin), gaps(end)
        steps = [(b - a) / (end - begin) for a, b in zip(first, last, strict=True)]
        if bend := sum(step * step for step in steps):
            lowest = begin - sum(a * step for a, step in zip(first, steps, strict=True)) / bend
            times += [lowest] if begin < lowest < end else []
    return any(sum(gap * gap for gap in gaps(time)) <= limit for time in times)


def _hits(offset: Floats, along: Floats, radius: Floats, length: Floats) -> tuple[Flags, Flags]:
    """Return whether rays that begin outside hit, in doubles, and whether that is sure."""
    a, b = (along * along).sum(axis=1), (offset * along).sum(axis=1)
    away, r2 = (offset * offset).sum(axis=1), radius * radius
    size = away + r2
    chord = b * b - a * (away - r2)
    chord_sure = np.abs(chord) > _DOUBT * a * size
    ahead, ahead_sure = b < 0, np.abs(b) > _DOUBT * np.sqrt(a * away)
    # The entry must be at most `length` away. It is if the point nearest to the center is; otherwise, squares of two
    # numbers of one sign are compared.
    far = length >= 8.0  # all is within 4
    reach = np.where(far, 8.0, length)
    within = reach * reach * a - b * b
    late = 4 * b * b * reach * reach - a * (reach * reach + away - r2) ** 2
    ends, ends_sure = within >= 0, np.abs(within) > _DOUBT * a * (reach * reach + away)
    late_sure = np.abs(late) > _DOUBT * (4 * b * b * reach * reach + a * (reach * reach + size) ** 2)
    in_range = far | ends | (late >= 0)
    range_sure = far | (ends_sure & (ends | late_sure))
    misses = ((chord < 0) & chord_sure) | (~ahead & ahead_sure)  # one sure miss is enough
    return (chord >= 0) & ahead & in_range, (chord_sure & ahead_sure & range_sure) | misses


def _hits_exactly(origin: Floats, direction: Floats, limit: Floats, center: Floats, radius: Floats) -> Flags:
    """Return whether rays that begin outside hit, in whole numbers."""
    is_endless = np.isinf(limit)
    o, c, r, length = _whole(origin, center, radius, np.where(is_endless, 0.0, limit))
    (along,) = _whole(direction)
    offset = o - c
    a, b = (along * along).sum(axis=1), (offset * along).sum(axis=1)
    beyond = (offset * offset).sum(axis=1) - r * r
    hits = (b < 0) & (b * b >= a * beyond)
    ends = (length * length * a >= b * b) | (4 * b * b * length * length >= a * (length * length + beyond) ** 2)
    return np.asarray(hits, np.bool_) & (is_endless | np.asarray(ends, np.bool_))


def ball_meets_region(center: Floats, radius: Floats, planes: Floats) -> Flags:
    """Return whether balls meet the region where ``n . x + c >= 0`` for all rows ``n, c`` of planes.

    Balls that touch it are never missed; one that misses it by less than rounding may be found.
    """
    length = np.linalg.norm(planes[:, :-1], axis=1)
    if (planes[length == 0, -1] < 0).any():
        return np.zeros(len(center), np.bool_)
    units, distances = planes[length > 0, :-1] / length[length > 0, None], planes[length > 0, -1] / length[length > 0]
    size = np.abs(center).max(axis=1, initial=0.0) + radius + np.abs(distances).max(initial=0.0)
    slack = 2.0**-40 * size
    heights = units @ center.T + distances[:, np.newaxis]
    lowest = heights.min(axis=0, initial=np.inf)
    meets: Flags = lowest >= -slack
    rest = np.flatnonzero(~meets & (lowest >= -(radius + slack)))
    # The nearest point of the region is the projection of the center on one of its faces, edges or corners. Every
    # projection that is in the region is a point of it, so the nearest of them is the right one.
    for faces in _faces(units, distances) if len(rest) else ():
        inverses = np.linalg.pinv(units[faces])
        stretches = np.linalg.norm(inverses, 2, axis=(1, 2))
        for face, inverse, stretch in zip(faces, inverses, stretches, strict=True):
            step = -inverse @ heights[np.ix_(face, rest)]
            error = slack[rest] * max(1.0, float(stretch))
            is_near = np.sqrt((step * step).sum(axis=0)) <= radius[rest] + error
            found = is_near & ((heights[:, rest] + units @ step).min(axis=0) >= -error)
            meets[rest[found]] = True
            rest = rest[~found]
    return meets


def _faces(units: Floats, distances: Floats) -> list[NDArray[np.intp]]:
    """Find the faces, then the edges, then the corners of a region: the planes of each, as rows of an array."""
    rank = int(np.linalg.matrix_rank(units, tol=_SINGULAR))
    meeting = np.array(list(combinations(range(len(units)), rank)), np.intp).reshape(-1, rank)
    strength = np.linalg.svd(units[meeting], compute_uv=False)[:, -1]
    meeting, strength = meeting[strength > _SINGULAR], strength[strength > _SINGULAR]
    points = -(np.linalg.pinv(units[meeting]) @ distances[meeting][:, :, None])[:, :, 0]
    errors = 2.0**-40 * (np.abs(points).sum(axis=1) + np.abs(distances).max()) / strength
    corners = meeting[(points @ units.T + distances >= -errors[:, None]).all(axis=1)]
    return [
        np.unique(np.concatenate([corners[:, list(some)] for some in combinations(range(rank), count)]), axis=0)
        for count in range(1, rank + 1)
    ]


def _exponent(*parts: Floats) -> NDArray[np.intc]:
    """Return the binary exponent of the largest number of each row."""
    largest = np.max([np.abs(part).max(axis=1) if part.ndim == 2 else np.abs(part) for part in parts], axis=0)
    exponents: NDArray[np.intc] = np.frexp(largest)[1]
    return exponents


def _scaled(*parts: Floats) -> list[Floats]:
    """Divide each row of all arrays by one power of two, so that squares neither overflow nor vanish."""
    exponent = -_exponent(*parts)
    return [np.ldexp(part, exponent[:, np.newaxis] if part.ndim == 2 else exponent) for part in parts]


def _whole(*parts: Floats) -> list[NDArray[np.object_]]:
    """Multiply finite numbers by one power of two that makes all of them whole; return Python integers."""
    split = [np.frexp(part) for part in parts]
    exponents = [exponent[mantissa != 0] for mantissa, exponent in split]
    least = min((int(some.min()) for some in exponents if some.size), default=0)
    numbers = []
    for mantissa, exponent in split:
        whole = np.ldexp(mantissa, 53).astype(np.int64).astype(object)
        numbers.append(whole << np.maximum(exponent - least, 0).astype(object))
    return numbers
