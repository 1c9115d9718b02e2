"""One thing in a world, as an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from broadphase.errors import UnknownRowError
from broadphase.world.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape
    from broadphase.world.records import Event
    from broadphase.world.world import World

    Handler = Callable[[Event], object]

__all__ = ["HIT", "RENDER", "SEPARATED", "UPDATE", "Actor"]

# Bits of what a class has overridden.
UPDATE, HIT, SEPARATED, RENDER = 1, 2, 4, 8
_HOOKS = {"update": UPDATE, "hit": HIT, "separated": SEPARATED, "render": RENDER}


class Actor:
    """One thing in a world: a view of one row, made when it is asked for.

    `World.add` and `World.actor` give actors. What is written to one is written to the world's arrays, and the other
    way round. Two actors are equal if they are of the same thing, which they name by its handle: when the thing is
    removed, an actor is stale for ever, also after the row is in use again, and everything but `alive`, `handle`,
    `data` and `remove` raises `UnknownRowError`.

    For behaviour of your own, derive a class, override any of `update`, `hit`, `separated` and `render`, and give the
    class, or an object of it, to `World.add`. The world keeps such actors, and those with `data`, as long as they are
    in it; a plain one only as long as you do.

    Examples
    --------
    >>> import broadphase as bp
    >>> class Ball(bp.Actor):
    ...     hits = 0
    ...     def hit(self, other):
    ...         self.hits += 1
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(2, 0), actor=Ball)
    >>> wall = world.add(bp.Rectangle(1, 9), position=(5, 0), kind="static")
    >>> for _ in range(5):
    ...     frame = world.step(0.5)
    >>> ball.hits, ball.touching() == [wall]
    (2, True)
    """

    __slots__ = ("__weakref__", "_data", "_handle", "_world")
    _hooks: ClassVar[int] = 0
    _data: Any
    _handle: int
    _world: World | None

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
    def world(self) -> World:
        """The world that it is in, or was."""
        if self._world is None:
            raise UnknownRowError(f"this {type(self).__name__} is in no world yet: give it to World.add")
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
        return bool(self._world._columns.rows.generation[self._handle & 0xFFFF_FFFF] == self._handle >> 32)

    @property
    def row(self) -> int:
        """Its row in the world's arrays.

        Raises
        ------
        UnknownRowError
            It has been removed. So do all the properties that read the world.
        """
        if not self.alive:
            kind = f"this {type(self).__name__}"
            raise UnknownRowError(
                f"{kind} is in no world yet" if self._world is None else f"{kind} has been removed from its world"
            )
        return self._handle & 0xFFFF_FFFF

    @property
    def data(self) -> Any:
        """Anything you like to keep with it; readable also after it has been removed."""
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data = value
        if self.alive:
            self.world._actors.hold(self)

    @property
    def position(self) -> NDArray[np.float64]:
        """Where it is, shape (d,): a view, to be written to. As with the arrays of the world, the next step sees it."""
        view: NDArray[np.float64] = self._view("positions")
        return view

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._write("positions", value)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """How far it goes in a unit of time, shape (d,): a view."""
        view: NDArray[np.float64] = self._view("velocities")
        return view

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._write("velocities", value)

    @property
    def rotation(self) -> Any:
        """In the plane an angle in radians, a float; in space a quaternion w, x, y, z, a view of shape (4,)."""
        return self._view("rotations")

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        self._write("rotations", value)

    @property
    def spin(self) -> Any:
        """In the plane radians in a unit of time, a float; in space a vector along the axis, a view of shape (3,)."""
        return self._view("spins")

    @spin.setter
    def spin(self, value: ArrayLike) -> None:
        self._write("spins", value)

    @property
    def shape(self) -> Shape:
        """What it looks like, relative to its position."""
        return self.world._shape_of(self.row)

    @shape.setter
    def shape(self, value: Shape) -> None:
        self.world.set_shapes([self.row], value)

    @property
    def layer(self) -> str | frozenset[str] | int:
        """Its layer's name; names, if it is in several; the bits, where they have no names."""
        return self.world._layers.describe(int(self.world.layers[self.row]))

    @layer.setter
    def layer(self, value: Any) -> None:
        self.world.set_filters([self.row], layer=self.world._layers.bits(value, "layer"))

    @property
    def mask(self) -> str | frozenset[str] | int:
        """The layers that it can touch, as `layer`; "all" for all bits."""
        return self.world._layers.describe(int(self.world.masks[self.row]))

    @mask.setter
    def mask(self, value: Any) -> None:
        self.world.set_filters([self.row], mask=self.world._layers.bits(value, "mask"))

    @property
    def kind(self) -> str:
        """One of "dynamic", "static" and "kinematic"."""
        return KINDS[self.world.kinds[self.row]]

    @property
    def sensor(self) -> bool:
        """Whether it only tells of what it touches."""
        return bool(self.world.sensors[self.row])

    def remove(self) -> bool:
        """Take it out of its world.

        Returns
        -------
        bool
            False if it was gone already: so two handlers may both remove what they were told of.
        """
        if not self.alive:
            return False
        self.world.remove([self.row])
        return True

    def touching(self) -> list[Actor]:
        """Get what it touched at the last step and is still there, in the order of rows."""
        row, pairs = self.row, self.world.touching
        there = (pairs == row).any(axis=1)
        others = np.sort(pairs[there].sum(axis=1, dtype=np.int64) - row)
        return [self.world._actors.get(int(other)) for other in others]

    def on_enter(self, other: Any = None) -> Any:
        """Have a function called when this begins to touch something; see `World.on_enter`.

        Parameters
        ----------
        other : str, set of str, Actor, optional
            Only when it is in these layers, or is this one.

        Returns
        -------
        callable
            A decorator; or without brackets, the function itself.
        """
        return self._on("enter", other)

    def on_stay(self, other: Any = None) -> Any:
        """Have a function called at every further step at which this touches something; as `on_enter`."""
        return self._on("stay", other)

    def on_exit(self, other: Any = None) -> Any:
        """Have a function called when this touches something no longer; as `on_enter`."""
        return self._on("exit", other)

    def update(self, info: Any) -> None:
        """Do what is to be done before each step; to be overridden.

        Parameters
        ----------
        info : StepInfo
            ``info.dt``, ``info.time``, ``info.number`` and ``info.world`` of the step that is about to begin.
        """

    def hit(self, other: Actor) -> None:
        """React to a touch; to be overridden. Called once in each step for everything that it touches.

        Parameters
        ----------
        other : Actor
            What is touched. Its own `hit` is called, too.
        """

    def separated(self, other: Actor) -> None:
        """React to the end of a touch; to be overridden.

        Parameters
        ----------
        other : Actor
            What was touched until the step before. One of the two may have been removed.
        """

    def render(self, context: Any) -> None:
        """Draw it; to be overridden. `World.render` calls it.

        Parameters
        ----------
        context : object
            What was given to `World.render`.
        """

    def _on(self, kind: str, other: Any) -> Any:
        self.row  # noqa: B018  # what is gone has no events to come
        register = self.world._handlers.registering(kind, self, other if not is_handler(other) else None)
        return register(other) if is_handler(other) else register

    def _view(self, name: str) -> Any:
        value = getattr(self.world, name)[self.row]
        return value if isinstance(value, np.ndarray) else float(value)

    def _write(self, name: str, value: Any) -> None:
        world, row = self.world, self.row
        array = getattr(world, name)
        given = np.asarray(value, np.float64)
        if given.shape != array.shape[1:]:
            raise ValueError(f"{name} of one actor have shape {array.shape[1:]}, not {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"{name} must be finite, not {given.tolist()}")
        if name in ("positions", "rotations") and (KINDS[world.kinds[row]] == "static" or world.asleep[row]):
            world.move([row], **{name: given[np.newaxis]})  # or nobody would look
        else:
            array[row] = given


def is_handler(value: Any) -> bool:
    """Whether this is the decorated function itself: a decorator was used without brackets."""
    return callable(value) and not isinstance(value, Actor)
