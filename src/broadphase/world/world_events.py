"""Rows as objects, layers by name, and functions to be told of touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broadphase.world.actor import Actor, is_handler
from broadphase.world.world_views import WorldViews

if TYPE_CHECKING:
    from broadphase.world.layer_watch import Handler

__all__ = ["WorldEvents"]


class WorldEvents(WorldViews):
    """Actors, layers and handlers; see `broadphase.World` for the whole."""

    def actor(self, row: int) -> Actor:
        """Get one thing as an object.

        Parameters
        ----------
        row : int
            Its row.

        Returns
        -------
        Actor
            The same object as long as somebody holds it.

        Raises
        ------
        UnknownRowError
            A row that is not in use.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> rows = world.add_many(bp.Circle(1), [[0, 0], [5, 0]])
        >>> world.actor(1)
        <Actor in row 1 at (5.0, 0.0)>
        """
        return self._actors.get(int(self._columns.rows.known(row)[0]))

    def layer(self, name: str, priority: int | None = None) -> int:
        """Get the bit of a layer, which is made if there is none of that name.

        Names may also be used without that: in `add`, `add_many` and for handlers, the first use makes the layer.
        Questions want a name that exists.

        Parameters
        ----------
        name : str
            Not "all", which stands for every layer. Bit 0 is "default", the layer of what is given none.
        priority : int, optional
            How urgent its rows are where a step has a budget: high first. Unset: as it is, and 0 at first.

        Returns
        -------
        int
            A power of two.

        Raises
        ------
        ValueError
            All 64 bits have names.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> world.layer("ball"), world.layer("wall", priority=1), world.layer("ball")
        (2, 4, 2)
        """
        return self._layers.add(name, priority)

    def on_enter(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that begins to touch.

        It is called after the step, with an `Event`, once for each pair: first those that part, then those that begin
        to touch, then those that go on, each in the order of rows; for one pair, hooks of actors before handlers, and
        these in the order in which they were registered.

        Parameters
        ----------
        first, second : str, set of str, int, or Actor, optional
            Only pairs of which one is in the first layer, or in any of them, or is this actor, and the other in the
            second. The one that matches `first` is ``event.actor``; if both do, the lower row. Unset: any.

        Returns
        -------
        callable
            A decorator, which returns the function as it is; or without brackets, the function itself.

        Raises
        ------
        UnknownRowError
            An actor that has been removed.

        Notes
        -----
        Handlers may add, remove and move things and register others; what they do counts from the next step on. Only
        `step` itself is refused. An event is delivered also if an earlier handler has removed one of the two
        (``event.actor.alive``): so for each handler, enters and exits balance, whatever is removed. A pair is matched
        when it begins to touch; that its layers are others later changes nothing until it parts. Handlers of stays and
        exits hear also of pairs that touch already when they are registered.

        If a handler raises, the exception leaves `step`. The world is sound, its frame is ``world.frame``, and the
        events that are left are delivered first when `step` is called again, before anything is moved.

        A pair that nobody wants to hear of costs a comparison in NumPy, and no call.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(1, 0), layer="ball")
        >>> wall = world.add(bp.Rectangle(1, 9), position=(4, 0), kind="static", layer="wall")
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
        return self._on("enter", first, second)

    def on_stay(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that touches, at each step after the first; as `on_enter`."""
        return self._on("stay", first, second)

    def on_exit(self, first: Any = None, second: Any = None) -> Any:
        """Have a function called for every pair that touches no longer, or of which one was removed; as `on_enter`."""
        return self._on("exit", first, second)

    def off(self, handler: Handler) -> int:
        """End all registrations of a handler, also those with actors. It is not called again.

        Parameters
        ----------
        handler : callable
            What was registered.

        Returns
        -------
        int
            How many registrations there were.
        """
        return self._handlers.off(handler)

    def _on(self, kind: str, first: Any, second: Any) -> Any:
        if is_handler(first) and second is None:
            return self._handlers.registering(kind, None, None)(first)
        return self._handlers.registering(kind, first, second)
