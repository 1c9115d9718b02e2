"""The world that moves: things with shapes, and what happens between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.world.actor import Actor
from broadphase.world.actors import Actors
from broadphase.world.given import as_bounds, as_places, as_table, as_turns
from broadphase.world.handlers import Handlers
from broadphase.world.ignored import as_pairs
from broadphase.world.snapshots import WorldSnapshots
from broadphase.world.validating import WorldChecks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["World"]


class World(WorldSnapshots, WorldChecks):
    """Things that move, each with a shape: step it, and be told what began to touch, and what ceased.

    Things are rows of arrays: `positions`, `velocities` and so on, which you may write to at will. For those who like
    objects, `add` gives an `Actor`: a view of one row, which costs nothing where it is not used.

    Parameters
    ----------
    dim : int
        2 or 3.
    method : str
        How pairs are found: "auto", or a name from the registry of methods (`broadphase.METHODS`) that has an index.
        The events never depend on it.
    bounds : array_like, shape (2, dim), optional
        Lower and upper corner of the world, for `border`.
    border : str
        What happens to dynamic things there:

        - "none": nothing;
        - "bounce": they are reflected, such that their boxes stay within;
        - "wrap": the world is periodic: what leaves comes in at the other side, and things meet across;
        - "remove": what is wholly outside is removed (`Frame.removed`).
    margin : float, optional
        By how much the boxes in the index reach beyond those of the shapes, in length units, so that it need not follow
        every small move. Unset: chosen by size. The events never depend on it.
    workers : int
        Threads; -1 for one per core. The events never depend on it.

    Raises
    ------
    ValueError
        An unknown method or border, bounds that are not finite or upside down, a border without bounds.

    Notes
    -----
    All lengths are in one unit of your choice, times in seconds, angles in radians. Numbers are float64.

    Any number of threads may ask a world at once; a change meanwhile raises RuntimeError.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(3, 0), layer="ball")
    >>> wall = world.add(bp.Rectangle(1, 10), position=(4, 0), kind="static", layer="wall")
    >>> @world.on_enter("ball", "wall")
    ... def bounce(event):
    ...     event.actor.velocity = -event.actor.velocity
    >>> for _ in range(4):
    ...     frame = world.step(dt=0.5)
    >>> ball.position, ball.velocity
    (array([0., 0.]), array([-3., -0.]))
    """

    def __init__(
        self,
        dim: int = 2,
        *,
        method: str = "auto",
        bounds: ArrayLike | None = None,
        border: str = "none",
        margin: float | None = None,
        workers: int = 1,
    ) -> None:
        super().__init__(dim, method, as_bounds(bounds, border, dim), border, margin, workers)
        self._actors = Actors(self)
        self._handlers = Handlers(self)
        self._recording = None

    def __repr__(self) -> str:
        return f"<World of {len(self)} thing{'s' * (len(self) != 1)}, {self.dim}-d, step {self._number}>"

    def add(
        self,
        shape: Any,
        *,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        kind: str = "dynamic",
        layer: Any = None,
        mask: Any = None,
        group: int = 0,
        sensor: bool = False,
        fast: bool = False,
        every: int = 1,
        data: Any = None,
        actor: Any = Actor,
    ) -> Any:
        """Add one thing, and get it as an object.

        Parameters
        ----------
        shape : Shape
            One shape.
        position, velocity, rotation, spin, kind, layer, mask, group, sensor, fast, every
            As in `add_many`, for one.
        data : object, optional
            Anything of yours: `Actor.data`.
        actor : type, or Actor that is in no world
            `Actor`, or a class of yours derived from it, whose hooks (`update`, `hit`, …) the world calls.

        Returns
        -------
        Actor
            Of that class.

        Raises
        ------
        ValueError, TypeError
            As `add_many`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> ball = world.add(bp.Circle(5), position=(10, 20), data="red")
        >>> ball.position += (1, 0)
        >>> ball.position, ball.data
        (array([11., 20.]), 'red')
        """
        instance = self._actors.prepare(actor)
        with self._guard.changing:
            places = as_places(position, "position", self.dim, 1)
            rows = self._insert(shape, places, velocity, rotation, spin, kind, layer, mask, group, sensor, fast, every)
        return self._actors.attach(instance, int(rows[0]), data)

    def add_many(
        self,
        shapes: Any,
        positions: ArrayLike,
        *,
        velocities: ArrayLike | None = None,
        rotations: ArrayLike | None = None,
        spins: ArrayLike | None = None,
        kind: Any = "dynamic",
        layer: Any = None,
        mask: Any = None,
        group: Any = 0,
        sensor: Any = False,
        fast: Any = False,
        every: Any = 1,
    ) -> NDArray[np.int32]:
        """Add things, and get their rows.

        Parameters
        ----------
        shapes : Shape, or list of Shape
            One for all, or one each: a shape whose parameters are arrays of n, or a list of n.
        positions : array_like, shape (n, d)
            Where they are.
        velocities : array_like, shape (n, d) or (d,), optional
            Length units a second. Unset: none.
        rotations : array_like, shape (n,) or (n, 4), or that of one, optional
            Radians in the plane, counter-clockwise; in space, quaternions (w, x, y, z) of any length but zero.
        spins : array_like, shape (n,) or (n, 3), or that of one, optional
            Radians a second; in space, about the axes of the world.
        kind : str, or list of str
            "dynamic": moved by its velocity, and kept by borders; "static": never moved by a step, and never touching
            others that are static; "kinematic": moved by its velocity, and not kept by borders.
        layer, mask : str, int, or set of str, or an array of one of these, optional
            The layers that things are in, and the layers that they meet: two things can touch if each is in a layer
            that the other meets. Names are kept as bits, 64 at the most; whole numbers are bits. Unset: the layer
            "default"; all layers.
        group : int, or array_like of int, shape (n,)
            Things of one positive group always meet, of one negative group never, whatever their layers. 0: none.
        sensor : bool, or array_like of bool, shape (n,)
            Things that have events, and no contacts.
        fast : bool, or array_like of bool, shape (n,)
            Things for which touching on the way from one step to the next counts, however far that is.
        every : int, or array_like of int, shape (n,)
            Things that are looked at in one of so many steps only; between, they count as where they were last seen.

        Returns
        -------
        ndarray, shape (n,), int32
            Their rows in all arrays: those that removals freed first, the lowest first, then new ones.

        Raises
        ------
        ValueError, TypeError
            What cannot be, with the name of the argument and the number of the row in it. The world is as before.

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> world = bp.World(dim=3)
        >>> rows = world.add_many(bp.Sphere(np.full(1000, 0.5)), np.random.default_rng(1).random((1000, 3)) * 20)
        >>> world.velocities[rows[:3]] = (0, 0, 1)
        >>> len(world.step(dt=1 / 60).enter) > 0
        True
        """
        with self._guard.changing:
            return self._insert(
                shapes, positions, velocities, rotations, spins, kind, layer, mask, group, sensor, fast, every
            )

    def remove(self, rows: Any) -> None:
        """Take things out. What they touched is told of in the next step: their pairs exit.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            No row twice.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number. The world is as before.
        ValueError
            A row that is named twice.
        """
        with self._guard.changing:
            numbers = self._columns.known(self._actors.as_rows(rows))
            handles = self._columns.rows.handles(numbers)
            self._remove(numbers)
        if self._actors:
            self._actors.forget(handles)

    def move(
        self,
        rows: Any,
        positions: ArrayLike | None = None,
        *,
        rotations: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        spins: ArrayLike | None = None,
    ) -> None:
        """Put things elsewhere at once, static and sleeping ones too. What is fast touches nothing on the way.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            No row twice.
        positions, rotations, velocities, spins : array_like, optional
            As in `add_many`. Unset: as they are.

        Raises
        ------
        UnknownRowError, ValueError, TypeError
            As `add_many`. The world is as before.
        """
        with self._guard.changing:
            columns, d = self._columns, self.dim
            numbers = columns.known(self._actors.as_rows(rows))
            count = len(numbers)
            self._put(
                numbers,
                None if positions is None else as_places(positions, "positions", d, count),
                None if rotations is None else as_turns(rotations, "rotations", d, count),
                None if velocities is None else as_table(velocities, "velocities", (d,), count),
                None if spins is None else as_table(spins, "spins", () if d == 2 else (3,), count),
            )

    def set_shapes(self, rows: Any, shapes: Any) -> None:
        """Give things other shapes.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            No row twice.
        shapes : Shape, or list of Shape
            One for all, or one each.

        Raises
        ------
        UnknownRowError, ValueError, TypeError
            As `add_many`. The world is as before.
        """
        with self._guard.changing:
            self._reshape(self._columns.known(self._actors.as_rows(rows)), shapes)

    def set_filters(self, rows: Any, *, layer: Any = None, mask: Any = None, group: Any = None) -> None:
        """Put things into other layers, let them meet others, or put them into another group.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            No row twice.
        layer, mask, group
            As in `add_many`. Unset: as they are.

        Raises
        ------
        UnknownRowError, ValueError, TypeError
            As `add_many`. The world is as before.
        """
        with self._guard.changing:
            self._set_filters(self._columns.known(self._actors.as_rows(rows)), layer, mask, group)

    def sleep(self, rows: Any) -> None:
        """Let things be: steps neither move them nor look at them until `wake`. Others still meet them.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            Those that sleep already go on.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.
        """
        self._set_asleep(rows, True)

    def wake(self, rows: Any) -> None:
        """End the sleep of things.

        Parameters
        ----------
        rows : array_like of int, shape (k,), Actor, or list of Actor
            Those that do not sleep are as they are.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.
        """
        self._set_asleep(rows, False)

    def ignore(self, pairs: ArrayLike) -> None:
        """Never report these pairs of things, such as neighbouring links of a robot.

        Parameters
        ----------
        pairs : array_like of int, shape (k, 2)
            Rows. What is ignored ends with the removal of one of them.

        Raises
        ------
        UnknownRowError
            A row that is not in use, by number.
        ValueError, TypeError
            A wrong shape, or a row with itself.
        """
        self._change_ignored(as_pairs(pairs), True)

    def unignore(self, pairs: ArrayLike) -> None:
        """Report these pairs again.

        Parameters
        ----------
        pairs : array_like of int, shape (k, 2)
            Rows. Those that are not ignored are as they are.

        Raises
        ------
        UnknownRowError, ValueError, TypeError
            As `ignore`.
        """
        self._change_ignored(as_pairs(pairs), False)

    def _set_asleep(self, rows: Any, asleep: bool) -> None:
        with self._guard.changing:
            numbers = self._columns.rows.known(self._actors.as_rows(rows))
            self._columns.set_seldom("asleep", numbers, np.full(len(numbers), asleep))
            self._moving = None

    def _change_ignored(self, pairs: NDArray[Any], ignored: bool) -> None:
        with self._guard.changing:
            rows = self._columns.rows.known(pairs.ravel())
            if ignored:
                self._ignored.add(rows.reshape(-1, 2))
            else:
                self._ignored.discard(rows.reshape(-1, 2))
            self._columns.changed[rows] = 1
