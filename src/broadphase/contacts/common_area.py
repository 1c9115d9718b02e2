"""The area in which two convex solids touch, told by at most four of its corners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Place = tuple[float, float]

__all__ = ["common_area"]

# What is this much lower than the highest corner still belongs to the face: that of a body which rests, but for a tilt.
_FLAT = 1e-4


def common_area(first: Floats, second: Floats, normal: Floats, middle: Floats) -> Floats:
    """Find where two solids touch that are in each other along a normal.

    Parameters
    ----------
    first, second : ndarray, shape (k, 3)
        The corners of two convex solids of size 1 or so.
    normal : ndarray, shape (3,)
        Unit vector, from the first to the second: the shortest way out.
    middle : ndarray, shape (3,)
        Midway between the points that are the deepest in the other.

    Returns
    -------
    ndarray, shape (1 to 4, 3)
        Corners of what the faces that look at each other have in common, seen along the normal, in the plane across it
        through `middle`; that itself, if it is not even a line. The nearest to `middle` first.
    """
    side = np.eye(3)[int(np.abs(normal).argmin())]
    side = np.cross(normal, side)
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(normal, side)])
    faces = [_face(corners - middle, way, axes) for corners, way in ((first, normal), (second, -normal))]
    common = _common(*faces)
    if len(common) < 2:
        return middle[np.newaxis]
    points: Floats = _spread(np.array(common)) @ axes + middle
    return points


def _face(corners: Floats, way: Floats, axes: Floats) -> list[Place]:
    """Give the outline of the corners that are the highest along `way`, counterclockwise: one point, two, or more."""
    heights = corners @ way
    places = sorted({(float(x), float(y)) for x, y in corners[heights >= heights.max() - _FLAT] @ axes.T})
    if len(places) < 3:
        return places
    chains = []
    for ordered in (places, places[::-1]):
        chain: list[Place] = []
        for place in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], place) <= 0:
                chain.pop()
            chain.append(place)
        chains.append(chain[:-1])
    return chains[0] + chains[1]


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _common(first: list[Place], second: list[Place]) -> list[Place]:
    """Clip one outline by the other."""
    if len(first) < len(second):
        first, second = second, first
    if len(first) < 3:
        return _common_line(first, second) if len(second) == 2 else second
    clipped = second
    for p, q in zip(first, first[1:] + first[:1], strict=True):
        inside = [_turn(p, q, place) for place in clipped]
        kept: list[Place] = []
        for k, (place, height) in enumerate(zip(clipped, inside, strict=True)):
            if height >= 0:
                kept.append(place)
            following = (k + 1) % len(clipped)
            # A line is not closed: it has no way back.
            if (height < 0 < inside[following] or inside[following] < 0 < height) and (len(clipped) > 2 or k == 0):
                kept.append(_between(place, clipped[following], height / (height - inside[following])))
        clipped = kept
    return clipped


def _between(p: Place, q: Place, share: float) -> Place:
    return p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])


def _common_line(first: list[Place], second: list[Place]) -> list[Place]:
    """Give the stretch that two lines have in common; none if they cross."""
    (p, q), (r, s) = first, second
    along = (q[0] - p[0], q[1] - p[1])
    square = along[0] ** 2 + along[1] ** 2
    if max(abs(_turn(p, q, r)), abs(_turn(p, q, s))) > _FLAT * square**0.5:
        return []
    shares = sorted(((x - p[0]) * along[0] + (y - p[1]) * along[1]) / square for x, y in (r, s))
    begin, end = max(0.0, shares[0]), min(1.0, shares[1])
    return [_between(p, q, begin), _between(p, q, end)] if begin < end else []


def _spread(points: Floats) -> Floats:
    """Pick at most four, the nearest to the origin first, then the farthest from it, and to either side of the two."""
    points = points[np.argsort((points**2).sum(axis=1), kind="stable")]
    if len(points) > 4:
        far = int(((points - points[0]) ** 2).sum(axis=1).argmax())
        along, others = points[far] - points[0], points - points[0]
        sides = along[0] * others[:, 1] - along[1] * others[:, 0]
        points = points[list(dict.fromkeys([0, far, int(sides.argmax()), int(sides.argmin())]))]
    return points
