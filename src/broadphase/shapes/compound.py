"""Several shapes that move as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import quoted
from broadphase.shapes.kinds import RECORDS, ShapeKind, moved
from broadphase.shapes.parameters import common_count
from broadphase.shapes.shape import Shape
from broadphase.shapes.turning import as_placement

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Compound"]


class Compound(Shape):
    """Several shapes that move as one: the union of its parts.

    Parameters
    ----------
    parts : iterable of Shape
        At least one, all of one dimension; each for one compound, or with n rows for n compounds. Compounds among them
        contribute their parts. Hulls, meshes and custom shapes cannot be parts.
    offset, rotation : array_like, optional
        Of the whole, about the origin of the parts, as in `Shape`; and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> hammer = bp.Compound([bp.Segment((0, 0), (0, 3)), bp.Rectangle(2, 1, offset=(0, 3))])
    >>> hammer.parts[1]
    Rectangle(width=2.0, height=1.0, offset=[0.0, 3.0])
    """

    __slots__ = ("_layout", "_parts")
    kind = ShapeKind.COMPOUND

    _layout: tuple[tuple[ShapeKind, int], ...]
    _parts: tuple[Shape, ...]

    def __init__(
        self, parts: Iterable[Shape], *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        if not isinstance(parts, Iterable) or (isinstance(parts, np.ndarray) and not parts.ndim):
            raise TypeError(f"parts must be shapes, not {quoted(parts)}")
        given = (parts,) if isinstance(parts, Shape) else tuple(parts)
        dim = _require_parts(given)
        own, shift, turn = as_placement(offset, rotation, dim)
        columns = {f"parts[{number}]": part.as_parameter(dim) for number, part in enumerate(given)}
        count = common_count([*columns.items(), *own.items()])
        flat = [each for part in given for each in _flattened(part, dim)]
        whole, at = np.empty((count, sum(2 + rows.shape[1] for _, rows in flat))), 0
        for kind, rows in flat:  # each is preceded by its kind and its length
            length = rows.shape[1]
            whole[:, at], whole[:, at + 1] = kind, length
            whole[:, at + 2 : at + 2 + length] = moved(kind, rows, dim, shift, turn)
            at += 2 + length
        whole += 0.0
        object.__setattr__(self, "_parts", given)
        object.__setattr__(self, "_layout", tuple((kind, rows.shape[1]) for kind, rows in flat))
        single = all(value.single for value in (*columns.values(), *own.values()))
        self._set(dim, whole, {name: value.rows for name, value in own.items()}, single)

    @property
    def parts(self) -> tuple[Shape, ...]:
        """The parts as given."""
        return self._parts

    @property
    def layout(self) -> tuple[tuple[ShapeKind, int], ...]:
        """The kind of each part in the record, and its length there; no part is a compound."""
        return self._layout

    def _rows(self, rows: Any, single: bool) -> Self:
        some = super()._rows(rows, single)
        kept = (part[rows] if len(part) == len(self) != 1 else part for part in self._parts)
        object.__setattr__(some, "_parts", tuple(part[0] if single else part for part in kept))
        object.__setattr__(some, "_layout", self._layout)
        return some

    def __repr__(self) -> str:
        own = "".join(f", {text}" for text in self._texts())
        return f"Compound([{', '.join(map(repr, self._parts))}]{own})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self._parts, self._layout, super().__getstate__()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        parts, layout, others = state
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_layout", layout)
        super().__setstate__(others)


def _require_parts(parts: tuple[Shape, ...]) -> int:
    """Check that shapes can be parts of one compound; return their number of dimensions."""
    if not parts:
        raise ValueError("a compound has at least one part")
    for number, part in enumerate(parts):
        if not isinstance(part, Shape):
            raise TypeError(f"parts[{number}] is not a shape but {quoted(part)}")
        if RECORDS[part.kind].is_kept_elsewhere:
            raise ValueError(f"parts[{number}] is a {type(part).__name__}, which cannot be part of a compound")
    known = {part.dim for part in parts} - {None}
    if len(known) != 1:
        raise ValueError(
            "the parts of a compound are of one dimension, not of 2 and 3"
            if known
            else "give one of the points an offset"
        )
    return int(known.pop() or 0)


def _flattened(part: Shape, dim: int) -> Iterable[tuple[ShapeKind, Floats]]:
    rows = part.records(dim)
    if not isinstance(part, Compound):
        yield part.kind, rows
        return
    at = 0
    for kind, length in part.layout:
        yield kind, rows[:, at + 2 : at + 2 + length]
        at += 2 + length
