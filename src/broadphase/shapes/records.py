"""Records of shapes: conversion to the arrays that the core reads, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.errors import quoted
from broadphase.shapes.compound import Compound
from broadphase.shapes.kinds import RECORDS, ShapeKind, are_kept_elsewhere
from broadphase.shapes.registry import rotation_of, type_of, unless_zero
from broadphase.shapes.shape import Shape
from broadphase.shapes.solids import Geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "Geometries", "Records", "ShapesLike", "dimension_of", "geometry_numbers", "geometry_places", "records_of",
    "shape_from_record",
]  # fmt: skip

ShapesLike: TypeAlias = Shape | Iterable[Shape]
# What records name by number: a geometry, or the class of shapes of the user's own, a `CustomShape`.
Kept: TypeAlias = Geometry | type[Shape]


class Records(NamedTuple):
    """Local records of shapes: the kind of each (`ShapeKind`), its length, and the numbers of all in a row."""

    kinds: NDArray[np.uint8]
    sizes: NDArray[np.int32]
    numbers: Floats


class Geometries:
    """What records name by numbers: geometries, and classes of users; counted by reference where a world says so.

    Those without references are of no consequence, until `drop_unused` drops them.

    Examples
    --------
    >>> import broadphase as bp
    >>> known = Geometries()
    >>> [known.number_of(bp.ConvexHull(np.eye(4, 3) * size)) for size in (1, 2, 1)]
    [0, 1, 0]
    >>> known.references = known.counted(used=np.array([1, 1]), released=np.array([1]))
    >>> known.drop_unused()
    >>> dict(known.items()).keys(), known.references
    (dict_keys([1]), {1: 1})
    """

    def __init__(self, geometries: Iterable[Kept] = ()) -> None:
        self._geometries: dict[int, Kept] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}  # those of each number in `_numbers`
        self._numbers: dict[Any, int] = {}
        self.references: dict[int, int] = {}  # how often each geometry is used
        # See the properties; None: not known since the last change.
        self._prepared: list[Any] | None = None
        self._in_core: _native.KeptGeometries | None = None
        self._has_custom: bool | None = None
        # What stores of shapes read when they compute boxes of hulls and meshes.
        self.vertices = _native.VerticesByNumber()
        self.extend(geometries)

    def __len__(self) -> int:
        return len(self._geometries)

    def __getitem__(self, number: int) -> Kept:
        return self._geometries[number]

    def __contains__(self, number: object) -> bool:
        return number in self._geometries

    def items(self) -> Iterator[tuple[int, Kept]]:
        """Give the numbers that are in use, ascending, and their geometries."""
        return iter(sorted(self._geometries.items()))

    @property
    def has_custom(self) -> bool:
        """Whether there are classes of users among them."""
        known = self._has_custom
        if known is None:
            known = self._has_custom = any(isinstance(kept, type) for kept in self._geometries.values())
        return known

    @property
    def prepared(self) -> list[Any]:
        """What the core keeps of each, by number: None for classes of users, and for numbers that are not in use."""
        known = self._prepared
        if known is None:
            known = []
            for number, geometry in self.items():
                known += [None] * (number - len(known))
                known.append(None if isinstance(geometry, type) else geometry.prepared)
            self._prepared = known
        return known

    @property
    def in_core(self) -> _native.KeptGeometries:
        """The same for queries of worlds, which do not look at a list each time."""
        known = self._in_core
        if known is None:
            known = self._in_core = _native.KeptGeometries(self.prepared)
        return known

    def copy(self) -> Geometries:
        """Copy them under the same numbers: what is added to the copy, or dropped from it, is not from these."""
        made = Geometries()
        made._geometries, made._keys = self._geometries.copy(), self._keys.copy()
        made._numbers, made.references = self._numbers.copy(), self.references.copy()
        for number, geometry in made._geometries.items():
            made.vertices.put(number, None if isinstance(geometry, type) else geometry.core_vertices)
        return made

    def number_of(self, geometry: Kept) -> int:
        """Give the number of a geometry, a free one if it is not known. Offset and rotation do not count."""
        number = self._numbers.get(_identity_of(geometry))  # kept alive here, so that nothing else has this id
        if number is None:
            content = _content_of(geometry)
            number = self._numbers.get(content)
            if number is None:
                number = self._add(geometry, content)
        return number

    def extend(self, geometries: Iterable[Kept]) -> None:
        """Add geometries that are not known yet, under the next numbers."""
        for geometry in geometries:
            self._add(geometry, _content_of(geometry))

    def counted(
        self, used: NDArray[np.integer[Any]] | None = None, released: NDArray[np.integer[Any]] | None = None
    ) -> dict[int, int]:
        """Count what `references` are when each of some numbers is used once more, and each of others once less."""
        counts = dict(self.references)
        for numbers, change in ((used, 1), (released, -1)):
            for number in () if numbers is None else numbers.tolist():
                counts[number] = counts.get(number, 0) + change
        return {number: count for number, count in counts.items() if count}

    def drop_unused(self) -> None:
        """Drop the geometries without references."""
        if not self._geometries:
            return
        for number in self._geometries.keys() - self.references.keys():
            # In this order: whatever comes between, every key that is left names a geometry.
            for key in self._keys.get(number, ()):
                self._numbers.pop(key, None)
            self._keys.pop(number, None)
            self._prepared = self._in_core = self._has_custom = None
            self.vertices.put(number, None)
            del self._geometries[number]

    def _add(self, geometry: Kept, content: tuple[object, ...]) -> int:
        number = len(self._geometries)
        if number in self._geometries:
            number = next(free for free in range(number) if free not in self._geometries)
        keys = _identity_of(geometry), content
        self._prepared = self._in_core = self._has_custom = None
        self.vertices.put(number, None if isinstance(geometry, type) else geometry.core_vertices)
        self._geometries[number], self._keys[number] = geometry, keys
        self._numbers.update(dict.fromkeys(keys, number))
        return number

    def __getstate__(self) -> list[Kept]:
        return [geometry for _, geometry in self.items()]

    def __setstate__(self, geometries: list[Kept]) -> None:
        type(self).__init__(self, geometries)


def _identity_of(kept: Kept) -> int:
    return id(kept) if isinstance(kept, type) else id(kept.source)


def _content_of(kept: Kept) -> tuple[object, ...]:
    return (kept,) if isinstance(kept, type) else kept.content


def geometry_places(kinds: NDArray[np.uint8], sizes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Say where records of geometries and types of users have the numbers of these, in `Records.numbers`."""
    begins = np.cumsum(sizes, dtype=np.int64) - sizes
    return begins[are_kept_elsewhere(kinds)]


