"""Worlds in files and in bytes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from broadphase.world.snapshot_format import as_json, pack, read_snapshot, unpack, write_snapshot
from broadphase.world.snapshot_state import describe, options_of, restore

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from broadphase.world.actor import Actor
    from broadphase.world.world import World

    Classes = Mapping[Any, type[Actor]]

__all__ = ["WorldSnapshots"]


class WorldSnapshots:
    """Saving, loading and copying; see `broadphase.World` for the whole."""

    def save(self, path: str | os.PathLike[str], *, data: bool = True) -> None:
        """Write the world to a file; see `to_bytes` for what is kept.

        The file appears under its name when it is complete: an error on the way leaves an older one as it was.

        Parameters
        ----------
        path : path-like
            The file. By custom, its name ends in .world.
        data : bool
            Whether to keep the `data` of actors, which must be JSON then.

        Raises
        ------
        TypeError
            The `data` of an actor is not JSON; names the row.
        OSError
            The file cannot be written.

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
        write_snapshot(path, self.to_bytes(data=data))

    def to_bytes(self, *, data: bool = True) -> bytes:
        """Give the world as bytes.

        Kept is all that decides what the world does from now on: the rows with their shapes, places, motions, layers
        and handles, what touches, what waits for its turn, the number of the step, the time and the options. Two worlds
        that were made by the same commands give the same bytes.

        Not kept is code: handlers, and the classes of actors. Nor is the last frame.

        Parameters
        ----------
        data : bool
            Whether to keep the `data` of actors, which must be JSON then.

        Returns
        -------
        bytes
            With a checksum. There is nothing in it to be executed.

        Raises
        ------
        TypeError
            The `data` of an actor is not JSON; names the row.
        RuntimeError
            The world is being changed, by another thread.

        Notes
        -----
        Time and memory O(rows + pairs that touch); the checksum takes some nanoseconds a byte.

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
        world = cast("World", self)
        with world._guard.reading:
            about, arrays = describe(world)
            kept = sorted(world._actors.data().items()) if data else []
            for row, value in kept:
                as_json(value, f"the data of row {row}")
            return pack({"world": about, "data": [[row, value] for row, value in kept]}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, actors: Classes | None = None) -> Self:
        """Read a world from a file that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        actors : mapping, optional
            Classes of actors, by row or by name of a layer: such rows get an actor of this class, which keeps the data.

        Returns
        -------
        World
            It goes on as the one that was saved would have: the same events in every step.

        Raises
        ------
        ValueError
            Not such a file, damaged, or of another version; says what is wrong.
        OSError
            The file cannot be read.
        """
        try:
            return cls._made_of(*read_snapshot(path), actors)
        except ValueError as error:
            text = str(error)
            raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from None

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, actors: Classes | None = None) -> Self:
        """Make a world of what `to_bytes` gave.

        Parameters
        ----------
        data : bytes-like
            All of it, and nothing more. It is not needed afterwards.
        actors : mapping, optional
            See `load`.

        Returns
        -------
        World

        Raises
        ------
        ValueError
            Not such bytes, damaged, or of another version; says what is wrong.

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
        return cls._made_of(*unpack(data), actors)

    def __getstate__(self) -> dict[str, Any]:
        world = cast("World", self)
        own = vars(type(world)._blank(2))
        more = {name: value for name, value in vars(world).items() if name not in own}
        return {"snapshot": self.to_bytes(data=False), "data": world._actors.data(), "more": more}

    def __setstate__(self, state: dict[str, Any]) -> None:
        about, arrays = unpack(state["snapshot"])
        self._fill(about, arrays)
        for row, value in state["data"].items():
            cast("World", self)._actors.set_data(row, value)
        vars(self).update(state["more"])

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # sharing the rows would let one change them under the other

    @classmethod
    def _blank(cls, dimension: int, **options: Any) -> Self:
        """Make a world, whatever a derived class wants to know first."""
        from broadphase.world.world import World

        blank = cls.__new__(cls)
        World.__init__(cast("World", blank), dimension, **options)
        return blank

    @classmethod
    def _made_of(cls, about: Any, arrays: dict[str, Any], actors: Classes | None) -> Self:
        made = cls.__new__(cls)
        made._fill(about, arrays)
        world = cast("World", made)
        for row, value in about["data"]:
            world._actors.set_data(row, value)
        for which, kind in (actors or {}).items():
            if isinstance(which, str):
                bit = np.uint64(world._layers.bits(which, "actors", known=True))
                rows = world.rows[(world.layers[world.rows] & bit) != 0].tolist()
            else:
                rows = world._columns.known(which).tolist()
            for row in rows:
                data = world._actors.get(row).data
                world._actors.attach(world._actors.prepare(kind), row, data)
        return made

    def _fill(self, about: Any, arrays: dict[str, Any]) -> None:
        """Become what a snapshot says."""
        from broadphase.world.world import World

        if not isinstance(about, dict) or set(about) != {"world", "data"}:
            raise ValueError("the snapshot is not one of a world")
        world = cast("World", self)
        options = options_of(about["world"], arrays)
        try:
            World.__init__(world, **options)
        except TypeError as error:
            raise ValueError(f"the snapshot is not one of a world: {error}") from None
        restore(world, about["world"], arrays)
        _check_data(about["data"], world)


def _check_data(data: Any, world: World) -> None:
    alive = world.alive
    before = -1
    if not isinstance(data, list):
        raise ValueError("the data of a snapshot is not a list")
    for entry in data:
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[0]) is not int or entry[1] is None:
            raise ValueError("the data of a snapshot is not made of rows and values")
        if not before < entry[0] < len(alive) or not alive[entry[0]]:
            raise ValueError(f"the data of a snapshot are of row {entry[0]}, which is not in use")
        before = entry[0]
