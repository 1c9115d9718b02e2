"""The queries that indexes and worlds share: a row for each in `QUERIES`, and a function with its checks and docstring.

`Queries` has the functions as methods. They check everything but the `QueryOptions`, and hand the rest to ``_find``: an
index answers for its boxes by the `Walk` of the row, a world for the shapes of its bodies by the function of the same
name in `broadphase.world.queries`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from broadphase.arguments import as_real, as_whole
from broadphase.boxes.checking import as_points, first_bad_row, require_finite, require_no_nan
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError
from broadphase.index import walks
from broadphase.index.regions import halves_of, regions_of_planes, regions_of_views
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits, with_columns
from broadphase.index.store import checked_corners
from broadphase.options import QueryKeywords, shows_query_options

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase import _native
    from broadphase.boxes.forms import Boxes
    from broadphase.index.walks import Walk

    Floats = NDArray[np.float64]

__all__ = [
    "MOST_NEAREST", "QUERIES", "Queries", "Query", "finite_points", "nonnegative", "points_without_nan", "raycast",
    "raycast_all", "rays", "vectors",
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


@shows_query_options
def query(
    self: Queries,
    boxes: Boxes,
    **options: Unpack[QueryKeywords],
) -> QueryResult:
    """Find the rows that overlap each of these boxes.

    An index compares its boxes, a world the shapes of its bodies. Both are closed: rows that only touch a box overlap
    it. A world answers for the positions of its last `step`, `refresh`, `add`, `remove` or `move`. If it wraps, a body
    that reaches across a boundary is found on the other side too.

    Parameters
    ----------
    boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d)
        float32 or float64; compared exactly with either dtype of the index.
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
        One number, or shape (1, k), is for all queries.

    Returns
    -------
    QueryResult
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
    >>> balls = bp.BVH.from_spheres([[0, 0]], 1)
    >>> corner = [[0.8, 0.8, 4, 4]]
    >>> len(balls.query(corner).rows), len(balls.query(corner, by="sphere").rows)
    (1, 0)

    A corner of the box around a circle is not part of the circle:

    >>> world = bp.World(dim=2)
    >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    array([0, 1], dtype=int32)
    >>> world.query([[0.8, 0.8, 4, 4], [1, -1, 2, 1]]).counts.tolist()
    [1, 1]
    """
    if (few := self._few) is not None and (not options or (len(options) == 1 and "workers" in options)):
        few_found: Any = few.boxes(boxes, options.get("workers", 1), None, None)
        if few_found is not None:
            return QueryResult(*few_found)
    lower, upper = checked_corners(boxes, "boxes", self.dim, own=True)
    found: QueryResult = self._find("query", (lower, upper), options)
    return found


@shows_query_options
def query_points(
    self: Queries,
    points: ArrayLike,
    **options: Unpack[QueryKeywords],
) -> QueryResult:
    """Find the rows that contain each point, on their border too. Results and errors are those of `query`.

    Parameters
    ----------
    points : array_like, shape (q, d)
        No NaN; in a world, finite.
    **options
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]]).query_points([[2, 1]])[0]
    array([0, 1], dtype=int32)
    """
    if (few := self._few) is not None and (not options or (len(options) == 1 and "workers" in options)):
        few_found: Any = few.points(points, options.get("workers", 1), None, None)
        if few_found is not None:
            return QueryResult(*few_found)
    at = points_without_nan(points, "points", self.dim)
    found: QueryResult = self._find("query_points", (at,), options)
    return found


@shows_query_options
def query_ball(
    self: Queries,
    centers: ArrayLike,
    radii: ArrayLike,
    **options: Unpack[QueryKeywords],
) -> QueryResult:
    """Find the rows within a distance of each point: those that overlap a closed ball.

    Results and errors are those of `query`.

    Parameters
    ----------
    centers : array_like, shape (q, d)
        Finite.
    radii : array_like, shape (q,), or one number
        Finite, at least 0.
    **options
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]]).query_ball([[5, 6]], 5)[0]
    array([0, 1], dtype=int32)
    """
    if (few := self._few) is not None and (not options or (len(options) == 1 and "workers" in options)):
        few_found: Any = few.balls(centers, radii, options.get("workers", 1), None, None)
        if few_found is not None:
            return QueryResult(*few_found)
    points = finite_points(centers, "centers", self.dim)
    reach = nonnegative(radii, "radii", len(points), is_finite=True)
    found: QueryResult = self._find("query_ball", (points, reach), options)
    return found


@shows_query_options
def query_obb(
    self: Queries,
    centers: ArrayLike,
    half_sizes: ArrayLike,
    rotations: ArrayLike,
    **options: Unpack[QueryKeywords],
) -> QueryResult:
    """Find the rows that overlap each of these oriented boxes. In 2D and 3D.

    Parameters
    ----------
    centers : array_like, shape (q, d)
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
    QueryResult
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
    >>> index.query_obb([[0, 0]], [5, 0.5], np.pi / 4)[0]
    array([0], dtype=int32)
    """
    points = finite_points(centers, "centers", self.dim)
    if self.dim not in (2, 3):
        raise ValueError(f"oriented boxes have 2 or 3 dimensions, not {self.dim}")
    half = halves_of(half_sizes, points)
    found: QueryResult = self._find("query_obb", (points, half, rotations), options)
    return found


@shows_query_options
def frustum(
    self: Queries,
    matrix: ArrayLike | None = None,
    *,
    planes: ArrayLike | None = None,
    depth: Literal["minus_one_to_one", "zero_to_one"] = "minus_one_to_one",
    **options: Unpack[QueryKeywords],
) -> QueryResult:
    """Find the rows whose boxes a camera sees, or that overlap the region between planes. In 2D and 3D.

    A world compares the boxes around its shapes: a shape is found even if only a corner of its box is in view. In a
    world that wraps, bodies are seen only where they are.

    Parameters
    ----------
    matrix : array_like, shape (4, 4) or (q, 4, 4); in 2D (3, 3) or (q, 3, 3)
        Projection times view, for column vectors. `perspective`, `orthographic` and `look_at` make such matrices, and
        `selection_matrix` narrows one to a rectangle dragged with a mouse.
    planes : array_like, shape (p, d + 1) or (q, p, d + 1)
        In place of `matrix`: rows ``n, c``, where inside is ``n . x + c >= 0``; at most 64 a region. Directions that
        differ by some 1e-12 count as equal.
    depth : {"minus_one_to_one", "zero_to_one"}
        The range of depth after projection: -1 to 1 as in OpenGL, or 0 to 1 as in Vulkan, Direct3D and Metal.
    **options
        As in `query`.

    Returns
    -------
    QueryResult
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
    >>> index.frustum(camera)[0]
    array([0], dtype=int32)
    """
    if matrix is not None and planes is None:
        regions = regions_of_views(matrix, depth=depth)
    elif matrix is None and planes is not None:
        regions = regions_of_planes(planes)
    else:
        raise ValueError("frustum takes either a matrix or planes")
    of_region = regions.around_lower.shape[1]
    if of_region != self.dim:
        raise ValueError(f"the region has {of_region} dimensions; {self.dim} are needed")
    found: QueryResult = self._find("frustum", (regions,), options)
    return found


@shows_query_options
def nearest(
    self: Queries,
    points: ArrayLike | None = None,
    k: int = 1,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    exclude_self: bool = True,
    **options: Unpack[QueryKeywords],
) -> Nearest:
    """Find the rows nearest to each point, or to some of the rows themselves. Errors are those of `query`.

    Parameters
    ----------
    points : array_like, shape (q, d)
        Finite.
    k : int
        How many rows for each point, less than 2^31.
    max_distance : array_like, shape (q,), or one number
        No row farther away than this is found.
    rows : array_like of int, shape (q,), optional
        In place of `points`: rows whose places are the points, in an index the centers of their boxes, in a world the
        positions of its bodies. An infinite box is an error that names its row.
    exclude_self : bool
        Whether each of these rows is left out of its own result.
    **options
        As in `query`. By spheres, the distance is that to the box or to the sphere of a row, whichever is larger.

    Returns
    -------
    Nearest
        ``rows`` and ``distances``, each of shape (q, k): the nearest first, of equally near ones the lower row first;
        -1 and infinity where fewer than k are found.

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
    >>> balls = bp.BVH.from_spheres([[0, 0], [4, 4.5]], 1)
    >>> balls.nearest([[2, 3]], by="sphere").distances.round(3)
    array([[1.5]])
    >>> world = bp.World(dim=2)
    >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
    array([0, 1], dtype=int32)
    >>> world.nearest([[3.5, 4]], k=2).distances.round(3)
    array([[3.031, 4.315]])

    The nearest neighbor of each body, which is not the body itself:

    >>> world.nearest(rows=[0, 1]).rows.tolist()
    [[1], [0]]
    """
    points, own = _points_of(self, points, rows, exclude_self)
    if own is None and (few := self._few) is not None and (not options or (len(options) == 1 and "workers" in options)):
        found: Any = few.nearest(points, k, max_distance, options.get("workers", 1), None, None)
        if found is not None:
            return Nearest(*found)
    k = as_whole(k, "k", 1, MOST_NEAREST)
    at = finite_points(points, "points", self.dim)
    limits = nonnegative(max_distance, "max_distance", len(at))
    return with_columns(self._find("nearest", (at, k, limits), options, own), k)


@shows_query_options
def raycast(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> RayHits:
    """Find the first row on each ray; in a world, for a single ray, the `Hit`. Errors are those of `query`.

    Boxes and shapes are closed: a ray that grazes one hits it, and a ray that begins inside hits at distance 0. Rays do
    not continue on the other side of a world that wraps.

    Parameters
    ----------
    origins : array_like, shape (q, d); in a world also (d,) or (2, d)
        Finite. Shape (d,) is a single ray, and so is shape (2, d) without `directions`: origin and direction.
    directions : array_like, shape (q, d), or (d,) for all
        Finite, of any length. A ray with a zero direction hits what it begins in.
    max_distance : array_like, shape (q,), or one number
        Length of each ray in length units, whatever the length of its direction.
    **options
        As in `query`. By spheres, rays must hit the sphere of a row too, which decides the distance; whether they hit
        is decided exactly. Takes as long as `raycast_all`.

    Returns
    -------
    RayHits, or Hit or None
        ``rows`` and ``distances``, of shape (q,); the lowest row where several are at one distance, -1 and infinity for
        a miss. For a single ray in a world, its `Hit`, or None for a miss.

    References
    ----------
    .. [1] T. L. Kay, J. T. Kajiya, "Ray Tracing Complex Scenes", SIGGRAPH 1986. 10.1145/15922.15916

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]])
    >>> index.raycast([[0, 0.5], [9, 0.5], [0, 2]], [[1, 0], [-1, 0], [1, 0]])
    RayHits(rows=array([ 0,  1, -1], dtype=int32), distances=array([ 2.,  3., inf]))
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
    if (few := self._few) is not None and (not options or (len(options) == 1 and "workers" in options)):
        few_found: Any = few.first_hits(origins, directions, max_distance, options.get("workers", 1), None, None)
        if few_found is not None:
            return RayHits(*few_found)
    checked = rays(self.dim, origins, directions, max_distance)
    found: RayHits = self._find("raycast", checked, options)
    return found


