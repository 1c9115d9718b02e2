"""What a single ray hits in a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from broadphase.arguments import as_reals
from broadphase.index.linear_tree import LinearTree
from broadphase.index.octree import Octree

if TYPE_CHECKING:
    import weakref

    from numpy.typing import ArrayLike, NDArray

    from broadphase.index.box_index import BoxIndex
    from broadphase.world.actor import Actor, Actors

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Hit", "cell_of", "hit_of", "ray_of"]


class Hit:
    """Where a ray hits a body.

    Attributes
    ----------
    actor : Actor
        The body that is hit.
    distance : float
        From the origin; 0 where the ray begins inside.
    position : ndarray, shape (d,)
        The point that is hit.
    normal : ndarray, shape (d,)
        Unit vector out of the surface there; zero where the ray begins in the shape.
    origin, direction : ndarray, shape (d,)
        The ray.
    cell : (int, int) or None
        As `Event.cell`.
    """

    # Arrays are made when they are looked at: most are not, and each takes a tenth of the time of a ray.
    __slots__ = ("_direction", "_normal", "_origin", "_position", "actor", "cell", "distance")

    def __init__(
        self, actor: Actor, distance: float, origin: Any, direction: Any, normal: Any, cell: tuple[int, int] | None
    ) -> None:
        self.actor, self.distance, self.cell = actor, distance, cell
        self._origin, self._direction, self._normal = origin, direction, normal
        self._position: Floats | None = None

    @property
    def origin(self) -> Floats:
        """Where the ray begins."""
        if type(self._origin) is tuple:
            self._origin = np.array(self._origin)
        origin: Floats = self._origin
        return origin

    @property
    def direction(self) -> Floats:
        """Where it leads, of any length."""
        if type(self._direction) is tuple:
            self._direction = np.array(self._direction)
        direction: Floats = self._direction
        return direction

    @property
    def normal(self) -> Floats:
        """Unit vector out of the surface."""
        if type(self._normal) is tuple:
            self._normal = np.array(self._normal)
        normal: Floats = self._normal
        return normal

    @property
    def position(self) -> Floats:
        """The point that is hit."""
        if self._position is None:
            way = self.direction
            length = float(np.sqrt((way * way).sum()))
            self._position = self.origin + way / (length if length > 0 else 1.0) * self.distance
        return self._position

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        return self.actor == other.actor and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash((self.actor, *self._numbers()))

    def __repr__(self) -> str:
        return f"Hit(actor={self.actor!r}, distance={self.distance}, position={self.position.tolist()})"

    def _numbers(self) -> tuple[tuple[float, ...], ...]:
        vectors = (self.position, self.normal, self.origin, self.direction)
        return tuple(tuple(vector.tolist()) for vector in vectors)


def ray_of(given: ArrayLike) -> tuple[Floats, Floats]:
    """Give the origin and the direction of a ray of shape (2, d)."""
    ray = as_reals(given, "origins")
    if ray.ndim != 2 or len(ray) != 2:
        raise ValueError(f"a ray is an origin and a direction, or one array of shape (2, d), not {ray.shape}")
    return ray[0], ray[1]


def hit_of(actors: weakref.ref[Actors], row: int, distance: float, origin: Any, direction: Any, normal: Any) -> Hit:
    """Make the hit of a row by a ray, for what is kept by the world, and must not keep it."""
    kept = cast("Actors", actors())
    scene = kept._world._scene
    cell = cell_of(scene.index(), [row]) if scene.broad.has_cells else None
    return Hit(kept.get(row), distance, origin, direction, normal, cell)


def cell_of(index: BoxIndex, rows: list[int]) -> tuple[int, int] | None:
    """Find the cell of an index that a row is in, or that a pair of rows is found in: the deeper of their two.

    As level and number, an octree's number being the row of `outline`; None where the index has no such cells.
    """
    if isinstance(index, Octree):
        numbers, levels = index.cells_of_rows(np.array(rows, np.int32))
        cells = numbers.astype(np.uint64)
    elif isinstance(index, LinearTree):
        levels, cells = index.cells_of(index.boxes_of(rows))
    else:
        return None
    deepest = int(np.argmax(levels))
    return int(levels[deepest]), int(cells[deepest])
