"""The queries that indexes and worlds share: a row for each in `QUERIES`, and a function with its checks and docstring.

`Queries` has the functions as methods. They check everything but the `QueryOptions`, and hand the rest to ``_find``: an
index answers for its boxes by the `Walk` of the row, a world for the shapes of its bodies by the function of the same
name in `broadphase.world.queries`.

One query in, one result out: where no argument has an axis of queries, the result has none either. Arguments are read
as a `Parameter` each, `together` gives each a row for each query, and `of_one` takes the axis away from a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import numpy as np

from broadphase.arguments import as_array, as_real, as_reals, as_whole
from broadphase.boxes.checking import as_points, first_bad_row, require_finite, require_no_nan
from broadphase.boxes.forms import as_one_box
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError
from broadphase.index import walks
from broadphase.index.regions import halves_of, regions_of_planes, regions_of_views
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits, with_columns
from broadphase.index.store import checked_corners
from broadphase.options import QueryKeywords, shows_query_options
from broadphase.returned import as_given, in_dtype
from broadphase.shapes.parameters import Parameter, common_count
from broadphase.sight import Sight, as_sight

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.index.walks import Walk

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    #: One point or vector, for type checkers: an array may be one or many.
    One: TypeAlias = Sequence[float]
    #: One box.
    OneBox: TypeAlias = Sequence[float] | tuple[Sequence[float], Sequence[float]]

__all__ = [
    "MOST_NEAREST", "QUERIES", "Queries", "Query", "finite_points", "nonnegative", "of_one",
    "points_without_nan", "raycast", "raycast_all", "together",
]  # fmt: skip

MOST_NEAREST = 2**31 - 1  # there are no more row numbers


@dataclass(frozen=True)
class Query:
    """A query of indexes.

    Attributes
    ----------
    name : str
        The method of an index.
    capability : str
        What `Method.capabilities` must have so that the index of a method answers it.
    walk : callable
        Makes the walk of an index from the arguments that ``_find`` gets.
    result : type
        What it returns.
    in_worlds : bool
        Whether worlds have it, with the same arguments.
    """

    name: str
    capability: str
    walk: Callable[..., Walk]
    result: type
    in_worlds: bool = True


QUERIES: tuple[Query, ...] = (
    Query("query", "query", walks.of_boxes, QueryResult),
    Query("query_points", "query", walks.of_points, QueryResult),
    Query("query_ball", "query_ball", walks.of_balls, QueryResult),
    Query("query_obb", "convex", walks.of_turned_boxes, QueryResult),
    Query("frustum", "convex", walks.of_regions, QueryResult),
    Query("nearest", "nearest", walks.of_nearest, Nearest),
    Query("raycast", "raycast", walks.of_first_ray, RayHits),
    Query("raycast_all", "raycast", walks.of_every_ray, RayHitsAll),
    Query("raycast_any", "raycast", walks.of_some_ray, np.ndarray),
    Query("shapecast", "shapecast", walks.of_motions, ShapecastHits, in_worlds=False),
)


@overload
def query(self: Queries, boxes: OneBox, **options: Unpack[QueryKeywords]) -> Rows: ...  # type: ignore[overload-overlap]


@overload
def query(self: Queries, boxes: NDArray[Any], **options: Unpack[QueryKeywords]) -> Any: ...


@overload
def query(self: Queries, boxes: Boxes, **options: Unpack[QueryKeywords]) -> QueryResult: ...


@shows_query_options
def query(self: Queries, boxes: Boxes | OneBox, **options: Unpack[QueryKeywords]) -> Any:
    """Find the rows that overlap each of these boxes.

    An index compares its boxes, a world the shapes of its bodies. Both are closed: rows that only touch a box overlap
    it. A world answers for the positions of its last `step`, `refresh`, `add`, `remove` or `move`. If it wraps, a body
    that reaches across a boundary is found on the other side too.

    All queries take one question or many: where no argument has an axis of queries, the result has none either.
    Arguments of one row are for all queries, as NumPy broadcasts. The last axis has the coordinates, of a point on a
    line a single one: ``[x]``.

    Parameters
    ----------
    boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d); one: (2, d), (2*d,), or tuple of two (d,)
        float32 or float64; compared exactly with either dtype of the index. An object with ``bounds`` is one box.
    by : {"box", "sphere"}, optional
        What decides in an index. "box", the default: the boxes. "sphere": of rows that have a sphere, it must overlap
        too. Decided exactly. A world always compares shapes.
    workers : int, optional
        Threads to use; -1 for one per core. Does not change the result. Default: those of the index or the world.
    layer, mask : array_like of uint64, shape (q,), or int; in a world also str or set of str; optional
        A row is found if its mask has a bit in common with the layer of the query, and its layer with the mask of the
        query: ``mask="wall"`` finds walls. Default: all bits.
    batch : array_like of int, shape (q,), or int, optional
        Key of each query, which finds rows of that key only. Default: None, all rows.
    ignore : array_like of int, shape (q,), (q, k) or (1, k), or int; in a world also Actor or a list of them; optional
        Rows or handles (see `handles`) that each query leaves out, such as the body that a ray starts from; -1 is none.
        One number, or shape (1, k), is for all queries; shape (k,) for a single one.

    Returns
    -------
    QueryResult; of one query: ndarray, shape (m,), int32
        ``result[i]`` has the rows of query i, ascending; ``rows`` and ``offsets`` those of all queries.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; NaN or lower > upper, with the row in `boxes`; a layer that does not exist.
    UnknownRowError
        A row of `ignore` that is not in use, or the handle of one that has been removed.
    UnsupportedQueryError
        An index whose method does not support the query; `by` in a world, or "sphere" in a periodic cell.
    RuntimeError
        Another thread modifies the index or the world.

    Notes
    -----
    Releases the GIL; Ctrl-C works. Any number of threads may query at once.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]])
    >>> result = index.query([[2, 2, 4, 4], [5, 5, 8, 8]])
    >>> result[0], result[1]
    (array([0, 1], dtype=int32), array([2], dtype=int32))
    >>> index.query((2, 2, 4, 4))
    array([0, 1], dtype=int32)
    >>> balls = bp.BVH.from_spheres([[0, 0]], 1)
    >>> corner = (0.8, 0.8, 4, 4)
    >>> len(balls.query(corner)), len(balls.query(corner, by="sphere"))
    (1, 0)

    A corner of the box around a circle is not part of the circle:

    >>> world = bp.World(dim=2)
    >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    array([0, 1], dtype=int32)
    >>> world.query([[0.8, 0.8, 4, 4], [1, -1, 2, 1]]).counts.tolist()
    [1, 1]
    """
    if (few := self._few) is not None:
        answer = few.query(boxes, options)
        if answer is not NotImplemented:
            return answer
    corners, is_one = corners_of(boxes, self.dim)
    return as_given(boxes, self._result("query", corners, is_one, options))


@overload
def query_points(self: Queries, points: One, **options: Unpack[QueryKeywords]) -> Rows: ...  # type: ignore[overload-overlap]


@overload
def query_points(self: Queries, points: NDArray[Any], **options: Unpack[QueryKeywords]) -> Any: ...


@overload
def query_points(self: Queries, points: ArrayLike, **options: Unpack[QueryKeywords]) -> QueryResult: ...


@shows_query_options
def query_points(self: Queries, points: ArrayLike, **options: Unpack[QueryKeywords]) -> Any:
    """Find the rows that contain each point, on their border too. Results and errors are those of `query`.

    Parameters
    ----------
    points : array_like, shape (q, d), or (d,) for one
        No NaN; in a world, finite.
    **options
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]])
    >>> index.query_points((2, 1))
    array([0, 1], dtype=int32)
    >>> [rows.tolist() for rows in index.query_points([[2, 1], [3, 3]])]
    [[0, 1], [1]]
    """
    if (few := self._few) is not None:
        answer = few.query_points(points, options)
        if answer is not NotImplemented:
            return answer
    at, is_one = points_without_nan(points, "points", self.dim)
    return as_given(points, self._result("query_points", (at,), is_one, options))


@overload
def query_ball(self: Queries, centers: One, radii: float, **options: Unpack[QueryKeywords]) -> Rows: ...


@overload
def query_ball(
    self: Queries, centers: NDArray[Any] | One, radii: ArrayLike, **options: Unpack[QueryKeywords]
) -> Any: ...


@overload
def query_ball(
    self: Queries, centers: ArrayLike, radii: ArrayLike, **options: Unpack[QueryKeywords]
) -> QueryResult: ...


@shows_query_options
def query_ball(self: Queries, centers: ArrayLike, radii: ArrayLike, **options: Unpack[QueryKeywords]) -> Any:
    """Find the rows within a distance of each point: those that overlap a closed ball.

    Results and errors are those of `query`.

    Parameters
    ----------
    centers : array_like, shape (q, d), or (d,) for one
        Finite.
    radii : array_like, shape (q,), or one number
        Finite, at least 0.
    **options
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]])
    >>> index.query_ball((5, 6), 5)
    array([0, 1], dtype=int32)
    >>> index.query_ball((5, 6), [3, 4, 5]).counts.tolist()
    [0, 1, 2]
    """
    if (few := self._few) is not None:
        answer = few.query_ball(centers, radii, options)
        if answer is not NotImplemented:
            return answer
    points = finite_points(centers, "centers", self.dim)
    balls, is_one = together(centers=points, radii=nonnegative(radii, "radii", is_finite=True))
    return as_given(centers, self._result("query_ball", balls, is_one, options))


@shows_query_options
def query_obb(
    self: Queries,
    centers: ArrayLike,
    half_sizes: ArrayLike,
    rotations: ArrayLike,
    **options: Unpack[QueryKeywords],
) -> Any:
    """Find the rows that overlap each of these oriented boxes. In 2D and 3D.

    Parameters
    ----------
    centers : array_like, shape (q, d), or (d,) for one
        Finite.
    half_sizes : array_like, shape (q, d), (d,) or one number
        Half the width of each box along its own axes; finite, at least 0.
    rotations : array_like
        Matrices whose columns are the axes of the box, of shape (q, d, d) or (d, d). In 2D also angles of shape (q,) or
        one number, in radians, counterclockwise; in 3D also quaternions w, x, y, z, of shape (q, 4) or (4,), of any
        length.
    **options
        As in `query`.

    Returns
    -------
    QueryResult; of one query: ndarray, shape (m,), int32
        As `query`. Rows that touch are never missed. A row may be found that is farther away by up to 5e-14 times the
        coordinates of the oriented box, by spheres also by the relative error of a rotation matrix, but not after
        quarter turns.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError, RuntimeError
        As `query`; a matrix whose columns are not perpendicular unit vectors, or a zero quaternion.

    Notes
    -----
    Quarter turns about coordinate axes, up to rounding, are taken as exact: such as the angle ``np.pi / 2`` and the
    quaternion ``[np.sqrt(0.5), np.sqrt(0.5), 0, 0]``.

    References
    ----------
    .. [1] S. Gottschalk, M. C. Lin, D. Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference
       Detection", SIGGRAPH 1996. 10.1145/237170.237244

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> index = bp.BVH([[3, 3, 4, 4], [3, -1, 4, 0]])
    >>> index.query_obb((0, 0), (5, 0.5), np.pi / 4)
    array([0], dtype=int32)
    >>> index.query_obb((0, 0), (5, 0.5), [0, np.pi / 4]).counts.tolist()
    [1, 1]
    """
    if (few := self._few) is not None:
        answer = few.query_obb(centers, half_sizes, rotations, options)
        if answer is not NotImplemented:
            return answer
    points = finite_points(centers, "centers", self.dim)
    if self.dim not in (2, 3):
        raise ValueError(f"oriented boxes have 2 or 3 dimensions, not {self.dim}")
    half, turn = (as_numbers(half_sizes, name="half_sizes").shape, as_numbers(rotations, name="rotations").shape)
    (middle, *_), is_one = together(
        centers=points,
        half_sizes=_counted(half, len(half) < 2),
        rotations=_counted(turn, len(turn) <= self.dim - 2 or turn == (self.dim, self.dim)),
    )
    return as_given(
        centers, self._result("query_obb", (middle, halves_of(half_sizes, middle), rotations), is_one, options)
    )


@shows_query_options
def frustum(
    self: Queries,
    matrix: ArrayLike | None = None,
    *,
    planes: ArrayLike | None = None,
    depth: Literal["minus_one_to_one", "zero_to_one"] = "minus_one_to_one",
    **options: Unpack[QueryKeywords],
) -> Any:
    """Find the rows whose boxes a camera sees, or that overlap the region between planes. In 2D and 3D.

    A world compares the boxes around its shapes: a shape is found even if only a corner of its box is in view. In a
    world that wraps, bodies are seen only where they are.

    Parameters
    ----------
    matrix : array_like, shape (q, 4, 4), or (4, 4) for one; in 2D (q, 3, 3) or (3, 3)
        Projection times view, for column vectors. `perspective`, `orthographic` and `look_at` make such matrices, and
        `selection_matrix` narrows one to a rectangle dragged with a mouse.
    planes : array_like, shape (q, p, d + 1), or (p, d + 1) for one
        In place of `matrix`: rows ``n, c``, where inside is ``n . x + c >= 0``; at most 64 a region. Directions that
        differ by some 1e-12 count as equal.
    depth : {"minus_one_to_one", "zero_to_one"}
        The range of depth after projection: -1 to 1 as in OpenGL, or 0 to 1 as in Vulkan, Direct3D and Metal.
    **options
        As in `query`.

    Returns
    -------
    QueryResult; of one query: ndarray, shape (m,), int32
        As `query`, one query for each matrix. A box or sphere beside an edge of the region, which no plane alone
        excludes, is not found. Those that touch are never missed; one that misses by less than rounding may be found.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError, RuntimeError
        As `query`; both `matrix` and `planes`, or neither; a singular matrix.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[-1, -1, -6, 1, 1, -5], [-1, -1, 5, 1, 1, 6]])
    >>> camera = bp.cameras.perspective(1.0, 4 / 3, 0.1, 100.0) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
    >>> index.frustum(camera)
    array([0], dtype=int32)
    """
    if (few := self._few) is not None:
        answer = few.frustum(matrix, planes, depth, options)
        if answer is not NotImplemented:
            return answer
    if matrix is not None and planes is None:
        regions = regions_of_views(matrix, depth=depth)
    elif matrix is None and planes is not None:
        regions = regions_of_planes(planes)
    else:
        raise ValueError("frustum takes either a matrix or planes")
    of_region = regions.around_lower.shape[1]
    if of_region != self.dim:
        raise ValueError(f"the region has {of_region} dimensions; {self.dim} are needed")
    given: Any = matrix if planes is None else planes
    return as_given(given, self._result("frustum", (regions,), np.ndim(given) == 2, options))


@shows_query_options
def nearest(
    self: Queries,
    points: ArrayLike | None = None,
    k: int = 1,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    headings: ArrayLike | None = None,
    angle: ArrayLike | None = None,
    exclude_self: bool = True,
    dtype: DTypeLike = np.float64,
    **options: Unpack[QueryKeywords],
) -> Nearest:
    """Find the rows nearest to each point, or to some of the rows themselves. Errors are those of `query`.

    Parameters
    ----------
    points : array_like, shape (q, d), or (d,) for one
        Finite.
    k : int
        How many rows for each point, less than 2^31.
    max_distance : array_like, shape (q,), or one number
        No row farther away than this is found.
    rows : array_like of int, shape (q,), or int, optional
        In place of `points`: rows whose places are the points, in an index the centers of their boxes, in a world the
        positions of its bodies. An infinite box is an error that names its row.
    headings : array_like, shape (q, d), or (d,) for all, optional
        Where each point looks, of any length, d = 2 or 3: it finds those rows alone whose places lie at most `angle` to
        either side. At the same place, or with a heading of zero, it sees all.
    angle : float or array_like of float, shape (q,)
        Of `headings`, in radians, from 0 to π: half of the field of view.
    exclude_self : bool
        Whether each of these rows is left out of its own result.
    dtype : {float64, float32}
        Of the distances. They are compared in float64, and rounded once.
    **options
        As in `query`. By spheres, the distance is that to the box or to the sphere of a row, whichever is larger.

    Returns
    -------
    Nearest
        ``rows`` and ``distances``, each of shape (q, k), of one query (k,): the nearest first, of equally near ones the
        lower row first; -1 and infinity where fewer than k are found.

    Notes
    -----
    The result takes 12 q k bytes.

    The distance to the closed box or shape, in float64; 0 inside. In an index, the order is right for all finite
    numbers, and a distance is infinite only if no float64 is as large. Distances to spheres are rounded, so that rows
    at nearly the same distance may change places.

    References
    ----------
    .. [1] N. Roussopoulos, S. Kelley, F. Vincent, "Nearest Neighbor Queries", SIGMOD 1995. 10.1145/223784.223794

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]])
    >>> index.nearest([[3, 2], [8, 8]], k=2, max_distance=5)
    Nearest(rows=array([[ 0, -1],
           [ 1, -1]], dtype=int32), distances=array([[ 1., inf],
           [ 0., inf]]))
    >>> index.nearest((3, 2))
    Nearest(rows=array([0], dtype=int32), distances=array([1.]))
    >>> balls = bp.BVH.from_spheres([[0, 0], [4, 4.5]], 1)
    >>> balls.nearest((2, 3), by="sphere").distances.round(3)
    array([1.5])
    >>> world = bp.World(dim=2)
    >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    array([0, 1], dtype=int32)
    >>> world.nearest((3.5, 4), k=2).distances.round(3)
    array([3.031, 4.315])

    The nearest neighbor of each body, which is not the body itself:

    >>> world.nearest(rows=[0, 1]).rows.tolist(), world.nearest(rows=0).rows.tolist()
    ([[1], [0]], [1])
    """
    found: Nearest
    if (few := self._few) is not None and headings is None and angle is None:
        answer = few.nearest(points, k, max_distance, rows, exclude_self, options)
        if answer is not NotImplemented:
            found = answer
            return in_dtype(found, dtype)
    at, own = _points_of(self, points, rows, exclude_self)
    k = as_whole(k, "k", 1, MOST_NEAREST)
    (places, limits), is_one = together(points=at, max_distance=nonnegative(max_distance, "max_distance"))
    if own is not None:
        own = np.broadcast_to(own, len(places))
    keywords: Mapping[str, Any] = options
    if headings is not None or angle is not None:
        keywords = {**options, "_sight": (places, *_sight_of(headings, angle, *places.shape))}
    found = in_dtype(with_columns(self._result("nearest", (places, k, limits), is_one, keywords, own), k), dtype)
    return as_given(points if rows is None else rows, found)


@overload
def raycast(  # type: ignore[overload-overlap]
    self: Queries,
    origins: One,
    directions: One,
    max_distance: float = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> RayHits[int, float]: ...


@overload
def raycast(
    self: Queries,
    origins: NDArray[Any] | One,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> Any: ...


@overload
def raycast(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> RayHits: ...


@shows_query_options
def raycast(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = np.float64,
    **options: Unpack[QueryKeywords],
) -> Any:
    """Find the first row on each ray. Errors are those of `query`.

    Boxes and shapes are closed: a ray that grazes one hits it, and a ray that begins inside hits at distance 0. Rays do
    not continue on the other side of a world that wraps.

    Parameters
    ----------
    origins : array_like, shape (q, d), or (d,) for all; in a world also (2, d)
        Finite. In a world, shape (2, d) without `directions` is a single ray: origin and direction.
    directions : array_like, shape (q, d), or (d,) for all
        Finite, of any length. A ray with a zero direction hits what it begins in.
    max_distance : array_like, shape (q,), or one number
        Length of each ray in length units, whatever the length of its direction.
    dtype : {float64, float32}
        Of the distances of many rays. They are compared in float64, and rounded once.
    **options
        As in `query`. By spheres, rays must hit the sphere of a row too, which decides the distance; whether they hit
        is decided exactly. Takes as long as `raycast_all`.

    Returns
    -------
    RayHits; of one ray in a world: Hit or None
        ``rows`` and ``distances``, of shape (q,), of one ray an int and a float; the lowest row where several are at
        one distance, -1 and infinity for a miss. A world gives the `Hit` of one ray, or None for a miss.

    References
    ----------
    .. [1] T. L. Kay, J. T. Kajiya, "Ray Tracing Complex Scenes", SIGGRAPH 1986. 10.1145/15922.15916

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]])
    >>> index.raycast([[0, 0.5], [9, 0.5], [0, 2]], [[1, 0], [-1, 0], [1, 0]])
    RayHits(rows=array([ 0,  1, -1], dtype=int32), distances=array([ 2.,  3., inf]))
    >>> index.raycast((0, 0.5), (1, 0))
    RayHits(rows=0, distances=2.0)
    >>> index.raycast((0, 0.5), [[1, 0], [1, 0.1], [1, 1]]).rows
    array([ 0,  0, -1], dtype=int32)
    >>> balls = bp.BVH.from_spheres([[5, 0], [9, 1]], 1)
    >>> balls.raycast([[0, 0.75], [0, 1.5]], [1, 0], by="sphere")
    RayHits(rows=array([0, 1], dtype=int32), distances=array([4.33856217, 8.1339746 ]))
    >>> world = bp.World(dim=2)
    >>> world.add_many(bp.Circle(1), [[4, 0], [8, 0]])
    array([0, 1], dtype=int32)
    >>> world.raycast([[0, 0], [0, 0.9], [0, 2]], [1, 0])
    RayHits(rows=array([ 0,  0, -1], dtype=int32), distances=array([3.        , 3.56411011,        inf]))
    >>> hit = world.raycast((0, 0), (1, 0))
    >>> hit.actor.row, hit.distance, hit.position, hit.normal
    (0, 3.0, array([3., 0.]), array([-1.,  0.]))
    """
    if (few := self._few) is not None:
        answer = few.raycast(origins, directions, max_distance, options)
        if answer is not NotImplemented:
            return in_dtype(answer, dtype)
    rays, is_one = rays_of(self.dim, origins, directions, max_distance)
    return as_given(origins, in_dtype(self._result("raycast", rays, is_one, options), dtype))


@overload
def raycast_all(  # type: ignore[overload-overlap]
    self: Queries,
    origins: One,
    directions: One,
    max_distance: float = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> tuple[Rows, Floats]: ...


@overload
def raycast_all(
    self: Queries,
    origins: NDArray[Any] | One,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> Any: ...


@overload
def raycast_all(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = ...,
    **options: Unpack[QueryKeywords],
) -> RayHitsAll: ...


@shows_query_options
def raycast_all(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    dtype: DTypeLike = np.float64,
    **options: Unpack[QueryKeywords],
) -> Any:
    """Find every row on each ray, in the order in which the ray enters them. Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, dtype, **options
        As in `raycast`.

    Returns
    -------
    RayHitsAll; of one ray: tuple (rows, distances), in a world list of Hit
        ``hits[i]`` has the rows and the distances of ray i, the lower row first where two are at one distance;
        ``rows``, ``offsets`` and ``distances`` those of all rays.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]])
    >>> index.raycast_all([[9, 0.5], [9, 5]], [-1, 0])[0]
    (array([1, 0], dtype=int32), array([3., 6.]))
    >>> rows, distances = index.raycast_all((9, 0.5), (-1, 0))
    >>> world = bp.World(dim=2)
    >>> wall = world.add(bp.Rectangle(2, 9), position=(5, 0), body_type="static")
    >>> hit = world.raycast_all((0, 1), (3, 0))[0]
    >>> hit.actor == wall, hit.distance, hit.position, hit.normal
    (True, 4.0, array([4., 1.]), array([-1.,  0.]))
    """
    if (few := self._few) is not None:
        answer = few.raycast_all(origins, directions, max_distance, options)
        if answer is not NotImplemented:
            return in_dtype(answer, dtype)
    rays, is_one = rays_of(self.dim, origins, directions, max_distance)
    return as_given(origins, in_dtype(self._result("raycast_all", rays, is_one, options), dtype))


@overload
def raycast_any(  # type: ignore[overload-overlap]
    self: Queries, origins: One, directions: One, max_distance: float = np.inf, **options: Unpack[QueryKeywords]
) -> bool: ...


@overload
def raycast_any(
    self: Queries,
    origins: NDArray[Any] | One,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> Any: ...


@overload
def raycast_any(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> NDArray[np.bool_]: ...


@shows_query_options
def raycast_any(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> Any:
    """Find out whether each ray hits anything: for shadows and lines of sight. Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, **options
        As in `raycast`.

    Returns
    -------
    ndarray, shape (q,), bool; of one ray bool
        The same as ``raycast(...).rows >= 0``; faster in an index.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[2, 0, 3, 1]])
    >>> index.raycast_any((0, 0.5), (1, 0)), index.raycast_any((0, 0.5), (1, 0), max_distance=[1, 2])
    (True, array([False,  True]))
    """
    if (few := self._few) is not None:
        answer = few.raycast_any(origins, directions, max_distance, options)
        if answer is not NotImplemented:
            return answer
    rays, is_one = rays_of(self.dim, origins, directions, max_distance)
    return as_given(origins, self._result("raycast_any", rays, is_one, options))


@overload
def shapecast(  # type: ignore[overload-overlap]
    self: Queries, boxes: OneBox, motions: One, **options: Unpack[QueryKeywords]
) -> ShapecastHits[int, float]: ...


@overload
def shapecast(
    self: Queries, boxes: NDArray[Any] | OneBox, motions: ArrayLike, **options: Unpack[QueryKeywords]
) -> Any: ...


@overload
def shapecast(self: Queries, boxes: Boxes, motions: ArrayLike, **options: Unpack[QueryKeywords]) -> ShapecastHits: ...


@shows_query_options
def shapecast(self: Queries, boxes: Boxes | OneBox, motions: ArrayLike, **options: Unpack[QueryKeywords]) -> Any:
    """Find the first row that each moving box touches. None is missed, however fast the box moves.

    Errors are those of `query`.

    Parameters
    ----------
    boxes : array_like
        Where they begin, in a form that `query` takes. Finite.
    motions : array_like, shape (q, d), or (d,) for all
        How far each moves, along a straight line. Finite.
    **options
        As in `query`. By spheres, boxes must touch the sphere of a row too, which decides the time; whether they touch
        is decided exactly. Looks at every row on the way, not only at the first.

    Returns
    -------
    ShapecastHits
        ``rows`` and ``times``, of shape (q,), of one box an int and a float: the fraction of the motion after which
        they touch, 0 if they touch at the beginning; -1 and infinity for none. Of several rows at one time, the lowest.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[5, 0, 5.1, 9]])  # a thin wall
    >>> index.shapecast([[0, 0, 1, 1], [0, 0, 1, 1]], [[8, 0], [0, 8]])
    ShapecastHits(rows=array([ 0, -1], dtype=int32), times=array([0.5, inf]))
    >>> balls = bp.BVH.from_spheres([[5, 2], [9, 0]], 1)
    >>> balls.shapecast([[0, 0, 1, 1], [0, 0, 1, 0.5]], [10, 0], by="sphere").times.round(3)
    array([0.4, 0.7])
    """
    if (few := self._few) is not None:
        answer = few.shapecast(boxes, motions, options)
        if answer is not NotImplemented:
            return answer
    moving, is_one = motions_of(boxes, motions, self.dim)
    return as_given(boxes, self._result("shapecast", moving, is_one, options))


class Queries:
    """The queries that indexes and worlds share."""

    __slots__ = ()

    #: Answers a few queries in the core, or NotImplemented: an object with a method for each; None where there is none.
    _few: Any

    @property
    def dim(self) -> int:
        """Number of axes."""
        raise NotImplementedError

    def _find(
        self,
        query: str,
        given: tuple[Any, ...],
        keywords: Mapping[str, Any],
        own: Rows | None = None,
    ) -> Any:
        """Answer queries, by their name, with checked and contiguous arguments and unchecked options.

        `own` are rows in use, one for each query, which leaves it out.
        """
        raise NotImplementedError

    def _find_one(self, query: str, given: tuple[Any, ...], keywords: Mapping[str, Any], own: Rows | None) -> Any:
        """Answer a single query, by arguments of one row."""
        return of_one(self._find(query, given, keywords, own))

    def _result(
        self,
        query: str,
        given: tuple[Any, ...],
        is_one: bool,
        keywords: Mapping[str, Any],
        own: Rows | None = None,
    ) -> Any:
        return (self._find_one if is_one else self._find)(query, given, keywords, own)

    def _places(self, rows: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
        """Check rows; return them, and their places, (q, d)."""
        raise NotImplementedError

    query = query
    query_points = query_points
    query_ball = query_ball
    query_obb = query_obb
    frustum = frustum
    nearest = nearest
    raycast = raycast
    raycast_all = raycast_all
    raycast_any = raycast_any


def _points_of(
    asked: Queries, points: ArrayLike | None, rows: ArrayLike | None, exclude_self: bool
) -> tuple[Parameter, Rows | None]:
    """Return the points of `nearest`, or those of its rows, and the row that each of these queries leaves out."""
    if rows is None:
        if points is None:
            raise TypeError("nearest takes points, or rows")
        return finite_points(points, "points", asked.dim), None
    if points is not None:
        raise TypeError("nearest takes points or rows, not both")
    numbers = as_array(rows, "rows")
    own, places = asked._places(numbers.reshape(1) if numbers.ndim == 0 else numbers)
    at = finite_points(places, "points", asked.dim).rows
    return Parameter(at, numbers.ndim == 0), own if exclude_self else None


def _sight_of(headings: ArrayLike | None, angle: ArrayLike | None, count: int, dim: int) -> Sight:
    if dim not in (2, 3):
        raise ValueError(f"headings are for 2 or 3 dimensions, not {dim}")
    if headings is not None and np.ndim(looking := as_reals(headings, "headings")) == 1:
        headings = np.broadcast_to(looking, (count, len(looking)))
    sight = as_sight(headings, angle, count, dim)
    assert sight is not None  # one of both is given
    return sight


# One query, or many --------------------------------------------------------------------------------------------------


def together(**given: Parameter) -> tuple[tuple[NDArray[Any], ...], bool]:
    """Return the arguments of queries with a row for each query, and whether it is one without an axis of queries.

    As NumPy broadcasts: arguments of one row are for all queries.
    """
    count, each, is_one = common_count(given.items()), [], True
    for rows, single in given.values():
        each.append(rows if len(rows) == count else np.repeat(rows, count, axis=0))
        is_one = is_one and single
    return tuple(each), is_one


def _counted(shape: tuple[int, ...], is_one: bool) -> Parameter:
    """Return an argument that only counts queries: its rows are read elsewhere."""
    return Parameter(np.empty((1 if is_one else shape[0], 0)), is_one)


def of_one(found: Any) -> Any:
    """Return the result of a single query without the axis of queries."""
    return _OF_ONE[type(found)](found)


_OF_ONE: dict[type, Callable[[Any], Any]] = {
    QueryResult: lambda found: found.rows,
    Nearest: lambda found: Nearest(found.rows[0], found.distances[0]),
    RayHits: lambda found: RayHits(int(found.rows[0]), float(found.distances[0])),
    RayHitsAll: lambda found: (found.rows, found.distances),
    np.ndarray: lambda found: bool(found[0]),
    ShapecastHits: lambda found: ShapecastHits(int(found.rows[0]), float(found.times[0])),
}


# Checks of arguments -------------------------------------------------------------------------------------------------


def finite_points(values: ArrayLike, name: str, dim: int) -> Parameter:
    """Copy finite points as float64, (q, dim), or one, (dim,)."""
    points, is_one = _points(values, name, dim)
    points = np.array(points, np.float64, order="C")
    if not np.isfinite(points).all():
        require_finite(points, name)
    return Parameter(points, is_one)


def points_without_nan(values: ArrayLike, name: str, dim: int) -> Parameter:
    """Copy points, (q, dim), or one, (dim,), possibly infinite, in their own dtype."""
    points, is_one = _points(values, name, dim)
    points = np.array(points, order="C")
    if np.isnan(points).any():
        require_no_nan(points, name)
    return Parameter(points, is_one)


def corners_of(boxes: Boxes | OneBox, dim: int) -> tuple[tuple[NDArray[Any], NDArray[Any]], bool]:
    """Return the corners of boxes, (q, dim) each, or of one box, (2 * dim,), (2, dim) or two (dim,)."""
    one = as_one_box(boxes, dim, "boxes")
    given: Any = boxes if one is None else one
    return checked_corners(given, "boxes", dim, own=True), one is not None


def rays_of(
    dim: int, origins: ArrayLike, directions: ArrayLike, max_distance: ArrayLike
) -> tuple[tuple[NDArray[Any], ...], bool]:
    """Return origins and directions, (q, dim), and lengths, (q,), of rays."""
    return together(
        origins=finite_points(origins, "origins", dim),
        directions=finite_points(directions, "directions", dim),
        max_distance=nonnegative(max_distance, "max_distance"),
    )


def motions_of(boxes: Boxes | OneBox, motions: ArrayLike, dim: int) -> tuple[tuple[NDArray[Any], ...], bool]:
    """Return corners and motions of moving boxes, (q, dim) each, finite."""
    corners, is_one = corners_of(boxes, dim)
    lower, upper = (np.ascontiguousarray(corner, dtype=np.float64) for corner in corners)
    endless = ~(np.isfinite(lower) & np.isfinite(upper)).all(axis=1)
    if endless.any():
        raise ValueError(f"boxes: row {endless.argmax()} is not finite")
    along = finite_points(motions, "motions", dim)
    return together(boxes=Parameter(lower, is_one), upper=Parameter(upper, is_one), motions=along)


def nonnegative(values: ArrayLike, name: str, *, is_finite: bool = False) -> Parameter:
    """Return numbers from 0 on, one for all or one each, as float64; infinite ones unless `is_finite`."""
    if isinstance(values, float | int):
        numbers, is_one = np.array([as_real(values, name)]), True
    else:
        given = as_numbers(values, name=name)
        if given.ndim > 1:
            raise ValueError(f"{name} must be one number or have shape (q,), not {given.shape}")
        numbers, is_one = np.array(given, np.float64, ndmin=1, order="C"), given.ndim == 0
    bad = first_bad_row(~((numbers >= 0) & (numbers < np.inf) if is_finite else numbers >= 0))
    if bad is not None:
        wanted = "finite and at least 0" if is_finite else "at least 0"
        raise InvalidBoxError(f"{name}: row {bad} has {numbers[bad]}, which is not {wanted}", bad)
    return Parameter(numbers, is_one)


def _points(values: ArrayLike, name: str, dim: int) -> tuple[NDArray[Any], bool]:
    points = as_points(values, name, or_one=True)
    is_one = points.ndim == 1
    if points.shape[-1] != dim:
        if len(points):
            raise ValueError(f"{name} have {points.shape[-1]} dimensions; {dim} are needed")
        points = np.empty((0, dim), points.dtype)
    return points[np.newaxis] if is_one else points, is_one
