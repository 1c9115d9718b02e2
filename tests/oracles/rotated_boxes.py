"""What rotated boxes share, in decimal numbers of 60 digits and more: rectangles clipped edge by edge.

A box in the plane is x, y, width, height, angle in radians; one in space is x, y, z, length, width, height, yaw.
"""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Point = tuple[Decimal, Decimal]

DIGITS = 60


def plain_rotated_iou(a: Sequence[float], b: Sequence[float], *, of_smaller: bool = False) -> float:
    """Divide what two boxes share by their union, or by the smaller one; 0 if that is 0."""
    with localcontext(prec=DIGITS):
        first, second = [Decimal(float(number)) for number in a], [Decimal(float(number)) for number in b]
        share, volumes = Decimal(1), [Decimal(1), Decimal(1)]
        if len(first) == 7:
            (low, high), (other_low, other_high) = (
                (z - height / 2, z + height / 2) for z, height in ((first[2], first[5]), (second[2], second[5]))
            )
            share, volumes = max(min(high, other_high) - max(low, other_low), Decimal(0)), [first[5], second[5]]
            first, second = ([*box[:2], *box[3:5], box[6]] for box in (first, second))
        share *= area(clipped(corners(first), corners(second)))
        sizes = [volume * box[2] * box[3] for volume, box in zip(volumes, (first, second), strict=True)]
        whole = min(sizes) if of_smaller else sum(sizes) - share
        return float(share / whole) if min(sizes) > 0 else 0.0


def corners(box: Sequence[Decimal]) -> list[Point]:
    """Turn the corners of a rectangle, counterclockwise."""
    x, y, width, height, angle = box
    cosine, sine = turn(angle)
    half = [(width / 2, height / 2), (-width / 2, height / 2), (-width / 2, -height / 2), (width / 2, -height / 2)]
    return [(x + cosine * u - sine * v, y + sine * u + cosine * v) for u, v in half]


def clipped(polygon: list[Point], other: list[Point]) -> list[Point]:
    """Return the part of a polygon that is inside a convex one, both counterclockwise."""
    for k, (x0, y0) in enumerate(other):
        x1, y1 = other[(k + 1) % len(other)]
        sides = [(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for x, y in polygon]
        part = []
        for j, ((x, y), side) in enumerate(zip(polygon, sides, strict=True)):
            (last_x, last_y), last_side = polygon[j - 1], sides[j - 1]
            if (side < 0) != (last_side < 0):
                share = last_side / (last_side - side)
                part.append((last_x + share * (x - last_x), last_y + share * (y - last_y)))
            if side >= 0:
                part.append((x, y))
        polygon = part
    return polygon


def area(polygon: list[Point]) -> Decimal:
    """Sum up the triangles of a polygon with its first corner."""
    total = Decimal(0)
    for (x0, y0), (x1, y1) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        (x, y) = polygon[0]
        total += (x0 - x) * (y1 - y) - (x1 - x) * (y0 - y)
    return total / 2


def turn(angle: Decimal) -> Point:
    """Return cosine and sine of an angle of any size."""
    with localcontext(prec=DIGITS + max(angle.adjusted(), 0)):
        rest = angle % (2 * pi())
    with localcontext(prec=DIGITS + 10):
        rest /= 1024  # the series is short then; angles are doubled ten times
        cosine = sine = Decimal(0)
        term, k = Decimal(1), 0
        while abs(term) > Decimal(10) ** -(DIGITS + 10):
            if k % 2 == 0:
                cosine += term if k % 4 == 0 else -term
            else:
                sine += term if k % 4 == 1 else -term
            k += 1
            term *= rest / k
        for _ in range(10):
            cosine, sine = cosine * cosine - sine * sine, 2 * cosine * sine
    return cosine, sine


def pi() -> Decimal:
    """Sum up Machin's formula to the digits of the context."""

    def arctangent(n: int) -> Decimal:
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while abs(power) > Decimal(10) ** -(getcontext().prec + 3):
            total += power / (2 * k + 1) if k % 2 == 0 else -power / (2 * k + 1)
            power, k = power / (n * n), k + 1
        return total

    return 4 * (4 * arctangent(5) - arctangent(239))
