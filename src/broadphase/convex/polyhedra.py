"""What cameras see, and whatever else planes bound, as slabs."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from broadphase.convex.regions import (
    AXIS_ROUNDING,
    EPSILON,
    Regions,
    across_coordinate_axes,
    checked,
    exponents,
    unit,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

DEPTHS = ("minus_one_to_one", "zero_to_one")
MOST_PLANES = 64  # of one region; its corners are looked for at every three of them

_SINGULAR = 1e-12  # planes that meet at a smaller angle are taken for parallel


def regions_of_views(matrices: ArrayLike, *, depth: str = "minus_one_to_one") -> Regions:
    """Make the regions that cameras see.

    Parameters
    ----------
    matrices : array_like, shape (4, 4) or (q, 4, 4), or (3, 3) or (q, 3, 3) in 2D
        Projection times view, which multiplies column vectors: a point is in view if ``x, y, z, w = matrix @ point``
        has ``-w <= x <= w`` and so on. The far plane may be at infinity.
    depth : str
        ``"minus_one_to_one"`` for ``-w <= z <= w``, as OpenGL has it; ``"zero_to_one"`` for ``0 <= z <= w``, as Vulkan,
        Direct3D and Metal do, with z reversed or not. Of no meaning in 2D.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; NaN or an infinity; a matrix with less than d dimensions: names the first such.
    """
    if depth not in DEPTHS:
        raise ValueError(f"depth must be one of {', '.join(DEPTHS)}, not {depth!r}")
    array = checked("matrix", matrices)
    if array.ndim not in (2, 3) or array.shape[-1] not in (3, 4) or array.shape[-2] != array.shape[-1]:
        raise ValueError(f"matrix must have shape (4, 4) or (q, 4, 4), in 2D (3, 3) or (q, 3, 3), not {array.shape}")
    array = array.reshape(-1, *array.shape[-2:])
    rows, last = array[:, :-1], array[:, -1:]
    begin = last + rows
    if depth == "zero_to_one" and array.shape[-1] == 4:
        begin[:, 2] = rows[:, 2]
    planes = np.concatenate([begin, last - rows], axis=1)
    for number, sides in enumerate(planes):
        if np.linalg.matrix_rank(unit(sides[:, :-1]), tol=_SINGULAR) < planes.shape[2] - 1:
            raise ValueError(f"matrix: number {number} is singular")
    return regions_of_planes(planes)


def regions_of_planes(planes: ArrayLike) -> Regions:
    """Make the regions on the inner side of all of some planes.

    Parameters
    ----------
    planes : array_like, shape (p, d + 1) or (q, p, d + 1)
        d = 2 or 3; rows ``n, c``: inside is where ``n . x + c >= 0``. In any order and of any length, redundant ones
        allowed, at most `MOST_PLANES`. A region may be unbounded, or empty.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; NaN or an infinity.

    Notes
    -----
    The corners are found by trying every d planes: O(p**d * p) for each region.
    """
    array = checked("planes", planes)
    if array.ndim not in (2, 3) or array.shape[-1] not in (3, 4):
        raise ValueError(f"planes must have shape (p, 4) or (q, p, 4), in 2D (p, 3) or (q, p, 3), not {array.shape}")
    if array.shape[-2] > MOST_PLANES:
        raise ValueError(f"a region has at most {MOST_PLANES} planes, not {array.shape[-2]}")
    array = array if array.ndim == 3 else array[np.newaxis]
    dimension = array.shape[2] - 1
    parts = [_polyhedron(sides) for sides in array]
    axes, least, most, lower, upper = (list(part) for part in zip(*parts, strict=True)) if parts else ([],) * 5
    return Regions(
        np.cumsum([0, *map(len, least)], dtype=np.int64),
        np.concatenate([np.empty((0, dimension)), *axes]),
        np.concatenate([np.empty(0), *least]),
        np.concatenate([np.empty(0), *most]),
        np.array(lower).reshape(-1, dimension),
        np.array(upper).reshape(-1, dimension),
    )


def _polyhedron(planes: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Give axes, least and most of the slabs of one region, and the corners of the box around it."""
    dimension = planes.shape[1] - 1
    everywhere = np.full(dimension, np.inf)
    # No slab keeps anything out; or one of an axis without length keeps everything out.
    nowhere = (np.zeros((1, dimension)), np.ones(1), np.zeros(1), everywhere, -everywhere)
    with np.errstate(over="ignore"):  # what is further away than any number is at infinity
        planes = np.ldexp(planes, -exponents(planes[:, :-1]))
    length = np.linalg.norm(planes[:, :-1], axis=1)
    if (planes[(length == 0) | np.isinf(planes[:, -1]), -1] < 0).any():
        return nowhere
    used = (length > 0) & np.isfinite(planes[:, -1])
    planes, length = planes[used], length[used]
    units, distances = planes[:, :-1] / length[:, None], planes[:, -1] / length
    _, strengths, directions = np.linalg.svd(units) if len(units) else (None, np.empty(0), np.eye(dimension))
    rank = int((strengths > _SINGULAR).sum())
    if rank == 0:
        return np.empty((0, dimension)), np.empty(0), np.empty(0), -everywhere, everywhere
    corners, errors, meeting = _corners(units, distances, rank)
    if not len(corners):
        return nowhere
    lines = directions[rank:]  # along which the region has no ends
    rays = np.concatenate([_rays(units, lines), lines, -lines])
    axes = units
    if dimension == 3 and rank > 1:
        pairs = np.unique(np.concatenate([meeting[:, pair] for pair in combinations(range(rank), 2)]), axis=0)
        edges = unit(np.cross(units[pairs[:, 0]], units[pairs[:, 1]]))
        axes = np.concatenate([axes, across_coordinate_axes(edges)])
    axes = _distinct(axes)
    lower, upper = _supports(np.eye(dimension), corners, errors, rays)
    along = (planes[:, :-1] != 0).sum(axis=1) == 1
    for *normal, offset in planes[along]:
        axis = int(np.flatnonzero(normal)[0])
        end = -offset / normal[axis]
        if normal[axis] > 0:
            lower[axis] = max(lower[axis], end)
        else:
            upper[axis] = min(upper[axis], end)
    return axes, *_supports(axes, corners, errors, rays), lower, upper