@shows_query_options
def raycast_all(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> RayHitsAll:
    """Find every row on each ray, in the order in which the ray enters them; in a world, for a single ray, the hits.

    Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, **options
        As in `raycast`.

    Returns
    -------
    RayHitsAll, or list of Hit
        ``hits[i]`` has the rows and the distances of ray i, the lower row first where two are at one distance;
        ``rows``, ``offsets`` and ``distances`` those of all rays. For a single ray in a world, a list of `Hit`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]]).raycast_all([[9, 0.5]], [[-1, 0]])[0]
    (array([1, 0], dtype=int32), array([3., 6.]))
    >>> world = bp.World(dim=2)
    >>> wall = world.add(bp.Rectangle(2, 9), position=(5, 0), body_type="static")
    >>> hit = world.raycast_all((0, 1), (3, 0))[0]
    >>> hit.actor == wall, hit.distance, hit.position, hit.normal
    (True, 4.0, array([4., 1.]), array([-1.,  0.]))
    """
    checked = rays(self.dim, origins, directions, max_distance)
    found: RayHitsAll = self._find("raycast_all", checked, options)
    return found


@shows_query_options
def raycast_any(
    self: Queries,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    **options: Unpack[QueryKeywords],
) -> NDArray[np.bool_]:
    """Find out whether each ray hits anything: for shadows and lines of sight. Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, **options
        As in `raycast`.

    Returns
    -------
    ndarray, shape (q,), bool
        The same as ``raycast(...).rows >= 0``; faster in an index.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[2, 0, 3, 1]]).raycast_any([[0, 0.5], [0, 0.5]], [1, 0], max_distance=[1, 2])
    array([False,  True])
    """
    checked = rays(self.dim, origins, directions, max_distance)
    found: NDArray[np.bool_] = self._find("raycast_any", checked, options)
    return found


@shows_query_options
def shapecast(self: Queries, boxes: Boxes, motions: ArrayLike, **options: Unpack[QueryKeywords]) -> ShapecastHits:
    """Find the first row that each moving box touches. None is missed, however fast the box moves.

    Errors are those of `query`.

    Parameters
    ----------
    boxes : array_like, shape (q, 2, d) or (q, 2*d), or tuple of two (q, d)
        Where they begin. Finite.
    motions : array_like, shape (q, d), or (d,) for all
        How far each moves, along a straight line. Finite.
    **options
        As in `query`. By spheres, boxes must touch the sphere of a row too, which decides the time; whether they touch
        is decided exactly. Looks at every row on the way, not only at the first.

    Returns
    -------
    ShapecastHits
        ``rows`` and ``times``, of shape (q,): the fraction of the motion after which they touch, 0 if they touch at the
        beginning; -1 and infinity for none. Of several rows at one time, the lowest.

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
    found: ShapecastHits = self._find("shapecast", motions_of(boxes, motions, self.dim), options)
    return found


class Queries:
    """The queries that indexes and worlds share."""

    __slots__ = ()

    #: Fast path for a few plain queries, if there is one; it returns None for those that it does not answer.
    _few: _native.FewQueries | None

    @property
    def dim(self) -> int:
        """Number of axes."""
        raise NotImplementedError

    def _find(
        self,
        query: str,
        given: tuple[Any, ...],
        keywords: Mapping[str, Any],
        own: NDArray[np.int32] | None = None,
    ) -> Any:
        """Answer a query, by its name, with checked and contiguous arguments and unchecked options.

        `own` are rows in use, one for each query, which leaves it out.
        """
        raise NotImplementedError

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
) -> tuple[ArrayLike, NDArray[np.int32] | None]:
    """Return the points of `nearest`, or those of its rows, and the row that each of these queries leaves out."""
    if rows is None:
        if points is None:
            raise TypeError("nearest takes points, or rows")
        return points, None
    if points is not None:
        raise TypeError("nearest takes points or rows, not both")
    own, places = asked._places(rows)
    return places, own if exclude_self else None


# Checks of arguments -------------------------------------------------------------------------------------------------


def finite_points(values: ArrayLike, name: str, dim: int) -> Floats:
    """Copy finite points as float64, (q, dim)."""
    points = np.array(_points(values, name, dim), np.float64, order="C")
    if not np.isfinite(points).all():
        require_finite(points, name)
    return points


def points_without_nan(values: ArrayLike, name: str, dim: int) -> NDArray[Any]:
    """Copy points, (q, dim), possibly infinite, in their own dtype."""
    points = np.array(_points(values, name, dim), order="C")
    if np.isnan(points).any():
        require_no_nan(points, name)
    return points


def vectors(values: ArrayLike, name: str, count: int, dim: int) -> Floats:
    """Return finite vectors as float64, (count, dim); one for all is repeated."""
    array = as_numbers(values, name=name)
    array = finite_points(array[np.newaxis] if array.shape == (dim,) else array, name, dim)
    if len(array) != count:
        if len(array) != 1:
            raise ValueError(f"{name}: {len(array)} vectors for {count} queries")
        array = np.repeat(array, count, axis=0)
    return array


def rays(dim: int, origins: ArrayLike, directions: ArrayLike, max_distance: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return origins and directions, (q, dim), and lengths, (q,), of rays."""
    begin = finite_points(origins, "origins", dim)
    along = vectors(directions, "directions", len(begin), dim)
    return begin, along, nonnegative(max_distance, "max_distance", len(begin))


def motions_of(boxes: Boxes, motions: ArrayLike, dim: int) -> tuple[Floats, Floats, Floats]:
    """Return corners and motions of moving boxes, (q, dim) each, finite."""
    corners = checked_corners(boxes, "boxes", dim, own=True)
    lower, upper = (np.ascontiguousarray(corner, dtype=np.float64) for corner in corners)
    endless = ~(np.isfinite(lower) & np.isfinite(upper)).all(axis=1)
    if endless.any():
        raise ValueError(f"boxes: row {endless.argmax()} is not finite")
    return lower, upper, vectors(motions, "motions", len(lower), dim)


def nonnegative(values: ArrayLike, name: str, count: int, *, is_finite: bool = False) -> Floats:
    """Return numbers from 0 on, one for all or one each, as float64, (count,); infinite ones unless `is_finite`."""
    if isinstance(values, float | int):
        array: Floats = np.full(count, as_real(values, name))
    else:
        given = as_numbers(values, name=name)
        if given.shape not in ((), (count,)):
            raise ValueError(f"{name} must be one number or have shape ({count},), not {given.shape}")
        array = np.array(np.broadcast_to(given, (count,)), np.float64, order="C")
    bad = first_bad_row(~((array >= 0) & (array < np.inf) if is_finite else array >= 0))
    if bad is not None:
        wanted = "finite and at least 0" if is_finite else "at least 0"
        raise InvalidBoxError(f"{name}: row {bad} has {array[bad]}, which is not {wanted}", bad)
    return array


def _points(values: ArrayLike, name: str, dim: int) -> NDArray[Any]:
    points = as_points(values, name)
    if points.shape[1] != dim:
        if len(points):
            raise ValueError(f"{name} have {points.shape[1]} dimensions; {dim} are needed")
        points = np.empty((0, dim), points.dtype)
    return points
