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

__all__ = ["Obstacles", "native_obstacles"]


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
        self.shapes, self._native = _prepared(shapes, "shapes")

    def __len__(self) -> int:
        return len(self.shapes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Obstacles, (self.shapes,)

    def __repr__(self) -> str:
        return f"<{len(self)} obstacles>"


def native_obstacles(given: Any) -> _native.Obstacles | None:
    """Return obstacles as the core keeps them, prepared here if they are not yet; None if there are none."""
    if given is None or isinstance(given, Obstacles):
        return None if given is None else given._native
    return _prepared(given, "obstacles")[1]


def _prepared(shapes: Any, name: str) -> tuple[Shapes, _native.Obstacles]:
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
    kept.__setstate__((3, given.records(rows), given.geometries, given.positions[rows].reshape(-1, 3), turns, False))
    numbers = np.arange(len(kept), dtype=np.int32)
    return kept, _native.Obstacles(kept.store, numbers, kept.geometries.prepared)
