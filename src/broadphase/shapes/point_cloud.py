"""Many points in space, each with the same radius: what scanners and depth cameras see."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.boxes import as_numbers
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import as_rows, as_sizes
from broadphase.shapes.solids import Geometry

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["PointCloud"]


class PointCloud(Geometry):
    """Many points with one radius, as one shape: a scan, a frame of a lidar, or the cloud of a depth camera.

    It is the union of balls around the points, as a `Compound` of a `Sphere` for each, but is kept as a tree of points.

    Parameters
    ----------
    points : array_like, shape (n, 3)
        Relative to the actor, in any order, one at least. They are copied, as float64.
    radius : float
        Of the balls around them, at least 0, which leaves the points alone.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Raises
    ------
    ValueError
        Points of another shape, or none; a coordinate that is not finite: names the row; a radius that is negative or
        not finite.

    Notes
    -----
    Beside the points, their tree takes 15 bytes for each and is built in O(n log n) when it is first needed: 20 ms for
    100,000. Queries walk it in O(log n) for shapes of the size of the spacing. Balls that overlap count one by one: the
    depth of another shape is that in the ball that it is deepest in, and the contact is that with this ball. A ray that
    begins in one or more of them has hit at once; of those that it goes through, `every=True` gives both crossings. The
    box around a rotated cloud is around its own box.

    Examples
    --------
    >>> import broadphase as bp
    >>> scan = bp.PointCloud([[0, 0, 0], [1, 0, 0], [2, 0, 1]], radius=0.25)
    >>> scan
    PointCloud(<3 points>, radius=0.25)
    >>> bp.distance(scan, bp.Sphere(0.5, offset=[1, 2, 0]))
    1.25
    """

    __slots__ = ("_radius",)
    kind = ShapeKind.POINT_CLOUD
    _also = ("_radius",)

    _radius: float

    def __init__(
        self,
        points: ArrayLike,
        radius: float = 0.0,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        array = as_numbers(points, name="points")
        if array.ndim != 2 or array.shape[1] != 3 or not len(array):
            raise ValueError(f"points must have shape (n, 3), n at least 1, not {array.shape}")
        size = as_sizes(radius, "radius")
        if not size.single:
            raise ValueError(f"radius must be one number, not an array of shape {np.shape(radius)}")
        self._keep_points(as_rows(array, "points", (3,), "(n, 3)").rows, float(size.rows[0]))
        self._place_source(offset, rotation)

    def _keep_points(self, points: Floats, radius: float) -> None:
        # Along each axis by itself, which is faster than all at once.
        lower, upper = ([of(axis) for axis in points.T] for of in (np.min, np.max))
        record = np.concatenate([np.zeros(4), np.eye(3).ravel(), np.array(lower) - radius, np.array(upper) + radius])
        object.__setattr__(self, "_radius", radius)
        self._keep_source(points, record[np.newaxis] + 0.0, None, [])

    def _prepare(self) -> _native.CloudTree:
        return _native.CloudTree(self._source, self._radius)

    @property
    def points(self) -> Floats:
        """The points as given, shape (n, 3). Read-only."""
        return self._source

    @property
    def radius(self) -> float:
        """The radius of the balls around the points."""
        return self._radius

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes it from other geometries, except offset and rotation; hashable."""
        return type(self), self._source.shape, self._radius, hashlib.sha256(self._source.data).digest()

    def _texts(self) -> list[str]:
        _, *others = super()._texts()
        return [f"<{len(self._source)} points>", f"radius={self._radius}", *others]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._radius, super().__getstate__()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        radius, (points, others) = state
        self._keep_points(points, radius)
        self._set(*others)