def _corners(units: Floats, distances: Floats, rank: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Find where planes meet that span `rank` dimensions, inside all others: the points, their errors, the planes."""
    meeting = np.array(list(combinations(range(len(units)), rank)), np.intp).reshape(-1, rank)
    strength = np.linalg.svd(units[meeting], compute_uv=False)[:, -1]
    meeting, strength = meeting[strength > _SINGULAR], strength[strength > _SINGULAR]
    offsets = -distances[meeting]
    points = (np.linalg.pinv(units[meeting]) @ offsets[:, :, None])[:, :, 0]
    errors = 8 * EPSILON / strength * (np.abs(points).sum(axis=1) + np.abs(offsets).max(axis=1))
    inside = (points @ units.T + distances >= -4 * errors[:, None]).all(axis=1)
    return points[inside], errors[inside], meeting[inside]


def _rays(units: Floats, lines: Floats) -> Floats:
    """Find the directions across all `lines` in which an edge of the region goes on for ever."""
    dimension = units.shape[1]
    if len(lines) == dimension - 1:
        found = units
    elif dimension == 2:
        found = np.stack([-units[:, 1], units[:, 0]], axis=1)
    elif len(lines) == 1:
        found = np.cross(units, lines[0])
    else:
        one, other = np.triu_indices(len(units), 1)
        found = np.cross(units[one], units[other])
    length = np.linalg.norm(found, axis=1)
    found, length = found[length > _SINGULAR], length[length > _SINGULAR]
    found, length = np.concatenate([found, -found]) / np.tile(length, 2)[:, None], np.tile(length, 2)
    inside: Floats = found[(found @ units.T >= -16 * EPSILON / length[:, None]).all(axis=1)]
    return inside


def _supports(axes: Floats, corners: Floats, errors: Floats, rays: Floats) -> tuple[Floats, Floats]:
    """Give where the region begins and ends on each axis, a little further out than rounding may have moved it."""
    places = axes @ corners.T
    sizes = np.abs(axes)
    spread = sizes.sum(axis=1)[:, None] * errors
    slack = AXIS_ROUNDING * (sizes @ np.abs(corners).max(axis=0))
    least, most = (places - spread).min(axis=1) - slack, (places + spread).max(axis=1) + slack
    if len(rays):
        onward, rounding = axes @ rays.T, 16 * EPSILON * np.linalg.norm(axes, axis=1)
        least[onward.min(axis=1) < -rounding] = -np.inf
        most[onward.max(axis=1) > rounding] = np.inf
    return least, most


def _distinct(axes: Floats) -> Floats:
    """Give each direction once, as a unit vector, without the coordinate axes: the box around stands for those."""
    axes = unit(axes)
    axes[np.abs(axes) < 1e-15] = 0.0
    axes = axes[(axes != 0).sum(axis=1) > 1]
    first = axes[np.arange(len(axes)), (axes != 0).argmax(axis=1)] if len(axes) else np.empty(0)
    axes = axes * np.sign(first)[:, None]
    _, kept = np.unique(axes.round(12) + 0.0, axis=0, return_index=True)
    return axes[np.sort(kept)]
