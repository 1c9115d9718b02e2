"""The queries that indexes and worlds share: each is one function, with its checks and its docstring.

An index takes them as methods, ``query = queries.query``, and answers by the methods of `Searchable` for its boxes. A
world passes its `SceneQueries`, which answers for the shapes of its bodies. The functions check everything but the
`QueryFilter`: a world also accepts names of layers, and actors. The methods take their own guard, and refuse queries
that their class does not support.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from broadphase.arguments import as_real, as_whole
from broadphase.boxes.checking import as_points, first_bad_row, require_finite, require_no_nan
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import InvalidBoxError
from broadphase.filters import QueryFilter
from broadphase.index.regions import halves_of, regions_of_planes, regions_of_views
from broadphase.index.results import Nearest, QueryResult, RayHits, with_columns
from broadphase.index.store import checked_corners
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase import _native
    from broadphase.boxes.forms import Boxes
    from broadphase.filters import ByRow, Ignored
    from broadphase.index.regions import Regions
    from broadphase.index.results import RayHitsAll

    Bound: TypeAlias = Literal["box", "sphere"] | None
    Floats = NDArray[np.float64]

__all__ = [
    "MOST_NEAREST", "Answers", "Searchable", "finite_points", "frustum", "motions_of", "nearest", "nonnegative",
    "places_of", "points_without_nan", "query", "query_ball", "query_obb", "query_points", "raycast", "raycast_all",
    "raycast_any", "rays", "vectors",
]  # fmt: skip

MOST_NEAREST = 2**31 - 1  # there are no more row numbers


class Answers(Protocol):
    """What answers queries: an index, a world, or a view of one for queries with keys.

    Arguments are checked and contiguous, except `allowed`. Results are those of the public functions.
    """

    @property
    def _few(self) -> _native.FewQueries | None:
        """Fast path for a few plain queries, if there is one; it returns None for those that it does not answer."""

    def _find_boxes(self, lower: NDArray[Any], upper: NDArray[Any], workers: int, allowed: QueryFilter) -> QueryResult:
        """Rows that overlap each valid box, (q, d) float32 or float64, possibly infinite."""

    def _find_points(self, points: NDArray[Any], workers: int, allowed: QueryFilter) -> QueryResult:
        """Rows that contain each point, (q, d) float32 or float64; no NaN."""

    def _find_balls(self, centers: Floats, radii: Floats, workers: int, allowed: QueryFilter) -> QueryResult:
        """Rows within each finite radius, (q,), of a finite point, (q, d)."""

    def _find_obbs(
        self, centers: Floats, half_sizes: Floats, rotations: ArrayLike, workers: int, allowed: QueryFilter
    ) -> QueryResult:
        """Rows that overlap each oriented box; `centers` and `half_sizes` are (q, d), `rotations` unchecked.

        See `rotation_matrices` and `shape_rotations` of `broadphase.index.regions`.
        """

    def _find_regions(self, regions: Regions, workers: int, allowed: QueryFilter) -> QueryResult:
        """Rows that overlap each convex region, of any dimension."""

    def _find_nearest(self, points: Floats, k: int, limits: Floats, workers: int, allowed: QueryFilter) -> Nearest:
        """Up to k rows nearest to each finite point, (q, d), none beyond its limit, (q,).

        There may be fewer columns than k where there are fewer rows.
        """

    def _find_first_hits(
        self, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
    ) -> RayHits:
        """First row on each ray; all of shape (q, d), limits (q,)."""

    def _find_all_hits(
        self, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
    ) -> RayHitsAll:
        """All rows on each ray."""

    def _find_any_hits(
        self, origins: Floats, directions: Floats, limits: Floats, workers: int, allowed: QueryFilter
    ) -> NDArray[np.bool_]:
        """Whether each ray hits a row, shape (q,)."""


class Searchable(Answers, Protocol):
    """What the functions of this file need of an index or a world."""

    @property
    def dim(self) -> int:
        """Number of axes."""

    def _places(self, rows: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
        """Check rows; return them, and their places, (q, d)."""

    def _in_batches(self, batch: Any) -> Answers:
        """Return what answers queries with these keys: one for each query, or one for all; unchecked."""

    def _by(self, by: Bound, searched: Any) -> Answers:
        """Return what answers queries by this bound of the rows, unchecked, where `searched` answers them by boxes."""


def query(
    self: Searchable,
    boxes: Boxes,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
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
    workers : int
        Threads to use; -1 for one per core. Does not change the result.
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    if ignore is None and (few := searched._few) is not None:
        found: Any = few.boxes(boxes, workers, layer, mask)
        if found is not None:
            return QueryResult(*found)
    lower, upper = checked_corners(boxes, "boxes", self.dim, own=True)
    return searched._find_boxes(lower, upper, worker_count(workers), QueryFilter(layer, mask, ignore))


def query_points(
    self: Searchable,
    points: ArrayLike,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
) -> QueryResult:
    """Find the rows that contain each point, on their border too. Results and errors are those of `query`.

    Parameters
    ----------
    points : array_like, shape (q, d)
        No NaN; in a world, finite.
    by, workers, layer, mask, batch, ignore
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]]).query_points([[2, 1]])[0]
    array([0, 1], dtype=int32)
    """
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    if ignore is None and (few := searched._few) is not None:
        found: Any = few.points(points, workers, layer, mask)
        if found is not None:
            return QueryResult(*found)
    at = points_without_nan(points, "points", self.dim)
    return searched._find_points(at, worker_count(workers), QueryFilter(layer, mask, ignore))


def query_ball(
    self: Searchable,
    centers: ArrayLike,
    radii: ArrayLike,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
) -> QueryResult:
    """Find the rows within a distance of each point: those that overlap a closed ball.

    Results and errors are those of `query`.

    Parameters
    ----------
    centers : array_like, shape (q, d)
        Finite.
    radii : array_like, shape (q,), or one number
        Finite, at least 0.
    by, workers, layer, mask, batch, ignore
        As in `query`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.BVH([[0, 0, 2, 2], [8, 8, 9, 9]]).query_ball([[5, 6]], 5)[0]
    array([0, 1], dtype=int32)
    """
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    if ignore is None and (few := searched._few) is not None:
        found: Any = few.balls(centers, radii, workers, layer, mask)
        if found is not None:
            return QueryResult(*found)
    points = finite_points(centers, "centers", self.dim)
    reach = nonnegative(radii, "radii", len(points), is_finite=True)
    return searched._find_balls(points, reach, worker_count(workers), QueryFilter(layer, mask, ignore))


def query_obb(
    self: Searchable,
    centers: ArrayLike,
    half_sizes: ArrayLike,
    rotations: ArrayLike,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
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
    by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    points = finite_points(centers, "centers", self.dim)
    if self.dim not in (2, 3):
        raise ValueError(f"oriented boxes have 2 or 3 dimensions, not {self.dim}")
    half = halves_of(half_sizes, points)
    return searched._find_obbs(points, half, rotations, worker_count(workers), QueryFilter(layer, mask, ignore))


def frustum(
    self: Searchable,
    matrix: ArrayLike | None = None,
    *,
    planes: ArrayLike | None = None,
    depth: Literal["minus_one_to_one", "zero_to_one"] = "minus_one_to_one",
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
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
    by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    if matrix is not None and planes is None:
        regions = regions_of_views(matrix, depth=depth)
    elif matrix is None and planes is not None:
        regions = regions_of_planes(planes)
    else:
        raise ValueError("frustum takes either a matrix or planes")
    of_region = regions.around_lower.shape[1]
    if of_region != self.dim:
        raise ValueError(f"the region has {of_region} dimensions; {self.dim} are needed")
    return searched._find_regions(regions, worker_count(workers), QueryFilter(layer, mask, ignore))


def nearest(
    self: Searchable,
    points: ArrayLike | None = None,
    k: int = 1,
    max_distance: ArrayLike = np.inf,
    *,
    rows: ArrayLike | None = None,
    exclude_self: bool = True,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
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
    by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    points, own = places_of(self, points, rows, exclude_self)
    if ignore is None and own is None and (few := searched._few) is not None:
        found: Any = few.nearest(points, k, max_distance, workers, layer, mask)
        if found is not None:
            return Nearest(*found)
    k = as_whole(k, "k", 1, MOST_NEAREST)
    at = finite_points(points, "points", self.dim)
    limits = nonnegative(max_distance, "max_distance", len(at))
    found = searched._find_nearest(at, k, limits, worker_count(workers), QueryFilter(layer, mask, ignore, own))
    return with_columns(found, k)


def raycast(
    self: Searchable,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
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
    by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    if ignore is None and (few := searched._few) is not None:
        found: Any = few.first_hits(origins, directions, max_distance, workers, layer, mask)
        if found is not None:
            return RayHits(*found)
    checked = rays(self.dim, origins, directions, max_distance)
    return searched._find_first_hits(*checked, worker_count(workers), QueryFilter(layer, mask, ignore))


def raycast_all(
    self: Searchable,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
) -> RayHitsAll:
    """Find every row on each ray, in the order in which the ray enters them; in a world, for a single ray, the hits.

    Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    checked = rays(self.dim, origins, directions, max_distance)
    return searched._find_all_hits(*checked, worker_count(workers), QueryFilter(layer, mask, ignore))


