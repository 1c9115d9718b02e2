"""Whether two triangles meet, by clipping in exact whole numbers: nothing in common with how the core decides."""

from itertools import combinations

# Floats are multiplied by a power of two to become whole. Clipping divides, so that points of a polygon have a weight:
# (x, y, z, w) stands for the point (x / w, y / w, z / w), w > 0.
Whole = tuple[int, int, int]
Weighed = tuple[int, int, int, int]


def meet_exactly(first, second) -> bool:
    """Tell whether two closed triangles, each three corners of three finite floats, have a common point."""
    a, b = _as_whole(first, second)
    return bool(_clipped(a, _half_spaces_of(b)))


def interiors_meet_exactly(first, second) -> bool:
    """Tell whether the interiors of two triangles meet; one without area has none."""
    a, b = _as_whole(first, second)
    if not any(_normal(*a)) or not any(_normal(*b)):
        return False
    common = _clipped(a, _half_spaces_of(b))
    if not common:
        return False
    # A middle of what they have in common, which is convex, is inside both if anything is.
    middle = tuple(sum(axis) for axis in zip(*common, strict=True))
    return _strictly_inside(middle, a) and _strictly_inside(middle, b)


def _as_whole(*triangles) -> list[list[Whole]]:
    ratios = [[[float(x).as_integer_ratio() for x in corner] for corner in corners] for corners in triangles]
    below = max(ratio[1] for corners in ratios for corner in corners for ratio in corner)
    return [[tuple(n * (below // d) for n, d in corner) for corner in corners] for corners in ratios]


def _minus(p: Whole, q: Whole) -> Whole:
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


def _dot(p, q) -> int:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


def _cross(p: Whole, q: Whole) -> Whole:
    return p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]


def _normal(p: Whole, q: Whole, r: Whole) -> Whole:
    return _cross(_minus(q, p), _minus(r, p))


def _half_spaces_of(corners: list[Whole]) -> list[tuple[Whole, int]]:
    """Return (n, c) such that the triangle is where n . x <= c for all of them."""
    normal = _normal(*corners)
    if any(normal):
        return [*_slab(normal, corners[0]), *(_half(_cross(_minus(q, p), normal), p) for p, q in _edges(corners))]
    # A segment, or a point: planes along it, if there is a direction, and its ends.
    start, end = max(combinations(corners, 2), key=lambda ends: _dot(_minus(*ends), _minus(*ends)))
    along, back = _minus(end, start), _minus(start, end)
    units = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if not any(along):
        return [half for unit in units for half in _slab(unit, start)]
    sides = [side for side in (_cross(along, unit) for unit in units) if any(side)]
    return [half for side in sides for half in _slab(side, start)] + [_half(along, end), _half(back, start)]


def _edges(corners: list[Whole]) -> list[tuple[Whole, Whole]]:
    return [(corners[k], corners[(k + 1) % 3]) for k in range(3)]


def _half(normal: Whole, through: Whole) -> tuple[Whole, int]:
    return normal, _dot(normal, through)


def _slab(normal: Whole, through: Whole) -> list[tuple[Whole, int]]:
    return [_half(normal, through), _half((-normal[0], -normal[1], -normal[2]), through)]


def _clipped(corners: list[Whole], half_spaces: list[tuple[Whole, int]]) -> list[Weighed]:
    """Clip a convex polygon, which may be flat, by one half space after the other (Sutherland and Hodgman)."""
    polygon = [(*corner, 1) for corner in corners]
    for normal, limit in half_spaces:
        heights = [_dot(normal, p) - limit * p[3] for p in polygon]
        kept = []
        for k, (p, height) in enumerate(zip(polygon, heights, strict=True)):
            q, other = polygon[(k + 1) % len(polygon)], heights[(k + 1) % len(polygon)]
            if height <= 0:
                kept.append(p)
            if (height < 0 < other) or (other < 0 < height):
                kept.append(tuple(abs(other) * a + abs(height) * b for a, b in zip(p, q, strict=True)))
        polygon = kept
        if not polygon:
            break
    return polygon


def _strictly_inside(point: Weighed, corners: list[Whole]) -> bool:
    (flat, limit), _ = _slab(_normal(*corners), corners[0])
    if _dot(flat, point) != limit * point[3]:
        return False
    borders = [_half(_cross(_minus(q, p), flat), p) for p, q in _edges(corners)]
    return all(_dot(out, point) < limit * point[3] for out, limit in borders)
