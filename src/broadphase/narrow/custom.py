"""The narrow phase of pairs with a shape of a type of the user's own: the test of its class is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array
from broadphase.errors import UnsupportedQueryError
from broadphase.shapes import AABB, CustomRows, CustomShape, Shapes
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.shapes import Shape

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Mask = NDArray[np.bool_]
    Type: TypeAlias = type[Shape]

__all__ = ["are_custom", "overlap_mask", "refuse"]


def are_custom(shapes: Shapes, rows: Rows) -> Mask:
    """Say which rows have a shape of a type of the user's own."""
    if not shapes.geometries.has_custom:
        return np.zeros(len(rows), np.bool_)
    custom: Mask = _records(shapes, rows).kinds == ShapeKind.CUSTOM
    return custom


def refuse(shapes: Shapes, rows: Rows, what: str) -> None:
    """Raise UnsupportedQueryError if a row has a shape of a type of the user's own; names its type."""
    if not shapes.geometries.has_custom:
        return
    custom = np.flatnonzero(are_custom(shapes, rows))
    if len(custom):
        row = int(rows[custom[0]])
        raise UnsupportedQueryError(
            f"row {row} is a {type(shapes[row]).__name__}, a custom shape, which offers no {what}, only overlap"
        )


def overlap_mask(a: Shapes, b: Shapes, first: Rows, second: Rows, offsets: Floats | None = None) -> Mask:
    """Find which pairs of shapes overlap, as `row_pairs.overlap_mask`, where one of each pair or both are custom.

    One call of a test for each pair of types; between two sets, for each pair in either order.
    """
    one, other = _Side(a, first, None), _Side(b, second, offsets)
    if a is b and (turned := one.codes < other.codes).any():
        is_first = turned[:, np.newaxis]
        one = _Side(a, np.where(turned, second, first), None if offsets is None else np.where(is_first, offsets, 0.0))
        other = _Side(a, np.where(turned, first, second), None if offsets is None else np.where(is_first, 0.0, offsets))
    mask = np.empty(len(first), np.bool_)
    keys = one.codes * 2**32 + other.codes
    for key in np.unique(keys).tolist():
        some = np.flatnonzero(keys == key)
        mask[some] = _asked(one.of(some), other.of(some))
    return mask


class _Group(NamedTuple):
    """Shapes of one type, one for each of some pairs."""

    shape_type: Type
    rows: CustomRows | Shapes


class _Side:
    """The first, or the second, shape of each pair; `offsets` move them."""

    def __init__(self, shapes: Shapes, rows: Rows, offsets: Floats | None) -> None:
        self._shapes, self._rows, self._offsets = shapes, rows, offsets
        records = _records(shapes, rows)
        self._begins = np.cumsum(records.sizes, dtype=np.int64) - records.sizes
        self._records = records
        self.codes = records.kinds.astype(np.int64)  # equal for shapes of one type; of custom ones, of one length, too
        custom = records.kinds == ShapeKind.CUSTOM
        self.codes[custom] = len(ShapeKind) + records.numbers[self._begins[custom]].astype(np.int64)

    def of(self, some: NDArray[np.intp]) -> _Group:
        """Give those with some numbers, which have one code."""
        shapes, rows = self._shapes, self._rows[some]
        code, offsets = int(self.codes[some[0]]), None if self._offsets is None else self._offsets[some]
        positions = shapes.positions[rows]
        if offsets is not None:
            positions = positions + offsets
        rotations = None if shapes.rotations is None else shapes.rotations[rows]
        if code >= len(ShapeKind):
            custom: Any = shapes.geometries[code - len(ShapeKind)]
            size = int(self._records.sizes[some[0]])
            numbers = self._records.numbers[self._begins[some][:, np.newaxis] + np.arange(size)]
            return _Group(custom, custom._placed_rows(numbers, positions, rotations))
        if shapes._are_boxes:
            boxes = shapes.boxes[rows]
            placed = _aabbs(boxes if offsets is None else boxes + offsets[:, np.newaxis])
        else:
            placed = _copied(shapes, _records(shapes, rows), positions, rotations)
        return _Group(type(placed[0]), placed)


def _records(shapes: Shapes, rows: Rows) -> Records:
    found: Any = shapes.store.records(np.ascontiguousarray(rows))
    return Records(*found)


def _copied(shapes: Shapes, records: Records, positions: Floats, rotations: Floats | None) -> Shapes:
    """Place records elsewhere."""
    count = len(positions)
    boxes, everybody = np.empty((count, 2, shapes.dim)), np.arange(count, dtype=np.int32)
    store = _native.ShapeStore(shapes.dim, shapes.geometries.vertices)
    store.set(everybody, *records)
    store.place(everybody, positions, rotations, positions, rotations, boxes)
    return Shapes._around(store, shapes.geometries, shapes.dim, boxes, positions, rotations)


def _aabbs(boxes: Floats) -> Shapes:
    """Make shapes with exactly these boxes."""
    half = 0.5 * boxes[:, 1] - 0.5 * boxes[:, 0]
    placed = Shapes(AABB(2 * half), boxes[:, 0] + half)
    placed._boxes[:] = boxes
    return placed


def _asked(one: _Group, other: _Group) -> Mask:
    """Ask the test of one of two types, and where that does not know the other type, that of the other."""
    groups = [one, other]
    if one.shape_type is not other.shape_type and _name(other.shape_type) < _name(one.shape_type):
        groups.reverse()  # the same test, whichever way round the pairs are given
    for group, against in (groups, groups[::-1]):
        if issubclass(group.shape_type, CustomShape):
            answer = _answer(group, against)
            if answer is not None:
                return answer
        if one.shape_type is other.shape_type:
            break
    _refuse_types(*groups)


def _answer(group: _Group, against: _Group) -> Mask | None:
    custom: Any = group.shape_type
    name, count = f"{custom.__name__}.overlaps", len(group.rows)
    try:
        given: Any = custom.overlaps(group.rows, against.rows)
    except Exception as error:
        error.add_note(f"raised by {name}, asked about {count} of {against.shape_type.__name__}")
        raise
    if given is NotImplemented:
        return None
    answer = as_array(given, f"the answer of {name}")
    if answer.dtype != np.bool_:
        raise TypeError(f"{name} must return an array of bool, not of {answer.dtype} ({type(given).__name__})")
    if answer.shape != (count,):
        raise ValueError(f"{name} must return an array of shape ({count},), not {answer.shape}")
    return answer


def _refuse_types(one: _Group, other: _Group) -> NoReturn:
    if not issubclass(one.shape_type, CustomShape):
        one, other = other, one
    raise UnsupportedQueryError(
        f"whether a {one.shape_type.__name__} overlaps a {other.shape_type.__name__} is not known: "
        f"{' or '.join(f'{each.__name__}.overlaps' for each in _customs(one, other))} must say so"
    )


def _customs(one: _Group, other: _Group) -> list[Type]:
    return [each for each in dict.fromkeys((one.shape_type, other.shape_type)) if issubclass(each, CustomShape)]


def _name(kind: Type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__
