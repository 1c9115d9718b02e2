"""Replay pages: a run of a world as one HTML page, which plays without Python and without a network."""

from __future__ import annotations

import base64
import json
import re
import zlib
from array import array
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase import scenes
from broadphase.arguments import as_whole
from broadphase.files import refuse_inputs, replacing
from broadphase.plotting.pieces import STATIC, PieceCollection
from broadphase.progress import Progress, reporting

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from broadphase.plotting.pieces import Pieces

    Floats = NDArray[np.float64]

__all__ = ["Poses", "Replay", "Tracks", "save_replay"]

FOLDER = Path(__file__).with_name("page")
SCRIPTS = ("data.js", "plane.js", "space.js", "player.js")
# The figures of each frame that the page shows, from `Frame.stats`.
STATS = ("bodies", "tests", "brute_force_tests", "seconds_of_broad_phase", "seconds_of_narrow_phase")
STEPS = 65_535  # positions are stored in 16 bits per axis, relative to the extent of the run: finer than a pixel
MOST_NUMBERS = 150_000_000  # a page that holds more of them does not open
_UNIT = 2.0**-16  # of positions in memory: coordinates are up to 1e40, and float32 to 3e38
_CHUNK = 3 << 20  # bytes that are compressed at a time; a multiple of 3, as base64 takes


def save_replay(
    what: bp.World | scenes.Scene | str,
    path: str | os.PathLike[str],
    *,
    steps: int | None = None,
    dt: float = 1 / 60,
    title: str | None = None,
    progress: Progress = None,
) -> None:
    """Step through a world or a scene, and write the run as a page that plays in any browser.

    Parameters
    ----------
    what : World, Scene or str
        A world, which is stepped; or a scene, or the name of one, which is run with its rules.
    path : path-like
        An .html file, of some hundred kilobytes. It is played without Python and without a network.
    steps : int, optional
        Number of steps. Default: 300, or those of the scene.
    dt : float
        Seconds of one step of a world. A scene has its own.
    title : str, optional
        Title of the page. Default: that of the scene.
    progress : bool or callable, optional
        As in `broadphase.pairs`; the stage is "step".

    Raises
    ------
    ValueError
        The page would not fit into the memory of a browser: it holds 150 million numbers, that is frames times the
        bodies that there are at any time times the numbers of a pose, and 9 figures per frame.
    MissingExtraError
        There are convex hulls to draw, and SciPy is not installed.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.save_replay("bouncing_rectangles", "run.html", steps=200)  # doctest: +SKIP
    """
    step: Callable[[], bp.world.Frame]
    if isinstance(what, bp.World):
        replay = Replay(what, "A world" if title is None else title)
        count, step = 300, lambda: what.step(dt)
    else:
        if isinstance(what, str):
            refuse_inputs(path, [what])
        scene = scenes.load(what) if isinstance(what, str) else what
        run = scene.start()
        replay = Replay(run.world, scene.title if title is None else title)
        count, step = scene.steps, run.step
    count = count if steps is None else as_whole(steps, "steps", 0)
    replay.require_room(count)
    with reporting(progress) as told:
        for done in range(1, count + 1):
            replay.add(step())
            told("step", done, count)
    replay.save(path)


