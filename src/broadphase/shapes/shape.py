"""What all shapes have in common: rows of parameters, and the records made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from broadphase.arguments import as_array
from broadphase.shapes.kinds import moved
from broadphase.shapes.parameters import Parameter, common_count
from broadphase.shapes.turning import as_placement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import NDArray

    from broadphase.shapes.kinds import ShapeKind

    Floats = NDArray[np.float64]

__all__ = ["Shape", "parameter"]

_SHOWN = 6  # rows in full, in the text of a shape


class Shape:
    """A shape, or n shapes of one type, placed relative to its actor. Immutable.

    Parameters
    ----------
    offset : array_like, shape (d,) or (n, d), optional
        Position relative to its actor: of the center of shapes that have one, otherwise of their origin. Rotates with
        the actor.
    rotation : array_like, optional
        Rotation relative to its actor, about its center or origin, before the translation: radians, counterclockwise,
        one or (n,), in the plane; quaternions (w, x, y, z) of any length but zero, (4,) or (n, 4), in space.

    Attributes
    ----------
    dim : int or None
        2 or 3; None for a point without an offset, which fits anywhere.
    offset, rotation : float or ndarray
        As given; zero by default.

    Raises
    ------
    ValueError, TypeError
        Wrong shape or dtype; a number that is not finite, a negative size, a zero quaternion: names the row.

    Notes
    -----
    Shapes are equal if they are of one class and describe the same geometry, whichever way it was given.

    Every parameter is given for one shape, or with one more axis in front for n shapes. ``len(shape)`` is their number;
    ``shape[row]`` is one of them, ``shape[2:5]`` or ``shape[[0, 3]]`` several. One shape serves any number of actors.

    Examples
    --------
    >>> import broadphase as bp
    >>> discs = bp.Circle([1.0, 2.0, 3.0])
    >>> len(discs), discs[1]
    (3, Circle(radius=2.0))
    >>> bp.Circle(1.0, offset=[[0, 0], [0, 5]])[1].offset
    array([0., 5.])
    """

    __slots__ = ("_at_origin", "_dim", "_parameters", "_records", "_single")

    kind: ClassVar[ShapeKind]

    _dim: int | None
    _parameters: dict[str, Floats]  # each of n rows or 1
    _records: Floats  # (n, length): offset and rotation are in them
    _single: bool
    _at_origin: Any  # what `placed.at_origin` has made of it, or None

    def _keep(self, dim: int | None, records: Floats, parameters: dict[str, Parameter]) -> None:
        """Set everything, once; records of one row stand for all."""
        count = common_count(parameters.items())
        if len(records) != count:
            records = np.broadcast_to(records, (count, records.shape[1]))
        rows = records + 0.0  # a copy; -0.0 becomes 0.0
        kept = {name: given.rows for name, given in parameters.items()}
        self._set(dim, rows, kept, all(given.single for given in parameters.values()))

    def _set(self, dim: int | None, records: Floats, parameters: dict[str, Floats], single: bool) -> None:
        for array in (records, *parameters.values()):
            array.flags.writeable = False
        object.__setattr__(self, "_dim", dim)
        object.__setattr__(self, "_records", records)
        object.__setattr__(self, "_parameters", parameters)
        object.__setattr__(self, "_single", single)
        object.__setattr__(self, "_at_origin", None)

    def _place(self, dim: int, records: Floats, own: dict[str, Parameter], offset: Any, rotation: Any) -> None:
        """Keep records, rotated and moved by rotation and offset."""
        if offset is None and rotation is None:
            self._keep(dim, records, own)
            return
        placement, shift, turn = as_placement(offset, rotation, dim)
        parameters = own | placement
        common_count(parameters.items())  # before they are put together
        self._keep(dim, moved(self.kind, records, dim, shift, turn), parameters)

    @property
    def dim(self) -> int | None:
        """2 or 3; None for a point without an offset."""
        return self._dim

    @property
    def offset(self) -> Floats:
        """Position relative to its actor, shape (d,), or (n, d) for many. Read-only."""
        if "offset" in self._parameters:
            return np.asarray(self._value("offset"))
        zeros = np.zeros((len(self), self._dim or 0))
        return zeros[0] if self._single else zeros

    @property
    def rotation(self) -> Any:
        """Rotation relative to its actor: radians in the plane, a quaternion in space. Read-only."""
        if "rotation" in self._parameters:
            return self._value("rotation")
        if self._dim == 3:
            still = np.tile([1.0, 0.0, 0.0, 0.0], (len(self), 1))
            return still[0] if self._single else still
        return 0.0 if self._single else np.zeros(len(self))

    def records(self, dim: int) -> Floats:
        """Return the local records as the core reads them in `dim` dimensions, shape (n, length). Read-only."""
        if self._dim is None:
            return np.zeros((len(self), dim))
        if self._dim != dim:
            raise ValueError(f"a {type(self).__name__} of {self._dim} dimensions does not fit into {dim}")
        return self._records

    def as_parameter(self, dim: int) -> Parameter:
        """Return the local records as a parameter of a shape made from this one."""
        return Parameter(self.records(dim), self._single)

    def _value(self, name: str) -> Any:
        rows = self._parameters[name]
        if not self._single:
            return np.broadcast_to(rows, (len(self), *rows.shape[1:]))
        return rows[0] if rows.ndim > 1 else float(rows[0])

    def _rows(self, rows: Any, single: bool) -> Self:
        """Take some rows, without checking anything again."""
        some = object.__new__(type(self))
        records = self._records[rows]
        kept = {
            name: values[rows] if len(values) == len(self) != 1 else values for name, values in self._parameters.items()
        }
        some._set(self._dim, records, kept, single)
        return some

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, rows: Any) -> Self:
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            row = int(rows)
            if not -len(self) <= row < len(self):
                raise IndexError(f"row {row} of {len(self)} shapes")
            row %= len(self)
            return self if self._single else self._rows(slice(row, row + 1), True)
        if not isinstance(rows, slice):
            rows = as_array(rows, "rows")
            if rows.ndim != 1 or (rows.dtype.kind not in "iub" and rows.size):
                raise TypeError("shapes are taken by a row, a slice, or an array of rows (k,)")
            rows = rows if rows.size else rows.astype(np.int64)
        return self._rows(rows, False)

    def __iter__(self) -> Iterator[Self]:
        return (self[row] for row in range(len(self)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable; make another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable; make another")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape) or type(self) is not type(other):
            return NotImplemented
        return self._dim == other._dim and np.array_equal(self._records, other._records)

    def __hash__(self) -> int:
        return hash((type(self), self._dim, self._records.tobytes()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._texts())})"

    def _texts(self) -> list[str]:
        shown = ((name, rows[0] if self._single else rows) for name, rows in self._parameters.items())
        return [f"{name}={_text(rows)}" for name, rows in shown]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._dim, self._records, self._parameters, self._single

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)


def parameter(name: str, text: str) -> Any:
    """Make the property of a shape that gives a parameter: of one shape, or one row for each of many. Read-only."""
    return property(lambda shape: shape._value(name), doc=text)


def _text(rows: Floats) -> str:
    if rows.ndim == 0:
        return repr(float(rows))
    if len(rows) <= _SHOWN:
        return str(rows.tolist())
    return f"[{_text(rows[0])}, {_text(rows[1])}, ... {len(rows)} of them]"
