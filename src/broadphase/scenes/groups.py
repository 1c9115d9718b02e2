"""Groups of bodies: how many, of which shape, where they are and how they move."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import broadphase as bp
from broadphase.scenes.values import Spread, grid, number_spread, point, vector_spread
from broadphase.shapes.registry import TYPES as SHAPE_TYPES
from broadphase.testing.draws import Draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.scenes.values import Table

    Corners = tuple[tuple[float, ...], tuple[float, ...]]

__all__ = [
    "MOST_BODIES", "SCENE_TYPES", "Group", "Placement", "ShapePlan", "read_corners", "read_group", "read_placement",
    "read_shape",
]  # fmt: skip


MOST_BODIES = 10_000_000
"""In all groups of a file: a small file must not be able to fill the memory. `Scene.changed` makes larger scenes."""
_WAYS = ("uniform", "grid", "clusters", "list")


@dataclass(frozen=True, slots=True)
class Placement:
    """How positions are chosen."""

    how: str  # one of `_WAYS`
    corners: Corners | None = None  # of the region; None for a list
    spacing: tuple[float, ...] = ()  # size of the cells of the grid, along each axis
    clusters: int = 0
    spread: float = 0.0  # standard deviation within a cluster, along each axis
    points: tuple[tuple[float, ...], ...] = ()  # of a list

    @property
    def room(self) -> int | None:
        """Number of different positions of a list or a grid; None if unlimited."""
        return prod(self.shape) if self.how == "grid" else len(self.points) if self.how == "list" else None

    def draw(self, draws: Draws, count: int, first: int = 0) -> NDArray[np.float64]:
        """Return positions, (count, d). A grid or a list is used in order from number `first`, cyclically."""
        if self.how == "list":
            numbers = np.arange(first, first + count) % len(self.points)
            return np.asarray(np.array(self.points, np.float64)[numbers])
        lower, upper = map(np.array, cast("Corners", self.corners))
        if self.how == "grid":
            numbers = np.arange(first, first + count) % prod(self.shape)
            cells = np.stack(
                np.unravel_index(numbers, self.shape[::-1])[::-1], axis=-1
            )  # the first axis varies fastest
            return np.asarray(lower + (cells + 0.5) * np.array(self.spacing))
        if self.how == "uniform":
            return np.asarray(lower + (upper - lower) * draws.random((count, len(lower))))
        middles = lower + (upper - lower) * draws.random((self.clusters, len(lower)))
        chosen = draws.integers(0, self.clusters, count)
        places = middles[chosen] + self.spread * draws.normal((count, len(lower)))
        return np.asarray(np.clip(places, lower, upper))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of grid cells along each axis."""
        lower, upper = cast("Corners", self.corners)
        return tuple(int((high - low) / step) for low, high, step in zip(lower, upper, self.spacing, strict=True))


def read_placement(table: Table, dim: int, bounds: Corners | None) -> Placement:
    """Read the table ``place``; the region is by default all of the world, if it has bounds."""
    how = table.string("how", "uniform", choices=_WAYS)
    if how == "list":
        at = table.take("at")
        if not isinstance(at, list) or not at:
            raise table.wrong("at", "must be a list of points")
        placement = Placement(how, points=tuple(point(table, "at", one, dim) for one in at))
    else:
        region = table.take("in", None)
        corners = bounds if region is None else read_corners(table, "in", region, dim)
        if corners is None:
            raise table.wrong("in", "is missing: two corners, because the world has no bounds")
        if how == "grid":
            placement = Placement(how, corners, spacing=_spacing(table, dim))
            if not 0 < prod(placement.shape) <= 2**31 - 64:
                raise table.wrong("spacing", f"gives {prod(placement.shape)} cells")
        elif how == "clusters":
            clusters, spread = table.integer("clusters", least=1, most=MOST_BODIES), table.number("spread", least=0)
            placement = Placement(how, corners, clusters=clusters, spread=spread)
        else:
            placement = Placement(how, corners)
    table.finish()
    return placement


