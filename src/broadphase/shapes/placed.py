"""Placed shapes: what the narrow phase works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_own_array
from broadphase.shapes.parameters import Parameter, as_vectors, common_count
from broadphase.shapes.records import Geometries, Records, as_shapes, dimension_of, records_of, shape_from_record
from broadphase.shapes.shape import Shape
from broadphase.shapes.turning import as_rotations

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes.records import ShapesLike

    Floats = NDArray[np.float64]

__all__ = ["Shapes", "at_origin", "shapes_of_boxes"]

_EXTREME = 100  # binary exponent: quaternions beyond it are scaled, so that no square is out of range


class Shapes:
    """Placed shapes: shapes with positions and rotations.

    Parameters
    ----------
    shapes : Shape or iterable of Shape
        One shape for all positions, n rows for n positions, or a list of shapes: their rows one after another.
    positions : array_like, shape (n, d), or (d,) for all
        Position of each, at most 1e40.
    rotations : array_like, optional
        Rotation of each: in the plane radians, counterclockwise, (n,), or one for all; in space quaternions
        (w, x, y, z), (n, 4), or (4,) for all, of any length but zero. Default: None, not rotated; nothing is rounded.

    Attributes
    ----------
    dim : int
        2 or 3.
    boxes : ndarray, shape (n, 2, d), float64
        Bounding box of each, for `pairs` and the indexes: exact around an `AABB`, and around a `Rectangle` or `Box`
        that is not rotated; a few roundings larger around the others, so that none is missed. Around the rotated
        vertices of a hull or a mesh, around the rotated `bounds` of a `CustomShape`.
    positions, rotations : ndarray
        Their positions and rotations; None without rotations. Read-only views; see `move`.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; numbers that do not fit; NaN or an infinity, a zero quaternion, a shape of another
        dimension: names the row.

    Notes
    -----
    Computes in float64, for lengths from 1e-40 to 1e40; gaps below may be found to be zero. Any number of threads may
    query at the same time, while none calls `move`.

    Examples
    --------
    >>> import broadphase as bp
    >>> shapes = bp.Shapes([bp.Circle(1), bp.Rectangle(2, 4)], [[0, 0], [3, 0]])
    >>> shapes.boxes[1].tolist()
    [[2.0, -2.0], [4.0, 2.0]]
    >>> bp.overlaps(shapes)
    array([], shape=(0, 2), dtype=int32)
    """

    _boxes: Floats
    _positions: Floats
    _rotations: Floats | None
    _alive: NDArray[np.bool_] | None  # of rows; None: all
    _is_own: bool
    _is_one: bool  # given without an axis of rows

    def __init__(self, shapes: ShapesLike, positions: ArrayLike, rotations: ArrayLike | None = None) -> None:
        given, places, turns, count = _read(shapes, positions, rotations, None)
        self.dim = places.rows.shape[1]
        self.geometries = Geometries()
        self.store = _native.ShapeStore(self.dim, self.geometries.vertices)
        self._fill(records_of(given, count, self.dim, self.geometries), places, turns, count)
        is_one = isinstance(given, Shape) and given._single and places.single
        self._is_one = is_one and (turns is None or turns.single)

    @classmethod
    def _around(
        cls,
        store: _native.ShapeStore,
        geometries: Geometries,
        dim: int,
        boxes: Floats,
        positions: Floats,
        rotations: Floats | None,
        alive: NDArray[np.bool_] | None = None,
    ) -> Self:
        """View what a world keeps and moves, without a copy: by row; rows that are not alive have no shape."""
        shapes = object.__new__(cls)
        shapes.dim, shapes.store, shapes.geometries, shapes._is_own = dim, store, geometries, False
        shapes._boxes, shapes._positions, shapes._rotations, shapes._alive = boxes, positions, rotations, alive
        shapes._is_one = False
        return shapes

    @property
    def _are_boxes(self) -> bool:
        """Whether they are what `shapes_of_boxes` made: placed, and without local records."""
        return np.may_share_memory(self._positions, self._boxes)

    @property
    def boxes(self) -> Floats:
        """Bounding box of each, shape (n, 2, d). A read-only view: it shows what `move` changes."""
        return _read_only(self._boxes)

    @property
    def positions(self) -> Floats:
        """Position of each, shape (n, d). A read-only view."""
        return _read_only(self._positions)

    @property
    def rotations(self) -> Floats | None:
        """Rotation of each, shape (n,) or (n, 4); None without rotations. A read-only view."""
        return None if self._rotations is None else _read_only(self._rotations)

    def move(
        self, positions: ArrayLike | None = None, rotations: ArrayLike | None = None, *, rows: ArrayLike | None = None
    ) -> None:
        """Move and rotate shapes.

        Parameters
        ----------
        positions, rotations : array_like, optional
            New ones of these rows, or one for all, in the form that the class takes. Default: unchanged.
        rows : array_like of int, shape (k,), optional
            Rows to move. Default: all. If a row is named twice, the last counts.

        Raises
        ------
        ValueError, TypeError
            As the class; a row that does not exist. Nothing has changed then.

        Examples
        --------
        >>> import broadphase as bp
        >>> shapes = bp.Shapes(bp.Circle(1), [[0, 0], [3, 0]])
        >>> shapes.move([[1, 0]], rows=[0])
        >>> bp.overlaps(shapes).tolist()
        [[0, 1]]
        """
        self._require_own()
        which = self.living_rows() if rows is None else self.checked_rows(rows)
        places = None if positions is None else as_vectors(positions, "positions", self.dim).rows
        turns = None if rotations is None else as_rotations(rotations, self.dim, "rotations").rows
        for name, array in (("positions", places), ("rotations", turns)):
            if array is not None and len(array) not in (1, len(which)):
                raise ValueError(f"{name} has {len(array)} rows for {len(which)} shapes")
        if turns is not None:
            if self._rotations is None:
                self._rotations = _not_turned(len(self), self.dim)
            self._rotations[which] = _in_range(turns)
        if places is not None:
            self._positions[which] = places
        self._place(which)

    def extend(self, shapes: ShapesLike, positions: ArrayLike, rotations: ArrayLike | None = None) -> None:
        """Add shapes behind the others; their rows come after those that there are.

        Parameters
        ----------
        shapes, positions, rotations
            As the class takes them, and so are errors. Nothing has changed then.

        Notes
        -----
        Copies the positions, rotations and boxes of all rows: add many at once.

        Examples
        --------
        >>> import broadphase as bp
        >>> shapes = bp.Shapes(bp.Circle(1), [[0, 0], [4, 0]])
        >>> shapes.extend(bp.Rectangle(2, 2), [[1, 1]])
        >>> len(shapes), bp.overlaps(shapes).tolist()
        (3, [[0, 2]])
        """
        self._require_own()
        given, places, turns, count = _read(shapes, positions, rotations, self.dim)
        records, before = records_of(given, count, self.dim, self.geometries), len(self)
        kept = self._rotations
        if kept is not None or turns is not None:
            turned = _not_turned(count, self.dim) if turns is None else _repeated(_in_range(turns.rows), count)
            kept = np.concatenate([_not_turned(before, self.dim) if kept is None else kept, turned])
        all_places = np.concatenate([self._positions, _repeated(places.rows, count)])
        boxes = np.concatenate([self._boxes, np.empty((count, 2, self.dim))])
        rows = np.arange(before, before + count, dtype=np.int32)
        self.store.set(rows, *records)
        self._positions, self._rotations, self._boxes, self._is_one = all_places, kept, boxes, False
        self._place(rows)

    def checked_rows(self, rows: ArrayLike, name: str = "rows") -> NDArray[np.int32]:
        """Copy row numbers, from 0, to int32, shape (k,), contiguous; those that do not exist are errors."""
        array = as_own_array(rows, name)
        is_plain = array.dtype == np.int32 and array.ndim == 1 and array.flags.c_contiguous and self._alive is None
        if is_plain and (not array.size or array.view(np.uint32).max() < len(self)):  # negative numbers are large there
            return array
        if array.ndim != 1:
            raise ValueError(f"{name} must have shape (k,), not {array.shape}")
        if array.dtype.kind not in "iu" and array.size:
            raise TypeError(f"{name} must be integers, not {array.dtype}")
        wrong = (array < 0) | (array >= len(self))
        if wrong.any():
            place = int(wrong.argmax())
            raise ValueError(f"{name}: number {place} is {array[place]}, but there are {len(self)} shapes, from 0")
        which = np.ascontiguousarray(array, dtype=np.int32)
        if self._alive is not None and not self._alive[which].all():
            place = int(np.argmin(self._alive[which]))
            raise ValueError(f"{name}: number {place} is {which[place]}, which has been removed")
        return which

    def living_rows(self) -> NDArray[np.int32]:
        """Return the rows that have a shape: all, except in a world from which bodies were removed."""
        if self._alive is None:
            return np.arange(len(self), dtype=np.int32)
        return np.flatnonzero(self._alive[: len(self)]).astype(np.int32)

    def records(self, rows: ArrayLike | None = None) -> Records:
        """Return the local records of some rows, or of all, as the core stores them."""
        found: Any = self.store.records(self.living_rows() if rows is None else self.checked_rows(rows))
        return Records(*found)

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, row: int) -> Shape:
        number = int(row)
        if not -len(self) <= number < len(self):
            raise IndexError(f"row {number} of {len(self)} shapes")
        kinds, _, numbers = self.records([number % len(self)])
        return shape_from_record(int(kinds[0]), numbers, self.dim, self.geometries)

    def __repr__(self) -> str:
        return f"<{len(self)} shapes in {self.dim} dimensions>"

    def __getstate__(self) -> tuple[Any, ...]:
        self._require_own()
        return self.dim, self.records(), self.geometries, self._positions, self._rotations, self._is_one

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dim, records, self.geometries, positions, rotations, self._is_one = state
        self.store = _native.ShapeStore(self.dim, self.geometries.vertices)
        self._alive = None
        turns = None if rotations is None else Parameter(rotations, False)
        self._fill(records, Parameter(positions, False), turns, len(positions))

    def _require_own(self) -> None:
        if not self._is_own:
            raise TypeError("these shapes are a view of a world: move its bodies instead")

    def _fill(self, records: Records, places: Parameter, turns: Parameter | None, count: int) -> None:
        self._alive, self._is_own = None, True
        self._positions = _repeated(places.rows, count)
        self._rotations = None
        if turns is not None:
            self._rotations = _repeated(_in_range(turns.rows), count)
        self._boxes = np.empty((count, 2, self.dim))
        rows = np.arange(count, dtype=np.int32)
        self.store.set(rows, *records)
        self._place(rows)

    def _place(self, rows: NDArray[np.int32]) -> None:
        """Let the core place some rows; the arrays are both its input and the positions it has seen last."""
        positions, rotations = self._positions, self._rotations
        self.store.place(rows, positions, rotations, positions, rotations, self._boxes)


def at_origin(shape: Shape, dim: int | None) -> Shapes:
    """Return a shape as it is placed by its own offset and rotation; one that fits anywhere in `dim` dimensions, or 2.

    It is made once, and kept with the shape: it must not be moved.
    """
    wanted = shape.dim or dim or 2
    placed: Shapes | None = shape._at_origin
    if placed is None or placed.dim != wanted:
        placed = Shapes(shape, np.zeros(wanted))
        object.__setattr__(shape, "_at_origin", placed)
    return placed


def shapes_of_boxes(boxes: Floats) -> Shapes:
    """Make axis-aligned boxes with exactly these corners, (n, 2, d), which are not checked; they cannot be moved."""
    boxes = np.ascontiguousarray(boxes)
    store = _native.ShapeStore(boxes.shape[2], None)
    store.set_boxes(boxes)
    return Shapes._around(store, Geometries(), boxes.shape[2], boxes, boxes[:, 0], None)


def _read(
    shapes: ShapesLike, positions: ArrayLike, rotations: ArrayLike | None, dim: int | None
) -> tuple[Shape | list[Shape], Parameter, Parameter | None, int]:
    """Check shapes, positions and rotations, of a dimension if it is known; return them, and their number."""
    given = as_shapes(shapes)
    known = dimension_of(given, dim)
    if as_array(positions, "positions").shape == (0,):
        positions = np.empty((0, known or 2))
    places = as_vectors(positions, "positions", dim)
    dimension = places.rows.shape[1]
    dimension_of(given, dimension)
    turns = None if rotations is None else as_rotations(rotations, dimension, "rotations")
    rows = len(given) if isinstance(given, Shape) else sum(map(len, given))
    return given, places, turns, _count(rows, places, turns)


def _count(shapes: int, places: Parameter, turns: Parameter | None) -> int:
    """Return the number of shapes; one position, one rotation or one shape serves all."""
    count = len(places.rows)
    if places.single:
        count = shapes if turns is None else common_count([("shapes", _rows_only(shapes)), ("rotations", turns)])
    if turns is not None and len(turns.rows) not in (1, count):
        raise ValueError(f"rotations has {len(turns.rows)} rows for {count} shapes")
    return count


def _rows_only(count: int) -> Parameter:
    return Parameter(np.empty((count, 0)), False)


def _in_range(rotations: Floats) -> Floats:
    """Scale quaternions of extreme length by a power of two: the rotation is the same."""
    if rotations.ndim == 1:
        return rotations
    exponents = np.frexp(np.abs(rotations).max(axis=1, initial=0.0))[1]
    extreme = np.abs(exponents) > _EXTREME
    if not extreme.any():
        return rotations
    return np.ldexp(rotations, np.where(extreme, -exponents, 0)[:, np.newaxis])


def _repeated(rows: Floats, count: int) -> Floats:
    """Copy `count` rows, or one for all."""
    return np.repeat(rows, 1 if len(rows) == count else count, axis=0)


def _not_turned(count: int, dim: int) -> Floats:
    return np.zeros(count) if dim == 2 else np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))


def _read_only(array: Floats) -> Floats:
    view = array.view()
    view.flags.writeable = False
    return view
