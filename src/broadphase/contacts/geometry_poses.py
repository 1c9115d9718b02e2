"""Hulls and meshes in their places, and what is made of them once and kept."""

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

__all__ = ["Asked", "KeptByGeometry", "Poses", "kinds_of", "poses_of"]


class Asked(NamedTuple):
    """Pairs of rows, as the functions of `narrow` take them."""

    a: Shapes
    b: Shapes
    first: Rows
    second: Rows
    offsets: Floats | None

    def some(self, which: NDArray[np.intp]) -> Asked:
        """Pick some of them."""
        offsets = None if self.offsets is None else self.offsets[which]
        return Asked(self.a, self.b, self.first[which], self.second[which], offsets)

    def boxes(self, reach: Floats | None = None) -> tuple[Floats, Floats]:
        """Give boxes around the first and the second of each pair, `reach` wider on all sides, and never too small."""
        first, second = self.a.boxes[self.first], self.b.boxes[self.second]
        if self.offsets is not None:
            second = _widened(second + self.offsets[:, np.newaxis], np.zeros(len(second)))
        if reach is None:
            return first, second
        return _widened(first, reach), _widened(second, reach)


class Poses(NamedTuple):
    """Where the hulls or meshes of some rows are: a place p of their own is at ``origin + sum(p[i] * axes[i])``.

    Attributes
    ----------
    numbers : ndarray, shape (k,), int64
        Which geometry each is.
    origins : ndarray, shape (k, 3)
        In the world, as `axes`.
    axes : ndarray, shape (k, 3, 3)
        Unit vectors, one after the other.
    """

    numbers: NDArray[np.int64]
    origins: Floats
    axes: Floats

    def into_world(self, places: Floats) -> Floats:
        """Place the corners of triangles, (k, c, 3), one sum after the other: the same bits however many there are."""
        axes = self.axes[:, np.newaxis]
        placed: Floats = self.origins[:, np.newaxis] + places[..., :1] * axes[:, :, 0]
        placed += places[..., 1:2] * axes[:, :, 1]
        placed += places[..., 2:] * axes[:, :, 2]
        return placed

    def into_own(self, places: Floats) -> Floats:
        """Say where places of the world, (k, 3), are in each one's own frame."""
        return self.turned_into_own(places - self.origins)

    def turned_into_own(self, directions: Floats) -> Floats:
        """Say the same of directions."""
        turned: Floats = np.einsum("kij,kj->ki", self.axes, directions)
        return turned

    def turned_into_world(self, directions: Floats) -> Floats:
        """Turn directions of their own, (k, 3), into the world."""
        turned: Floats = np.einsum("kij,ki->kj", self.axes, directions)
        return turned

    def some(self, which: Any) -> Poses:
        """Pick some of them."""
        return Poses(self.numbers[which], self.origins[which], self.axes[which])


def kinds_of(shapes: Shapes, rows: Rows) -> NDArray[np.uint8]:
    """Give the kind of the shape in each row."""
    unique, places = np.unique(rows, return_inverse=True)
    return np.array([shapes.store.kind(int(row)) for row in unique], np.uint8)[places.reshape(-1)]


def poses_of(shapes: Shapes, rows: Rows) -> Poses:
    """Read where the hulls or meshes in some rows are."""
    unique, places = np.unique(rows, return_inverse=True)
    records = np.empty((len(unique), 13))
    for place, row in enumerate(unique):
        record: Any = shapes.store.placed(int(row))
        records[place] = record[:13]
    records = records[places.reshape(-1)]
    return Poses(records[:, 0].astype(np.int64), records[:, 1:4], records[:, 4:].reshape(-1, 3, 3))


Made = TypeVar("Made")


class KeptByGeometry(Generic[Made]):
    """Makes something of a hull or a mesh, once for as long as its arrays live.

    Parameters
    ----------
    make : callable
        Makes it from the geometry and further arguments, which can be hashed.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make
        self._kept: dict[tuple[Any, ...], tuple[weakref.ref[Any], Made]] = {}

    def __call__(self, geometry: Geometry, *arguments: Any) -> Made:
        """Give what was made of it, or make it."""
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
    # What rounding could take away is given twice over.
    margin = (reach * (1 + 1e-15) + 1e-15 * np.abs(boxes).max(axis=(1, 2), initial=0.0))[:, np.newaxis]
    wider[:, 0], wider[:, 1] = boxes[:, 0] - margin, boxes[:, 1] + margin
    return wider