def read_corners(table: Table, key: str, value: Any, dim: int) -> Corners:
    """Read a lower and an upper corner."""
    if not isinstance(value, list) or len(value) != 2:
        raise table.wrong(key, f"must be a lower and an upper corner: [{[0] * dim}, {[9] * dim}]")
    lower, upper = (point(table, key, corner, dim) for corner in value)
    for axis, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if low > high:
            raise table.wrong(key, f"lower > upper, axis {axis}: {low:g} > {high:g}")
    return lower, upper


def _spacing(table: Table, dim: int) -> tuple[float, ...]:
    value = table.take("spacing")
    spacing = point(table, "spacing", value if isinstance(value, list) else [value] * dim, dim)
    if min(spacing) <= 0:
        raise table.wrong("spacing", "must be greater than 0")
    return spacing


SCENE_TYPES = {row.scene_name: row for row in SHAPE_TYPES if row.keys is not None}
"""The types of shapes by name, except ``compound``. Their keys are arguments of their classes."""


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """A type of shape, a key of `SCENE_TYPES` or ``compound``, and the arguments of its class or its parts.

    Corners are a tuple of points, the same for all; other arguments are a `Spread`.
    """

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()
    parts: tuple[ShapePlan, ...] = ()

    def make(self, draws: Draws, count: int) -> Any:
        """Make a shape of `count` rows, at least 1; values that vary are drawn in the order of the keys."""
        if self.type == "compound":
            return bp.Compound([part.make(draws, count) for part in self.parts])
        arguments = {name: _drawn(value, draws, count) for name, value in self.parameters}
        made: Any = SCENE_TYPES[self.type].shape_class
        return made(**arguments)


def read_shape(table: Table, dim: int) -> ShapePlan:
    """Read the table ``shape``."""
    shape_type = table.string("type", choices=(*SCENE_TYPES, "compound"))
    if shape_type == "compound":
        plan = ShapePlan(shape_type, parts=tuple(read_shape(part, dim) for part in table.tables("parts")))
        if not plan.parts:
            raise table.wrong("parts", "is missing: a list of tables, each a shape")
    else:
        row = SCENE_TYPES[shape_type]
        if dim not in row.dimensions:
            raise table.wrong("type", f"a {shape_type} cannot be in a world of dim = {dim}")
        parameters = [(name, _read(table, name, form, dim)) for name, form in (row.keys or {}).items()]
        parameters += [("offset", vector_spread(table, "offset", dim))]
        if row.rotates:
            turn = number_spread(table, "rotation") if dim == 2 else vector_spread(table, "rotation", 4)
            parameters += [("rotation", turn)]
        plan = ShapePlan(shape_type, tuple((name, value) for name, value in parameters if value is not None))
    table.finish()
    try:
        plan.make(Draws(0), 1)
    except ValueError as error:  # corners that are not convex, a quaternion of length 0
        raise table.wrong("type", f"not a valid {shape_type}: {error}") from None
    return plan


def _drawn(value: Any, draws: Draws, count: int) -> Any:
    if not isinstance(value, Spread):
        return value
    return value.draw(draws, count) if value.varies else value.draw(draws, 1)[0]  # one value for all takes less memory


def _read(table: Table, name: str, form: str, dim: int) -> Any:
    if form == "number":
        return number_spread(table, name)
    if name not in table:
        table.take(name)
    if form == "length":
        return number_spread(table, name, least=0)
    if form == "vector":
        return vector_spread(table, name, dim)
    if form == "grid":
        return grid(table, name)
    corners = table.take(name)
    if not isinstance(corners, list):
        raise table.wrong(name, "must be a list of points")
    return tuple(point(table, name, corner, dim) for corner in corners)


_BODY_TYPES = ("dynamic", "static", "kinematic")
# What `World.add_many` takes as it is.
_PASSED = ("body_type", "layer", "group", "sensor", "ccd", "update_interval")


