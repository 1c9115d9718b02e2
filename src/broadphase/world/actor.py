"""Bodies as objects: an actor is a view of one row, made when it is asked for."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias
from weakref import ref

import numpy as np

from broadphase import _native
from broadphase.arguments import as_reals
from broadphase.change import Change
from broadphase.errors import UnknownRowError, quoted
from broadphase.world.values import BODY_TYPES, BOUNDARIES, STATIC

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape
    from broadphase.world.columns import Columns
    from broadphase.world.values import BodyType, Boundary

__all__ = ["ENTER", "EXIT", "RENDER", "STAY", "UPDATE", "Actor", "Actors", "AnyWorld"]

AnyWorld: TypeAlias = Any  # a `World`, whose file imports this one

# Bits of what a class has overridden.
UPDATE, ENTER, STAY, EXIT, RENDER = 1, 2, 4, 8, 16
_HOOKS = {"update": UPDATE, "on_enter": ENTER, "on_stay": STAY, "on_exit": EXIT, "render": RENDER}
_ROW = 0xFFFF_FFFF  # of a handle


class Actor:
    """One body in a world: a view of one row, made when it is asked for.

    `World.add` and `World.actor` give actors. What is written to an actor is written to the world's arrays, and the
    other way round. Two actors are equal if they are of the same body. An actor of a removed body stays stale, even
    when the row is used again: all but `alive`, `handle`, `world`, `data` and `remove` raises `UnknownRowError` then.

    For behaviour of your own, derive a class, override any of `update`, `on_enter`, `on_stay`, `on_exit` and `render`,
    and give the class, or an object of it, to `World.add`. The world keeps such actors, and those with `data`, as long
    as they are in it; a plain one only as long as you do.

    Examples
    --------
    >>> import broadphase as bp
    >>> class Ball(bp.Actor):
    ...     hits = 0
    ...     def on_enter(self, other):
    ...         self.hits += 1
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(2, 0), actor=Ball)
    >>> wall = world.add(bp.Rectangle(1, 9), position=(5, 0), body_type="static")
    >>> for _ in range(5):
    ...     frame = world.step(0.5)
    >>> ball.hits, ball.touched() == [wall]
    (1, True)
    """

    __slots__ = ("__weakref__", "_data", "_handle", "_world")
    _hooks: ClassVar[int] = 0
    _data: Any
    _handle: int
    _world: AnyWorld

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Begin in no world, whatever `__init__` a subclass has, and whether or not that calls this class's."""
        self = super().__new__(cls)
        self._world, self._handle, self._data = None, -1, None
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._hooks = sum(bit for name, bit in _HOOKS.items() if getattr(cls, name) is not getattr(Actor, name))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Actor):
            return NotImplemented
        return self is other or (
            self._world is not None and self._world is other._world and self._handle == other._handle
        )

    def __hash__(self) -> int:
        if self._world is None:
            raise TypeError("an actor can be hashed when it is in a world")
        return hash((id(self._world), self._handle))

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._world is None:
            return f"<{name}, in no world yet>"
        if not self.alive:
            return f"<{name}, removed>"
        return f"<{name} in row {self.row} at {tuple(self.position.tolist())}>"

    @property
    def world(self) -> AnyWorld:
        """The world that it is in, or was in: a `World`."""
        if self._world is None:
            raise UnknownRowError(f"this {type(self).__name__} is in no world yet: pass it to World.add")
        return self._world

    @property
    def handle(self) -> int:
        """What names it for ever; see `World.handles`."""
        return self._handle

    @property
    def alive(self) -> bool:
        """Whether it is in its world."""
        if self._world is None:
            return False
        columns: Columns = self._world._columns
        return columns.rows.generation.item(self._handle & _ROW) == self._handle >> 32

    @property
    def row(self) -> int:
        """Its row in the world's arrays. A removed one raises UnknownRowError here, as by all that reads the world."""
        if not self.alive:
            fault = "is in no world yet" if self._world is None else "has been removed from its world"
            raise UnknownRowError(f"this {type(self).__name__} {fault}")
        return self._handle & _ROW

    @property
    def data(self) -> Any:
        """Any object that you want to keep with it; readable also after it has been removed."""
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        if not self.alive:
            self._data = value
            return
        change = Change()
        change.set_slot(self, "_data", value)
        self.world._actors.hold(change, self, value)
        change.commit()

    @property
    def position(self) -> NDArray[np.float64]:
        """Its position, shape (d,): a view. Write to it; as with the arrays of the world, the next step sees that."""
        view: NDArray[np.float64] = self._columns().positions[self._handle & _ROW]
        return view

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._write("positions", self._columns().positions, value)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Length units a second, shape (d,): a view. Write to it."""
        view: NDArray[np.float64] = self._columns().velocities[self._handle & _ROW]
        return view

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._write("velocities", self._columns().velocities, value)

    @property
    def rotation(self) -> Any:
        """In the plane an angle in radians, a float; in space a quaternion w, x, y, z, a view of shape (4,)."""
        value = self._columns().with_rotations()[self._handle & _ROW]
        return value if isinstance(value, np.ndarray) else float(value)

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        self._write("rotations", self._columns().with_rotations(), value)

    @property
    def angular_velocity(self) -> Any:
        """In the plane radians a second, a float; in space a vector along the axis, a view of shape (3,)."""
        value = self._columns().with_angular_velocities()[self._handle & _ROW]
        return value if isinstance(value, np.ndarray) else float(value)

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._write("angular_velocities", self._columns().with_angular_velocities(), value)

    @property
    def shape(self) -> Shape:
        """Its shape, relative to its position."""
        shape: Shape = self.world.shapes[self.row]
        return shape

    @shape.setter
    def shape(self, value: Shape) -> None:
        self.world.set_shapes([self.row], value)

    @property
    def layer(self) -> str | frozenset[str] | int:
        """Its layer's name; names, if it is in several; the bits, where they have no names."""
        columns: Columns = self.world._columns
        return columns.layers.describe(int(self.world.layers[self.row]))

    @layer.setter
    def layer(self, value: Any) -> None:
        self.world.set_filters([self.row], layer=value)

    @property
    def mask(self) -> str | frozenset[str] | int:
        """The layers that it can touch, in the form of `layer`; "all" for all bits."""
        columns: Columns = self.world._columns
        return columns.layers.describe(int(self.world.masks[self.row]))

    @mask.setter
    def mask(self, value: Any) -> None:
        self.world.set_filters([self.row], mask=value)

    @property
    def body_type(self) -> BodyType:
        """One of "dynamic", "static" and "kinematic"."""
        return BODY_TYPES[int(self.world.body_types[self.row])]

    @property
    def boundary(self) -> Boundary:
        """What happens to it at the bounds of the world: "none", "bounce", "wrap" or "remove"."""
        return BOUNDARIES[int(self.world.boundaries[self.row])]

    @property
    def sensor(self) -> bool:
        """Whether it has events and no contacts."""
        return bool(self.world.sensors[self.row])

    def remove(self) -> bool:
        """Take it out of its world. False if it has been removed already: so two handlers may both remove it."""
        if not self.alive:
            return False
        self.world.remove([self.row])
        return True

    def touched(self) -> list[Actor]:
        """List the actors that it touched at the last step and that are still in the world, in the order of rows."""
        row, pairs = self.row, self.world.pairs
        there = (pairs == row).any(axis=1)
        others = np.sort(pairs[there].sum(axis=1, dtype=np.int64) - row)
        return [self.world._actors.get(int(other)) for other in others]

    # Hooks, to be overridden ----------------------------------------------------------------------------------------

    def update(self, info: Any) -> None:
        """Act before each step; `info` is a `StepInfo`."""

    def on_enter(self, other: Actor) -> None:
        """React to a body that this one begins to touch. The hook of the other is called, too."""

    def on_stay(self, other: Actor) -> None:
        """React to a body that this one still touches, at every step after the first."""

    def on_exit(self, other: Actor) -> None:
        """React to a body that this one touches no longer. One of the two may have been removed."""

    def render(self, context: Any) -> int | None:
        """Draw the body on what was given to `World.render`.

        Returns how much was drawn, such as a number of triangles, of which `World.render` gives the sum; None is 1.
        """
        return None

    def _columns(self) -> Columns:
        """Give the columns that its row is in; one of them is about to be given out, or written to."""
        world, handle = self._world, self._handle
        if world is None or world._columns.rows.generation.item(handle & _ROW) != handle >> 32:
            _ = self.row  # says what is wrong
        columns: Columns = world._columns
        if columns._replaced:
            columns.take_up_row(handle & _ROW)
        columns.writes += 1
        return columns

    def _write(self, name: str, array: NDArray[np.float64], value: Any) -> None:
        row, columns, is_placed = self._handle & _ROW, self._world._columns, False
        if name in ("positions", "rotations"):
            asleep = columns.asleep
            is_placed = (asleep is not None and asleep.item(row)) or columns.body_types.item(row) == STATIC
        if not is_placed:
            if _native.write_row(array, row, value):
                return
        elif name == "positions":
            with self._world._guard.changing:
                if _native.write_row(array, row, value, vars(columns), columns.displaced):
                    return
        given = as_reals(value, name)
        if given.shape != array.shape[1:]:
            raise ValueError(f"{name} of one body must have shape {array.shape[1:]}, not {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"{name} must be finite, not {given.tolist()}")
        if is_placed:
            self.world.move([row], **{name: given[np.newaxis]})  # queries see it at once
        else:
            array[row] = given


class _Reference(ref[Actor]):
    """A reference to an actor that knows its handle, as `weakref.KeyedRef`, which takes three times as long to make."""

    __slots__ = ("handle",)
    handle: int


class Actors:
    """The actors of a world: made when they are asked for, and kept only where something would be lost."""

    def __init__(self, world: AnyWorld) -> None:
        self._world = world
        # As a WeakValueDictionary, at half its cost.
        self._seen: dict[int, _Reference] = {}
        self._held: dict[int, Actor] = {}
        # Those removed since the last step, and before it: the exits of their pairs are still to be delivered.
        self._removed: dict[int, Actor] = {}
        self._removed_before: dict[int, Actor] = {}
        self._hooks = np.zeros(0, np.uint8)  # what the actor of each row overrides, as far as any has been attached
        self._counts = dict.fromkeys(_HOOKS.values(), 0)

    def prepare(self, actor: Any) -> Any:
        """Make an actor that is in no world yet, or check that one is in none."""
        if isinstance(actor, type) and issubclass(actor, Actor):
            actor = actor()
        if not isinstance(actor, Actor):
            raise TypeError(f"actor must be a class derived from Actor, or an object of one, not {quoted(actor)}")
        if actor._world is not None:
            raise ValueError(f"{actor!r} is in a world already")
        return actor

    def prepare_many(self, kind: Any, count: int) -> list[Actor] | None:
        """Make so many actors of a class, each in no world yet; None for plain ones, which are made when asked for."""
        if kind is Actor:
            return None
        if not isinstance(kind, type) or not issubclass(kind, Actor):
            raise TypeError(f"actor must be a class derived from Actor, of which each gets one, not {quoted(kind)}")
        made = [self.prepare(kind) for _ in range(count)]
        if len(set(map(id, made))) < count:
            raise ValueError(f"{quoted(kind)} gives the same actor twice")
        return made

    def of_one(self, rows: Any) -> int | None:
        """Give the row that a single actor, or a list of one, or of one row, stands for; None for anything else."""
        if type(rows) is list and len(rows) == 1:
            rows = rows[0]
        if type(rows) is int:
            return rows if 0 <= rows <= _ROW else None
        if isinstance(rows, Actor) and rows._world is self._world and rows.alive:
            return rows._handle & _ROW
        return None

    def attach(self, change: Change, actors: list[Actor], rows: NDArray[np.int32], data: list[Any] | None) -> None:
        """Give prepared actors their rows; their own data count where None is given."""
        given = repeat(None) if data is None else data
        for actor, row, value in zip(actors, rows.tolist(), given, strict=data is not None):
            handle, value = self._handle(row), actor._data if value is None else value
            change.set_slot(actor, "_world", self._world)
            change.set_slot(actor, "_handle", handle)
            change.set_slot(actor, "_data", value)
            change.set_item(self._seen, handle, self._reference(actor, handle))
            if value is not None or type(actor) is not Actor:
                change.set_item(self._held, handle, actor)
        hooks = [type(actor)._hooks for actor in actors]
        if any(hooks):
            self.reserve(int(rows.max()) + 1)
            change.write(self._hooks, np.array(hooks, np.uint8), rows)
            counts = {hook: count + sum(map(bool, map(hook.__and__, hooks))) for hook, count in self._counts.items()}
            change.update(self._counts, counts)

    def hold(self, change: Change, actor: Actor, data: Any) -> None:
        """Keep an actor of this data that could not be made again; drop one that has nothing to keep any more."""
        if data is not None or type(actor) is not Actor:
            change.set_item(self._held, actor._handle, actor)
        elif actor._handle in self._held:
            change.delete_item(self._held, actor._handle)

    def get(self, row: int) -> Actor:
        """Get the actor of a row that is in use."""
        return self.of_handle(self._handle(row))

    def of_handle(self, handle: int) -> Actor:
        """Get the actor of a handle, also of a body that has been removed."""
        reference = self._seen.get(handle)  # actors that are kept are among these
        actor = None if reference is None else reference()
        if actor is None:
            actor = Actor()
            actor._world, actor._handle = self._world, handle
            self._seen[handle] = self._reference(actor, handle)
        return actor

    @property
    def keeps_some(self) -> bool:
        """Whether the world keeps any actor, or kept one that was removed."""
        return bool(self._held or self._removed or self._removed_before)

    def kept(self, handle: int) -> Actor | None:
        """Get the actor of a handle if the world keeps it, or kept it until it was removed."""
        actor = self._held.get(handle)
        if actor is None and (self._removed or self._removed_before):
            actor = self._removed.get(handle)
            return self._removed_before.get(handle) if actor is None else actor
        return actor

    def give_data(self, data: dict[int, Any]) -> None:
        """Give the actors of rows in use their data."""
        for row, value in data.items():
            self.get(row).data = value

    def data(self) -> dict[int, Any]:
        """Give the data of each row that has any."""
        return {handle & _ROW: actor._data for handle, actor in self._held.items() if actor._data is not None}

    def forget(self, change: Change, handles: NDArray[np.int64]) -> None:
        """Keep actors that are removed only until the exits of their pairs are delivered."""
        if not self._held:
            return
        counts = dict(self._counts)
        for handle in handles.tolist():
            if (actor := self._held.get(handle)) is None:
                continue
            change.delete_item(self._held, handle)
            change.set_item(self._removed, handle, actor)
            if hooks := type(actor)._hooks:
                change.clear(self._hooks, np.array([handle & _ROW], np.int32))
                for hook in counts:
                    counts[hook] -= bool(hooks & hook)
        change.update(self._counts, counts)

    def let_go(self) -> None:
        """Drop those that were removed before the last step: the exits of their pairs have been delivered."""
        self._removed_before, self._removed = self._removed, {}

    def has(self, hook: int) -> bool:
        """Whether there is an actor that overrides a hook, counting those that still wait for exits."""
        return self._counts[hook] > 0 or (hook == EXIT and bool(self._removed or self._removed_before))

    def with_hook(self, hook: int) -> list[Actor]:
        """List the actors that override a hook, in the order of rows."""
        if not self._counts[hook]:
            return []
        rows = np.flatnonzero(self._hooks & hook)
        return [self._held[self._handle(row)] for row in rows.tolist()]

    def overriding(self, rows: NDArray[np.int32], hook: int) -> NDArray[np.bool_]:
        """Say which rows have actors that override a hook, in the shape of `rows`."""
        self.reserve(self._world.slots)
        answer: NDArray[np.bool_] = (self._hooks[rows] & hook) != 0
        return answer

    def are(self, rows: NDArray[np.int32], kind: type[Actor]) -> NDArray[np.bool_] | bool:
        """Say which rows have actors of a class or one derived from it, in the shape of `rows`; a bool for all."""
        if kind is Actor or not self._held:  # only plain actors are not kept
            return kind is Actor
        some, places = np.unique(rows, return_inverse=True)
        generations = self._world._columns.rows.generation[some]
        handles = (generations << 32 | some).tolist()
        answer = np.fromiter((isinstance(self._held.get(one), kind) for one in handles), np.bool_, len(handles))
        matched: NDArray[np.bool_] = answer[places].reshape(rows.shape)
        return matched

    def waiting(self, handles: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which handles are of kept actors that have been removed, in the shape of `handles`."""
        removed = [*self._removed, *self._removed_before]
        if not removed:
            return np.zeros(handles.shape, np.bool_)
        return np.isin(handles, np.array(removed, np.int64))

    def as_rows(self, value: Any) -> Any:
        """Turn an actor, or a list of actors, into rows; anything else stays as it is.

        An actor that has been removed, or is of another world, raises UnknownRowError.
        """
        if isinstance(value, Actor):
            return np.array([self._own_row(value)], np.int32)
        if isinstance(value, list | tuple | set | frozenset) and any(isinstance(part, Actor) for part in value):
            return np.array([self._own_row(part) if isinstance(part, Actor) else part for part in value], np.int32)
        return value

    def _reference(self, actor: Actor, handle: int) -> _Reference:
        reference = _Reference(actor, self._overlook)
        reference.handle = handle
        return reference

    def _overlook(self, reference: _Reference) -> None:
        """Drop the reference to an actor that has been deleted, unless another is in its place."""
        if self._seen.get(reference.handle) is reference:
            del self._seen[reference.handle]

    def _own_row(self, actor: Actor) -> int:
        if actor._world is not None and actor._world is not self._world:
            raise UnknownRowError(f"{actor!r} is in another world")
        return actor.row

    def _handle(self, row: int) -> int:
        handle: int = self._world._columns.rows.generation.item(row) << 32 | row
        return handle

    def reserve(self, slots: int) -> None:
        """Make room for the hooks of so many rows."""
        if slots > len(self._hooks):
            more = np.zeros(max(slots, len(self._hooks) * 3 // 2, 16) - len(self._hooks), np.uint8)
            self._hooks = np.concatenate([self._hooks, more])
