"""Convex regions as slabs, for queries: oriented boxes, frustums and other regions between planes.

Two convex polytopes are disjoint if, and only if, their projections on some axis are: a face normal of either or, in
3D, a cross product of an edge of each. So a region has slabs ``least <= axis . x <= most``, for its face normals and
the cross products of its edges with coordinate axes, and a box around it for the coordinate axes. A box meets the
region if its projections meet all slabs, and it meets the box around.

Rounding errs on one side: a box that touches a region is never missed; one that misses it by less than some 1e-14 of
the region's coordinates may be found. Faces along coordinate axes are exact, and so are quarter turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.boxes.checking import as_reach
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import unknown_name
from broadphase.shapes.turning import as_matrices, quaternions_of, with_exact_quarters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "MOST_PLANES", "Regions", "as_turns", "halves_of", "regions_of_boxes", "regions_of_planes",
    "regions_of_views", "rotation_matrices", "shape_rotations",
]  # fmt: skip

MOST_PLANES = 64  # of one region: its corners are searched at every three of them

_ROTATION_ERROR = 1e-5  # above that of float32 matrices which have been multiplied a few times
_DEPTHS = ("minus_one_to_one", "zero_to_one")


class Regions(NamedTuple):
    """Convex regions.

    The slabs of region j are rows ``offsets[j]`` to ``offsets[j + 1]`` of `axes`, `least` and `most`.
    """

    offsets: NDArray[np.int64]  # (q + 1,)
    axes: Floats  # (s, d), of any length
    least: Floats  # (s,), where the region begins on each axis; infinite where it does not
    most: Floats
    around_lower: Floats  # (q, d), of the box around each region; infinite where it has no bounds
    around_upper: Floats
    planes: Floats | tuple[()] = ()  # (q, p, d + 1), of regions made from planes

    @property
    def slabs(self) -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats, Floats]:
        """What the core takes."""
        return self.offsets, self.axes, self.least, self.most, self.around_lower, self.around_upper


def regions_of_boxes(centers: ArrayLike, half_sizes: ArrayLike, rotations: ArrayLike) -> Regions:
    """Make the regions of oriented boxes; parameters and errors are as in `BoxIndex.query_obb`."""
    middle = _checked("centers", centers)
    if middle.ndim != 2 or middle.shape[1] not in (2, 3):
        raise ValueError(f"centers must have shape (q, 2) or (q, 3), not {middle.shape}")
    count, dim = middle.shape
    turns = as_turns(rotations, dim)
    each = 1 if dim == 2 else 4
    if turns.ndim >= 2 and turns.shape[-2:] == (dim, dim):
        each = dim**2
    rows = np.ascontiguousarray(turns.reshape(-1, each))
    _require_fit(len(rows), count)
    found: Any = _native.regions_of_boxes(np.ascontiguousarray(middle), halves_of(half_sizes, middle), rows)
    return Regions._make((*found, ()))


def halves_of(half_sizes: ArrayLike, centers: Floats) -> Floats:
    """Return the half sizes of oriented boxes as float64, one row for each center."""
    half = as_reach(half_sizes, centers, "half_sizes")
    return np.ascontiguousarray(np.broadcast_to(half, centers.shape), dtype=np.float64)


def as_turns(rotations: ArrayLike, dim: int) -> Floats:
    """Check rotations in every form that queries accept: matrices, in 2D angles, in 3D quaternions; one, or one each.

    Matrices may also reflect. Those of quarter turns, up to rounding, become exact.
    """
    array = _checked("rotations", rotations)
    if array.ndim in (2, 3) and array.shape[-2:] == (dim, dim):
        turn = array.reshape(-1, dim, dim)
        wrong = np.abs(turn.swapaxes(1, 2) @ turn - np.eye(dim)).max(axis=(1, 2)) > _ROTATION_ERROR
        if wrong.any():
            raise ValueError(f"rotations: row {wrong.argmax()} has columns that are not perpendicular unit vectors")
        return with_exact_quarters(turn).reshape(array.shape)
    if array.ndim not in (dim - 2, dim - 1) or (dim == 3 and array.shape[-1] != 4):
        others = "quaternions (q, 4) or (4,)" if dim == 3 else "angles (q,) or one number"
        forms = f"matrices (q, {dim}, {dim}) or ({dim}, {dim}), or {others}"
        raise ValueError(f"rotations of shape {array.shape} are neither {forms}")
    if dim == 3 and not (good := array.reshape(-1, 4).any(axis=1)).all():
        raise ValueError(f"rotations: row {good.argmin()} is a zero quaternion")
    return array


def rotation_matrices(rotations: ArrayLike, count: int, dim: int) -> Floats:
    """Return rotations in any form as matrices, (count, d, d)."""
    array = as_turns(rotations, dim)
    if array.ndim >= 2 and array.shape[-2:] == (dim, dim):
        turn = array.reshape(-1, dim, dim)
    else:
        turn = as_matrices(array.reshape((-1, 4) if dim == 3 else -1), dim)
    _require_fit(len(turn), count)
    return np.broadcast_to(turn, (count, dim, dim))


def _require_fit(rotations: int, count: int) -> None:
    if rotations not in (1, count):
        raise ValueError(f"rotations: {rotations} for {count} boxes")


def shape_rotations(rotations: ArrayLike, dim: int, *, is_mirrored_alike: bool = False) -> Floats:
    """Return rotations in any form as `Shapes` takes them: angles, () or (q,), or quaternions, (4,) or (q, 4).

    Matrices that reflect are refused, unless shapes are their own mirror images: then they lose the reflection.
    """
    array = as_turns(rotations, dim)
    if array.ndim < 2 or array.shape[-2:] != (dim, dim):
        return array
    turn = array.reshape(-1, dim, dim)
    is_mirrored = np.linalg.det(turn) < 0
    if is_mirrored.any() and not is_mirrored_alike:
        raise ValueError(f"rotations: row {is_mirrored.argmax()} is a reflection")
    if dim == 2:
        found: Floats = np.arctan2(turn[:, 1, 0], turn[:, 0, 0])
    else:
        found = quaternions_of(np.where(is_mirrored[:, np.newaxis, np.newaxis], -turn, turn))
    return found if array.ndim == 3 else found[0]


def regions_of_views(matrices: ArrayLike, *, depth: str = "minus_one_to_one") -> Regions:
    """Make the regions that cameras see.

    Matrices, (d + 1, d + 1) or (q, d + 1, d + 1), are projection times view. A point is in view if its coordinates
    ``x, y, z, w = matrix @ point`` are from ``-w`` to ``w``, z from 0 if `depth` is "zero_to_one", reversed or not. The
    far plane may be at infinity. In 2D, `depth` is ignored. ValueError names the first singular matrix.
    """
    planes = _planes_of_views(matrices, depth)
    found: Any = _native.regions_of_planes(planes, must_span=True)
    if isinstance(found, int):
        raise ValueError(f"matrix: number {found} is singular")
    return Regions._make((*found, planes))


def _planes_of_views(matrices: ArrayLike, depth: str) -> Floats:
    """Return the planes of `regions_of_views`, shape (q, 2 * d, d + 1); does not check that matrices are regular."""
    if depth not in _DEPTHS:
        raise ValueError(unknown_name("depth", depth, _DEPTHS))
    array = _checked("matrix", matrices)
    if array.ndim not in (2, 3) or array.shape[-1] not in (3, 4) or array.shape[-2] != array.shape[-1]:
        raise ValueError(f"matrix must have shape (4, 4) or (q, 4, 4), in 2D (3, 3) or (q, 3, 3), not {array.shape}")
    array = array.reshape(-1, *array.shape[-2:])
    rows, last = array[:, :-1], array[:, -1:]
    begin = last + rows
    if depth == "zero_to_one" and array.shape[-1] == 4:
        begin[:, 2] = rows[:, 2]
    return np.concatenate([begin, last - rows], axis=1)


def regions_of_planes(planes: ArrayLike) -> Regions:
    """Make the regions on the inner side of planes, of shape (p, d + 1) or (q, p, d + 1).

    Inside is where ``n . x + c >= 0`` for all rows ``n, c``, in any order and of any length, also redundant ones, at
    most `MOST_PLANES`. A region may be unbounded, or empty. Tries every d planes for corners: O(p**d * p) each.
    """
    array = _checked("planes", planes)
    if array.ndim not in (2, 3) or array.shape[-1] not in (3, 4):
        raise ValueError(f"planes must have shape (p, 4) or (q, p, 4), in 2D (p, 3) or (q, p, 3), not {array.shape}")
    if array.shape[-2] > MOST_PLANES:
        raise ValueError(f"a region has at most {MOST_PLANES} planes, not {array.shape[-2]}")
    sides = np.ascontiguousarray(array if array.ndim == 3 else array[np.newaxis])
    found: Any = _native.regions_of_planes(sides)
    return Regions._make((*found, sides))


def _checked(name: str, values: ArrayLike) -> Floats:
    """Convert finite numbers to float64."""
    array: Floats = as_numbers(values, name=name).astype(np.float64)
    wrong = ~np.isfinite(array)
    if wrong.any():
        row = f"row {int(np.argwhere(wrong)[0, 0])}: " if wrong.ndim else ""
        raise ValueError(f"{name}: {row}{array[wrong].flat[0]} is not finite")
    return array
