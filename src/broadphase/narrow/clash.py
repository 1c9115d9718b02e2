"""Clashes of parts, by kind: what penetrates, contains, touches, is too near, or is there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.narrow.clearance import MEETS, Solids, as_length, measure, pairs_within
from broadphase.pairs import pairs as box_pairs
from broadphase.shapes import Mesh
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.narrow.clearance import Parts

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["CLASH_KINDS", "DEPTHS_BY", "Clashes", "clashes"]

#: The kinds of clashes, worst first.
CLASH_KINDS = ("duplicate", "penetrates", "contains", "touches", "near")
#: How depths are measured, as the core numbers it; the last: there is none.
DEPTHS_BY = ("shapes", "vertices", "faces", "triangles", "")


class Clashes(NamedTuple):
    """Clashes of pairs of parts.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row numbers, in lexicographic order.
    kinds : ndarray, shape (m,), str
        "duplicate": the same geometry in the same place, within the tolerance. "penetrates": they overlap, deeper than
        the tolerance. "contains": one is wholly inside the other, without touching its surface; see `inside`.
        "touches": they are not farther apart than the tolerance, and not deeper in each other. "near": not farther
        apart than the clearance.
    gaps : ndarray, shape (m,), float64
        Their distances: 0 where they meet or one contains the other.
    depths : ndarray, shape (m,), float64
        How deep the surfaces that meet are in each other; NaN where they do not, and for duplicates.
    depths_by : ndarray, shape (m,), str
        How that is measured. "shapes": the shortest motion that separates two convex shapes. "vertices": the distance
        of the deepest vertex of one part inside the other to the surface of that. "faces": where no vertex is inside,
        that of the deepest middle of a triangle. "triangles": where none of these is, or no mesh is closed, the
        shortest motion that separates the two triangles that are deepest in each other. Else "".
    points : ndarray, shape (m, 2, 3), float64
        Where on each, as in `Clearances`.
    inside : ndarray, shape (m,), int8
        1 if the first contains the second, -1 if the second contains the first; else 0.
    are_solid : ndarray, shape (m, 2), bool
        Whether each counts as solid: False for open meshes.
    """

    pairs: Rows
    kinds: NDArray[np.str_]
    gaps: Floats
    depths: Floats
    depths_by: NDArray[np.str_]
    points: Floats
    inside: NDArray[np.int8]
    are_solid: NDArray[np.bool_]

    def counts(self) -> dict[str, int]:
        """Count the clashes of each kind, worst first."""
        return {kind: int((self.kinds == kind).sum()) for kind in CLASH_KINDS}


def clashes(
    shapes: Parts,
    other: Parts | None = None,
    *,
    clearance: float = 0.0,
    tolerance: float = 0.0,
    solid: bool = True,
    workers: int = 1,
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    ignore_pairs: Any = None,
    parent: Any = None,
) -> Clashes:
    """Find every pair of parts that clash, and how.

    Parameters
    ----------
    shapes, other, solid, workers, layer, mask, group, ignore_pairs, parent
        As in `clearances`.
    clearance : float
        Parts that are nearer are "near", in the unit of the shapes. Default: none are.
    tolerance : float
        Gaps and depths up to this "touch", and parts that are equal up to this are duplicates.

    Returns
    -------
    Clashes

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        As `clearances`.

    Notes
    -----
    The depth of two meshes takes the vertices of each that are inside the other one by one. A part that is inside
    another one and touches its surface from there penetrates it.

    Examples
    --------
    Two cubes share a face, a third one is half inside the second, a ball in the first:

    >>> import broadphase as bp
    >>> parts = bp.Shapes([bp.Box(2, 2, 2)] * 3 + [bp.Sphere(0.5)], [[0, 0, 0], [2, 0, 0], [3, 0, 0], [9, 0, 0]])
    >>> found = bp.clashes(parts, clearance=6)
    >>> for pair, kind, depth in zip(found.pairs.tolist(), found.kinds.tolist(), found.depths.tolist(), strict=True):
    ...     print(pair, kind, depth)
    [0, 1] touches 0.0
    [0, 2] near nan
    [1, 2] penetrates 1.0
    [1, 3] near nan
    [2, 3] near nan
    """
    near, close = as_length(clearance, "clearance"), as_length(tolerance, "tolerance")
    first = Solids(shapes, "shapes", solid)
    second = first if other is None else Solids(other, "other", solid)
    workers = worker_count(workers)
    filters = {"layer": layer, "mask": mask, "group": group, "ignore_pairs": ignore_pairs}
    limit = max(near, close)
    candidates = pairs_within(first, second, limit, parent, filters, workers)
    found, relations = measure(first, second, candidates, limit, workers)

    are_equal = np.zeros(len(found.pairs), np.bool_)
    may_be = (found.gaps <= close) & (found.inside == 0) & _boxes_are_equal(first, second, found.pairs, close)
    for k in np.flatnonzero(may_be).tolist():
        are_equal[k] = _is_duplicate(first, second, found.pairs[k], close)
    meeting = (relations == MEETS) & ~are_equal
    depths, measured = np.full(len(found.pairs), np.nan), np.full(len(found.pairs), len(DEPTHS_BY) - 1)
    if meeting.any():
        rows = np.ascontiguousarray(found.pairs[meeting, 0]), np.ascontiguousarray(found.pairs[meeting, 1])
        answer: Any = _native.mesh_depths(*first.native, *second.native, *rows, workers)
        depths[meeting], measured[meeting] = answer
    chosen = [are_equal, depths > close, found.inside != 0, found.gaps <= close]
    kinds = np.array(CLASH_KINDS)[np.select(chosen, range(len(chosen)), len(chosen))]
    return Clashes(
        found.pairs, kinds, found.gaps, depths, np.array(DEPTHS_BY)[measured], found.points, found.inside,
        found.are_solid,
    )  # fmt: skip


def _boxes_are_equal(first: Solids, second: Solids, pairs: Rows, tolerance: float) -> NDArray[np.bool_]:
    one, two = first.shapes.boxes[pairs[:, 0]], second.shapes.boxes[pairs[:, 1]]
    slack = tolerance + 1e-9 * np.abs(one).max(axis=(1, 2), initial=0.0)  # boxes are enlarged by a few roundings
    equal: NDArray[np.bool_] = np.abs(one - two).max(axis=(1, 2), initial=0.0) <= slack
    return equal


def _is_duplicate(first: Solids, second: Solids, pair: Rows, tolerance: float) -> bool:
    row, other = pair.tolist()
    one, two = first.shapes[row], second.shapes[other]
    if type(one) is not type(two):
        return False
    placed, other_placed = (
        np.asarray(solids.shapes.store.placed(number)) for solids, number in ((first, row), (second, other))
    )
    if not isinstance(one, Mesh) or not isinstance(two, Mesh):
        same_content = getattr(one, "content", None) == getattr(two, "content", None)
        if hasattr(one, "content"):  # hulls: the first number only names the points
            placed, other_placed = placed[1:], other_placed[1:]
        return same_content and len(placed) == len(other_placed) and _are_within(placed, other_placed, tolerance)
    if len(one.faces) != len(two.faces):
        return False
    corners, other_corners = _placed(one, placed), _placed(two, other_placed)
    if len(corners) == len(other_corners) and _are_within(corners, other_corners, tolerance):
        return bool(np.array_equal(one.faces, two.faces))
    # In another order: each triangle has one with the same middle.
    middles = corners[one.faces].mean(axis=1), other_corners[two.faces].mean(axis=1)
    slack = tolerance + 1e-12 * float(np.abs(corners).max())
    near = box_pairs(*(np.stack([points, points], axis=1) for points in middles), margin=slack)
    distances = np.linalg.norm(middles[0][near[:, 0]] - middles[1][near[:, 1]], axis=1)
    near = near[distances <= slack]
    return all(len(np.unique(near[:, side])) == len(middles[side]) for side in (0, 1))


def _are_within(points: Floats, others: Floats, tolerance: float) -> bool:
    slack = tolerance + 1e-12 * float(np.abs(points).max(initial=0.0))
    return bool((np.abs(points - others) <= slack).all())


def _placed(mesh: Mesh, record: Floats) -> Floats:
    """Place the vertices as the core does: the record has a number, the origin and the axes."""
    corners: Floats = mesh.vertices @ record[4:13].reshape(3, 3) + record[1:4]
    return corners
