"""Changes of the bodies of a world, many at once: methods of `World`, which takes them from here.

Each checks everything first, then commits one `Change`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.change import Change
from broadphase.errors import quoted
from broadphase.filters import ALL_BITS
from broadphase.shapes import Shape
from broadphase.shapes.records import records_of
from broadphase.world.actor import Actor
from broadphase.world.values import (
    BODY_TYPES,
    BOUNDARIES,
    as_pairs,
    as_places,
    as_rotations,
    as_table,
    as_whole_numbers,
    keys_of,
    numbers_of_names,
    pairs_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import TypeVar  # of type checkers: one with a default

    from broadphase.world.actor import AnyWorld
    from broadphase.world.columns import Columns
    from broadphase.world.layers import LayerNames
    from broadphase.world.values import BodyType, Boundary

    Filter: TypeAlias = LayerNames | ArrayLike | None
    Rows: TypeAlias = ArrayLike | Actor | Sequence[Actor]
    ActorT = TypeVar("ActorT", bound=Actor, default=Actor)

__all__ = ["add", "add_many", "ignore", "move", "remove", "set_filters", "set_shapes", "sleep", "unignore", "wake"]

# Places of the names, as columns hold them.
_TYPES: dict[str, int] = {name: place for place, name in enumerate(BODY_TYPES)}
_LIMITS: dict[str, int] = {name: place for place, name in enumerate(BOUNDARIES)}


def add(
    self: AnyWorld,
    shape: Shape,
    *,
    position: ArrayLike,
    velocity: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
    angular_velocity: ArrayLike | None = None,
    body_type: BodyType = "dynamic",
    boundary: Boundary | None = None,
    layer: LayerNames | None = None,
    mask: LayerNames | None = None,
    group: int = 0,
    sensor: bool = False,
    ccd: bool = False,
    update_interval: int = 1,
    batch: int = 0,
    data: Any = None,
    actor: type[ActorT] | ActorT = Actor,  # type: ignore[assignment]
) -> ActorT:
    """Add one body, and get it as an object.

    Parameters
    ----------
    shape : Shape
        One shape.
    position, velocity, rotation, angular_velocity, body_type, boundary, layer, mask, group, sensor, ccd, \
    update_interval, batch
        As in `add_many`, for one; so are the errors.
    data : object, optional
        Any object of yours: `Actor.data`.
    actor : type, or Actor that is in no world
        `Actor`, or a class derived from it, whose hooks (`update`, `on_enter`, …) the world calls. The result is of
        it.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(5), position=(10, 20), data="red")
    >>> ball.position += (1, 0)
    >>> ball.position, ball.data
    (array([11., 20.]), 'red')
    """
    instance: ActorT = self._actors.prepare(actor)
    with self._guard.changing:
        motion, rare = (velocity, rotation, angular_velocity), (group, sensor, ccd, update_interval, batch)
        if not _insert_one(self, shape, position, motion, body_type, boundary, layer, mask, rare, instance, data):
            given = dict(zip(("group", "sensor", "ccd", "update_interval", "batch"), rare, strict=True))
            places = as_places(position, "position", self.dim, 1)
            _insert(self, shape, places, motion, body_type, boundary, layer, mask, given, [instance], [data])
    return instance


def add_many(
    self: AnyWorld,
    shapes: Shape | Sequence[Shape],
    positions: ArrayLike,
    *,
    velocities: ArrayLike | None = None,
    rotations: ArrayLike | None = None,
    angular_velocities: ArrayLike | None = None,
    body_type: BodyType | Sequence[BodyType] | NDArray[Any] = "dynamic",
    boundary: Boundary | Sequence[Boundary] | NDArray[Any] | None = None,
    layer: Filter | Sequence[LayerNames] = None,
    mask: Filter | Sequence[LayerNames] = None,
    group: ArrayLike = 0,
    sensor: ArrayLike = False,
    ccd: ArrayLike = False,
    update_interval: ArrayLike = 1,
    batch: ArrayLike = 0,
    data: Sequence[Any] | NDArray[Any] | None = None,
    actor: type[Actor] = Actor,
) -> NDArray[np.int32]:
    """Add bodies, and get their rows.

    Parameters
    ----------
    shapes : Shape, or list of Shape
        One for all, or one each: a shape whose parameters are arrays of n, or a list of n.
    positions : array_like, shape (n, d)
        Their positions.
    velocities : array_like, shape (n, d) or (d,), optional
        Length units a second. Default: None, all 0.
    rotations : array_like, shape (n,) or (n, 4), or that of one, optional
        Radians in the plane, counter-clockwise; in space, quaternions (w, x, y, z) of any length but zero.
        Default: None, not rotated.
    angular_velocities : array_like, shape (n,) or (n, 3), or that of one, optional
        Radians a second; in space, about the axes of the world. Default: None, all 0.
    body_type : {"dynamic", "static", "kinematic"}, or list of these
        "dynamic": moved by its velocity, and subject to the boundary; "static": never moved by a step, and never
        touching other static bodies; "kinematic": moved by its velocity, and not subject to the boundary of the
        world.
    boundary : {"none", "bounce", "wrap", "remove"}, or list of these, optional
        What happens to the body at the bounds of the world, which must have some. Pairs touch across the sides only
        in a world with ``boundary="wrap"``. Static bodies are not affected. Default: None, that of the world for
        dynamic bodies, "none" for others.
    layer, mask : str, int, or set of str, or an array of one of these, optional
        The layers that bodies are in, and the layers that they can touch: two bodies can touch if each is in a
        layer of the other's mask. Names are stored as bits, 64 at most; whole numbers are bits. A new name in
        `layer` declares that layer; names in `mask` must be declared (see `World.layer`). Default: None, the layer
        "default"; all layers.
    group : int, or array_like of int, shape (n,)
        Bodies of one positive group always touch, of one negative group never, whatever their layers. 0: no group.
    sensor : bool, or array_like of bool, shape (n,)
        Bodies that have events, and no contacts.
    ccd : bool, or array_like of bool, shape (n,)
        Continuous collision detection: what a body touches on its way from one step to the next counts too, as
        both move along straight lines and rotate evenly. At most 10,000 full turns in a step.
    update_interval : int, or array_like of int, shape (n,)
        Update a body only in every k-th step; between these it stays where it was last seen.
    batch : int, or array_like of int, shape (n,)
        Key of the scene that the body is in, any int64: bodies of different keys are never compared, and never
        touch. So one world can step thousands of separate scenes in the same place.
    data : sequence of n objects, optional
        Any object of yours for each body: `Actor.data` of its actor. None: the body has none.
    actor : type
        `Actor`, or a class derived from it: one is made for each body, without arguments, and `World.actor` gives it.

    Returns
    -------
    ndarray, shape (n,), int32
        Their rows in all arrays: those that removals have freed, the lowest first, then new ones.

    Raises
    ------
    ValueError, TypeError
        A wrong value; names the argument and the row in it.

    Examples
    --------
    >>> import numpy as np
    >>> import broadphase as bp
    >>> world = bp.World(dim=3)
    >>> rows = world.add_many(bp.Sphere(np.full(1000, 0.5)), np.random.default_rng(1).random((1000, 3)) * 20)
    >>> world.velocities[rows[:3]] = (0, 0, 1)
    >>> len(world.step(dt=1 / 60).enter) > 0
    True
    >>> class Coin(bp.Actor):
    ...     def on_enter(self, other):
    ...         self.remove()
    >>> rows = world.add_many(bp.Sphere(0.1), np.zeros((5, 3)), sensor=True, actor=Coin)
    >>> type(world.actor(rows[0])).__name__
    'Coin'
    """
    places = as_places(positions, "positions", self.dim)
    objects = _data_of_rows(data, len(places))
    instances = self._actors.prepare_many(actor, len(places))
    with self._guard.changing:
        rare = {"group": group, "sensor": sensor, "ccd": ccd, "update_interval": update_interval, "batch": batch}
        motion = velocities, rotations, angular_velocities
        return _insert(self, shapes, places, motion, body_type, boundary, layer, mask, rare, instances, objects)


def _insert_one(
    self: AnyWorld,
    shape: Any,
    position: Any,
    motion: tuple[Any, Any, Any],
    body_type: Any,
    boundary: Any,
    layer: Any,
    mask: Any,
    rare: tuple[Any, ...],
    actor: Actor,
    data: Any,
) -> bool:
    """Add a body of the usual kind by one call of the core; False for any other, which is for `_insert`."""
    columns, actors = self._columns, self._actors
    if not isinstance(shape, Shape) or shape.dim != columns.dim or len(shape) != 1 or type(body_type) is not str:
        return False
    kind, limit = _TYPES.get(body_type), -1 if boundary is None else _LIMITS.get(boundary)
    layers, masks = columns.layers.known_bits(layer, 1), columns.layers.known_bits(mask, ALL_BITS)
    index = self._scene.broad.followed()
    if kind is None or limit is None or layers is None or masks is None or index is False or position is None:
        return False
    columns.take_up_writes()
    if hooks := type(actor)._hooks:
        actors.reserve(len(columns.positions))
    if data is None:
        data = actor._data
    view, rows, shown = columns._view, columns.rows, None
    if view is not None and rows.living == rows.slots:
        shown = vars(view), vars(columns.shapes_of(columns.seen, rows.slots + 1))
    done: bool = self._stepper.add_body(
        shape.kind, shape.records(columns.dim), position, *motion, kind, limit, layers, masks, rare, actor, self, data,
        hooks, data is not None or type(actor) is not Actor, actors, index, columns.settle, shown,
    )  # fmt: skip
    return done


def _insert(
    self: AnyWorld,
    shapes: Any,
    places: NDArray[np.float64],
    motion: tuple[Any, Any, Any],
    body_type: Any,
    boundary: Any,
    layer: Any,
    mask: Any,
    rare: dict[str, Any],
    actors: list[Actor] | None,
    data: list[Any] | None,
) -> NDArray[np.int32]:
    """Add rows at checked places, (n, d), and return them.

    `motion` are velocities, rotations and angular velocities, `rare` what few bodies need. `actors` are those of the
    rows; without them, rows that have `data` get plain ones.
    """
    columns: Columns = self._columns
    broad, d, count = self._scene.broad, columns.dim, len(places)
    speeds = None if motion[0] is None else as_table(motion[0], "velocities", (d,), count)
    turns = None if motion[1] is None else as_rotations(motion[1], "rotations", d, count)
    spins = _angular(motion[2], d, count)
    types = numbers_of_names(body_type, "body_type", count, BODY_TYPES)
    rare = columns.checked_rare(rare, count)
    if (limits := _boundaries(columns, boundary, types, count)) is not None:
        rare["boundaries"] = limits
    if not columns.closed and "ccd" in rare and rare["ccd"].any():
        raise ValueError("ccd=True needs a world with touching=True")
    named = columns.layers if layer is None else columns.layers.with_names(layer)
    layers = masks = None
    if mask is not None or columns.rows.mask is not None:
        masks = named.bits_of_rows(mask, count, "mask")
    if layer is not None or masks is not None or columns.rows.layer is not None:
        layers = named.bits_of_rows(layer, count, "layer")
    try:
        records = records_of(shapes, count, d, columns.geometries)
        columns.take_up_writes()
        room = len(columns.positions)
        rows = columns.free_rows(count)
        if len(columns.positions) > room:
            self._stepper.let_go()
        columns.fill(rows, records, types, places, speeds, turns, spins)
        change = Change()
        columns.insert(change, rows, records)
        columns.set_bits(change, rows, layers, masks)
        for name, values in rare.items():
            columns.set_rare(change, name, rows, values)
        if named is not columns.layers:
            change.assign(columns, layers=named)
        broad.note(change, rows, is_new=True)
        if actors is not None:
            self._actors.attach(change, actors, rows, data)
        elif data is not None:
            some = np.array([one is not None for one in data], np.bool_)
            given = list(compress(data, some))
            self._actors.attach(change, [Actor() for _ in given], rows[some], given)
        change.commit()
    finally:
        columns.geometries.drop_unused()
    return rows


def remove(self: AnyWorld, rows: Rows) -> None:
    """Remove bodies. The pairs that they touched exit in the next step.

    Parameters
    ----------
    rows : array_like of int, shape (k,), Actor, or list of Actor
        One that is not in use raises `UnknownRowError`, one that is named twice ValueError; the error names it.
    """
    columns: Columns = self._columns
    with self._guard.changing:
        row, index = self._actors.of_one(rows), self._scene.broad.followed()
        if row is not None and index is not False:
            then = columns.rows.generation.copy() if columns.generation_then is None else None
            if self._stepper.remove_body(row, then, self._actors, index):
                return
        numbers = columns.rows.distinct(self._actors.as_rows(rows))
        if columns.geometries:
            columns.settle()  # the contacts of the last frame may need them
        change = Change()
        columns.remove(change, numbers)
        change.flag(columns.renewed, True, numbers)
        if columns.generation_then is None:  # those of the last step
            change.assign(columns, generation_then=columns.rows.generation.copy())
        self._scene.broad.note(change, numbers, is_new=False)
        self._actors.forget(change, columns.rows.handles(numbers))
        change.commit()
        columns.geometries.drop_unused()


def move(
    self: AnyWorld,
    rows: Rows,
    positions: ArrayLike | None = None,
    *,
    rotations: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    angular_velocities: ArrayLike | None = None,
) -> None:
    """Put bodies elsewhere at once: queries see it, and ccd bodies touch nothing on the way.

    Parameters
    ----------
    rows
        As in `remove`.
    positions, rotations, velocities, angular_velocities : array_like, optional
        As in `add_many`. Default: None, as they are.
    """
    columns: Columns = self._columns
    with self._guard.changing:
        numbers = columns.rows.distinct(self._actors.as_rows(rows))
        d, count = columns.dim, len(numbers)
        places = None if positions is None else as_places(positions, "positions", d, count)
        turns = None if rotations is None else as_rotations(rotations, "rotations", d, count)
        speeds = None if velocities is None else as_table(velocities, "velocities", (d,), count)
        spins = _angular(angular_velocities, d, count)
        columns.take_up_writes()
        change = Change()
        if places is not None or turns is not None:
            change.flag(columns.displaced, True, numbers)
            change.assign(columns, has_displaced=True)
        if places is not None:
            change.write(columns.positions, places, numbers)
        if turns is not None:
            change.write(columns.with_rotations(), turns, numbers)
        if speeds is not None:
            change.write(columns.velocities, speeds, numbers)
        if spins is not None:
            change.write(columns.with_angular_velocities(), spins, numbers)
        if speeds is not None or spins is not None:
            change.assign(columns, writes=columns.writes + 1)
        change.commit()


def set_shapes(self: AnyWorld, rows: Rows, shapes: Shape | Sequence[Shape]) -> None:
    """Give bodies other shapes.

    Parameters
    ----------
    rows
        As in `remove`.
    shapes : Shape, or list of Shape
        One for all, or one each.
    """
    columns: Columns = self._columns
    with self._guard.changing:
        numbers = columns.rows.distinct(self._actors.as_rows(rows))
        columns.settle()
        try:
            records = records_of(shapes, len(numbers), columns.dim, columns.geometries)
            change = Change()
            # Where the world saw them last: a row that has moved since is still to be noticed.
            columns.set_shapes(change, numbers, records)
            columns.count_geometries(change, used=records, released=columns.seen.store.records(numbers))
            self._scene.broad.mark(numbers)
            change.commit()
        finally:
            columns.geometries.drop_unused()


def set_filters(
    self: AnyWorld,
    rows: Rows,
    *,
    layer: Filter | Sequence[LayerNames] = None,
    mask: Filter | Sequence[LayerNames] = None,
    group: ArrayLike | None = None,
) -> None:
    """Change the layers, masks or groups of bodies.

    Parameters
    ----------
    rows
        As in `remove`.
    layer, mask, group
        As in `add_many`. Default: None, as they are.
    """
    columns: Columns = self._columns
    with self._guard.changing:
        numbers = columns.rows.distinct(self._actors.as_rows(rows))
        count = len(numbers)
        groups = None if group is None else as_whole_numbers(group, "group", count, np.int64)
        named = columns.layers if layer is None else columns.layers.with_names(layer)
        layers = None if layer is None else named.bits_of_rows(layer, count, "layer")
        masks = None if mask is None else named.bits_of_rows(mask, count, "mask")
        change = Change()
        columns.set_bits(change, numbers, layers, masks)
        if groups is not None:
            columns.set_rare(change, "groups", numbers, groups)
        change.flag(columns.changed, True, numbers)
        change.assign(columns, layers=named)
        change.commit()


def sleep(self: AnyWorld, rows: Rows) -> None:
    """Let bodies sleep: steps do not move them until `wake`. Other bodies still touch them.

    Parameters
    ----------
    rows
        As in `remove`, in any order and number.
    """
    _set_asleep(self, rows, True)


def wake(self: AnyWorld, rows: Rows) -> None:
    """Wake bodies.

    Parameters
    ----------
    rows
        As in `sleep`.
    """
    _set_asleep(self, rows, False)


def _set_asleep(self: AnyWorld, rows: Rows, asleep: bool) -> None:
    columns: Columns = self._columns
    with self._guard.changing:
        numbers = columns.rows.known(self._actors.as_rows(rows))
        change = Change()
        columns.set_rare(change, "asleep", numbers, np.full(len(numbers), asleep))
        change.assign(columns, version=columns.version + 1)
        change.commit()


def ignore(self: AnyWorld, pairs: ArrayLike) -> None:
    """Never report these pairs of bodies, such as neighbouring links of a robot.

    Parameters
    ----------
    pairs : array_like of int, shape (k, 2)
        Rows. One that is not in use raises `UnknownRowError`, a row with itself ValueError. A pair is reported
        again when one of its rows has been removed and is reused.
    """
    _set_ignored(self, pairs, True)


def unignore(self: AnyWorld, pairs: ArrayLike) -> None:
    """Report these pairs again.

    Parameters
    ----------
    pairs
        As in `ignore`; others may be among them.
    """
    _set_ignored(self, pairs, False)


def _set_ignored(self: AnyWorld, pairs: ArrayLike, ignored: bool) -> None:
    columns: Columns = self._columns
    checked = as_pairs(pairs)
    with self._guard.changing:
        rows, change = columns.rows.known(checked.ravel()), Change()
        known = np.empty(0, np.int64) if columns.ignored is None else keys_of(columns.ignored)
        keys = (np.union1d if ignored else np.setdiff1d)(known, keys_of(rows.reshape(-1, 2)))
        change.assign(columns, ignored=pairs_of(keys) if len(keys) else None)
        change.flag(columns.changed, True, rows)
        change.commit()


def _data_of_rows(data: Any, count: int) -> list[Any] | None:
    """Return the objects of so many bodies as a list."""
    if data is None:
        return None
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise TypeError(f"data must be a sequence of {count} objects, one for each body, not {quoted(data)}")
    objects = list(data)
    if len(objects) != count:
        raise ValueError(f"data has {len(objects)} objects, but there are {count} bodies")
    return objects


def _boundaries(columns: Columns, given: Any, types: NDArray[np.uint8], count: int) -> NDArray[np.uint8] | None:
    """Give the boundaries of new rows; None where those of the world hold for all rows."""
    if given is None:
        return None if columns.boundaries is None else columns.defaults("boundaries", types)
    limits = numbers_of_names(given, "boundary", count, BOUNDARIES)
    if columns.bounds is None and limits.any():
        raise ValueError(f'boundary="{BOUNDARIES[int(limits.max())]}" needs the bounds of the world')
    return limits


def _angular(values: Any, dim: int, count: int) -> NDArray[np.float64] | None:
    return None if values is None else as_table(values, "angular_velocities", () if dim == 2 else (3,), count)