def raycast_any(
    self: Searchable,
    origins: ArrayLike,
    directions: ArrayLike,
    max_distance: ArrayLike = np.inf,
    *,
    by: Bound = None,
    workers: int = 1,
    layer: ByRow = None,
    mask: ByRow = None,
    batch: ByRow = None,
    ignore: Ignored = None,
) -> NDArray[np.bool_]:
    """Find out whether each ray hits anything: for shadows and lines of sight. Errors are those of `query`.

    Parameters
    ----------
    origins, directions, max_distance, by, workers, layer, mask, batch, ignore
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
    searched: Answers = self if batch is None and by is None else _searched(self, batch, by)
    checked = rays(self.dim, origins, directions, max_distance)
    return searched._find_any_hits(*checked, worker_count(workers), QueryFilter(layer, mask, ignore))


def _searched(self: Searchable, batch: Any, by: Bound) -> Answers:
    """Return what answers a query with keys, or by a bound."""
    searched = self if batch is None else self._in_batches(batch)
    return searched if by is None else self._by(by, searched)


def places_of(
    searched: Searchable, points: ArrayLike | None, rows: ArrayLike | None, exclude_self: bool
) -> tuple[ArrayLike, NDArray[np.int32] | None]:
    """Return the points of `nearest`, or those of its rows, and the row that each of these queries leaves out."""
    if rows is None:
        if points is None:
            raise TypeError("nearest takes points, or rows")
        return points, None
    if points is not None:
        raise TypeError("nearest takes points or rows, not both")
    own, places = searched._places(rows)
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