@dataclass(frozen=True, slots=True)
class Group:
    """Bodies with one description.

    Attributes
    ----------
    name : str
        Name for rules and messages.
    count : int
        Number of bodies at the start.
    shape : ShapePlan
        Their shape.
    place : Placement
        Where they are.
    velocity, angular_velocity : Spread, optional
        Default: zero.
    rotation : Spread or "random", optional
        Default: zero.
    body_type : str
        ``dynamic``, ``static`` or ``kinematic``.
    layer : str
        Their layer. Default: the name of the group.
    mask : tuple of str, optional
        The layers that they collide with. Default: all.
    group : int
        Filter group, see `broadphase.pairs`.
    sensor, ccd : bool
        See `broadphase.World.add_many`.
    update_interval : int
        Pairs of them are updated in every n-th step.
    """

    name: str
    count: int
    shape: ShapePlan
    place: Placement
    velocity: Spread | None
    rotation: Spread | str | None
    angular_velocity: Spread | None
    body_type: str
    layer: str
    mask: tuple[str, ...] | None
    group: int
    sensor: bool
    ccd: bool
    update_interval: int

    def scaled(self, factor: float) -> Group:
        """Return the same group with `factor` times the bodies."""
        return replace(self, count=round(self.count * factor))

    def add_to(self, world: Any, draws: Draws, count: int, first: int = 0) -> NDArray[np.int32]:
        """Add `count` bodies to a world, and return their rows; `first` is the number of bodies added before."""
        if count == 0:
            return np.empty(0, np.int32)
        positions = self.place.draw(draws, count, first)
        options: dict[str, Any] = {
            "velocities": None if self.velocity is None else self.velocity.draw(draws, count),
            "rotations": self._rotations(draws, count, world.dim),
            "angular_velocities": None if self.angular_velocity is None else self.angular_velocity.draw(draws, count),
            "mask": None if self.mask is None else set(self.mask),
        }
        options |= {name: getattr(self, name) for name in _PASSED}
        rows: NDArray[np.int32] = world.add_many(self.shape.make(draws, count), positions, **options)
        return rows

    def _rotations(self, draws: Draws, count: int, dim: int) -> Any:
        if self.rotation is None or isinstance(self.rotation, Spread):
            return None if self.rotation is None else self.rotation.draw(draws, count)
        if dim == 2:
            return draws.between(0.0, 2.0 * math.pi, count)
        quaternions = draws.normal((count, 4))
        squares = quaternions * quaternions
        lengths = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])  # summed in a fixed order
        lengths[lengths == 0] = 1.0
        quaternions /= lengths[:, np.newaxis]
        quaternions[~quaternions.any(axis=1), 0] = 1.0
        return quaternions


def read_group(table: Table, number: int, dim: int, bounds: Corners | None) -> Group:
    """Read a table ``[[group]]``; its number, from 1, is for the default name."""
    name = table.string("name", f"group {number}")
    table.name = f"[[group]] {number} ({name})" if "name" in table else table.name
    place = read_placement(table.table("place", {}), dim, bounds)
    group = Group(
        name=name,
        count=table.integer("count", len(place.points) if place.how == "list" else 1, most=MOST_BODIES),
        shape=read_shape(table.table("shape"), dim),
        place=place,
        velocity=vector_spread(table, "velocity", dim),
        rotation=_read_rotation(table, dim),
        angular_velocity=(
            number_spread(table, "angular_velocity") if dim == 2 else vector_spread(table, "angular_velocity", 3)
        ),
        body_type=table.string("body_type", "dynamic", choices=_BODY_TYPES),
        layer=table.string("layer", name),
        mask=table.strings("mask", None),
        group=table.integer("group", 0, least=-(2**31)),
        sensor=table.boolean("sensor", False),
        ccd=table.boolean("ccd", False),
        update_interval=table.integer("update_interval", 1, least=1),
    )
    table.finish()
    if place.how == "grid" and place.room is not None and group.count > place.room:
        raise table.wrong("count", f"{group.count} do not fit into the {place.room} cells of the grid")
    return group


def _read_rotation(table: Table, dim: int) -> Spread | str | None:
    if table.take("rotation", None) == "random":
        return "random"
    if dim == 2:
        return number_spread(table, "rotation")
    rotation = vector_spread(table, "rotation", 4)
    if rotation is not None and (rotation.least != rotation.most or not any(rotation.least)):
        raise table.wrong("rotation", 'must be one quaternion [w, x, y, z], or "random"')
    return rotation
