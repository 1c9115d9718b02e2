"""Pairs of boxes in a periodic cell: one by one, along each axis, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, inf, isinf


def images_overlap(one, other, period, touching=True):
    """Say whether (lower, upper) of one, and of any image of the other along one axis, overlap."""
    (a, b), (c, d) = one, other
    if not touching and (a == b or c == d):
        return False
    if period is None or isinf(period):
        return (a <= d and c <= b) if touching else (a < d and c < b)
    if inf in (b, d) or -inf in (a, c):
        return True
    # a <= d + k * period and c + k * period <= b for a whole k
    least, most = Fraction(a) - Fraction(d), Fraction(b) - Fraction(c)
    least, most = least / Fraction(period), most / Fraction(period)
    return floor(most) >= ceil(least) if touching else ceil(most) - 1 >= floor(least) + 1


def pairs(boxes, other=None, *, period, touching=True, margin=0.0, batch=None):
    """Return the pairs as a sorted list; boxes are (n, 2, d) arrays, `batch` keys or a tuple of them."""
    grow = boxes.dtype.type(margin / 2)

    def grown(some):
        corners = some.astype(float)
        corners[:, 0], corners[:, 1] = some[:, 0] - grow, some[:, 1] + grow
        return corners.swapaxes(1, 2).tolist()

    first = grown(boxes)
    second = first if other is None else grown(other)
    keys = batch if isinstance(batch, tuple) else (batch, batch)
    return [
        (i, j)
        for i, one in enumerate(first)
        for j, two in enumerate(second)
        if (other is not None or i < j)
        and (batch is None or keys[0][i] == keys[1][j])
        and all(images_overlap(*spans, touching) for spans in zip(one, two, period, strict=True))
    ]
