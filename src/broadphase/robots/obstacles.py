"""What robots must not touch: placed shapes, prepared once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.errors import UnsupportedQueryError
from broadphase.narrow.clearance import as_placed
from broadphase.shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Obstacles", "as_obstacles"]


class Obstacles:
    """Shapes that a robot must not touch, prepared once for any number of queries.

    Parameters
    ----------
    shapes : Shapes, World, or iterable of Shape or of anything with vertices and faces
        In space. Of a world, the shapes of its bodies as they were at its last step or refresh. A copy is kept: later
        moves change nothing here.

    Attributes
    ----------
    shapes : Shapes
        The copy. Do not move it.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        Shapes in the plane, or of a type of the user's own; something that is no shape.

    Notes
    -----
    A tree of their boxes, in O(n log n): 0.6 ms for a thousand. A `Mesh` keeps a tree of its triangles besides. Any
    number of threads may query at the same time.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), [[0, 0, 0], [5, 0, 0]]))
    <2 obstacles>
    """

    __slots__ = ("_native", "shapes")

    def __init__(self, shapes: Shapes | Iterable[Any]) -> None:
        self._keep(shapes, "shapes")

    def _keep(self, shapes: Any, name: str) -> None:
        of_bodies = getattr(shapes, "shapes", None)  # of a world, which is above this in the order of layers
        given = as_placed(of_bodies if isinstance(of_bodies, Shapes) else shapes, name)
        if given.dim != 3 and len(given):
            raise ValueError(f"{name} must be in space, not in {given.dim} dimensions")
        if given.geometries.has_custom:
            raise UnsupportedQueryError(f"{name}: robots cannot be compared with shapes of types of your own")
        rows = given.living_rows()
        turns = None if given.rotations is None else given.rotations[rows]
        kept = object.__new__(Shapes)
        # As `Shapes` unpickles: placed again from the same numbers, and so exactly alike.
        kept.__setstate__((3, given.records(rows), given.geometries, given.positions[rows].reshape(-1, 3), turns))
        self.shapes = kept
        numbers = np.arange(len(kept), dtype=np.int32)
        self._native = _native.Obstacles(kept.store, numbers, kept.geometries.prepared)

    @property
    def native(self) -> _native.Obstacles:
        """What the core keeps."""
        return self._native

    def __len__(self) -> int:
        return len(self.shapes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Obstacles, (self.shapes,)

    def __repr__(self) -> str:
        return f"<{len(self)} obstacles>"


def as_obstacles(given: Any, name: str) -> Obstacles:
    """Prepare what is not prepared yet; errors call it by this name."""
    if isinstance(given, Obstacles):
        return given
    made = object.__new__(Obstacles)
    made._keep(given, name)
    return made
