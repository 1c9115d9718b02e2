"""The shapes of a group, as a scene file describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import broadphase as bp
from broadphase.scenes.spread import Spread, number_spread, point, vector_spread
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from broadphase.scenes.table import Table

__all__ = ["TYPES", "ShapePlan", "read_shape"]

# Keys by the form of their values: a length, a vector, corners. Those of a file are the arguments of the class.
_LENGTH, _VECTOR, _CORNERS = "length", "vector", "corners"

TYPES: dict[str, tuple[str, tuple[int, ...], dict[str, str]]] = {
    "point": ("Point", (2, 3), {}),
    "circle": ("Circle", (2,), {"radius": _LENGTH}),
    "sphere": ("Sphere", (3,), {"radius": _LENGTH}),
    "segment": ("Segment", (2, 3), {"start": _VECTOR, "end": _VECTOR}),
    "capsule": ("Capsule", (2, 3), {"start": _VECTOR, "end": _VECTOR, "radius": _LENGTH}),
    "rectangle": ("Rectangle", (2,), {"width": _LENGTH, "height": _LENGTH}),
    "box": ("Box", (3,), {"x": _LENGTH, "y": _LENGTH, "z": _LENGTH}),
    "aabb": ("AABB", (2, 3), {"size": _VECTOR}),
    "triangle": ("Triangle", (2, 3), {"corners": _CORNERS}),
    "convex_polygon": ("ConvexPolygon", (2,), {"corners": _CORNERS}),
}
"""Class, dimensions and keys of each type; ``compound`` is one more."""

_STIFF = ("point", "circle", "sphere", "aabb", "compound")  # turning them by themselves has no meaning


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """A type of shape, and its parameters.

    Attributes
    ----------
    type : str
        A key of `TYPES`, or ``compound``.
    parameters : tuple of (str, Spread or tuple)
        Arguments of the class; corners are a tuple of points, the same for all.
    parts : tuple of ShapePlan
        Of a compound.
    """

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()
    parts: tuple[ShapePlan, ...] = ()

    def make(self, draws: Draws, count: int) -> Any:
        """Make a shape of `count` rows, at least 1; what varies is drawn, in the order of the keys of the type."""
        if self.type == "compound":
            return bp.Compound([part.make(draws, count) for part in self.parts])
        arguments = {name: _drawn(value, draws, count) for name, value in self.parameters}
        return getattr(bp, TYPES[self.type][0])(**arguments)


def read_shape(table: Table, dimension: int) -> ShapePlan:
    """Read the table ``shape``.

    Parameters
    ----------
    table : Table
        What the file has.
    dimension : int
        Of the world.

    Returns
    -------
    ShapePlan

    Raises
    ------
    ValueError
        Something is wrong with it; names the key.
    """
    kind = table.text("type", choices=(*TYPES, "compound"))
    if kind == "compound":
        plan = ShapePlan(kind, parts=tuple(read_shape(part, dimension) for part in table.tables("parts")))
        if not plan.parts:
            raise table.wrong("parts", "is missing: a list of tables, each a shape")
    else:
        _, dimensions, forms = TYPES[kind]
        if dimension not in dimensions:
            raise table.wrong("type", f"a {kind} does not fit into a world of dim = {dimension}")
        parameters = [(name, _read(table, name, form, dimension)) for name, form in forms.items()]
        parameters += [("offset", vector_spread(table, "offset", dimension))]
        if kind not in _STIFF:
            turn = number_spread(table, "rotation") if dimension == 2 else vector_spread(table, "rotation", 4)
            parameters += [("rotation", turn)]
        plan = ShapePlan(kind, tuple((name, value) for name, value in parameters if value is not None))
    table.finish()
    try:
        plan.make(Draws(0), 1)
    except ValueError as error:  # corners that are not convex, a quaternion of length 0
        raise table.wrong("type", f"no {kind} can be made: {error}") from None
    return plan


def _drawn(value: Any, draws: Draws, count: int) -> Any:
    if not isinstance(value, Spread):
        return value
    return value.draw(draws, count) if value.varies else value.draw(draws, 1)[0]  # one for all takes less memory


def _read(table: Table, name: str, form: str, dimension: int) -> Any:
    if name not in table:
        table.take(name)
    if form == _LENGTH:
        return number_spread(table, name, least=0)
    if form == _VECTOR:
        return vector_spread(table, name, dimension)
    corners = table.take(name)
    if not isinstance(corners, list):
        raise table.wrong(name, "must be a list of points")
    return tuple(point(table, name, corner, dimension) for corner in corners)
