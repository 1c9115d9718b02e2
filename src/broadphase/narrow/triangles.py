"""Triangles of meshes that intersect, each pair decided exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag
from broadphase.boxes import as_numbers, from_triangles
from broadphase.boxes.checking import as_integers
from broadphase.errors import InvalidBoxError
from broadphase.searches import pairs
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["triangle_pairs"]


def triangle_pairs(
    mesh: Any, other: Any = None, *, workers: int = 1, touching: bool = True, ignore_shared: bool = True
) -> NDArray[np.int32]:
    """Find every pair of triangles that intersect: of two meshes, or within one.

    Triangles are closed: those that only touch intersect (see `touching`). What counts is the triangles: a mesh wholly
    inside another meets none of them.

    Parameters
    ----------
    mesh, other : Mesh, or tuple (vertices, faces), or anything with these two as attributes
        vertices: array_like, shape (v, 3), float32 or float64, finite. faces: array_like of int, shape (f, 3), rows of
        the vertices. Triangles may be degenerate: a segment or a point counts as such. Offset and rotation of a `Mesh`
        are ignored.
    ignore_shared : bool
        Within one mesh, ignore triangles that have a vertex in common (the same row of the vertices), which always
        touch. No effect with `other`.
    touching : bool
        False: only triangles whose interiors meet, so that a common corner, an edge against an edge or a corner in a
        face is no pair, and neither is anything with a triangle of no area.
    workers : int
        Threads to use; -1 for one per core. The answer does not depend on it.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        Rows of the faces, first < second, each pair once; with `other`, row of `mesh` and row of `other`. A new array,
        in an order that is the same on every run.

    Raises
    ------
    ValueError, TypeError, MemoryError
        Wrong shape or dtype; a vertex number out of range, a vertex in use that is not finite: names the first face.
        Candidates that do not fit into memory.

    See Also
    --------
    pairs : What finds the candidates, among the triangles' boxes.

    Notes
    -----
    Exact for the numbers given, however near the triangles are to touching, and wherever they are: signs of
    determinants decide, which are computed in floating point [1]_ and, where rounding could change them, in a long
    fixed-point sum. The arrangement of signs is that of [2]_. Some 0.1 us for each candidate pair, 1 us where many
    signs need the sum. Releases the GIL; Ctrl-C works.

    References
    ----------
    .. [1] J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
       Discrete & Computational Geometry 18, 1997. DOI 10.1007/PL00009321.
    .. [2] P. Guigue, O. Devillers, "Fast and Robust Triangle-Triangle Overlap Test Using Orientation Predicates",
       Journal of Graphics Tools 8, 2003. DOI 10.1080/10867651.2003.10487580.

    Examples
    --------
    >>> import broadphase as bp
    >>> floor = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0]], [[0, 1, 2], [1, 3, 2]]
    >>> spike = [[1, 1, -1], [1, 1, 2], [9, 9, 2]], [[0, 1, 2]]
    >>> bp.triangle_pairs(floor, spike)
    array([[0, 0], [1, 0]], dtype=int32)
    """
    workers = worker_count(workers)
    first = _surface(mesh, "mesh")
    second = first if other is None else _surface(other, "other")
    if other is None:
        shared = first.faces if as_flag(ignore_shared, "ignore_shared") else None
        candidates = pairs(first.boxes, workers=workers, ignore_shared=shared)
    else:
        candidates = pairs(first.boxes, second.boxes, workers=workers)
    found: Any = _native.triangle_pairs(
        first.vertices, first.faces, second.vertices, second.faces,
        np.ascontiguousarray(candidates[:, 0]), np.ascontiguousarray(candidates[:, 1]),
        as_flag(touching, "touching"), workers,
    )  # fmt: skip
    meeting: NDArray[np.int32] = found
    return meeting


class _Surface(NamedTuple):
    vertices: NDArray[np.float64]
    faces: NDArray[np.int32]
    boxes: NDArray[Any]


def _surface(mesh: Any, name: str) -> _Surface:
    try:
        vertices, faces = (mesh.vertices, mesh.faces) if hasattr(mesh, "faces") else mesh
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a tuple (vertices, faces) or have them as attributes") from None
    corners, numbers = as_numbers(vertices, name=f"{name}: vertices"), as_integers(faces, f"{name}: faces")
    if corners.size == 0:
        corners = corners.reshape(0, 3)
    if numbers.size == 0:
        numbers = numbers.reshape(0, 3)
    for what, array in (("vertices", corners), ("faces", numbers)):
        if array.ndim != 2 or array.shape[1] != 3:
            raise ValueError(f"{name}: {what} must have shape (n, 3), not {array.shape}")
    try:
        boxes = from_triangles(corners, numbers)
    except InvalidBoxError as error:
        raise InvalidBoxError(f"{name}: {error}", error.row) from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    endless = ~np.isfinite(boxes).all(axis=(1, 2))
    if endless.any():
        row = int(endless.argmax())
        raise InvalidBoxError(f"{name}: faces: row {row} has an infinite vertex", row)
    return _Surface(np.ascontiguousarray(corners, np.float64), np.ascontiguousarray(numbers, np.int32), boxes)
