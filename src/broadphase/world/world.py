"""The world: bodies that move, and what happens between them."""

from __future__ import annotations

import copy
import math
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_flag, as_real, as_reals, as_whole
from broadphase.files import replacing
from broadphase.index import queries as shared
from broadphase.index.queries import Queries
from broadphase.options import QueryKeywords, QueryOptions, shows_query_options
from broadphase.representations import html_facts
from broadphase.returned import as_given
from broadphase.shapes import Shapes
from broadphase.world import bodies, queries, snapshot
from broadphase.world.actor import RENDER, Actor, Actors
from broadphase.world.broad_phase import BroadPhase
from broadphase.world.budget import Budget
from broadphase.world.columns import Columns
from broadphase.world.events import EventBus
from broadphase.world.frame import Frame
from broadphase.world.hits import Hit, ray_of
from broadphase.world.lidar import LidarScan, lidar
from broadphase.world.scene import Scene
from broadphase.world.step import Answers
from broadphase.world.validate import faults
from broadphase.world.values import BOUNDARIES, STATIC, as_bounds
from broadphase.world.visible import Visible, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal, ParamSpec, Self, TypeAlias, TypeVar, Unpack

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from broadphase.filters import ByRow, Ignored
    from broadphase.index.box_index import BoxIndex
    from broadphase.index.options import IndexOptions
    from broadphase.index.queries import One
    from broadphase.index.results import Outline, RayHits, RayHitsAll, ShapecastHits
    from broadphase.index.stats import IndexStats
    from broadphase.methods import MethodName
    from broadphase.shapes import Shape
    from broadphase.world.layers import LayerNames
    from broadphase.world.snapshot import ActorClasses
    from broadphase.world.values import Boundary

    Depth: TypeAlias = Literal["minus_one_to_one", "zero_to_one"]
    Which: TypeAlias = LayerNames | Actor | type[Actor] | None
    Handler = TypeVar("Handler", bound=Callable[..., object])
    Given = ParamSpec("Given")
    Answer = TypeVar("Answer")


__all__ = ["World"]