class Replay:
    """Collects the frames of a run of a world in 2D or 3D, and writes them as a page.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> ball = world.add(bp.Circle(1), position=(0, 0), velocity=(1, 0))
    >>> replay = Replay(world, "A ball")
    >>> for _ in range(3):
    ...     replay.add(world.step(dt=0.1))
    >>> replay.frame_count
    3
    """

    def __init__(self, world: bp.World, title: str = "") -> None:
        self._world, self._title = world, title
        self._tracks = Tracks(world)
        self._stats = array("d")

    @property
    def frame_count(self) -> int:
        """Number of frames so far."""
        return self._tracks.frame_count

    def add(self, frame: bp.world.Frame) -> None:
        """Add the frame of a step: the poses of all bodies, and which touch; ValueError if they are too many."""
        self._tracks.add(frame)
        events = [len(frame.pairs), len(frame.enter), len(frame.exit)]
        self._stats.extend([*events, *(float(frame.stats[name]) for name in STATS), frame.time])

    def require_room(self, steps: int) -> None:
        """Raise ValueError if so many frames of the bodies that there are now are too many for a page."""
        _require_room(steps, len(self._world), self._world.dim)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, an .html file, which is replaced when the whole page is on the disk."""
        before, after = (FOLDER / "page.html").read_text("utf-8").split("%DATA%")
        scripts = "\n".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)
        parts = {"TITLE": escape(self._title), "SCRIPT": scripts}
        with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8") as stream:
            stream.write(re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], before))
            stream.writelines(_as_json(self._data()))
            stream.write(re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], after))

    def _data(self) -> dict[str, Any]:
        poses = self._tracks.poses()
        half = (poses.upper - poses.lower) / 2
        pieces = self._tracks.pieces().spread(np.stack([-half, half]))  # around the body of each
        bounds = self._world.bounds
        names = ["pairs", "enter", "exit", *STATS, "time"]
        stats = np.array(self._stats).reshape(self.frame_count, len(names))
        return {
            "title": self._title,
            "dim": self._world.dim,
            "frames": self.frame_count,
            "bounds": None if bounds is None else np.asarray(bounds).tolist(),
            "lower": poses.lower.tolist(),
            "upper": poses.upper.tolist(),
            "rotationSize": poses.rotation_size,
            "lifetimes": poses.lifetimes.astype(np.int32),
            "isStatic": poses.is_static.astype(np.uint8),
            "poses": poses.numbers,
            "touching": poses.touching,
            "stats": {name: stats[:, column] for column, name in enumerate(names)},
            **_pieces_as_json(pieces),
        }


class Poses(NamedTuple):
    """The poses of all tracks in all frames.

    A track is a body while it keeps its shape: a body that gets another shape starts another track. Positions 0 and
    65535 stand for `lower` and `upper`. A rotation is `rotation_size` numbers: 0; 1 for an angle, where 65536 is a full
    turn; or 4 for a quaternion, from -1 to 1. `lifetimes`, (tracks, 2), are the first frame of each track, and the one
    after its last. `numbers`, (frames, tracks, d + rotation_size), have the pose in the first frame, then second
    differences between frames, all modulo 65536. `touching`, (frames, tracks / 8 rounded up), has a bit for each track,
    the lowest of a byte first.
    """

    lower: Floats
    upper: Floats
    rotation_size: int
    lifetimes: NDArray[np.int64]
    is_static: NDArray[np.bool_]
    numbers: NDArray[np.uint16]
    touching: NDArray[np.uint8]


class _Layout(NamedTuple):
    """What frames in a row have in common: the track of each pose, the numbers of a pose, and all tracks so far.

    `frame` is the first of them, and `place` that of its first number among those of all frames.
    """

    frame: int
    place: int
    tracks: NDArray[np.int32]
    width: int
    started: int


class Tracks:
    """The poses of all bodies of a world, collected step by step."""

    def __init__(self, world: bp.World) -> None:
        self._world = world
        self._collection = PieceCollection(world.dim)
        self._track_of: dict[int, int] = {}  # by handle
        self._shape_of: dict[int, bytes] = {}  # by track
        self._last_records: tuple[bytes, ...] = ()
        self._last_handles = np.empty(0, np.int64)
        self._last_tracks = np.empty(0, np.int32)
        self._count = self._size = 0
        self._is_static: list[NDArray[np.bool_]] = []
        # Numbers of all frames one after the other: float32 is finer than 16 bits of an extent that holds the origin.
        self._layouts: list[_Layout] = []
        self._numbers = array("f")
        self._touching = bytearray()
        self._origin: Floats | None = None
        self._lower, self._upper = np.full(world.dim, np.inf), np.full(world.dim, -np.inf)
        self.frame_count = 0

    def add(self, frame: bp.world.Frame) -> None:
        """Store the poses of all bodies, and which of them touch in a frame, the world's last."""
        shapes, rows, d = self._world.shapes, self._world.rows, self._world.dim
        tracks = self._tracks_of(shapes, rows)
        positions = shapes.positions[rows]
        width = d if shapes.rotations is None else d + (1 if d == 2 else 4)
        _require_room(self.frame_count + 1, self._count, max(self._size, width))
        poses = np.empty((len(rows), width), np.float32)
        if len(rows):
            if self._origin is None:
                self._origin = positions[0].copy()
            np.minimum(self._lower, positions.min(axis=0), out=self._lower)
            np.maximum(self._upper, positions.max(axis=0), out=self._upper)
            poses[:, :d] = (positions - self._origin) * _UNIT
        if shapes.rotations is not None:
            rotations = shapes.rotations[rows].reshape(len(rows), -1)
            poses[:, d:] = np.remainder(rotations, 2 * np.pi) if d == 2 else rotations
        last = self._layouts[-1] if self._layouts else None
        if last is None or last.tracks is not tracks or last.width != width:
            self._layouts.append(_Layout(self.frame_count, len(self._numbers), tracks, width, self._count))
        self._numbers.frombytes(poses.data.cast("B") if poses.size else b"")
        by_row = np.zeros(self._world.slots, np.int32)
        by_row[rows] = tracks
        # Of the world, not of the frame: a handler may have removed a body, and given its row to another.
        is_touching = np.zeros(self._count, np.bool_)
        is_touching[by_row[self._world.pairs.ravel()]] = True
        self._touching += np.packbits(is_touching, bitorder="little").tobytes()
        self._size = max(self._size, width)
        self.frame_count += 1

    def pieces(self) -> Pieces:
        """Return the pieces of all tracks."""
        return self._collection.pieces()

    def poses(self) -> Poses:
        """Return the poses of all tracks in all frames."""
        d, frames, count = self._world.dim, self.frame_count, self._count
        rotation_size = self._size - d if self._size else 0
        has_positions = bool(np.isfinite(self._lower).all())
        lower, upper = (self._lower.copy(), self._upper.copy()) if has_positions else (np.zeros(d), np.ones(d))
        lifetimes = np.zeros((count, 2), np.int64)
        lifetimes[:, 0] = frames
        # Before its lifetime a track has its first pose, behind it its last: the differences are 0, and compress to
        # nothing.
        current = np.zeros((count, d + rotation_size), np.int32)
        numbers = np.empty((frames, count, d + rotation_size), np.uint16)
        touching = np.zeros((frames, -(-count // 8)), np.uint8)
        ends = [*(layout.frame for layout in self._layouts), frames][1:]
        for layout, end in zip(self._layouts, ends, strict=True):
            begins = lifetimes[layout.tracks, 0] == frames
            lifetimes[layout.tracks[begins], 0] = layout.frame
            lifetimes[layout.tracks, 1] = end
            current[layout.tracks[begins]] = self._rounded(layout, 0, lower, upper, rotation_size)[begins]
        last, step, at = np.zeros_like(current), np.zeros_like(current), 0
        for layout, end in zip(self._layouts, ends, strict=True):
            size = -(-layout.started // 8)
            for frame in range(layout.frame, end):
                current[layout.tracks] = self._rounded(layout, frame - layout.frame, lower, upper, rotation_size)
                step_now = current - last
                numbers[frame] = step_now - step & 0xFFFF
                last[:] = current
                step = step_now if frame else step
                touching[frame, :size] = np.frombuffer(self._touching, np.uint8, size, at)
                at += size
        is_static = np.concatenate(self._is_static) if self._is_static else np.empty(0, np.bool_)
        return Poses(lower, upper, rotation_size, lifetimes, is_static, numbers, touching)

    def _rounded(
        self, layout: _Layout, number: int, lower: Floats, upper: Floats, rotation_size: int
    ) -> NDArray[np.int32]:
        """Return the poses of a frame in 16 bits."""
        d, size = self._world.dim, len(layout.tracks) * layout.width
        place = 4 * (layout.place + number * size)
        poses = np.frombuffer(self._numbers, np.float32, size, place).reshape(-1, layout.width)
        found = np.zeros((len(poses), d + rotation_size), np.int32)
        if self._origin is not None:
            extent = np.where(upper > lower, upper - lower, 1.0)
            places = (poses[:, :d].astype(np.float64) / _UNIT + (self._origin - lower)) / extent
            found[:, :d] = np.rint(np.clip(places, 0.0, 1.0) * STEPS)
        rotations = poses[:, d:].astype(np.float64)
        if rotation_size == 1 and rotations.shape[1]:
            found[:, d:] = np.rint(rotations * (65_536 / (2 * np.pi)))
        elif rotation_size == 4:
            if not rotations.shape[1]:
                rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(poses), 1))
            length = np.linalg.norm(rotations, axis=-1, keepdims=True)
            found[:, d:] = np.rint((rotations / np.where(length > 0, length, 1.0) + 1) / 2 * STEPS)
        return found

    def _tracks_of(self, shapes: bp.Shapes, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the track of each living row; start tracks for new bodies and changed shapes."""
        handles, records = self._world.handles(rows), shapes.records(rows)
        kept = tuple(part.tobytes() for part in records)
        if kept == self._last_records and np.array_equal(handles, self._last_handles):
            return self._last_tracks
        tracks = np.empty(len(rows), np.int32)
        started = []
        ends = np.cumsum(records.sizes, dtype=np.int64)
        for place, handle in enumerate(handles.tolist()):
            shape = records.numbers[ends[place] - records.sizes[place] : ends[place]].tobytes()
            shape += bytes([int(records.kinds[place])])
            track = self._track_of.get(handle, -1)
            if track < 0 or self._shape_of[track] != shape:
                track = self._track_of[handle] = self._count
                self._shape_of[track] = shape
                self._count += 1
                started.append(place)
            tracks[place] = track
        self._collection.add(shapes, rows[started], tracks[started])
        self._is_static.append(self._world.body_types[rows[started]] == STATIC)
        self._last_records, self._last_handles, self._last_tracks = kept, handles, tracks
        return tracks


def _pieces_as_json(pieces: Pieces) -> dict[str, Any]:
    count, d = pieces.anchors.shape
    transforms = np.concatenate([pieces.anchors, pieces.matrices.reshape(count, d * d)], axis=1)
    return {
        "forms": [
            {
                "name": form.name,
                "vertices": np.round(form.vertices, 9).ravel().tolist(),
                "faces": form.faces.ravel().tolist(),
            }
            for form in pieces.forms
        ],
        "form": pieces.form,
        "track": pieces.rows,
        "aligned": pieces.aligned.astype(np.uint8),
        "transforms": transforms.astype(np.float32),
    }


def _require_room(frames: int, bodies: int, width: int) -> None:
    count = frames * (bodies * width + len(STATS) + 4)
    if count > MOST_NUMBERS:
        raise ValueError(
            f"{frames:,} frames of {bodies:,} bodies are too many for a page: they are {count:,} numbers, and a "
            f"browser shows {MOST_NUMBERS:,}; record fewer steps"
        )


def _as_json(value: Any) -> Iterator[str]:
    """Yield JSON in portions; arrays are packed, and compressed as they are yielded."""
    if isinstance(value, dict):
        comma = "{"
        for name, one in value.items():
            yield f"{comma}{json.dumps(name)}:"
            yield from _as_json(one)
            comma = ","
        yield "}" if value else "{}"
    elif isinstance(value, np.ndarray):
        yield '"'
        yield from _packed(value)
        yield '"'
    else:
        yield json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _packed(values: NDArray[Any]) -> Iterator[str]:
    """Compress an array byte plane by byte plane: bytes of equal significance are alike."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).reshape(-1)
    planes = little.view(np.uint8).reshape(-1, values.itemsize).T if values.size else np.empty((0, 0), np.uint8)
    packing, waiting = zlib.compressobj(6), b""
    for plane in planes:
        for begin in range(0, len(plane), _CHUNK):
            waiting += packing.compress(plane[begin : begin + _CHUNK].tobytes())
            whole = len(waiting) - len(waiting) % 3
            yield base64.b64encode(waiting[:whole]).decode("ascii")
            waiting = waiting[whole:]
    yield base64.b64encode(waiting + packing.flush()).decode("ascii")
