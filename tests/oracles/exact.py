"""The queries of an index and pairs in whole numbers: nothing is rounded, whatever the magnitudes.

Every finite float is a whole multiple of 2**-1074, so all that decides a query is a comparison of integers. One box and
one query at a time, in plain Python: for small scenes. Infinite corners are a number far beyond all others.

`Box` is a tuple of two lists of integers, lower and upper corner; `whole` makes them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Whole: TypeAlias = list[int]
    Box: TypeAlias = tuple[Whole, Whole]

UNIT = 1074  # numbers are in units of 2**-UNIT
INFINITE = 1 << 9000
FAR = INFINITE // 2


def whole(numbers: Any) -> Any:
    """Turn a float, or a list or array of them, into integers."""
    if isinstance(numbers, np.ndarray):
        numbers = numbers.tolist()
    if isinstance(numbers, list | tuple):
        return [whole(number) for number in numbers]
    if numbers in (np.inf, -np.inf):
        return INFINITE if numbers > 0 else -INFINITE
    over, under = float(numbers).as_integer_ratio()
    return (over << UNIT) // under


def as_float(number: Fraction) -> float:
    """Round a number in units, infinite if it is too large."""
    try:
        return float(number / (1 << UNIT))
    except OverflowError:
        return np.inf


def overlap(a: Box, b: Box) -> bool:
    """Whether two closed boxes share a point."""
    return all(a[0][k] <= b[1][k] and b[0][k] <= a[1][k] for k in range(len(a[0])))


def widest_gap(a: Box, b: Box) -> tuple[int, int]:
    """The widest gap between two boxes along an axis, at most 0 if they overlap, and the greatest coordinate there."""
    gaps = []
    for (a_low, a_high), (b_low, b_high) in zip(zip(*a, strict=True), zip(*b, strict=True), strict=True):
        gaps += [(a_low - b_high, max(abs(a_low), abs(b_high))), (b_low - a_high, max(abs(b_low), abs(a_high)))]
    return max(gap for gap, _ in gaps), max(size for _, size in gaps)


def have_common_inside(a: Box, b: Box) -> bool:
    """Whether two open boxes share a point."""
    sides = zip(zip(*a, strict=True), zip(*b, strict=True), strict=True)
    return all(max(a_low, b_low) < min(a_high, b_high) for (a_low, a_high), (b_low, b_high) in sides)


def squared_distance(point: Whole, box: Box) -> int:
    """Square of the distance of a point to a box, in units of 2**(-2 * UNIT)."""
    return sum(max(low - x, x - high, 0) ** 2 for x, low, high in zip(point, *box, strict=True))


def in_ball(point: Whole, radius: int, box: Box) -> bool:
    """Whether a box is at most a radius from a point."""
    return squared_distance(point, box) <= radius * radius


def touch_time(moving: Box, motion: Whole, box: Box) -> Fraction | None:
    """First time from 0 on at which a moving box touches another; None for never."""
    enter, leave = (0, 1), None  # quotients, with a positive divisor
    for k, m in enumerate(motion):
        ahead, behind = box[0][k] - moving[1][k], box[1][k] - moving[0][k]
        if m == 0:
            if ahead > 0 or behind < 0:
                return None
            continue
        one, other = (ahead, behind) if m > 0 else (-behind, -ahead)
        m = abs(m)
        if one > FAR or other < -FAR:
            return None  # it lies at infinity, ahead or behind
        if one * enter[1] > enter[0] * m:
            enter = one, m
        if other < FAR and (leave is None or other * leave[1] < leave[0] * m):
            leave = other, m
    return Fraction(*enter) if leave is None or enter[0] * leave[1] <= leave[0] * enter[1] else None


def nearest_rows(point: Whole, boxes: Sequence[Box]) -> list[tuple[int, int]]:
    """Square of the distance and row of each box that is not at infinity, nearest first."""
    found = sorted((squared_distance(point, box), row) for row, box in enumerate(boxes))
    return [one for one in found if one[0] < INFINITE]


def feasible(planes: Iterable[Sequence[int | Fraction]]) -> bool:
    """Whether a point x has ``n . x <= c`` for all planes ``(*n, c)``: elimination of one coordinate after the other.

    J.-B. J. Fourier, "Solution d'une question particuliere du calcul des inegalites", 1826.
    """
    rows: dict[tuple[Fraction, ...], Fraction] = {}
    for *normal, bound in planes:
        tighten(rows, list(map(Fraction, normal)), Fraction(bound))
    while rows and len(next(iter(rows))) > 0:
        above, below, kept = [], [], {}
        for (first, *rest), bound in rows.items():
            if first == 0:
                tighten(kept, rest, bound)
            else:
                side = above if first > 0 else below
                side.append(([value / first for value in rest], bound / first))
        for high, most in above:
            for low, least in below:
                tighten(kept, [a - b for a, b in zip(high, low, strict=True)], most - least)
        rows = kept
    return all(bound >= 0 for bound in rows.values())


def tighten(rows: dict[tuple[Fraction, ...], Fraction], normal: list[Fraction], bound: Fraction) -> None:
    """Add ``normal . x <= bound`` to some, of which each direction is kept once."""
    scale = max(map(abs, normal), default=Fraction(0)) or Fraction(1)
    key = tuple(value / scale for value in normal)
    rows[key] = min(rows.get(key, bound / scale), bound / scale)


def sides(box: Box) -> list[list[int]]:
    """The planes of a box, for `feasible`."""
    dim = len(box[0])
    planes = []
    for k in range(dim):
        one = [int(axis == k) for axis in range(dim)]
        planes += [[*one, box[1][k]], [*(-value for value in one), -box[0][k]]]
    return planes


def rotation_of(quaternion: Sequence[float]) -> tuple[list[list[int]], int]:
    """The rotation matrix of a quaternion w, x, y, z of any length, times the number returned with it."""
    ratios = [float(number).as_integer_ratio() for number in quaternion]
    common = max(under for _, under in ratios)  # a power of two
    w, x, y, z = (over * common // under for over, under in ratios)
    matrix = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return matrix, w * w + x * x + y * y + z * z


def separation(center: Whole, half: Whole, rotation: tuple[list[list[int]], int], box: Box) -> Fraction:
    """The square of the widest gap between an oriented box and a box along any separating axis; negative for none.

    The axes are the coordinate axes, those of the oriented box, and in space the cross products of one of each.
    Of a rotation given as a matrix times a number; the gap is in units, and below 0 where the boxes overlap.
    """
    matrix, factor = rotation
    dim = len(center)
    own = [[row[k] for row in matrix] for k in range(dim)]
    axes = [[int(axis == k) for axis in range(dim)] for k in range(dim)] + own
    if dim == 3:
        axes += [cross(one, other) for one in axes[:3] for other in own]
    widest = Fraction(-1)
    for axis in axes:
        length = sum(part * part for part in axis)
        if not length:
            continue
        at = factor * sum(part * x for part, x in zip(axis, center, strict=True))
        reach = sum(
            h * abs(sum(a * b for a, b in zip(axis, edge, strict=True))) for h, edge in zip(half, own, strict=True)
        )
        low, high = (
            factor
            * sum(part * corner[k][axis_number] for axis_number, (part, k) in enumerate(zip(axis, ends, strict=True)))
            for corner, ends in ((box, [0 if p > 0 else 1 for p in axis]), (box, [1 if p > 0 else 0 for p in axis]))
        )
        gap = max(low - at - reach, at - reach - high)
        if gap > 0:
            widest = max(widest, Fraction(gap * gap, factor * factor * length))
    return widest


def cross(a: list[int], b: list[int]) -> list[int]:
    """The cross product of two vectors."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