class World(Queries):
    """Bodies that move, each with a shape: `step` reports which pairs begin to touch, still touch, or no longer touch.

    Each body is a row of `positions`, `velocities` and other arrays, which you may write to at any time. `add` also
    returns an object, an `Actor`: a view of one row.

    Parameters
    ----------
    dim : int
        2 or 3.
    method : str, IndexOptions or index class
        How pairs are found: "auto", a name from the registry of methods (`broadphase.METHODS`), an index class such as
        ``bp.Octree``, or one with settings, ``bp.Octree.options(leaf_capacity=1)``. The events depend on none of them
        but `outside`, of which "drop" leaves bodies that are not wholly in the world of the tree out of steps and
        queries until they come back (`outside_rows`), and "raise" lets `step` refuse them.
    bounds : array_like, shape (2, dim), optional
        Lower and upper corner of the world, for `boundary`.
    boundary : {"none", "bounce", "wrap", "remove"}
        What happens at the bounds to dynamic bodies that were given no boundary of their own:

        - "none": nothing;
        - "bounce": they are reflected, such that their boxes stay inside;
        - "wrap": the world is periodic: bodies that leave enter at the other side, and pairs touch across it;
        - "remove": bodies that are wholly outside are removed (`Frame.removed`).
    margin : float, optional
        How much larger the boxes in the index are than those of the shapes, in length units: smaller moves do not
        change the index. It is reduced where too many boxes would overlap. Default: None, chosen by size. 0: no margin,
        and pairs near each other are not kept from step to step.
    workers : int
        Threads of steps, and of queries that are not given theirs; -1 for one per core.
    touching : bool
        Whether bodies touch whose bounding boxes only touch. False: the interiors of the boxes must intersect, as in
        `broadphase.pairs`; for steps only, not for queries, and not for periodic worlds nor bodies with ``ccd=True``.

    Raises
    ------
    ValueError
        An unknown method or boundary, settings that do not fit `dim`, bounds that are not finite or have
        lower >= upper, a boundary without bounds; "drop" or "raise" for a tree without `bounds`, or in a periodic
        world.

    Notes
    -----
    All lengths are in one unit of your choice, times in seconds, angles in radians. Numbers are float64. Events do not
    depend on `method`, `margin` and `workers`.

    Any number of threads may query a world at once; a change meanwhile raises RuntimeError.

    Every change is made as a whole or not at all. A call that is refused leaves the world as it was; one that is ended
    by Ctrl-C or lack of memory leaves it as before the call or as after it.

    Views of `positions`, `velocities`, `rotations` and `angular_velocities` stay valid when the arrays grow: what is
    written to an older view takes effect at the next call of the world, and older views are updated at the end of each
    step.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(3, 0), layer="ball")
    >>> wall = world.add(bp.Rectangle(1, 10), position=(4, 0), body_type="static", layer="wall")
    >>> @world.on_enter("ball", "wall")
    ... def bounce(event):
    ...     event.actor.velocity = -event.actor.velocity
    >>> for _ in range(4):
    ...     frame = world.step(dt=0.5)
    >>> ball.position, ball.velocity
    (array([0., 0.]), array([-3., -0.]))
    """

    # Its parts. What a subclass or a user adds is in the dictionary, and copied with the world.
    __slots__ = (
        "__dict__", "__weakref__",
        "_actors", "_answers", "_bus", "_columns", "_guard", "_scene", "_stepper",
    )  # fmt: skip

    def __init__(
        self,
        dim: int = 2,
        *,
        bounds: ArrayLike | None = None,
        boundary: Boundary = "none",
        method: MethodName | IndexOptions | type[BoxIndex] = "auto",
        workers: int = 1,
        touching: bool = True,
        margin: float | None = None,
    ) -> None:
        import numpy.ma  # noqa: F401  # as in `BoxIndex`: before anything is changed

        closed = as_flag(touching, "touching")
        if not closed and boundary == "wrap":
            raise ValueError('touching=False is for worlds that are not periodic: not with boundary="wrap"')
        limits = as_bounds(bounds, boundary, dim)
        self._columns = columns = Columns(dim, limits, boundary, closed)
        flat = None if limits is None else limits.ravel()
        self._stepper = _native.World(columns, columns.rows, dim, flat, BOUNDARIES.index(boundary), closed)
        self._guard = _native.Guard("world")
        self._scene = Scene(columns, BroadPhase(columns, self._stepper, method, margin, workers), self._guard)
        self._actors = Actors(self)
        self._answers = Answers(columns, self._scene, self._stepper, self._actors)
        self._bus = EventBus(self, columns, self._scene, self._actors)

    def __repr__(self) -> str:
        count = len(self)
        return f"<World of {count} bod{'y' if count == 1 else 'ies'}, {self.dim}-d, step {self.number}>"

    def _repr_html_(self) -> str:
        facts = {"axes": self.dim, "bounds": None if self.bounds is None else self.bounds.tolist(), **self.stats()}
        return html_facts("World", ((name, str(value)) for name, value in facts.items()))

    def __len__(self) -> int:
        return self._columns.rows.living

    # What the world is ----------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Number of axes: 2 or 3."""
        return self._columns.dim

    @property
    def slots(self) -> int:
        """Every row is below this number: the length of all arrays by row."""
        return self._columns.slots

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """Lower and upper corner of the world, shape (2, d), or None. Read-only."""
        return self._columns.bounds

    @property
    def boundary(self) -> Boundary:
        """What happens at the bounds to dynamic bodies: "none", "bounce", "wrap" or "remove"."""
        return self._columns.boundary

    @property
    def method(self) -> str | IndexOptions:
        """How pairs are found: a name as given, or options.

        Set it to another method at any time: events do not depend on it, but for its setting `outside`.
        """
        return self._scene.broad.given

    @method.setter
    def method(self, method: MethodName | IndexOptions | type[BoxIndex]) -> None:
        with self._guard.changing:
            columns, broad = self._columns, self._scene.broad
            other = BroadPhase(columns, self._stepper, method, broad.margin, broad.workers)
            if "drop" in (broad.outside, other.outside):  # other bodies may take part
                columns.changed[columns.rows.numbers] = 1
            self._scene.broad = other

    @property
    def time(self) -> float:
        """Seconds of all steps together."""
        return self._stepper.time

    @property
    def number(self) -> int:
        """Number of the last step; 0 before the first."""
        return self._stepper.number

    @property
    def frame(self) -> Frame | None:
        """What the last step found; None before the first step of this object."""
        columns = self._columns
        frame = None if columns.frame is None else cast("Frame | None", columns.frame())
        found = self._stepper.found
        if found is not None and (frame is None or frame.number != found.number):
            frame = Frame(found, columns)
            columns.frame = weakref.ref(frame)
        return frame

    @property
    def pairs(self) -> NDArray[np.int32]:
        """Pairs that touched at the last step, less those of rows removed since: shape (m, 2), in order of rows."""
        pairs = self._stepper.touching
        if self._columns.generation_then is None:
            return pairs
        renewed = self._columns.renewed
        lasting: NDArray[np.int32] = pairs[(renewed[pairs[:, 0]] | renewed[pairs[:, 1]]) == 0]
        return lasting

    def stats(self) -> dict[str, Any]:
        """Describe the content of the world and the last step.

        Returns
        -------
        dict
            ``bodies``, ``static``, ``asleep``, ``pairs`` that touch, ``number`` of the last step, ``time``, ``method``
            and ``bytes``; after a step also the items of `Frame.stats`.
        """
        columns, core, rows = self._columns, self._stepper, self.rows
        return {
            **({} if core.found is None else core.found.stats),
            "method": self._scene.broad.method,
            "bodies": len(self),
            "static": int(np.count_nonzero(columns.body_types[rows] == STATIC)),
            "asleep": int(np.count_nonzero(self.asleep[rows])),
            "pairs": len(self.pairs),
            "number": core.number,
            "time": core.time,
            "bytes": columns.nbytes + self._scene.nbytes + self._scene.broad.nbytes + core.memory_bytes,
        }

    def outline(self) -> Outline:
        """Get the cells or nodes of the index of the world, to be drawn; as `BoxIndex.outline`."""
        with self._guard.reading:
            return self._scene.index().outline()

    def index_stats(self) -> IndexStats:
        """Describe the index of the world, as `BoxIndex.stats`; it is built if need be.

        With ``method="auto"`` most steps find pairs without an index; queries use one.
        """
        with self._guard.reading:
            return self._scene.index().stats()

    def validate(self) -> None:
        """Check that everything is consistent, for tests: it takes time.

        Raises AssertionError, which says what is wrong: a fault of this library.
        """
        with self._guard.reading:
            for fault in faults(self._columns, self._stepper, self._scene.broad):
                raise AssertionError(f"{self!r}: {fault}")
            index = self._scene.broad.index
        if index is not None:
            index.validate()

    # The columns ----------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows that are in use, ascending. Read-only."""
        return self._columns.rows.numbers

    @property
    def outside_rows(self) -> NDArray[np.int32]:
        """Rows whose boxes were last seen not wholly in the world of the method, ascending, shape (k,).

        That is `bounds` of an octree or a linear tree. Without it, and with other methods, there are none.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2, method=bp.Octree.options(bounds=[0, 0, 8, 8], outside="drop"))
        >>> rows = world.add_many(bp.Circle(1), [[6.5, 4], [5, 4]], velocities=[[2, 0], [0, 0]])
        >>> world.step().enter.tolist(), world.outside_rows.tolist()
        ([[0, 1]], [])
        >>> world.step(0.5).exit.tolist(), world.outside_rows.tolist(), world.query_points([(8, 4)]).rows.tolist()
        ([[0, 1]], [0], [])
        """
        with self._guard.reading:
            return self._scene.outside_rows()

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the bodies, shape (slots, d): a view. Write to it; the next `step` or `refresh` sees that."""
        return self._columns.given_out(self._columns.positions)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Length units a second, shape (slots, d): a view. Write to it."""
        return self._columns.given_out(self._columns.velocities)

    @property
    def rotations(self) -> NDArray[np.float64]:
        """Radians, shape (slots,), or quaternions (w, x, y, z), shape (slots, 4): a view. Write to it."""
        return self._columns.given_out(self._columns.with_rotations())

    @property
    def angular_velocities(self) -> NDArray[np.float64]:
        """Radians a second, shape (slots,), or about each axis, (slots, 3): a view. Write to it."""
        return self._columns.given_out(self._columns.with_angular_velocities())

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Boxes around the shapes where the world saw them last, shape (slots, 2, d). A new array."""
        return self._columns.seen.boxes[: self.slots].copy()

    @property
    def shapes(self) -> Shapes:
        """The shapes where the world saw them last, by row. A view, which follows every change."""
        return self._columns.view

    @property
    def body_types(self) -> NDArray[np.uint8]:
        """Places in ("dynamic", "static", "kinematic"), shape (slots,). Read-only."""
        return self._columns.rare("body_types")

    @property
    def boundaries(self) -> NDArray[np.uint8]:
        """Places in ("none", "bounce", "wrap", "remove"): what happens to each body at the bounds. Read-only."""
        return self._columns.rare("boundaries")

    @property
    def layers(self) -> NDArray[np.uint64]:
        """Bits of the layers of each row, shape (slots,). Read-only: see `set_filters`."""
        return self._columns.rare("layer")

    @property
    def masks(self) -> NDArray[np.uint64]:
        """Bits of the layers that each row can touch, shape (slots,). Read-only: see `set_filters`."""
        return self._columns.rare("mask")

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each row, shape (slots,), 0 for none. Read-only: see `set_filters`."""
        return self._columns.rare("groups")

    @property
    def batches(self) -> NDArray[np.int64]:
        """Batch of each row, shape (slots,). Read-only: given to `add` and `add_many`."""
        return self._columns.rare("batches")

    @property
    def sensors(self) -> NDArray[np.bool_]:
        """Which rows have events but no contacts, shape (slots,). Read-only."""
        return self._columns.rare("sensors")

    @property
    def ccd(self) -> NDArray[np.bool_]:
        """Which rows are followed along their whole way, but not as they rotate, shape (slots,). Read-only."""
        return self._columns.rare("ccd")

    @property
    def update_intervals(self) -> NDArray[np.int32]:
        """Each row is looked at once in so many steps, shape (slots,). Read-only."""
        return self._columns.rare("update_intervals")

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """Which rows sleep, shape (slots,). Read-only: see `sleep` and `wake`."""
        return self._columns.rare("asleep")

    def rows_in_layer(self, layer: LayerNames) -> NDArray[np.int32]:
        """Find the rows that are in a layer, or in any of several, ascending, shape (k,). A new array.

        Parameters
        ----------
        layer : str, set of str, or int
            A name, names, or bits. An unknown name raises ValueError.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [5, 0], [9, 0]], layer=["enemy", "coin", "enemy"])
        >>> world.rows_in_layer("enemy"), world.rows_in_layer({"enemy", "coin"})
        (array([0, 2], dtype=int32), array([0, 1, 2], dtype=int32))
        >>> world.velocities[world.rows_in_layer("enemy")] = (-1, 0)
        """
        bits, rows = np.uint64(self._columns.layers.bits(layer)), self.rows
        found: NDArray[np.int32] = rows[(self.layers[rows] & bits) != 0]
        return found

    def handles(self, rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """Get handles of rows, which are never given to other bodies: shape (k,), int64.

        Parameters
        ----------
        rows : array_like of int, shape (k,), optional
            Default: None, all `rows`. One that is not in use raises `UnknownRowError`.
        """
        return self._columns.rows.handles(self.rows if rows is None else rows)

    def rows_of(self, handles: ArrayLike) -> NDArray[np.int32]:
        """Find rows by their handles, shape (k,); that of a removed body raises `UnknownRowError`, a KeyError."""
        return self._columns.rows.rows_of(handles)

    # Changes --------------------------------------------------------------------------------------------------------

    add = bodies.add
    add_many = bodies.add_many
    remove = bodies.remove
    move = bodies.move
    set_shapes = bodies.set_shapes
    set_filters = bodies.set_filters
    sleep = bodies.sleep
    wake = bodies.wake
    ignore = bodies.ignore
    unignore = bodies.unignore

    def layer(self, name: str, priority: int | None = None) -> int:
        """Declare a layer, unless there is one of this name, and get its bit, a power of two.

        In `add`, `add_many` and `set_filters`, a new name in `layer` declares it, too. Masks, handlers and queries need
        names that are declared: an unknown one is an error.

        Parameters
        ----------
        name : str
            Not "all", which stands for every layer. Bit 0 is "default", the layer of bodies that are given none. The
            65th name raises ValueError.
        priority : int, optional
            Pairs of layers with a high priority are tested first where a step has a budget. Default: None, as it is,
            and 0 at first.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.layer("ball"), world.layer("wall", priority=1), world.layer("ball")
        (2, 4, 2)
        """
        named = self._columns.layers.copy()
        bit = named.add(name, priority)
        self._columns.layers = named
        return bit

    # Steps ----------------------------------------------------------------------------------------------------------

    def step(self, dt: float = 0.0, *, budget: Budget | float | None = None) -> Frame:
        """Move bodies by their velocities, find the pairs that touch, and call handlers and hooks.

        Parameters
        ----------
        dt : float
            Seconds: how far bodies move along their velocities, and rotate. 0: they stay where they are, or where you
            have put them.
        budget : Budget or float, optional
            A float is in seconds. Pairs that cannot be tested within it wait, and are tested first in the next step.
            Default: None, no limit.

        Returns
        -------
        Frame
            The events, as arrays.

        Raises
        ------
        ValueError
            A row without a finite position, velocity or rotation; names it. The world is as before, and no event is
            lost.
        RuntimeError
            Called by a handler, or while another thread queries the world.

        Notes
        -----
        Order: hooks `update`; the step; handlers and the other hooks; subscribers (`on_step`). An exception of theirs
        is raised when the step is done; the events that had not been delivered by then are delivered at the beginning
        of the next step.

        A body that has not changed since the last step costs next to nothing, and a pair of such bodies costs nothing.
        """
        dt = as_real(dt, "dt")
        if not math.isfinite(dt):
            raise ValueError(f"dt must be finite, not {dt}")
        limit = Budget.of(budget)
        self._bus.before_step(dt)
        columns, broad = self._columns, self._scene.broad
        with self._guard.changing:
            columns.take_up_writes()
            if limit is not None:
                self._answers.begin(limit)
            found = self._stepper.step(
                dt,
                None if limit is None else limit.on_limit == "drop",
                not columns.geometries,
                broad.search,
                None if broad.index is None else broad.behind,
                self._answers,
            )
            frame = Frame(found, columns)
            columns.frame = weakref.ref(frame)
            columns.refresh_replaced()
            if columns.geometries:
                columns.geometries.drop_unused()
            if limit is not None:
                self._answers.end()
        self._bus.dispatch(frame)
        return frame

    def refresh(self) -> None:
        """Look where bodies are, so that queries see it. No events are found.

        Bodies with ``ccd=True`` are followed from where they were last seen, that is, from here on. A row without a
        finite position or rotation raises ValueError, which names it.
        """
        columns = self._columns
        with self._guard.changing:
            columns.settle()
            columns.take_up_writes()
            broad = self._scene.broad
            self._stepper.look(None if broad.index is None else broad.behind, self._answers)

    def on_step(self, function: Handler) -> Handler:
        """Have a function called with the `Frame` of every step, after handlers and hooks; returns it, as a decorator.

        Every subscriber is called, also when a handler or another subscriber raises; `step` raises the first exception,
        with the others as notes.

        Parameters
        ----------
        function : callable
            Called with the frame, until `remove_handler`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> @world.on_step
        ... def log(frame):
        ...     print(frame.number, len(frame.pairs))
        >>> frame = world.step()
        1 0
        """
        return self._bus.subscribe(function)

    # Events and actors ----------------------------------------------------------------------------------------------

    def actor(self, row: int) -> Actor:
        """Get one body as an object, which is the same as long as somebody holds it.

        Parameters
        ----------
        row : int
            Its row. One that is not in use raises `UnknownRowError`.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [5, 0]])
        >>> world.actor(1)
        <Actor in row 1 at (5.0, 0.0)>
        """
        rows = self._columns.rows
        if not (type(row) is int and 0 <= row < rows.slots and rows.alive.item(row)):
            row = int(rows.known(as_whole(row, "row"))[0])
        return self._actors.get(row)

    @overload
    def on_enter(self, first: Which = None, second: Which = None) -> Callable[[Handler], Handler]: ...

    @overload
    def on_enter(self, first: Handler, /) -> Handler: ...

    def on_enter(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that begins to touch.

        It is called with an `Event` after the step, once for each pair: first for pairs that exit, then for those that
        enter, then for those that stay. Each in the order in which they met: by the time of `Event.impact`, which is 1
        for pairs without one, then in the order of rows. For one pair, hooks of actors are called before handlers, and
        handlers in the order in which they were registered.

        Parameters
        ----------
        first, second : str, set of str, int, Actor, or class derived from Actor, optional
            Only pairs of which one is in the first layer, or in any of them, is this actor, or an actor of this class
            or one derived from it, and the other the same of `second`. The one that matches `first` is
            ``event.actor``; if both do, the lower row. Default: None, any.

        Returns
        -------
        callable
            A decorator, which returns the function as it is; or, used without parentheses, the function itself.

        Raises
        ------
        UnknownRowError, ValueError, TypeError
            An actor that has been removed; an unknown layer; anything else than is listed, such as another class.

        Notes
        -----
        Handlers may add, remove and move bodies and register others, which queries and later handlers see at once. Only
        `step` itself is refused. An event is delivered also if an earlier handler has removed one of the two
        (``event.actor.alive``): so each handler gets an exit for each enter, whatever is removed. A pair is matched
        when it begins to touch; later changes of its layers have no effect until it exits. Handlers of stays and exits
        are also called for pairs that touch already when they are registered.

        If a handler raises, `step` raises that exception. The world is sound, its frame is ``world.frame``, and the
        remaining events are delivered first when `step` is called again, before anything is moved.

        A pair that no handler matches costs a comparison in NumPy, and no call.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(1, 0), layer="ball")
        >>> wall = world.add(bp.Rectangle(1, 9), position=(4, 0), body_type="static", layer="wall")
        >>> @world.on_enter("wall", "ball")
        ... def bounce(event):
        ...     print(event.actor == wall, event.contact.normal)
        ...     event.other.velocity *= -1
        >>> for _ in range(4):
        ...     frame = world.step(1.0)
        True [-1.  0.]
        >>> ball.position
        array([2., 0.])
        """
        return self._bus.register("enter", first, second)

    @overload
    def on_stay(self, first: Which = None, second: Which = None) -> Callable[[Handler], Handler]: ...

    @overload
    def on_stay(self, first: Handler, /) -> Handler: ...

    def on_stay(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that touches, at each step after the first; as `on_enter`."""
        return self._bus.register("stay", first, second)

    @overload
    def on_exit(self, first: Which = None, second: Which = None) -> Callable[[Handler], Handler]: ...

    @overload
    def on_exit(self, first: Handler, /) -> Handler: ...

    def on_exit(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that touches no longer, or of which one was removed; as `on_enter`."""
        return self._bus.register("exit", first, second)

    def remove_handler(self, handler: Callable[..., object]) -> int:
        """Remove all registrations of a handler or subscriber, and return how many there were. It is not called again.

        Parameters
        ----------
        handler : callable
            A function given to `on_enter`, `on_stay`, `on_exit` or `on_step`.
        """
        return self._bus.remove(lambda function: function == handler)

    def clear_handlers(self) -> int:
        """Remove all handlers and subscribers, and return how many registrations there were. None is called again.

        Hooks of actors stay: they belong to their classes.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> for text in ("one", "two"):
        ...     handler = world.on_enter(lambda event, text=text: print(text))
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
        >>> world.clear_handlers()
        2
        >>> world.step().enter.tolist()
        [[0, 1]]
        """
        return self._bus.remove(lambda function: True)

    def render(self, context: Any = None, rows: ArrayLike | Visible | None = None) -> int:
        """Call ``actor.render(context)`` of the actors whose class overrides it, in the order of rows.

        Parameters
        ----------
        context : object
            What they draw on.
        rows : array_like of int, or Visible, optional
            Which are to be drawn. Default: None, all.

        Returns
        -------
        int
            The sum of what they returned, such as numbers of triangles; one that returned None counts as 1. If one
            raises, the others are not called.

        Examples
        --------
        >>> import broadphase as bp
        >>> class Letter(bp.Actor):
        ...     def render(self, page):
        ...         page.append(self.data)
        >>> world = bp.World(dim=2)
        >>> for place, letter in enumerate("abc"):
        ...     actor = world.add(bp.Point(), position=(place, 0), data=letter, actor=Letter)
        >>> page = []
        >>> world.render(page, rows=world.query([[0.5, 0, 9, 0]]).rows), page
        (2, ['b', 'c'])
        """
        drawing = self._actors.with_hook(RENDER)
        if rows is not None:
            wanted = set(as_array(rows.rows if isinstance(rows, Visible) else rows, "rows").ravel().tolist())
            drawing = [actor for actor in drawing if actor.row in wanted]
        drawn = 0
        for actor in drawing:
            if actor.alive:  # one that was drawn before may have removed it
                count = actor.render(context)
                drawn += 1 if count is None else as_whole(count, f"what {type(actor).__name__}.render returned", 0)
        return drawn

    # Queries --------------------------------------------------------------------------------------------------------

    @property
    def _few(self) -> Any:
        return self._scene.few(self._actors)

    def _find(
        self,
        query: str,
        given: tuple[Any, ...],
        keywords: Mapping[str, Any],
        own: NDArray[np.int32] | None = None,
    ) -> Any:
        options = QueryOptions.of(query, keywords, own)
        with self._guard.reading:
            return queries.ANSWERS[query](self._scene, *given, options)

    def _find_one(
        self,
        query: str,
        given: tuple[Any, ...],
        keywords: Mapping[str, Any],
        own: NDArray[np.int32] | None,
    ) -> Any:
        if query not in ("raycast", "raycast_all"):
            return super()._find_one(query, given, keywords, own)
        options, is_first = QueryOptions.of(query, keywords), query == "raycast"
        with self._guard.reading:
            hits = queries.hits_of_one_ray(self._scene, self._actors, given, options, is_first=is_first)
        return hits if not is_first else hits[0] if hits else None

    def _places(self, rows: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        with self._guard.reading:
            numbers = self._columns.rows.known(rows)
            self._scene.place()
            return numbers, self._columns.seen.positions[numbers]

    @shows_query_options
    def query_shape(
        self,
        shape: Shape,
        positions: ArrayLike,
        rotations: ArrayLike | None = None,
        **options: Unpack[QueryKeywords],
    ) -> Any:
        """Find the rows whose shapes overlap a shape at each of some poses; as `query`.

        Parameters
        ----------
        shape : Shape
            One for all queries, or one for each.
        positions : array_like, shape (q, d), or (d,) for all
            Its positions.
        rotations : array_like, optional
            Its rotations, in the forms that `query_obb` takes: one for all, or one for each query. A matrix that
            reflects raises ValueError. Default: None, not rotated.
        **options
            As in `query`.

        Returns
        -------
        QueryResult; of one shape at one pose: ndarray, shape (m,), int32
            As `query`.

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.add_many(bp.Circle(1), [[0, 0], [4, 0]])
        array([0, 1], dtype=int32)
        >>> blade = bp.Capsule((0, 0), (5, 0), 0.5)
        >>> world.query_shape(blade, [[0, 1.4], [-6, 0]], [0, np.pi / 2]).counts.tolist()
        [2, 0]
        >>> world.query_shape(blade, (0, 1.4))
        array([0, 1], dtype=int32)
        """
        if (few := self._few) is not None:
            answer = few.query_shape(shape, positions, rotations, options)
            if answer is not NotImplemented:
                return answer
        with self._guard.reading:
            asked = QueryOptions.of("query_shape", options)
            return as_given(positions, queries.find_shapes(self._scene, shape, positions, rotations, asked))

    @overload  # type: ignore[override]
    def raycast(  # type: ignore[overload-overlap]
        self,
        origins: One,
        directions: One,
        max_distance: float = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> Hit | None: ...

    @overload
    def raycast(
        self,
        origins: NDArray[Any] | One,
        directions: ArrayLike | None = None,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> Any: ...

    @overload
    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> RayHits: ...

    @shows_query_options
    def raycast(  # noqa: D102  see below
        self,
        origins: ArrayLike,
        directions: ArrayLike | None = None,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = np.float64,
        **options: Unpack[QueryKeywords],
    ) -> Any:
        if directions is None:
            origins, directions = ray_of(origins)
        return shared.raycast(self, origins, directions, max_distance, dtype=dtype, **options)

    raycast.__doc__ = shared.raycast.__doc__

    @overload  # type: ignore[override]
    def raycast_all(  # type: ignore[overload-overlap]
        self,
        origins: One,
        directions: One,
        max_distance: float = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> list[Hit]: ...

    @overload
    def raycast_all(
        self,
        origins: NDArray[Any] | One,
        directions: ArrayLike | None = None,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> Any: ...

    @overload
    def raycast_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = ...,
        **options: Unpack[QueryKeywords],
    ) -> RayHitsAll: ...

    @shows_query_options
    def raycast_all(  # noqa: D102  see below
        self,
        origins: ArrayLike,
        directions: ArrayLike | None = None,
        max_distance: ArrayLike = np.inf,
        *,
        dtype: DTypeLike = np.float64,
        **options: Unpack[QueryKeywords],
    ) -> Any:
        if directions is None:
            origins, directions = ray_of(origins)
        return shared.raycast_all(self, origins, directions, max_distance, dtype=dtype, **options)

    raycast_all.__doc__ = shared.raycast_all.__doc__

    @shows_query_options
    def shapecast(
        self,
        shape: Shape,
        positions: ArrayLike,
        motions: ArrayLike,
        rotations: ArrayLike | None = None,
        **options: Unpack[QueryKeywords],
    ) -> ShapecastHits[Any, Any]:
        """Find the first row that each moving shape touches. None is missed, however fast it moves.

        Parameters
        ----------
        shape, positions, rotations
            As in `query_shape`: the shape at the beginning of its motion.
        motions : array_like, shape (q, d), or (d,) for all
            How far it moves, along a straight line and without rotating. Finite.
        **options
            As in `query`.

        Returns
        -------
        ShapecastHits
            ``rows`` and ``times``, of shape (q,), of one shape and motion an int and a float: the fraction of the
            motion after which they touch; 0 for shapes that touch at the beginning, infinite for none. Of several rows
            at one time, the lowest.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> wall = world.add(bp.Rectangle(0.1, 9), position=(5, 0), body_type="static")
        >>> world.shapecast(bp.Circle(1), [[0, 0], [0, 7]], [100, 0])
        ShapecastHits(rows=array([ 0, -1], dtype=int32), times=array([0.0395,    inf]))
        >>> world.shapecast(bp.Circle(1), (0, 0), (0, 100))
        ShapecastHits(rows=-1, times=inf)
        """
        found: ShapecastHits[Any, Any]
        if (few := self._few) is not None:
            answer = few.shapecast(shape, positions, motions, rotations, options)
            if answer is not NotImplemented:
                found = answer
                return found
        with self._guard.reading:
            asked = QueryOptions.of("shapecast", options)
            found = queries.shapecast(self._scene, shape, positions, motions, rotations, asked)
            return as_given(positions, found)

    @shows_query_options
    def visible(
        self,
        matrix: ArrayLike | None = None,
        *,
        planes: ArrayLike | None = None,
        depth: Depth = "minus_one_to_one",
        eye: ArrayLike | None = None,
        lod: Sequence[float] = (50.0, 200.0),
        **options: Unpack[QueryKeywords],
    ) -> Visible:
        """Find the rows in view of one camera, by `frustum`, and the level of detail of each.

        Parameters
        ----------
        matrix, planes, depth
            As in `frustum`, for one camera.
        eye : array_like, shape (d,), optional
            Where distances are measured from. Default: None, the eye of a perspective matrix; other cameras have none.
        lod : sequence of float
            Distances at which the level of detail decreases; ascending.
        **options
            As in `query`.

        Returns
        -------
        Visible
            ``rows``, ``levels``, ``distances``; and how many were ``drawn`` and ``culled``.

        Raises
        ------
        ValueError, TypeError
            As `frustum`; more than one camera; distances that do not ascend.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=3)
        >>> world.add_many(bp.Sphere(1), [[0, 0, -10], [0, 0, -100], [0, 0, -500], [0, 0, 9]])
        array([0, 1, 2, 3], dtype=int32)
        >>> camera = bp.cameras.perspective(1.0, 4 / 3, 0.1, 1000) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
        >>> seen = world.visible(camera)
        >>> seen.rows, seen.levels, seen.culled
        (array([0, 1, 2], dtype=int32), array([0, 1, 2], dtype=int32), 1)
        """
        camera = planes if matrix is None else matrix
        if camera is not None and as_reals(camera, "planes" if matrix is None else "matrix").ndim == 3:
            raise ValueError("visible takes one camera, matrix or planes; frustum takes many")
        found = self.frustum(matrix, planes=planes, depth=depth, **options)
        with self._guard.reading:
            return visible(self._scene, found, matrix, eye, lod)

    def lidar(
        self,
        rows: ArrayLike,
        directions: ArrayLike,
        *,
        max_distance: ArrayLike = np.inf,
        workers: int | None = None,
        layer: ByRow = None,
        mask: ByRow = None,
        ignore: Ignored = None,
        frame: Literal["body", "world"] = "body",
        dtype: DTypeLike = np.float64,
    ) -> LidarScan:
        """Cast a fan of beams from each of some bodies, and find the first body that each beam hits.

        A body does not see itself. Where bodies have batches, it sees those of its own batch. Beams do not continue on
        the other side of a world that wraps. Errors are those of `query`.

        Parameters
        ----------
        rows : array_like of int, shape (n,), or int
            The bodies that look, each from its position.
        directions : array_like, shape (b,) or (n, b); in space (b, 3) or (n, b, 3)
            Angles in radians in the plane, vectors of any length in space: one fan for all bodies, or one for each.
            Finite.
        max_distance : array_like, shape (n,), or one number
            How far each body sees.
        workers, layer, mask, ignore
            As in `query`, for each of the bodies.
        frame : {"body", "world"}
            Whether directions are rotated with each body, or not.
        dtype : {float64, float32}
            Of the distances.

        Returns
        -------
        LidarScan
            ``distances`` and ``rows``, of shape (n, b), or (b,) for one row given as an int and one fan: infinity and
            -1 where nothing is hit, 0 where the body is inside another one. Of several rows at one distance, the
            lowest.

        Notes
        -----
        Distances are those of `raycast` with the same origins and directions, bit for bit, before they are rounded to
        `dtype`. No rays are stored. Each beam of a body in a batch of m bodies takes some m nanoseconds and one test
        of a shape; among more than 256, and without batches, a tree is walked. Releases the GIL; Ctrl-C works.

        Examples
        --------
        >>> import numpy as np
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> robots = world.add_many(bp.Circle(1), [[0, 0], [8, 0]], rotations=[0, np.pi])
        >>> wall = world.add(bp.Rectangle(20, 1), position=(0, 5), body_type="static")
        >>> scan = world.lidar(robots, np.radians([-90, 0, 90]), max_distance=20)
        >>> scan.distances
        array([[inf, 7. , 4.5],
               [4.5, 7. , inf]])
        >>> scan.rows
        array([[-1,  1,  2],
               [ 2,  0, -1]], dtype=int32)
        >>> world.lidar(robots[0], np.radians([0, 90]), frame="world", max_distance=5).distances
        array([inf, 4.5])
        """
        asked = QueryOptions(workers=workers, layer=layer, mask=mask, ignore=ignore)
        with self._guard.reading:
            return lidar(self._scene, rows, directions, max_distance, frame, dtype, asked)

    # Snapshots ------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, data: bool = True) -> None:
        """Write the world, as `to_bytes` gives it, to a file; an error leaves an older file as it was.

        Parameters
        ----------
        path : path-like
            The file. By custom, its name ends in .world.
        data : bool
            As in `to_bytes`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> ball = world.add(bp.Circle(1), position=(3, 4), data={"color": "red"})
        >>> path = pathlib.Path(tempfile.mkdtemp(), "game.world")
        >>> world.save(path)
        >>> bp.World.load(path).actor(0).data
        {'color': 'red'}
        """
        content = self.to_bytes(data=data)
        with replacing(path) as unfinished:
            unfinished.write_bytes(content)

    def to_bytes(self, *, data: bool = True) -> bytes:
        """Give the world as bytes, with a checksum and without code. Time and memory O(rows + pairs that touch).

        They hold everything that decides what the world does from now on: the rows with their shapes, positions,
        velocities, layers and handles, the pairs that touch or are deferred, the number of the step, the time and the
        options. They do not hold handlers, subscribers, the classes of actors, and the last frame. Two worlds that were
        made by the same calls give the same bytes.

        Parameters
        ----------
        data : bool
            Whether to store the `data` of actors, which must be JSON then.

        Raises
        ------
        TypeError
            The `data` of an actor is not JSON, or its shape is a custom one; names the row.
        RuntimeError
            Another thread is changing the world.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0]])
        >>> frame = world.step()
        >>> again = bp.World.from_bytes(world.to_bytes())
        >>> again.step().stay
        array([[0, 1]], dtype=int32)
        """
        self._columns.take_up_writes()
        with self._guard.reading:
            kept = self._actors.data() if data else {}
            return snapshot.to_bytes(self._columns, self._stepper, self._scene.broad, kept)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, actors: ActorClasses | None = None) -> Self:
        """Read a world from a file that `save` wrote; as `from_bytes`, and errors name the file.

        Parameters
        ----------
        path : path-like
            The file.
        actors : mapping, optional
            As in `from_bytes`.
        """
        content = Path(path).read_bytes()
        try:
            return cls.from_bytes(content, actors=actors)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, actors: ActorClasses | None = None) -> Self:
        """Make a world from the bytes that `to_bytes` gave.

        Parameters
        ----------
        data : bytes-like
            All of it, and nothing more. It is not needed afterwards.
        actors : mapping, optional
            Classes of actors, by row or by name of a layer: such rows get an actor of this class, which keeps the data.
            A row counts before a layer; of several layers, the last one counts.

        Returns
        -------
        World
            Of the class that this method is called on. It has the same events in every step as the one that was saved.

        Raises
        ------
        ValueError
            Other bytes, damaged, or of another version; says what is wrong. An unknown layer in `actors`.

        Examples
        --------
        >>> import broadphase as bp
        >>> class Ball(bp.Actor):
        ...     pass
        >>> world = bp.World(dim=2)
        >>> ball = world.add(bp.Circle(1), position=(3, 4), layer="ball", actor=Ball)
        >>> type(bp.World.from_bytes(world.to_bytes(), actors={"ball": Ball}).actor(0)).__name__
        'Ball'
        """
        world = cls.__new__(cls)
        world._become(snapshot.read(data))
        snapshot.give_classes(world._columns, world._actors, actors or {})
        return world

    def __getstate__(self) -> dict[str, Any]:
        return {"snapshot": self.to_bytes(data=False), "data": self._actors.data(), "more": vars(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(snapshot.read(state["snapshot"]))
        self._actors.give_data(state["data"])
        vars(self).update(state["more"])

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # sharing the rows would let one change them under the other

    def _become(self, found: snapshot.Contents) -> None:
        """Become what a snapshot describes."""
        try:
            World.__init__(self, **found.options)
        except TypeError as error:
            raise ValueError(f"not a snapshot of a world: {error}") from None
        snapshot.restore(self._columns, self._stepper, self._actors, found)
        self._bus.delivered = self.number
