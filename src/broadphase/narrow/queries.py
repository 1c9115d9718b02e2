"""The public functions of the narrow phase: placed shapes, and pairs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from broadphase.arguments import as_array, as_flag, as_length, as_whole
from broadphase.boxes import as_numbers
from broadphase.errors import quoted
from broadphase.filters import as_attribute
from broadphase.narrow import row_pairs
from broadphase.narrow.clearance import solid_distances
from broadphase.narrow.results import Contacts, Impacts, ShapeRayHits, ShapeRayHitsAll
from broadphase.searches import pairs as box_pairs
from broadphase.shapes import Shape, Shapes
from broadphase.shapes.parameters import LARGEST
from broadphase.shapes.placed import at_origin
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.filters import ByRow

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    #: Placed shapes, or shapes at the origin.
    Placed: TypeAlias = Shapes | Shape

__all__ = ["contacts", "distance", "overlapping_faces", "overlaps", "raycast", "time_of_impact"]

_ANY = float(np.finfo(np.float64).max)
_ONE_PAIR = np.zeros((1, 2), np.int32)
_ONE_PAIR.flags.writeable = False


@overload
def overlaps(shapes: Placed, other: None = None, pairs: ArrayLike | None = None, *, batch: ByRow = None) -> Rows: ...


@overload
def overlaps(shapes: Placed, other: Placed, pairs: ArrayLike) -> Rows: ...


@overload
def overlaps(shapes: Placed, other: Placed, pairs: None = None, *, batch: ByRow = None) -> Any: ...


def overlaps(
    shapes: Placed, other: Placed | None = None, pairs: ArrayLike | None = None, *, batch: ByRow = None
) -> Any:
    """Find every pair of shapes that overlap; of two single shapes, whether they do.

    Shapes are closed: shapes that only touch overlap. With `other`, find every pair of a shape of `shapes` and one of
    `other`.

    Parameters
    ----------
    shapes, other : Shapes or Shape
        Placed shapes, of one dimension. A `Shape` is where its offset places it. Single ones are those given without an
        axis of rows: ``Circle(1)``, ``Shapes(Circle(1), (3, 0))``.
    pairs : array_like of int, shape (k, 2), optional
        Test these only: rows of `shapes`; with `other`, rows of the one and of the other. Default: all pairs.
    batch : array_like of int, shape (n,), or int, optional
        A key for each shape, any int64: shapes of different keys are never compared. With `other`, a tuple (for
        `shapes`, for `other`). Not with `pairs`.

    Returns
    -------
    ndarray, shape (m, 2), int32; of two single shapes bool
        Row numbers. With `pairs`, those that overlap, in their order; without, each pair once, in lexicographic order,
        first < second unless `other` is given. A new array.

    Raises
    ------
    ValueError, TypeError
        Shapes of different dimensions, or pairs that are not pairs of rows: names the first.

    Notes
    -----
    Without `pairs`, candidates are found by their boxes: O(n + m) for shapes of similar size. Releases the GIL.

    A pair overlaps if its bounding boxes, ``Shapes.boxes``, and its shapes do. That is exact between points and
    axis-aligned boxes, as they are placed; others that are within a few roundings of touching may be found either way.
    Whichever it is, it is the same with `pairs` and without, in either order, within one set and between two, and in
    `contacts` and worlds.

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> discs = bp.Shapes(bp.Circle([1, 1, 2]), [[0, 0], [3, 0], [3, 3]])
    >>> bp.overlaps(discs)
    array([[1, 2]], dtype=int32)
    >>> bp.overlaps(discs, bp.Shapes(bp.Rectangle(2, 2), [[-2, 0]]))
    array([[0, 0]], dtype=int32)
    >>> bp.overlaps(bp.Circle(1), bp.Circle(1, offset=(3, 0)))
    False
    >>> bp.overlaps(bp.Circle(1), bp.Shapes(bp.Rectangle(2, 2), (1.8, 0), np.pi / 4))
    True
    """
    first, second = _placed(shapes, other)
    if batch is None and _are_one(first, second, other, pairs):
        return row_pairs.do_overlap(first, second)
    return _overlapping(first, second, other, pairs, batch)


def _overlapping(shapes: Shapes, second: Shapes, other: Any, pairs: ArrayLike | None, batch: ByRow) -> Rows:
    if pairs is not None and batch is not None:
        raise ValueError("batch: the pairs are given")
    others = None if other is None else second
    found = _candidates(shapes, others, batch) if pairs is None else _checked_pairs(pairs, shapes, second)
    return found[row_pairs.overlap_mask(shapes, second, *_columns(found), boxes_overlap=pairs is None)]


def overlapping_faces(
    shapes: Placed, other: Placed | None = None, *, pairs: ArrayLike, most: int | None = None
) -> NDArray[np.int32]:
    """Find which faces of pairs of shapes in space overlap.

    Parameters
    ----------
    shapes, other, pairs
        As in `overlaps`; in space, and the pairs must be given.
    most : int, optional
        How many to give of each pair at most: the first that are found. Default: None, all.

    Returns
    -------
    ndarray, shape (m, 3), int32
        The place of the pair in `pairs`, the face of its first shape and that of its second, in lexicographic order. -1
        for shapes that are no `Mesh`; a pair without a mesh that overlaps is one row.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        As `overlaps`; shapes in the plane or of a type of the user's own; `most` below 1.

    See Also
    --------
    triangle_pairs : The same for meshes as their vertices are given, or within one.

    Notes
    -----
    A pair overlaps if and only if some of its faces do. Of two meshes, exact for the triangles as they are placed.
    Their trees are compared. Releases the GIL.

    Examples
    --------
    >>> import broadphase as bp
    >>> roof = bp.Mesh([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> shapes = bp.Shapes([roof, bp.Sphere(0.5)], [[0, 0, 0], [3, 1, 0]])
    >>> bp.overlapping_faces(shapes, pairs=[[1, 0]])
    array([[ 0, -1,  0]], dtype=int32)
    """
    first, second = _placed(shapes, other)
    if first.dim != 3:
        raise ValueError(f"shapes must be in space, not in {first.dim} dimensions")
    limit = None if most is None else as_whole(most, "most", 1)
    which = _checked_pairs(pairs, first, second)
    return row_pairs.overlapping_faces(first, second, *_columns(which), limit)


@overload
def distance(
    shapes: Placed,
    other: Placed | None = None,
    *,
    pairs: ArrayLike,
    max_distance: float = np.inf,
    solid: bool = False,
    workers: int = 1,
) -> Floats: ...


@overload
def distance(
    shapes: Placed, other: Placed, *, max_distance: float = np.inf, solid: bool = False, workers: int = 1
) -> Any: ...


def distance(
    shapes: Placed,
    other: Placed | None = None,
    *,
    pairs: ArrayLike | None = None,
    max_distance: float = np.inf,
    solid: bool = False,
    workers: int = 1,
) -> Any:
    """Compute the signed distances of pairs of shapes, or the distance of two.

    Parameters
    ----------
    shapes, other
        As in `overlaps`.
    pairs : array_like of int, shape (m, 2), optional
        As in `overlaps`. Default: None, row by row of `shapes` and `other`; a set of one row is for all of the other.
    max_distance : float
        Pairs that are farther apart have infinite distance: pairs of meshes are left as soon as that is certain.
    solid : bool
        Meshes contain what is inside them: where that is wholly inside, the result is minus its distance from the
        surface. All of them must be closed (`Mesh.is_watertight`).
    workers : int
        Threads to use for pairs with a hull or a mesh; -1 for one per core. Does not change the result.

    Returns
    -------
    ndarray, shape (m,), float64; of two single shapes float
        Above 0, the distance between the two; 0 if they only touch; below 0, minus the penetration depth: the length
        of the shortest motion that separates them. For compounds, of the closest or deepest two parts. A mesh is its
        triangles alone: what is wholly inside a mesh is above 0, unless it is `solid`. Where a closed convex mesh of at
        most 2,000 faces meets a convex shape or another such mesh, the depth is that of the convex bodies; of other
        meshes, that of the deepest two triangles. A new array.

    Raises
    ------
    ValueError, TypeError
        As `overlaps`; `max_distance` below 0 or NaN; `solid` with a mesh that is open: names its row.

    Notes
    -----
    At most 0 for shapes that overlap and at least 0 for others, up to a few roundings of their coordinates: within
    these, the sign does not tell whether `overlaps` finds the pair, and 0 is possible for both.

    Examples
    --------
    >>> import broadphase as bp
    >>> shapes = bp.Shapes([bp.Circle(1), bp.Circle(2), bp.Point()], [[0, 0], [5, 0], [0, 0.5]])
    >>> bp.distance(shapes, pairs=[[0, 1], [0, 2]])
    array([ 2. , -0.5])
    >>> bp.distance(bp.Circle(1), bp.Circle(1, offset=(3, 0)))
    1.0
    >>> bp.distance(bp.Point(), shapes)
    array([-1. ,  3. ,  0.5])
    """
    first, second = _placed(shapes, other)
    limit, workers = as_length(max_distance, "max_distance", finite=False), worker_count(workers)
    are_one = _are_one(first, second, other, pairs)
    if as_flag(solid, "solid") and first.dim == 3:
        which = _ONE_PAIR if are_one else _given_pairs("distance", pairs, first, second, other)
        found = solid_distances(first, second, which, limit, workers)
        return float(found[0]) if are_one else found
    if are_one:
        return row_pairs.distance_of_two(first, second, limit)
    which = _given_pairs("distance", pairs, first, second, other)
    return row_pairs.distances(first, second, *_columns(which), max_distance=limit, workers=workers)


def contacts(
    shapes: Placed, other: Placed | None = None, pairs: ArrayLike | None = None, *, batch: ByRow = None
) -> Contacts:
    """Find where shapes touch: every pair that overlaps, with a normal, a depth and points.

    Parameters
    ----------
    shapes, other, pairs, batch
        As in `overlaps`, and so are errors.

    Returns
    -------
    Contacts
        ``pairs`` as `overlaps` gives them; ``normals`` from the first to the second, ``depths``, ``points`` and
        ``counts`` of points for each.

    Notes
    -----
    The depth is the length of the shortest motion that separates the two, and the normal its direction for the second
    shape. The points lie midway between the two surfaces, up to 2 in the plane and 4 in space, spread over the area of
    contact.

    Examples
    --------
    >>> import broadphase as bp
    >>> boxes = bp.Shapes(bp.Rectangle(2, 2), [[0, 0], [0.5, 1.75]])
    >>> found = bp.contacts(boxes)
    >>> found.normals, found.depths
    (array([[0., 1.]]), array([0.25]))
    >>> sorted(found.points[0].tolist())
    [[-0.5, 0.875], [1.0, 0.875]]
    """
    first, second = _placed(shapes, other)
    return row_pairs.contacts_of(first, second, *_columns(_overlapping(first, second, other, pairs, batch)))


@overload
def raycast(
    shapes: Placed,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    every: Literal[False] = False,
    workers: int = 1,
) -> ShapeRayHits: ...


@overload
def raycast(
    shapes: Placed,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    every: Literal[True],
    workers: int = 1,
) -> ShapeRayHitsAll: ...


def raycast(
    shapes: Placed,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    every: bool = False,
    workers: int = 1,
) -> ShapeRayHits | ShapeRayHitsAll:
    """Find where each ray enters one shape, or every point at which it crosses the surface.

    Parameters
    ----------
    shapes : Shapes or Shape
        As in `overlaps`.
    origins : array_like, shape (q, d), or (d,) for all
        At most 1e40.
    directions : array_like, shape (q, d), or (d,) for all
        Finite, of any length. A ray of zero direction hits the shapes that hold its origin; it crosses nothing.
    max_distance : array_like, shape (q,), or one number
        Length of each ray, in the unit of the shapes, whatever the length of its direction.
    rows : array_like of int, shape (q,), optional
        The shape that each ray is tested with, such as candidates from ``raycast_all`` of an index of ``shapes.boxes``.
        Default: ray k with shape k; a single row is for all rays.
    every : bool
        Find every crossing from the origin to `max_distance`, both included. Default: False, where the ray enters.
    workers : int
        Threads to use; -1 for one per core. Does not change the result. Without `every`, for hulls and meshes.

    Returns
    -------
    ShapeRayHits; with `every` ShapeRayHitsAll
        ``rows``, -1 for a miss, ``distances``, infinite for a miss, and ``normals`` of the surfaces. With `every`,
        those of all crossings, in their order along each ray, with ``offsets`` by ray and the ``faces`` of meshes.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype, NaN or an infinity, a row that does not exist: names the first.

    Notes
    -----
    With `every`, a ray crosses a convex shape where it enters and where it leaves; only where it leaves if it begins
    inside; in one place if the two are the same, twice, but of a shape without an inside, such as a triangle in space,
    once. A half space is crossed once, a height field where a ray goes into the ground or comes out of it. A compound
    is crossed where its parts are, also inside other parts.

    A mesh is crossed at each of its faces, from either side. A ray through an edge or a vertex crosses as many of the
    faces around it as one that passes beside it, by a tiny distance, the same for all faces: one of the two at an edge
    that is crossed, none or two at one that is grazed. So a ray from outside a closed mesh crosses it an even number of
    times, and one from inside an odd number. Faces along the ray are not crossed. Decided by exact signs, after
    rounding the vertices as they are seen along the ray [1]_.

    References
    ----------
    .. [1] S. Woop, C. Benthin, I. Wald, "Watertight Ray/Triangle Intersection", Journal of Computer Graphics Techniques
       2(1), 2013.

    Examples
    --------
    >>> import broadphase as bp
    >>> shapes = bp.Shapes([bp.Circle(1), bp.Circle(1)], [[5, 0], [0, 5]])
    >>> hits = bp.raycast(shapes, (0, 0), (2, 0))
    >>> hits.rows, hits.distances, hits.normals[0]
    (array([ 0, -1], dtype=int32), array([ 4., inf]), array([-1.,  0.]))
    >>> hits = bp.raycast(shapes, (0, 0), (2, 0), every=True)
    >>> hits.rows, hits.distances, hits.counts.tolist()
    (array([0, 0], dtype=int32), array([4., 6.]), [2, 0])
    """
    placed, _ = _placed(shapes)
    if rows is None:
        which = np.arange(len(placed), dtype=np.int32)
        if len(placed) == 1:
            which = np.zeros(_ray_count(origins, directions, max_distance), np.int32)
    else:
        which = placed.checked_rows(rows)
    begin = _vectors(origins, "origins", len(which), placed.dim, LARGEST)
    along, given = _unit(_vectors(directions, "directions", len(which), placed.dim))
    limit = as_numbers(max_distance, name="max_distance")
    if limit.shape not in ((), (len(which),)):
        raise ValueError(f"max_distance must be one number or have shape ({len(which)},), not {limit.shape}")
    if not (limit >= 0).all():
        row = int(np.argmin(np.atleast_1d(limit >= 0)))
        raise ValueError(f"max_distance: row {row} has {np.atleast_1d(limit)[row]}, which is not at least 0")
    threads = worker_count(workers)
    if as_flag(every, "every"):
        limits = np.ascontiguousarray(np.broadcast_to(limit, (len(which),)), np.float64)
        found = row_pairs.ray_crossings(placed, which, begin, along, given, limits, threads)
        return ShapeRayHitsAll(np.repeat(which, np.diff(found[0])), *found)
    distances, normals = row_pairs.ray_hits(placed, which, begin, along, threads)
    missed = ~(distances <= limit)
    distances[missed] = np.inf
    missed |= ~np.isfinite(distances)
    normals[missed] = np.nan
    return ShapeRayHits(np.where(missed, np.int32(-1), which), distances, normals)


def time_of_impact(
    shapes: Placed,
    other: Placed | None = None,
    *,
    pairs: ArrayLike | None = None,
    motions: ArrayLike,
    other_motions: ArrayLike = 0.0,
    angular_motions: ArrayLike = 0.0,
    other_angular_motions: ArrayLike = 0.0,
    target: ArrayLike = 0.0,
) -> Impacts:
    """Find when moving shapes first touch; no contact is missed, however fast they are.

    Parameters
    ----------
    shapes, other, pairs
        As in `distance`; at the start of the motion.
    motions : array_like, shape (m, d), or (d,) for all
        Translation of the first of each pair, along a straight line. Finite, at most 1e40.
    other_motions : array_like, shape (m, d), or (d,) for all, optional
        The same for the second. Default: it does not move.
    angular_motions : array_like, optional
        Rotation of the first during the motion, about its position: in the plane an angle in radians, counterclockwise,
        (m,), or one for all; in space a rotation vector, an axis times an angle, (m, 3), or (3,) for all. At most
        10,000 full turns. Default: it does not rotate.
    other_angular_motions : array_like, optional
        The same for the second.
    target : array_like, shape (m,), or one number
        Find when they are first this far apart, or nearer. Finite, at least 0.

    Returns
    -------
    Impacts
        ``pairs``, ``times`` as a share of the motion, infinite for those that do not touch, and ``normals``.

    Raises
    ------
    ValueError, TypeError
        As `overlaps`; a motion or target that is not finite, or too large: names the row.

    Notes
    -----
    Translation and rotation go on evenly. Pairs that rotate, or have a target, are followed by conservative
    advancement [1]_ with bounds of the speed and of the acceleration of the points along the direction between the
    two [2]_: no contact is missed that is deeper than a billionth of the size of the shapes, their distance from their
    positions included, and none is found of shapes that are farther apart than that. Of a `Mesh`, the triangles are
    followed. Some 1 to 5 us a pair of simple shapes; more where they slide along each other.

    References
    ----------
    .. [1] B. Mirtich, "Impulse-based Dynamic Simulation of Rigid Body Systems", PhD thesis, University of California,
       Berkeley, 1996.
    .. [2] X. Zhang, S. Redon, M. Lee, Y. J. Kim, "Continuous Collision Detection for Articulated Models using Taylor
       Models and Temporal Culling", ACM Transactions on Graphics 26(3), 2007, DOI 10.1145/1276377.1276396.

    Examples
    --------
    >>> import broadphase as bp
    >>> discs = bp.Shapes(bp.Circle(1), [[0, 0], [10, 0]])
    >>> bp.time_of_impact(discs, pairs=[[0, 1]], motions=(16, 0)).times
    array([0.5])
    >>> bp.time_of_impact(discs, pairs=[[0, 1]], motions=(16, 0), other_motions=(0, 9)).times
    array([inf])

    A blade that rotates by a quarter turn over a coin:

    >>> shapes = bp.Shapes([bp.Segment((0, 0), (9, 0)), bp.Circle(1)], [[0, 0], [4, 4]])
    >>> found = bp.time_of_impact(shapes, pairs=[[0, 1]], motions=(0, 0), angular_motions=np.pi / 2)
    >>> found.times.round(6).tolist(), found.normals.round(6).tolist()
    ([0.386866], [[-0.570971, 0.820971]])
    """
    first, second = _placed(shapes, other)
    which = _given_pairs("time_of_impact", pairs, first, second, other)
    count, dim = len(which), first.dim
    relative = _vectors(motions, "motions", count, dim, LARGEST)
    if as_array(other_motions, "other_motions").ndim or other_motions != 0.0:
        relative = relative - _vectors(other_motions, "other_motions", count, dim, LARGEST)
    turns = _turns(angular_motions, "angular_motions", count, dim)
    other_turns = _turns(other_angular_motions, "other_angular_motions", count, dim)
    targets = _targets(target, count)
    first_rows, second_rows = _columns(which)
    if turns is None and other_turns is None and not targets.any():
        times, normals = row_pairs.impacts(first, second, first_rows, second_rows, relative)
    else:
        places = first.positions[first_rows] - second.positions[second_rows]
        rotations = (_rotations_of(first, first_rows), turns), (_rotations_of(second, second_rows), other_turns)
        none = np.zeros((count, 1 if dim == 2 else 3))
        columns = [column for of_side, turn in rotations for column in (of_side, none if turn is None else turn)]
        given = np.concatenate([places, relative, *columns], axis=1)
        times, normals = row_pairs.turning_impacts(first, second, first_rows, second_rows, given, targets)
    normals[~np.isfinite(times)] = np.nan
    return Impacts(which, times, normals)


def _placed(shapes: Any, other: Any = None) -> tuple[Shapes, Shapes]:
    """Return both sets as placed shapes, of one dimension; the second may be the first."""
    if type(shapes) is not Shapes or type(other) is not Shapes:
        sets = shapes if other is None else other
        for name, given in (("shapes", shapes), ("other", sets)):
            if not isinstance(given, Shapes | Shape):
                raise TypeError(f"{name} must be Shapes or a Shape, not {quoted(given)}")
        dim = shapes.dim or sets.dim
        shapes, other = (at_origin(one, dim) if isinstance(one, Shape) else one for one in (shapes, sets))
    if shapes.dim != other.dim:
        raise ValueError(f"shapes have {shapes.dim} dimensions and other {other.dim}")
    return shapes, other


def _are_one(shapes: Shapes, second: Shapes, other: Any, pairs: Any) -> bool:
    """Return whether two single shapes are compared, so that the result has no axis of pairs."""
    return pairs is None and other is not None and shapes._is_one and second._is_one


def _given_pairs(function: str, pairs: ArrayLike | None, shapes: Shapes, second: Shapes, other: Any) -> Rows:
    """Return pairs as they are given; or, of two sets, row by row, where one row is for all of the other."""
    if pairs is not None:
        return _checked_pairs(pairs, shapes, second)
    if other is None:
        raise TypeError(f"{function} takes pairs, or two sets of shapes")
    counts = len(shapes), len(second)
    if counts[0] != counts[1] and 1 not in counts:
        raise ValueError(f"shapes has {counts[0]} rows and other has {counts[1]}: give pairs")
    if counts == (1, 1) and shapes._alive is second._alive is None:
        return _ONE_PAIR
    count = counts[0] if counts[1] == 1 else counts[1]
    return _checked_pairs(np.arange(count)[:, np.newaxis] * [counts[0] != 1, counts[1] != 1], shapes, second)


def _candidates(shapes: Shapes, other: Shapes | None, batch: Any) -> Rows:
    mine = shapes.living_rows()
    if other is None:
        if len(mine) == len(shapes):
            return box_pairs(shapes.boxes, sort=True, batch=batch)
        keys = None if batch is None else as_attribute("batch", batch, len(shapes), np.int64)[mine]
        return mine[box_pairs(shapes.boxes[mine], sort=True, batch=keys)]
    others = other.living_rows()
    if batch is not None and not np.isscalar(batch):
        if not isinstance(batch, tuple) or len(batch) != 2:
            raise ValueError("batch: for two sets of shapes, give a tuple (for the first, for the second)")
        first, second = (
            as_attribute(f"batch[{k}]", batch[k], len(given), np.int64)[rows]
            for k, (given, rows) in enumerate(((shapes, mine), (other, others)))
        )
        batch = first, second
    found = box_pairs(shapes.boxes[mine], other.boxes[others], sort=True, batch=batch)
    return np.stack([mine[found[:, 0]], others[found[:, 1]]], axis=1)


def _checked_pairs(pairs: ArrayLike, shapes: Shapes, second: Shapes) -> Rows:
    array = as_array(pairs, "pairs")
    if array.shape == (0,):
        array = np.empty((0, 2), np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have shape (m, 2), not {array.shape}")
    columns = shapes.checked_rows(array[:, 0], "pairs, first"), second.checked_rows(array[:, 1], "pairs, second")
    return np.stack(columns, axis=1)


def _columns(pairs: Rows) -> tuple[Rows, Rows]:
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _vectors(values: ArrayLike, name: str, count: int, dim: int, largest: float = _ANY) -> Floats:
    array: Floats = as_numbers(values, name=name).astype(np.float64)
    if array.shape not in ((dim,), (1, dim), (count, dim)):
        raise ValueError(f"{name} must have shape ({count}, {dim}) or ({dim},), not {array.shape}")
    array = np.ascontiguousarray(np.broadcast_to(array, (count, dim)))
    within = np.abs(array) <= largest  # False for NaN, too
    if not within.all():
        row = int(np.argmin(within.all(axis=1)))
        number = array[row][~within[row]][0]
        fault = f"beyond {largest}" if np.isfinite(number) else "not finite"
        raise ValueError(f"{name}: row {row} has {number}, which is {fault}")
    return array


def _turns(values: ArrayLike, name: str, count: int, dim: int) -> Floats | None:
    """Return the rotations during a motion, (count, 1 or 3); None where nothing rotates."""
    array: Floats = as_numbers(values, name=name)
    if not array.ndim and array == 0:
        return None
    if dim == 2:
        if array.shape not in ((), (1,), (count,)):
            raise ValueError(f"{name} must be one angle or have shape ({count},), not {array.shape}")
        array = array.reshape(-1, 1)
    return _vectors(array, name, count, 1 if dim == 2 else 3, 2 * np.pi * row_pairs.MOST_TURNS)


def _targets(values: ArrayLike, count: int) -> Floats:
    array: Floats = as_numbers(values, name="target").astype(np.float64)
    if array.shape not in ((), (count,)):
        raise ValueError(f"target must be one number or have shape ({count},), not {array.shape}")
    within = (array >= 0) & (array <= LARGEST)
    if not within.all():
        row = int(np.argmin(np.atleast_1d(within)))
        raise ValueError(f"target: row {row} has {np.atleast_1d(array)[row]}, which is not from 0 to {LARGEST}")
    return np.ascontiguousarray(np.broadcast_to(array, (count,)))


def _rotations_of(shapes: Shapes, rows: Rows) -> Floats:
    if shapes.rotations is not None:
        return shapes.rotations[rows].reshape(len(rows), -1)
    return np.tile([0.0] if shapes.dim == 2 else [1.0, 0.0, 0.0, 0.0], (len(rows), 1))


def _ray_count(origins: ArrayLike, directions: ArrayLike, max_distance: ArrayLike) -> int:
    """Return how many rays there are against one shape: as many as the first argument with an axis of rays has rows."""
    for values, axes in ((origins, 1), (directions, 1), (max_distance, 0)):
        shape = np.shape(values)
        if len(shape) > axes and shape[0] != 1:
            return int(shape[0])
    return 1


def _unit(directions: Floats) -> tuple[Floats, Floats]:
    """Scale directions to length 1, and by powers of two to largest numbers near 1; zero stays zero."""
    if not len(directions):
        return directions, directions
    largest = np.abs(directions).max(axis=1, keepdims=True)
    scaled: Floats = np.ldexp(directions, -np.frexp(largest)[1])
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    result: Floats = scaled / np.where(length > 0, length, 1.0)
    return result, scaled
