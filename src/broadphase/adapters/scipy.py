"""``scipy.spatial.cKDTree`` and ``KDTree`` for points in the plane and in space: same methods, same results, faster.

Distances other than Euclidean, periodic boxes, other dimensions, ``eps`` and counting are answered by SciPy itself; its
tree is built when the first such question is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.adapters.library import import_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KDTree", "cKDTree"]

theirs: Any = import_library("scipy.spatial", install="scipy")
_sparse: Any = import_library("scipy.sparse", install="scipy")

# Squares of these are normal numbers; bp.neighbors takes no others.
_LEAST_RADIUS, _MOST_RADIUS = 1e-150, 1e150
_ROUNDING = 1e-15  # of a distance, and more
_FEW = 8  # queries by radius; for fewer, a call of SciPy costs less


class cKDTree:  # noqa: N801 (its name in SciPy)
    """Points that are queried for neighbors, as ``scipy.spatial.cKDTree``.

    Parameters
    ----------
    data : array_like, shape (n, m)
        The points. Those in 2 and 3 dimensions are searched by broadphase, others by SciPy.
    *arguments, **options
        As in SciPy: leafsize, compact_nodes, copy_data, balanced_tree, boxsize. For the tree of SciPy.

    Raises
    ------
    ValueError
        As in SciPy: NaN or infinity.

    Notes
    -----
    Indices of equally near points, and the order of pairs and of unsorted lists, are not specified in SciPy; here they
    ascend. Whatever is not described here is that of the tree of SciPy: `count_neighbors`, `mins`, `tree`, ...
    """

    _kind: Any = theirs.cKDTree
    _number: Any = int  # the type of a single index

    def __init__(self, data: Any, *arguments: Any, **options: Any) -> None:
        self._tree: Any = None
        self._index: Any = None
        self._settings = arguments, options
        periodic = options.get("boxsize") is not None or (len(arguments) > 4 and arguments[4] is not None)
        points = None if periodic else _as_points(data)
        self._is_ours = points is not None
        if points is None:
            self._tree = self._kind(data, *arguments, **options)  # its errors are SciPy's too
            points = self._tree.data
        self.data: NDArray[np.float64] = points
        self.n, self.m = points.shape

    @property
    def scipy(self) -> Any:
        """The tree of SciPy with the same points."""
        if self._tree is None:
            arguments, options = self._settings
            self._tree = self._kind(self.data, *arguments, **options)
        return self._tree

    def __getattr__(self, name: str) -> Any:
        if "_is_ours" not in self.__dict__:  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.scipy, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0,
        p: float = 2,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """Find the nearest points.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where to look.
        k : int or sequence of int
            How many, or which: ``[1, 3]`` are the nearest and the third. Sequences are answered by SciPy.
        eps, p, distance_upper_bound : float
            As in SciPy. Other values than these are answered by SciPy.
        workers : int
            Threads to use; -1 for one per core.

        Returns
        -------
        distances, indices : float and int, or arrays of shape (...,) or (..., k)
            As in SciPy: infinity and n where there are not so many.
        """
        points = self._asked(x, p, eps)
        if points is None or type(k) is not int or k < 1 or distance_upper_bound != np.inf or not self.n:
            return self.scipy.query(x, k, eps, p, distance_upper_bound, workers)
        found = self._indexed().nearest(points, k, workers=workers)
        distances, rows = found.distances, found.rows.astype(np.intp)
        if k > self.n:
            missing = ((0, 0), (0, k - self.n))
            distances = np.pad(distances, missing, constant_values=np.inf)
            rows = np.pad(rows, missing, constant_values=self.n)
        shape = np.shape(x)[:-1]
        if k > 1:
            return distances.reshape(*shape, k), rows.reshape(*shape, k)
        if not shape:
            return float(distances[0, 0]), self._number(rows[0, 0])
        return distances.reshape(shape), rows.reshape(shape)

    def query_ball_point(
        self,
        x: Any,
        r: Any,
        p: float = 2.0,
        eps: float = 0,
        workers: int = 1,
        return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> Any:
        """Find all points within a distance.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where to look.
        r : float or array_like
            The largest distance, of all or of each.
        p, eps : float
            Other values than these are answered by SciPy.
        workers : int
            Threads to use; -1 for one per core.
        return_sorted : bool, optional
            Lists of many places ascend in any case.
        return_length : bool
            Count the points only.

        Returns
        -------
        list of int, or array of lists
            With `return_length`: int, or array of int.
        """
        if np.ndim(x) < 2:  # one place
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        points, radii = self._asked(x, p, eps), None
        if points is not None and len(points) >= _FEW:
            radii = _radii(r, np.shape(x)[:-1])
        if points is None or radii is None:
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        rows, counts = self._balls(points, radii, workers)
        shape = np.shape(x)[:-1]
        if return_length:
            return counts.astype(np.intp).reshape(shape)
        lists = np.empty(len(points), object)
        lists[:] = _divided(rows, counts)
        return lists.reshape(shape)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        """Find for each point all points of another tree within a distance.

        Parameters
        ----------
        other : cKDTree
            Ours or SciPy's.
        r : float
            The largest distance.
        p, eps : float
            Other values than these are answered by SciPy.

        Returns
        -------
        list of lists of int
        """
        if not (isinstance(other, cKDTree) and other._is_ours and self._takes(r, p, eps) and other.m == self.m):
            return self.scipy.query_ball_tree(_scipy_of(other), r, p, eps)
        rows, counts = other._balls(self.data, np.full(self.n, float(r)), 1)
        return _divided(rows, counts)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        """Find all pairs of points within a distance.

        Parameters
        ----------
        r : float
            The largest distance.
        p, eps : float
            Other values than these are answered by SciPy.
        output_type : {"set", "ndarray"}
            A set of tuples, or an array, which takes a small part of the time.

        Returns
        -------
        set of tuple, or ndarray of int64, shape (m, 2)
            Pairs (i, j), i < j.
        """
        if not self._takes(r, p, eps) or output_type not in ("set", "ndarray"):
            return self.scipy.query_pairs(r, p, eps, output_type)
        found = bp.neighbors(self.data, _more_than(float(r)), distances=True)
        pairs = found.pairs[_within(self.data, self.data, found, float(r))]
        if output_type == "ndarray":
            return pairs.astype(np.intp)
        return set(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True))

    def sparse_distance_matrix(
        self, other: Any, max_distance: float, p: float = 2.0, output_type: str = "dok_matrix"
    ) -> Any:
        """Make a sparse matrix of the distances to the points of another tree, up to a largest one.

        Parameters
        ----------
        other : cKDTree
            Ours or SciPy's.
        max_distance : float
            Larger ones are left out.
        p : float
            Other values than 2 are answered by SciPy.
        output_type : {"dok_matrix", "coo_matrix", "dict", "ndarray"}
            As in SciPy.

        Returns
        -------
        dok_matrix, coo_matrix, dict, or ndarray of records i, j, v
        """
        known = output_type in ("dok_matrix", "coo_matrix", "dict", "ndarray")
        ours = isinstance(other, cKDTree) and other._is_ours and other.m == self.m
        if not (ours and known and self._takes(max_distance, p, 0)):
            return self.scipy.sparse_distance_matrix(_scipy_of(other), max_distance, p, output_type)
        bound = float(max_distance)
        found = bp.neighbors(self.data, _more_than(bound), other.data, distances=True)
        kept = _within(self.data, other.data, found, bound)
        distances: Any = found.distances
        pairs, distances = found.pairs[kept].astype(np.intp), distances[kept]
        if output_type == "ndarray":
            records = np.empty(len(pairs), [("i", np.intp), ("j", np.intp), ("v", np.float64)])
            records["i"], records["j"], records["v"] = pairs[:, 0], pairs[:, 1], distances
            return records
        if output_type == "dict":
            return dict(
                zip(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True), distances.tolist(), strict=True)
            )
        matrix = _sparse.coo_matrix((distances, (pairs[:, 0], pairs[:, 1])), shape=(self.n, other.n))
        return matrix if output_type == "coo_matrix" else matrix.todok()

    def count_neighbors(self, other: Any, *arguments: Any, **options: Any) -> Any:
        """Count pairs; SciPy does it."""
        return self.scipy.count_neighbors(_scipy_of(other), *arguments, **options)

    # Inside

    def _indexed(self) -> Any:
        if self._index is None:
            self._index = bp.Index((self.data, self.data))
        return self._index

    def _takes(self, r: Any, p: float, eps: float) -> bool:
        """Whether a search by one radius is ours; others are SciPy's."""
        return self._is_ours and p == 2 and eps == 0 and _radii(r, ()) is not None

    def _asked(self, x: Any, p: float, eps: float) -> NDArray[np.float64] | None:
        """Places in rows; None if SciPy has to look there."""
        if not self._is_ours or p != 2 or eps != 0:
            return None
        if type(x) is not np.ndarray:
            x = np.asarray(x)
        if x.dtype.kind not in "fiub" or x.ndim < 1 or x.shape[-1] != self.m:
            return None
        points = np.ascontiguousarray(x, np.float64).reshape(-1, self.m)
        return points if np.isfinite(points).all() else None

    def _balls(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Rows within each radius, ascending, and how many there are."""
        found = self._indexed().query_ball(points, radii * (1 + _ROUNDING), workers=workers)
        asking, rows = found.query_rows, found.rows
        kept = _squares(points, self.data, asking, rows) <= (radii * radii)[asking]
        if kept.all():
            return rows, np.diff(found.offsets)
        return rows[kept], np.bincount(asking[kept], minlength=len(points))


class KDTree(cKDTree):
    """Points that are queried for neighbors, as ``scipy.spatial.KDTree``: see `cKDTree`."""

    _kind: Any = theirs.KDTree
    _number: Any = np.intp
    node, innernode, leafnode = theirs.KDTree.node, theirs.KDTree.innernode, theirs.KDTree.leafnode


def _as_points(data: Any) -> NDArray[np.float64] | None:
    """Points that can be searched here; None if SciPy has to do it, or to refuse them."""
    points = np.asarray(data)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or points.shape[1] not in (2, 3):
        return None
    points = np.array(points, np.float64, order="C")
    return points if np.isfinite(points).all() else None


def _scipy_of(tree: Any) -> Any:
    return tree.scipy if isinstance(tree, cKDTree) else tree


def _radii(r: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Give one radius for each place; None if SciPy has to look at them."""
    radii = np.asarray(r)
    if radii.dtype.kind not in "fiu":
        return None
    radii = radii.astype(np.float64)
    if not ((radii == 0) | ((radii >= _LEAST_RADIUS) & (radii <= _MOST_RADIUS))).all():
        return None
    try:
        return np.broadcast_to(radii, shape).ravel()
    except ValueError:
        return None


def _more_than(radius: float) -> float:
    """Give a radius with which nothing is missed that SciPy finds by comparing rounded squares."""
    return radius * (1 + _ROUNDING)


def _within(
    points: NDArray[Any], others: NDArray[Any], found: bp.Neighbors, radius: float
) -> NDArray[np.bool_] | slice:
    """Choose the pairs that SciPy finds: it compares squares, which may round to another side than their root."""
    distances: Any = found.distances
    doubtful = np.flatnonzero(distances > radius * (1 - 2 * _ROUNDING))
    if not len(doubtful):
        return slice(None)
    kept = np.ones(len(distances), bool)
    first, second = found.pairs[doubtful].T
    kept[doubtful] = _squares(points, others, first, second) <= radius * radius
    return kept


def _squares(points: NDArray[Any], others: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Squares of distances, rounded as in SciPy."""
    total = np.zeros(len(first))
    for axis in range(points.shape[1]):
        along = points[first, axis] - others[second, axis]
        total += along * along
    return total


def _divided(rows: NDArray[Any], counts: NDArray[Any]) -> list[list[int]]:
    """Divide rows into one list for each count."""
    numbers, ends = rows.tolist(), np.cumsum(counts).tolist()
    return [numbers[start:end] for start, end in zip([0, *ends], ends, strict=False)]
