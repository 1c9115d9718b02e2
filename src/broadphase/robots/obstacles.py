"""What robots must not touch: placed shapes and points, prepared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array
from broadphase.errors import UnsupportedQueryError
from broadphase.narrow.clearance import as_placed
from broadphase.shapes import Shape, Shapes, Sphere
from broadphase.shapes.parameters import as_vectors
from broadphase.shapes.records import Geometries, Records, geometry_numbers, geometry_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

__all__ = ["Obstacles", "as_obstacles"]


class Obstacles:
    """Shapes that a robot must not touch, prepared once for any number of queries.

    Parameters
    ----------
    shapes : Shapes, World, Obstacles, or iterable of these, of Shape and of anything with vertices and faces
        In space. Of a world, the shapes of its bodies as they were at its last step or refresh. A copy is kept: later
        moves change nothing here. Rows are in the order given, those of one item after those of another. Default: none.
    points : array_like, shape (n, 3), optional
        A point cloud: balls of `radius`, whose rows come after those of `shapes`.
    radius : float, or array_like, shape (n,)
        Of the points, at least 0.

    Attributes
    ----------
    shapes : Shapes
        The copy. Do not move it; see `update`.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        Shapes in the plane, or of a type of the user's own; something that is no shape; a point that is not finite, a
        negative radius: names the row.

    Notes
    -----
    A tree of their boxes, and one of points and balls, in O(n log n): 0.6 ms for a thousand. A `Mesh` keeps a tree of
    its triangles besides. Any number of threads may query at the same time, also while one calls `update`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), [[0, 0, 0], [5, 0, 0]]))
    <2 obstacles>
    >>> table = bp.Box(2, 1, 0.1, offset=(0, 0, -0.05))
    >>> bp.Obstacles([table, bp.Shapes(bp.Sphere(0.2), [0, 0, 1])], points=[[1, 1, 1], [1, 1, 2]], radius=0.01)
    <4 obstacles>
    """

    __slots__ = ("_kept",)

    # One reference to both, so that a query in another thread never has the one before `update` and the other after it.
    _kept: tuple[Shapes, _native.Obstacles]

    def __init__(
        self,
        shapes: Shapes | Iterable[Any] = (),
        *,
        points: ArrayLike | None = None,
        radius: ArrayLike = 0.0,
    ) -> None:
        given = _copied(shapes, "shapes")
        if points is not None:
            listed = as_array(points, "points")
            places = as_vectors(listed if listed.size else np.empty((0, 3)), "points", 3).rows
            balls = Sphere(radius)
            if len(balls) not in (1, len(places)):
                raise ValueError(f"radius has {len(balls)} rows for {len(places)} points")
            given = _joined([given, Shapes(balls, places)])
        self._kept = given, _prepared(given)

    @property
    def shapes(self) -> Shapes:
        """The placed shapes, in the order of rows. Do not move them; see `update`."""
        return self._kept[0]

    def update(
        self, positions: ArrayLike | None = None, rotations: ArrayLike | None = None, *, rows: ArrayLike | None = None
    ) -> None:
        """Move and rotate obstacles.

        Parameters
        ----------
        positions, rotations : array_like, optional
            New ones of these rows, or one for all, as `Shapes.move` takes them. Default: unchanged. Those of points
            are the points; shapes and meshes that were given without a position have had the origin as theirs.
        rows : array_like of int, shape (k,), optional
            Rows to move. Default: all.

        Raises
        ------
        ValueError, TypeError
            As `Shapes.move`. Nothing has changed then.

        Notes
        -----
        Shapes are kept, and so are the trees of meshes. Boxes are computed and the tree of them is built again, in as
        much time as for `Obstacles` of the same number of boxes. Queries that run in other threads meanwhile answer for
        the obstacles as they were.

        Examples
        --------
        >>> import broadphase as bp
        >>> cart = bp.Articulated([bp.Link("cart", bp.Sphere(1), joint="prismatic", axis=(1, 0, 0))])
        >>> boxes = bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), [[0, 0, 0], [5, 0, 0]]))
        >>> boxes.update([9, 0, 0], rows=[0])
        >>> cart.collides([[0], [5], [9]], boxes)
        array([False,  True,  True])
        """
        moved = _copied(self.shapes, "shapes")
        moved.move(positions, rotations, rows=rows)
        self._kept = moved, _prepared(moved)

    def __len__(self) -> int:
        return len(self.shapes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Obstacles, (self.shapes,)

    def __repr__(self) -> str:
        return f"<{len(self)} obstacles>"


def as_obstacles(given: Any) -> tuple[Shapes, _native.Obstacles] | tuple[None, None]:
    """Return the shapes of obstacles and what the core keeps of them, prepared here if they are not; None for none."""
    if given is None:
        return None, None
    if isinstance(given, Obstacles):
        return given._kept
    shapes = _copied(given, "obstacles")
    return shapes, _prepared(shapes)


def _prepared(shapes: Shapes) -> _native.Obstacles:
    return _native.Obstacles(shapes.store, np.arange(len(shapes), dtype=np.int32), shapes.geometries.prepared)


def _copied(given: Any, name: str) -> Shapes:
    """Copy what is given to placed shapes in space."""
    placed = _placed_in(given)
    if placed is not None:
        return _joined([_checked(placed, name)])
    try:
        listed = None if isinstance(given, Shape | str | Mapping) or hasattr(given, "parts") else list(given)
    except TypeError:  # also for arrays of no axes, which have __iter__
        listed = None
    if listed is None:
        return _joined([as_placed(given, name)])  # which says what is wrong with it
    sets = [_placed_in(item) for item in listed]
    found: list[Shapes] = []
    for place, one in enumerate(sets):
        if one is not None:
            found.append(_checked(one, name))
        elif place == 0 or sets[place - 1] is not None:  # shapes and meshes up to the next set
            end = next((later for later in range(place, len(sets)) if sets[later] is not None), len(sets))
            found.append(_checked(as_placed(listed[place:end], name, place), name))
    return _joined(found)


def _placed_in(given: Any) -> Shapes | None:
    """Return placed shapes, or those of a world or of obstacles; None if it is something else."""
    shapes = given if isinstance(given, Shapes) else getattr(given, "shapes", None)  # worlds are in a layer above
    return shapes if isinstance(shapes, Shapes) else None


def _checked(shapes: Shapes, name: str) -> Shapes:
    if shapes.dim != 3 and len(shapes):
        raise ValueError(f"{name} must be in space, not in {shapes.dim} dimensions")
    if shapes.geometries.has_custom:
        raise UnsupportedQueryError(f"{name}: robots cannot be compared with shapes of types of your own")
    return shapes


def _joined(sets: list[Shapes]) -> Shapes:
    """Copy the shapes of several sets into one, where they are."""
    living = [(shapes, rows) for shapes in sets if len(rows := shapes.living_rows())]
    geometries = living[0][0].geometries.copy() if len(living) == 1 else Geometries()
    records, positions, rotations = [], [np.empty((0, 3))], []
    for shapes, rows in living:
        kinds, sizes, numbers = shapes.records(rows)
        if len(living) > 1 and len(places := geometry_places(kinds, sizes)):
            named = geometry_numbers(kinds, sizes, numbers)
            known = {number: geometries.number_of(shapes.geometries[number]) for number in np.unique(named).tolist()}
            numbers[places] = [known[number] for number in named.tolist()]
        records.append(Records(kinds, sizes, numbers))
        positions.append(shapes.positions[rows])
        rotations.append(None if shapes.rotations is None else shapes.rotations[rows])
    turns = None
    if any(given is not None for given in rotations):
        still = [np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1)) for _, rows in living]
        turns = np.concatenate(
            [given if given is not None else one for given, one in zip(rotations, still, strict=True)]
        )
    every = Records(*map(np.concatenate, zip(*records, strict=True))) if records else _NOTHING
    kept = object.__new__(Shapes)
    # As `Shapes` unpickles: placed again from the same numbers, and so exactly alike.
    kept.__setstate__((3, every, geometries, np.concatenate(positions), turns, False))
    return kept


_NOTHING = Records(np.empty(0, np.uint8), np.empty(0, np.int32), np.empty(0))