def geometry_numbers(kinds: NDArray[np.uint8], sizes: NDArray[np.int32], numbers: Floats) -> NDArray[np.int64]:
    """Give the numbers of the geometries that records name, one for each that names one."""
    return numbers[geometry_places(kinds, sizes)].astype(np.int64)


def dimension_of(shapes: Shape | Sequence[Shape], wanted: int | None = None) -> int | None:
    """Return the number of dimensions of shapes, which must agree; None for points without an offset."""
    for row, shape in enumerate((shapes,) if isinstance(shapes, Shape) else shapes):
        if shape.dim is None:
            continue
        if wanted is None:
            wanted = shape.dim
        elif shape.dim != wanted:
            which = "" if isinstance(shapes, Shape) else f"row {row}, "
            raise ValueError(
                f"shapes: {which}a {type(shape).__name__} of {shape.dim} dimensions, where {wanted} are needed"
            )
    return wanted


def as_shapes(shapes: ShapesLike) -> Shape | list[Shape]:
    """Check that these are shapes, and make a list of all but a single object."""
    if isinstance(shapes, Shape):
        return shapes
    if not isinstance(shapes, Iterable) or (isinstance(shapes, np.ndarray) and not shapes.ndim):
        raise TypeError(f"shapes must be a Shape or a list of them, not {quoted(shapes)}")
    given = list(shapes)
    for row, shape in enumerate(given):
        if not isinstance(shape, Shape):
            raise TypeError(f"shapes: row {row} is not a shape but {quoted(shape)}")
    return given


