"""How far apart solids are, up to a limit: the broad phase and the narrow phase in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_length
from broadphase.errors import UnsupportedQueryError, quoted
from broadphase.narrow import custom
from broadphase.narrow.part_pairs import NamedPairs, shared_parents
from broadphase.progress import Progress, Told, reporting, searching
from broadphase.representations import shown
from broadphase.searches import pairs as box_pairs
from broadphase.shapes import Mesh, Shape, Shapes
from broadphase.shapes.kinds import are_kept_elsewhere
from broadphase.shapes.records import geometry_numbers
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import ByRow
    from broadphase.narrow.part_pairs import Names, Patterns

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Parts: TypeAlias = Shapes | Iterable[Any]

__all__ = [
    "Clearances", "Solids", "as_placed", "clearances", "measure", "pairs_within", "solid_distances", "solids_of",
]  # fmt: skip

APART, MEETS, HOLDS_SECOND, HELD_BY_SECOND = range(4)  # relations, as the core numbers them


@shown
class Clearances(NamedTuple):
    """Gaps of pairs of shapes.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row numbers, in lexicographic order.
    gaps : ndarray, shape (m,), float64
        Their distances, at most the limit: 0 if they touch, overlap, or one is inside the other.
    points : ndarray, shape (m, 2, 3), float64
        Where on the first and on the second: the points that are nearest to each other; if two meshes meet, a point
        where their surfaces do, twice; if other shapes overlap, their deepest contact point, twice, as `contacts` gives
        it: midway between the two surfaces, so not on them, and of deep overlaps not always in both shapes; if one is
        inside the other, a point of that one, twice.
    inside : ndarray, shape (m,), int8
        1 if the second is wholly inside the first, without touching its surface; -1 if the first is in the second;
        else 0.
    are_solid : ndarray, shape (m, 2), bool
        Whether each counts as solid: all shapes but open meshes, and but all meshes without `solid`.
    """

    pairs: Rows
    gaps: Floats
    points: Floats
    inside: NDArray[np.int8]
    are_solid: NDArray[np.bool_]


def clearances(
    shapes: Parts,
    other: Parts | None = None,
    max_distance: float = 5.0,
    *,
    solid: bool = True,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    group: ByRow = None,
    ignore_pairs: ArrayLike | None = None,
    parent: Any = None,
    names: Any = None,
    exclude: Patterns = (),
    only: Patterns = (),
    progress: Progress = None,
) -> Clearances:
    """Find every pair of shapes in space that are not farther apart than a limit, how far, and where.

    Parameters
    ----------
    shapes, other : Shapes, or iterable of Shape or of anything with ``vertices`` and ``faces``
        Placed shapes in space; those in a list are where their vertices say. With `other`, find every pair of a shape
        of the first set and one of the second.
    max_distance : float
        The limit, in the unit of the shapes. Closed: a pair at exactly this distance counts.
    solid : bool
        Closed meshes contain what is inside them; see `Mesh.is_watertight`. Open ones are surfaces, and so are all if
        False.
    workers, layer, mask, group, ignore_pairs : optional
        As in `pairs`.
    parent : array_like of int, or of str, shape (n,), optional
        The assembly that each part belongs to, by number or name, such as ``[part.parent for part in parts]``: pairs of
        parts with the same parent are left out; -1, or None among names: none. With `other`, a tuple (for `shapes`, for
        `other`).
    names : sequence of str, shape (n,), optional
        For `exclude` and `only`: the name of each part. Default: the attribute ``name`` of the parts in a list, as
        those of `broadphase.io.read_parts` have. With `other`, a tuple (for `shapes`, for `other`).
    exclude : iterable of (str, str)
        Pairs of glob patterns, such as ``("bolt*", "nut*")``: a pair of parts is left out if the name of one matches
        the first and that of the other the second. Upper and lower case differ.
    only : iterable of (str, str)
        The same: if there are any, only pairs of parts that match one of them are found.
    progress : bool or callable, optional
        As in `pairs`; the stages are "prepare" and "measure", which count pairs.

    Returns
    -------
    Clearances
        ``pairs``, ``gaps``, ``points``, ``inside`` and ``are_solid``.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        Shapes in the plane or of a type of the user's own; a limit that is below 0 or not finite; filters of the wrong
        shape; what is no pair of patterns; a part without a name, by its row.

    See Also
    --------
    clashes : The same pairs by kind, with depths.
    distance : Signed distances of pairs that are known.

    Notes
    -----
    Candidates are found by their boxes; trees of the triangles, which meshes keep, are compared with a bound that
    shrinks from `max_distance`. Whether surfaces meet, and whether a point is inside, is decided by exact signs for the
    vertices as they are placed, which are rounded once. A mesh of several pieces is inside another mesh if all its
    pieces are; if only some are, the two overlap. Releases the GIL.

    Examples
    --------
    >>> import broadphase as bp
    >>> shapes = bp.Shapes([bp.Sphere(1), bp.Box(2, 2, 2)], [[0, 0, 0], [3, 0, 0]])
    >>> found = bp.clearances(shapes, max_distance=1.5)
    >>> found.pairs.tolist(), found.gaps.tolist(), found.points.tolist()
    ([[0, 1]], [1.0], [[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]])
    """
    limit, workers = as_length(max_distance, "max_distance"), worker_count(workers)
    filters = {"layer": layer, "mask": mask, "group": group, "ignore_pairs": ignore_pairs}
    with reporting(progress) as told:
        first, second = solids_of(shapes, other, solid, workers, told)
        candidates = pairs_within(first, second, limit, parent, NamedPairs(names, exclude, only), filters, workers)
        return measure(first, second, candidates, limit, workers, told)[0]


class Solids:
    """Placed shapes in space, called `name` in messages, with what the core knows of each mesh and hull.

    `are_solid` of each shape is False for meshes that are surfaces: open ones, or all without `solid`.
    """

    def __init__(self, given: Any, name: str, solid: bool, workers: int = 1) -> None:
        solid = as_flag(solid, "solid")
        listed = _as_listed(given, name)
        self.names: Names | None = None if isinstance(listed, Shapes) else _names_of(listed)
        self.shapes = shapes = as_placed(listed, name)
        if shapes.dim != 3 and len(shapes):
            raise ValueError(f"{name} must be in space, not in {shapes.dim} dimensions")
        if shapes.geometries.has_custom:
            custom.refuse(shapes, shapes.living_rows(), "clearance")
        items = list(shapes.geometries.items())
        Mesh.prepare([kept for _, kept in items if isinstance(kept, Mesh)], solid=solid, workers=workers)
        self._geometries = shapes.geometries.prepared
        self._solids: list[Any] = [None] * len(self._geometries)
        for number, geometry in items:
            if solid and isinstance(geometry, Mesh):
                self._solids[number] = geometry.solid
        self.are_solid = np.ones(len(shapes), np.bool_)
        if self._geometries:
            open_meshes = np.array(
                [isinstance(tree, _native.MeshTree) and not (one is not None and one.is_closed)
                 for tree, one in zip(self._geometries, self._solids, strict=True)]
            )  # fmt: skip
            rows = shapes.living_rows()
            numbers = _geometry_of(shapes, rows)
            of_geometry = numbers >= 0
            self.are_solid[rows[of_geometry]] = ~open_meshes[numbers[of_geometry]]

    @property
    def native(self) -> tuple[Any, list[Any], list[Any]]:
        """What the core takes: the store, and what is known of all geometries."""
        return self.shapes.store, self._geometries, self._solids

    @property
    def given(self) -> tuple[Any, list[Any], Floats]:
        """The store, what each geometry is made of, with the faces of each mesh, and the boxes of the shapes."""
        geometries: list[Any] = [None] * len(self._geometries)
        for number, geometry in self.shapes.geometries.items():
            if isinstance(geometry, Mesh):
                geometries[number] = geometry.vertices, geometry.faces
            elif not isinstance(geometry, type):
                geometries[number] = (geometry.source,)
        return self.shapes.store, geometries, self.shapes.boxes

    def __len__(self) -> int:
        return len(self.shapes)


def solids_of(shapes: Any, other: Any, solid: bool, workers: int, told: Told) -> tuple[Solids, Solids]:
    """Prepare one set of parts, which is both, or two; meshes take time."""
    told("prepare", 0, 1)
    first = Solids(shapes, "shapes", solid, workers)
    second = first if other is None else Solids(other, "other", solid, workers)
    told("prepare", 1, 1)
    return first, second


def pairs_within(
    first: Solids,
    second: Solids,
    limit: float,
    parent: Any,
    named: NamedPairs,
    filters: dict[str, Any],
    workers: int,
) -> Rows:
    """Find the candidates: pairs whose boxes are not farther apart than the limit, in lexicographic order."""
    sets = [first] if second is first else [first, second]
    counts = [len(one) for one in sets]
    if not all(counts):
        return np.empty((0, 2), np.int32)
    shared: Any = None
    if parent is not None:
        parents = shared_parents(parent, counts)
        shared = parents[0] if second is first else tuple(parents)
    margin = np.nextafter(limit * (1 + 1e-12), np.inf)  # boxes are grown by a rounded half of it
    rows, others = first.shapes.living_rows(), second.shapes.living_rows()
    if len(rows) != len(first) or len(others) != len(second):
        raise UnsupportedQueryError("the shapes of a world from which bodies have been removed have no clearances")
    other = None if second is first else second.shapes.boxes
    found: NDArray[np.int32] = box_pairs(
        first.shapes.boxes, other, margin=float(margin), sort=True, workers=workers, ignore_shared=shared, **filters
    )
    found = named.passing(found, [one.names for one in sets], counts)
    return found


def measure(
    first: Solids, second: Solids, candidates: Rows, limit: float, workers: int, told: Told
) -> tuple[Clearances, NDArray[np.uint8]]:
    """Measure candidates; return those within the limit, and their relations."""
    columns = np.ascontiguousarray(candidates[:, 0]), np.ascontiguousarray(candidates[:, 1])
    if not len(candidates):
        found: Any = np.empty(0), np.empty((0, 2, 3)), np.empty(0, np.uint8)
    else:
        with searching(told, "measure", len(candidates)):
            found = _native.mesh_clearances(*first.native, *second.native, *columns, limit, workers)
    gaps, points, relations = found
    kept = gaps <= limit
    pairs, relations = candidates[kept], relations[kept]
    inside = (relations == HOLDS_SECOND).astype(np.int8) - (relations == HELD_BY_SECOND).astype(np.int8)
    are_solid = np.stack([first.are_solid[pairs[:, 0]], second.are_solid[pairs[:, 1]]], axis=1)
    return Clearances(pairs, gaps[kept], points[kept] + 0.0, inside, are_solid), relations


def solid_distances(shapes: Shapes, other: Shapes, pairs: Rows, limit: float, workers: int) -> Floats:
    """Compute the signed distances of pairs; of what is inside a closed mesh, minus its distance from the surface."""
    first = Solids(shapes, "shapes", True, workers)
    second = first if other is shapes else Solids(other, "other", True, workers)
    for one, name, rows in ((first, "shapes", pairs[:, 0]), (second, "other", pairs[:, 1])):
        if not (are_solid := one.are_solid[rows]).all():
            row = int(rows[np.argmin(are_solid)])
            raise ValueError(f"solid: row {row} of {name} is a mesh that is not closed, so that it has no inside")
    columns = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    native: Any = _native.solid_distances(*first.native, *second.native, *columns, limit, workers)
    found: Floats = native
    return found


def as_placed(given: Any, name: str, first: int = 0) -> Shapes:
    """Make placed shapes of a list of shapes, or of anything with vertices and faces; `Shapes` are kept as they are.

    Errors count the places in the list from `first`.
    """
    listed = _as_listed(given, name)
    if isinstance(listed, Shapes):
        return listed
    parts: list[Shape] = []
    positions, rotations = [], []
    known: dict[int, Mesh] = {}  # parts of one geometry share it
    for place, part in enumerate(listed, first):
        if isinstance(part, Shape):
            parts.append(part)
            positions += [np.zeros(3)] * len(part)
            rotations += [_NOT_ROTATED] * len(part)
            continue
        if not (hasattr(part, "vertices") and hasattr(part, "faces")):
            raise TypeError(
                f"{name}: {quoted(part)}, at {place}, is no shape and has no vertices and faces{_advice(part)}"
            )
        is_placed = hasattr(part, "position") and hasattr(part, "rotation")  # by the scene of a file
        mesh = known.get(id(part.vertices)) if is_placed else None
        if mesh is None:
            mesh = Mesh.from_trimesh(part)
            if is_placed:
                known[id(part.vertices)] = mesh
        parts.append(mesh)
        positions.append(part.position if is_placed else np.zeros(3))
        rotations.append(part.rotation if is_placed else _NOT_ROTATED)
    return Shapes(parts, np.array(positions).reshape(-1, 3), rotations if known else None)


def _as_listed(given: Any, name: str) -> Shapes | list[Any]:
    """Return placed shapes, or a list of what was given as parts."""
    if isinstance(given, Shapes):
        return given
    try:
        listed = None if isinstance(given, Shape | str | Mapping) or hasattr(given, "parts") else list(given)
    except TypeError:  # also for arrays of no axes, which have __iter__
        listed = None
    if listed is None:
        raise TypeError(f"{name} must be Shapes or a list of shapes, not {quoted(given)}{_advice(given)}")
    return listed


def _names_of(listed: list[Any]) -> list[str | None]:
    """Return the names that parts in a list have themselves."""
    names: list[str | None] = []
    for part in listed:
        if isinstance(part, Shape):
            names += [None] * len(part)
        else:
            name = getattr(part, "name", None)
            names.append(name if isinstance(name, str) else None)
    return names


_NOT_ROTATED = np.eye(4)[0]


def _advice(given: Any) -> str:
    """Return the end of a message: what to pass in place of what is near to parts."""
    if isinstance(given, str | os.PathLike):
        return "; files are read by bp.io.read_parts(path).parts"
    if isinstance(given, Mapping):
        return "; pass list(parts.values())"
    if hasattr(given, "parts") and not isinstance(given, Shape):  # a file, once read
        return "; pass its parts"
    if hasattr(given, "dump"):
        return "; pass its meshes, such as scene.dump() of trimesh"
    return "; pass a list" if isinstance(given, Shape) or hasattr(given, "vertices") else ""


def _geometry_of(shapes: Shapes, rows: Rows) -> NDArray[np.int64]:
    """Give the number of the hull or mesh of each row; -1 for other shapes."""
    kinds, sizes, numbers = shapes.records(rows)
    found = np.full(len(rows), -1, np.int64)
    found[are_kept_elsewhere(kinds)] = geometry_numbers(kinds, sizes, numbers)
    return found
