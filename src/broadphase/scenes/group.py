"""A group of actors: how many, what they look like, where they are and how they move."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.scenes.placement import Placement, read_placement
from broadphase.scenes.shape_plan import ShapePlan, read_shape
from broadphase.scenes.spread import Spread, number_spread, vector_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.scenes.placement import Corners
    from broadphase.scenes.table import Table
    from broadphase.testing.draws import Draws

__all__ = ["Group", "read_group"]

_KINDS = ("dynamic", "static", "kinematic")


@dataclass(frozen=True, slots=True)
class Group:
    """Actors that have a description in common.

    Attributes
    ----------
    name : str
        What rules and messages call it.
    count : int
        How many there are at the start.
    shape : ShapePlan
        What they look like.
    place : Placement
        Where they are put.
    velocity, spin : Spread, optional
        How they move; unset, not at all.
    rotation : Spread or "random", optional
        How they are turned; unset, not at all.
    kind : str
        ``dynamic``, ``static`` or ``kinematic``.
    layer : str
        The layer that they are in: by default one that is called like the group.
    mask : tuple of str, optional
        The layers that they meet; unset, all.
    group : int
        Filter group, see `broadphase.pairs`.
    sensor, fast : bool
        See `broadphase.World.add_many`.
    every : int
        They are looked at every so many steps.
    """

    name: str
    count: int
    shape: ShapePlan
    place: Placement
    velocity: Spread | None
    rotation: Spread | str | None
    spin: Spread | None
    kind: str
    layer: str
    mask: tuple[str, ...] | None
    group: int
    sensor: bool
    fast: bool
    every: int

    def scaled(self, factor: float) -> Group:
        """Give the same with so many times the actors."""
        return replace(self, count=round(self.count * factor))

    def add_to(self, world: Any, draws: Draws, count: int, first: int = 0) -> NDArray[np.int32]:
        """Put `count` of them into a world, and give their rows; `first` is the number of those before them."""
        if count == 0:
            return np.empty(0, np.int32)
        dimension = world.dimension
        positions = self.place.draw(draws, count, first)
        options: dict[str, Any] = {
            "velocities": None if self.velocity is None else self.velocity.draw(draws, count),
            "rotations": self._rotations(draws, count, dimension),
            "spins": None if self.spin is None else self.spin.draw(draws, count),
        }
        rows: NDArray[np.int32] = world.add_many(
            self.shape.make(draws, count),
            positions,
            kind=self.kind,
            layer=self.layer,
            mask=None if self.mask is None else set(self.mask),
            group=self.group,
            sensor=self.sensor,
            fast=self.fast,
            every=self.every,
            **options,
        )
        return rows

    def _rotations(self, draws: Draws, count: int, dimension: int) -> Any:
        if self.rotation is None or isinstance(self.rotation, Spread):
            return None if self.rotation is None else self.rotation.draw(draws, count)
        if dimension == 2:
            return draws.between(0.0, 2.0 * math.pi, count)
        quaternions = draws.normal((count, 4))
        squares = quaternions * quaternions
        lengths = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])  # added up in one order
        lengths[lengths == 0] = 1.0
        quaternions /= lengths[:, np.newaxis]
        quaternions[~quaternions.any(axis=1), 0] = 1.0
        return quaternions


def read_group(table: Table, number: int, dimension: int, bounds: Corners | None) -> Group:
    """Read a table ``[[group]]``.

    Parameters
    ----------
    table : Table
        What the file has.
    number : int
        Which group it is, from 1: the default of its name.
    dimension : int
        Of the world.
    bounds : tuple of two tuples, or None
        Of the world.

    Returns
    -------
    Group

    Raises
    ------
    ValueError
        Something is wrong with it; names the key.
    """
    name = table.text("name", f"group {number}")
    table.name = f"[[group]] {number} ({name})" if "name" in table else table.name
    place = read_placement(table.table("place", {}), dimension, bounds)
    group = Group(
        name=name,
        count=table.whole("count", len(place.points) if place.how == "list" else 1),
        shape=read_shape(table.table("shape"), dimension),
        place=place,
        velocity=vector_spread(table, "velocity", dimension),
        rotation=_read_rotation(table, dimension),
        spin=number_spread(table, "spin") if dimension == 2 else vector_spread(table, "spin", 3),
        kind=table.text("kind", "dynamic", choices=_KINDS),
        layer=table.text("layer", name),
        mask=table.texts("mask", None),
        group=table.whole("group", 0, least=-(2**31)),
        sensor=table.truth("sensor", False),
        fast=table.truth("fast", False),
        every=table.whole("every", 1, least=1),
    )
    table.finish()
    if place.how == "grid" and place.room is not None and group.count > place.room:
        raise table.wrong("count", f"{group.count} do not fit into the {place.room} places of the grid")
    return group


def _read_rotation(table: Table, dimension: int) -> Spread | str | None:
    if table.take("rotation", None) == "random":
        return "random"
    if dimension == 2:
        return number_spread(table, "rotation")
    rotation = vector_spread(table, "rotation", 4)
    if rotation is not None and (rotation.least != rotation.most or not any(rotation.least)):
        raise table.wrong("rotation", 'must be one quaternion [w, x, y, z], or "random"')
    return rotation
