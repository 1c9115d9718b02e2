"""Recordings of worlds for the Rerun viewer."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from broadphase.extras import import_extra
from broadphase.files import replacing
from broadphase.plotting.pieces import STATIC, PieceCollection, Pieces, contact_points
from broadphase.plotting.subject import Subject
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from numpy.typing import NDArray

    import broadphase as bp

    Floats = NDArray[np.float64]

__all__ = ["Recording", "record"]

# Told apart with any kind of colour vision, on the dark background of the viewer.
TOUCHING, APART, STATIC_COLOUR = (213, 94, 0), (138, 155, 176), (94, 106, 120)
CONTACT = (86, 180, 233)
MOST_NAMED = 20  # pairs of one step that the log lists
_PROBE = 1 << 16  # bytes written first: Rerun waits for ever if the disk is full when it begins
SOLID = 3  # rerun.components.FillMode.Solid


def record(world: bp.World, path: str | os.PathLike[str]) -> Recording:
    """Write every step of a world from now on to a file for the Rerun viewer.

    Parameters
    ----------
    world : World
        In 2D or 3D.
    path : path-like
        An .rrd file; ``rerun run.rrd`` shows it.

    Returns
    -------
    Recording
        A context manager; or call its ``close()``.

    Raises
    ------
    MissingExtraError
        Rerun is not installed: ``pip install 'broadphase[record]'``.
    OSError
        The file cannot be written.

    Notes
    -----
    The recording subscribes to the world by `World.on_step`: each frame is written after the handlers of its events.
    Copies of the world are not recorded.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> with bp.recording.record(world, "run.rrd"):  # doctest: +SKIP
    ...     for _ in range(100):
    ...         frame = world.step(dt=1 / 60)
    """
    return Recording(world, path)


class Recording:
    """A recording in progress, made by `record`, to the file `path`.

    Writes shapes, contacts, events and figures of every step, on the timelines "frame" and "time", until `close` or the
    end of a ``with`` block. The file gets its name then; at the end of the program at the latest.
    """

    def __init__(self, world: bp.World, path: str | os.PathLike[str]) -> None:
        self._rerun = import_extra("rerun", purpose="recording", extra="record")
        self.path = Path(path)
        self._world = world
        self._shown: set[str] = set()
        self._known: tuple[bytes, ...] = ()
        self._pieces: Pieces | None = None
        self._stream = self._rerun.RecordingStream("broadphase")
        writing = replacing(self.path)
        unfinished = writing.__enter__()
        with _writing_to(self.path, writing):
            unfinished.write_bytes(bytes(_PROBE))
            self._stream.save(str(unfinished), default_blueprint=self._views())
        self._close = weakref.finalize(self, _finish, self._stream, writing, self.path)
        world.on_step(self._log)

    def __repr__(self) -> str:
        return f"<Recording to {self.path}, {'open' if self._close.alive else 'closed'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Recording cannot be copied or pickled: it is a file that is being written")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish the file. Closing twice has no effect."""
        if self._close.alive:
            self._world.remove_handler(self._log)
            self._close()

    def _log(self, frame: bp.world.Frame) -> None:
        """Write one step; called by the world."""
        self._stream.set_time("frame", sequence=frame.number)
        self._stream.set_time("time", duration=frame.time)
        shown = {**self._bodies(), **self._contacts(frame), **self._events(frame)}
        for name in self._shown - set(shown):
            self._stream.log(name, self._rerun.Clear(recursive=False))
        for name, archetype in shown.items():
            self._stream.log(name, archetype)
        self._shown = set(shown)
        self._log_figures(frame)

    def _views(self) -> Any:
        views = import_extra("rerun.blueprint", purpose="recording", extra="record")
        space = views.Spatial2DView if self._world.dim == 2 else views.Spatial3DView
        figures = [views.TimeSeriesView(origin=f"/figures/{name}", name=name) for name in ("pairs", "milliseconds")]
        side = views.Vertical(*figures, views.TextLogView(origin="/log", name="events"))
        scene = space(origin="/", contents=["/bodies/**", "/contacts/**", "/events/**"], name="world")
        return views.Blueprint(views.Horizontal(scene, side, column_shares=[3, 2]), collapse_panels=True)

    def _placed(self) -> Pieces:
        """Return the pieces of all shapes in world coordinates; only changed shapes are taken apart again."""
        world, shapes = self._world, self._world.shapes
        rows = world.rows
        records = shapes.records(rows)
        known = (rows.tobytes(), *(part.tobytes() for part in records))
        if self._pieces is None or known != self._known:
            collection = PieceCollection(world.dim)
            collection.add(shapes, rows, rows)
            self._pieces, self._known = collection.pieces(), known
        return self._pieces.placed(shapes.positions, shapes.rotations).spread(Subject(world).extent())

    def _bodies(self) -> dict[str, Any]:
        """Draw the bodies, with one entity for each form, which the viewer draws at once."""
        pieces, colours = self._placed(), self._colours()
        draw = self._in_2d if self._world.dim == 2 else self._in_3d
        return draw(pieces, colours[pieces.rows])

    def _colours(self) -> NDArray[np.uint8]:
        """Return the colour of each row."""
        world = self._world
        colours = np.full((world.slots, 3), APART, np.uint8)
        colours[world.body_types == STATIC] = STATIC_COLOUR
        # Of the world, not of the frame: a handler may have removed a body, and given its row to another.
        colours[world.pairs.ravel()] = TOUCHING
        return colours

    def _entered(self, frame: bp.world.Frame) -> NDArray[np.int32]:
        """Return the pairs that began to touch, without those of bodies that handlers have removed."""
        slots = max(self._world.slots, 1)
        keys, lasting = (pairs.astype(np.int64) @ [slots, 1] for pairs in (frame.enter, self._world.pairs))
        return frame.enter[np.isin(keys, lasting)]

    def _in_2d(self, pieces: Pieces, colours: NDArray[np.uint8]) -> dict[str, Any]:
        rerun, shown = self._rerun, {}
        strips: list[Floats] = []
        of_strips: list[NDArray[np.uint8]] = []
        for form, which in pieces.by_form():
            if form.name == "dot":
                shown["bodies/points"] = rerun.Points2D(pieces.anchors[which], colors=colours[which])
            elif form.name == "disc":
                radii = np.sqrt((pieces.matrices[which, :, 0] ** 2).sum(axis=1))
                shown["bodies/discs"] = rerun.Ellipses2D(
                    centers=pieces.anchors[which], half_sizes=np.stack([radii, radii], axis=1), colors=colours[which]
                )
            else:
                corners = pieces.vertices(form, which)
                closed = corners if form.name == "line" else np.concatenate([corners, corners[:, :1]], axis=1)
                strips += list(closed)
                of_strips.append(colours[which])
        if strips:
            shown["bodies/outlines"] = rerun.LineStrips2D(strips, colors=np.concatenate(of_strips))
        return shown

    def _in_3d(self, pieces: Pieces, colours: NDArray[np.uint8]) -> dict[str, Any]:
        rerun, shown = self._rerun, {}
        vertices: list[Floats] = []
        faces: list[NDArray[np.int64]] = []
        of_vertices: list[NDArray[np.uint8]] = []
        count = 0
        for form, which in pieces.by_form():
            anchors, look = pieces.anchors[which], colours[which]
            sizes = np.sqrt((pieces.matrices[which] ** 2).sum(axis=1))
            if form.name == "dot":
                shown["bodies/points"] = rerun.Points3D(anchors, colors=look)
            elif form.name == "line":
                shown["bodies/lines"] = rerun.LineStrips3D(list(pieces.vertices(form, which)), colors=look)
            elif form.name in ("ball", "box"):
                turns = pieces.matrices[which] / np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]
                quaternions = np.roll(quaternions_of(turns), -1, axis=1)  # Rerun has them as (x, y, z, w)
                name, solids = ("balls", rerun.Ellipsoids3D) if form.name == "ball" else ("boxes", rerun.Boxes3D)
                shown[f"bodies/{name}"] = solids(
                    centers=anchors, half_sizes=sizes, quaternions=quaternions, colors=look, fill_mode=SOLID
                )
            else:
                corners = pieces.vertices(form, which)
                first = count + len(form.vertices) * np.arange(len(which))
                vertices.append(corners.reshape(-1, 3))
                faces.append((form.faces + first[:, np.newaxis, np.newaxis]).reshape(-1, 3))
                of_vertices.append(np.repeat(look, len(form.vertices), axis=0))
                count += corners.shape[0] * corners.shape[1]
        if vertices:
            shown["bodies/solids"] = rerun.Mesh3D(
                vertex_positions=np.concatenate(vertices),
                triangle_indices=np.concatenate(faces),
                vertex_colors=np.concatenate(of_vertices),
            )
        return shown

    def _contacts(self, frame: bp.world.Frame) -> dict[str, Any]:
        points, normals = contact_points(frame.contacts)
        if not len(points):
            return {}
        boxes = self._world.shapes.boxes[np.unique(frame.contacts.pairs)]
        length = 0.5 * float(np.median((boxes[:, 1] - boxes[:, 0]).max(axis=1)))
        make_points, make_arrows = self._of_dimension("Points", "Arrows")
        return {
            "contacts/points": make_points(points, colors=CONTACT),
            "contacts/normals": make_arrows(vectors=normals * length, origins=points, colors=CONTACT),
        }

    def _events(self, frame: bp.world.Frame) -> dict[str, Any]:
        """Log enter and exit events, and show where bodies began to touch."""
        for word, pairs in (("enter", frame.enter), ("exit", frame.exit)):
            if len(pairs):
                more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
                named = ", ".join(f"{first}-{second}" for first, second in pairs[:MOST_NAMED].tolist())
                self._stream.log("log", self._rerun.TextLog(f"{word}: {named}{more}", level="INFO"))
        entered = self._entered(frame)
        if not len(entered):
            return {}
        middles = self._world.shapes.boxes[entered].mean(axis=(1, 2))
        return {"events/enter": self._of_dimension("Points")[0](middles, colors=TOUCHING)}

    def _log_figures(self, frame: bp.world.Frame) -> None:
        stats = frame.stats
        figures = {
            "pairs/touching": len(frame.pairs),
            "pairs/enter": len(frame.enter),
            "pairs/exit": len(frame.exit),
            "pairs/tests": stats["tests"],
            "bodies": stats["bodies"],
            "milliseconds/broad_phase": 1e3 * stats["seconds_of_broad_phase"],
            "milliseconds/narrow_phase": 1e3 * stats["seconds_of_narrow_phase"],
            "milliseconds/motion": 1e3 * stats["seconds_of_motion"],
        }
        for name, value in figures.items():
            self._stream.log(f"figures/{name}", self._rerun.Scalars(float(value)))

    def _of_dimension(self, *names: str) -> list[Any]:
        return [getattr(self._rerun, f"{name}{self._world.dim}D") for name in names]


def _finish(stream: Any, writing: AbstractContextManager[Path], path: Path) -> None:
    with _writing_to(path, writing):
        stream.flush()
        stream.disconnect()
    writing.__exit__(None, None, None)


@contextmanager
def _writing_to(path: Path, writing: AbstractContextManager[Path]) -> Iterator[None]:
    """Delete the unfinished file if the block raises; make the RuntimeError of rerun on a full disk an OSError."""
    try:
        yield
    except BaseException as error:
        failure: BaseException = error
        if isinstance(error, RuntimeError):
            failure = OSError(f"{path}: the recording cannot be written ({error})")
        writing.__exit__(type(failure), failure, failure.__traceback__)
        if failure is error:
            raise
        raise failure from error