def records_of(shapes: ShapesLike, count: int, dim: int, geometries: Geometries) -> Records:
    """Return the local records of `count` shapes in `dim` dimensions: one for all, or the rows of a list.

    Geometries are looked up in `geometries`, or added. Arrays may be views of the shapes: do not write to them.

    Examples
    --------
    >>> import broadphase as bp
    >>> records_of([bp.Circle(2), bp.Segment((0, 0), (1, 0))], 2, 2, Geometries())
    Records(kinds=array([1, 2], dtype=uint8), sizes=array([3, 4], dtype=int32),
            numbers=array([0., 0., 2., 0., 0., 1., 0.]))
    """
    if count == 1 and isinstance(shapes, Shape) and shapes.dim == dim and len(shapes) == 1:
        rows = _rows_of(shapes, dim, geometries)  # of one body: many are added one by one
        return Records(*_of_one(shapes.kind, rows.shape[1]), rows[0])
    given = as_shapes(shapes)
    if isinstance(given, Shape):
        if given.dim != dim:
            dimension_of(given, dim)
        _require_count(len(given), count)
        rows = _rows_of(given, dim, geometries)
        if count == 1:
            return Records(*_of_one(given.kind, rows.shape[1]), rows[0])
        if len(rows) != count:
            rows = np.repeat(rows, count, axis=0)
        kinds = np.full(count, given.kind, np.uint8)
        return Records(kinds, np.full(count, rows.shape[1], np.int32), rows.reshape(-1))
    dimension_of(given, dim)
    return _records_of_many(given, count, dim, geometries)


@lru_cache(maxsize=64)
def _of_one(kind: ShapeKind, size: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return kinds and sizes of a single record. Read-only."""
    kinds, sizes = np.array([kind], np.uint8), np.array([size], np.int32)
    kinds.flags.writeable = sizes.flags.writeable = False
    return kinds, sizes


def _records_of_many(shapes: list[Shape], count: int, dim: int, geometries: Geometries) -> Records:
    blocks = [_rows_of(shape, dim, geometries) for shape in shapes]
    total = sum(len(rows) for rows in blocks)
    _require_count(total, count)
    if total != count:
        return records_of(next(shape for shape in shapes if len(shape)), count, dim, geometries)
    counts = np.array([len(rows) for rows in blocks], np.int64)
    kinds = np.repeat(np.array([shape.kind for shape in shapes], np.uint8), counts)
    sizes = np.repeat(np.array([rows.shape[1] for rows in blocks], np.int32), counts)
    flat = [rows.reshape(-1) for rows in blocks]
    return Records(kinds, sizes, np.concatenate(flat) if flat else np.empty(0))


def _require_count(rows: int, count: int) -> None:
    if rows not in (1, count):
        raise ValueError(f"{rows} shapes for {count} positions: give one shape for all, or one for each")


def _rows_of(shape: Shape, dim: int, geometries: Geometries) -> Floats:
    rows = shape.records(dim)
    if not RECORDS[shape.kind].is_kept_elsewhere:
        return rows
    rows = rows.copy()
    rows[:, 0] = geometries.number_of(shape if isinstance(shape, Geometry) else type(shape))
    return rows


def shape_from_record(kind: int, record: Floats, dim: int, geometries: Geometries) -> Shape:
    """Make the shape that a local record describes: equal to the one that it was made from, up to rounding of an angle.

    Examples
    --------
    >>> shape_from_record(1, np.array([0.0, 5.0, 2.0]), 2, Geometries())
    Circle(radius=2.0, offset=[0.0, 5.0])
    """
    numbers = np.asarray(record, dtype=np.float64)
    row = RECORDS[ShapeKind(kind)]
    if row.has_parts:
        return _compound(numbers, dim, geometries)
    if row.is_kept_elsewhere:
        return _kept(numbers, dim, geometries[int(numbers[0])])
    make: Any = type_of(ShapeKind(kind), dim).make
    shape: Shape = make(numbers, dim)
    return shape


def _compound(numbers: Floats, dim: int, geometries: Geometries) -> Shape:
    parts = []
    at = 0
    while at < len(numbers):
        length = int(numbers[at + 1])
        parts.append(shape_from_record(int(numbers[at]), numbers[at + 2 : at + 2 + length], dim, geometries))
        at += 2 + length
    return Compound(parts)


def _kept(numbers: Floats, dim: int, kept: Any) -> Shape:
    shape: Shape
    if isinstance(kept, type):
        shape = kept._from_records(numbers[np.newaxis])  # type: ignore[attr-defined]
    else:
        shape = kept.placed(unless_zero(numbers[1:4]), rotation_of(numbers[4:13], dim))
    return shape
