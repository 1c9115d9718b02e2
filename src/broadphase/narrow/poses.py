"""Pairs of rows with a convex hull or a mesh, the poses of these, and what is computed of each once and kept."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from broadphase.shapes.kinds import ShapeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.shapes import Shapes
    from broadphase.shapes.solids import Geometry

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["KeptByGeometry", "Pose", "RowPairs", "kinds_of", "pose_of"]


class RowPairs(NamedTuple):
    """Pairs of rows, as the functions of `row_pairs` take them."""

    a: Shapes
    b: Shapes
    first: Rows
    second: Rows
    offsets: Floats | None

    def some(self, which: NDArray[np.intp]) -> RowPairs:
        """Pick some of them."""
        offsets = None if self.offsets is None else self.offsets[which]
        return RowPairs(self.a, self.b, self.first[which], self.second[which], offsets)

    def boxes(self, reach: Floats | None = None) -> tuple[Floats, Floats]:
        """Return boxes around the first and the second of each pair, `reach` wider on all sides."""
        first, second = self.a.boxes[self.first], self.b.boxes[self.second]
        if self.offsets is not None:
            second = _widened(second + self.offsets[:, np.newaxis], np.zeros(len(second)))
        if reach is None:
            return first, second
        return _widened(first, reach), _widened(second, reach)


class Pose(NamedTuple):
    """Pose of a hull or a mesh: its own point p is at ``origin + sum(p[i] * axes[i])`` in the world.

    Attributes
    ----------
    number : int
        Which geometry it is.
    origin : ndarray, shape (3,)
        In the world, as `axes`.
    axes : ndarray, shape (3, 3)
        Unit vectors, one after the other.
    """

    number: int
    origin: Floats
    axes: Floats


def kinds_of(shapes: Shapes, rows: Rows) -> NDArray[np.uint8]:
    """Return the kind of the record of each row."""
    unique, places = np.unique(rows, return_inverse=True)
    return np.array([shapes.store.placed_kind(int(row)) for row in unique], np.uint8)[places.reshape(-1)]


def pose_of(shapes: Shapes, row: int) -> Pose:
    """Read the pose of the hull or mesh in a row."""
    record: Any = shapes.store.placed(row)
    return Pose(int(record[0]), record[1:4], record[4:13].reshape(3, 3))


Made = TypeVar("Made")


class KeptByGeometry(Generic[Made]):
    """Computes something of a hull or a mesh, once for as long as its arrays live.

    Parameters
    ----------
    make : callable
        Computes it from the geometry and further hashable arguments.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make
        self._kept: dict[tuple[Any, ...], tuple[weakref.ref[Any], Made]] = {}

    def __call__(self, geometry: Geometry, *arguments: Any) -> Made:
        """Return what was computed of it, or compute it."""
        is_mesh = geometry.kind == ShapeKind.MESH
        key = (id(geometry.vertices), id(getattr(geometry, "faces", None)) if is_mesh else 0, *arguments)
        found = self._kept.get(key)
        if found is not None and found[0]() is geometry.vertices:
            return found[1]
        made = self._make(geometry, *arguments)

        def forget(_: Any, kept: dict[Any, Any] = self._kept, key: Any = key) -> None:
            kept.pop(key, None)

        self._kept[key] = (weakref.ref(geometry.vertices, forget), made)
        return made


def _widened(boxes: Floats, reach: Floats) -> Floats:
    wider = np.empty_like(boxes)
    # Twice what rounding may take away.
    margin = (reach * (1 + 1e-15) + 1e-15 * np.abs(boxes).max(axis=(1, 2), initial=0.0))[:, np.newaxis]
    wider[:, 0], wider[:, 1] = boxes[:, 0] - margin, boxes[:, 1] + margin
    return wider
