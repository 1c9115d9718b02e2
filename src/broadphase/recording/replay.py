"""Replay pages: a run of a world as one HTML page, which plays without Python and without a network."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase import scenes
from broadphase.files import replacing
from broadphase.plotting.pieces import PieceCollection
from broadphase.progress import Progress, reporting

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

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
STATIC = 1  # in World.body_types


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
        The page would not fit into the memory of a browser.
    MissingExtraError
        There are convex hulls to draw, and SciPy is not installed.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.save_replay("bouncing_rectangles", "run.html", steps=200)  # doctest: +SKIP
    """
    step: Callable[[], bp.Frame]
    if isinstance(what, bp.World):
        replay = Replay(what, "A world" if title is None else title)
        count, step = 300, lambda: what.step(dt)
    else:
        scene = scenes.load(what) if isinstance(what, str) else what
        run = scene.start()
        replay = Replay(run.world, scene.title if title is None else title)
        count, step = scene.steps, run.step
    count = count if steps is None else steps
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
        self._stats: list[list[float]] = []

    @property
    def frame_count(self) -> int:
        """Number of frames so far."""
        return len(self._stats)

    def add(self, frame: bp.Frame) -> None:
        """Add the frame of a step: the poses of all bodies, and which touch; ValueError if they are too many."""
        self._tracks.add(frame)
        events = [len(frame.touching), len(frame.enter), len(frame.exit)]
        self._stats.append([*events, *(float(frame.stats[name]) for name in STATS), frame.time])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, an .html file, which is replaced when the whole page is on the disk."""
        text = (FOLDER / "page.html").read_text("utf-8")
        scripts = "\n".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)
        data = json.dumps(self._data(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        parts = {"TITLE": escape(self._title), "SCRIPT": scripts, "DATA": data}
        page = re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], text)
        with replacing(path) as unfinished:
            unfinished.write_text(page, "utf-8")

    def _data(self) -> dict[str, Any]:
        pieces, poses = self._tracks.pieces(), self._tracks.poses()
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
            "lifetimes": _packed(poses.lifetimes.astype(np.int32)),
            "isStatic": _packed(poses.is_static.astype(np.uint8)),
            "poses": _packed(poses.numbers),
            "touching": _packed(np.packbits(poses.touching, axis=1, bitorder="little")),
            "stats": {name: stats[:, column].tolist() for column, name in enumerate(names)},
            **_pieces_as_json(pieces),
        }


class Poses(NamedTuple):
    """The poses of all tracks in all frames.

    A track is a body while it keeps its shape: a body that gets another shape starts another track. Positions 0 and
    65535 stand for `lower` and `upper`. A rotation is `rotation_size` numbers: 0; 1 for an angle, where 65536 is a full
    turn; or 4 for a quaternion, from -1 to 1. `lifetimes`, (tracks, 2), are the first frame of each track, and the one
    after its last. `numbers`, (frames, tracks, d + rotation_size), have the pose in the first frame, then second
    differences between frames, all modulo 65536.
    """

    lower: Floats
    upper: Floats
    rotation_size: int
    lifetimes: NDArray[np.int64]
    is_static: NDArray[np.bool_]
    numbers: NDArray[np.uint16]
    touching: NDArray[np.bool_]


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
        self._frames: list[tuple[NDArray[np.int32], Floats, NDArray[np.int32]]] = []
        self._is_static: list[NDArray[np.bool_]] = []

    def add(self, frame: bp.Frame) -> None:
        """Store the poses of all bodies, and which of them touch in a frame."""
        shapes, rows = self._world.shapes, self._world.rows
        tracks = self._tracks_of(shapes, rows)
        poses = [shapes.positions[rows]]
        if shapes.rotations is not None:
            poses.append(shapes.rotations[rows].reshape(len(rows), -1))
        by_row = np.zeros(self._world.slots, np.int32)
        by_row[rows] = tracks
        touching = frame.touching.ravel()
        touching = by_row[np.unique(touching[self._world.alive[touching]])]
        self._frames.append((tracks, np.concatenate(poses, axis=1), touching))
        self._size = max(self._size, sum(part.shape[1] for part in poses))
        if len(self._frames) * self._count * self._size > MOST_NUMBERS:
            raise ValueError(f"{len(self._frames)} frames of {self._count} bodies are too many for a page")

    def pieces(self) -> Pieces:
        """Return the pieces of all tracks."""
        return self._collection.pieces()

    def poses(self) -> Poses:
        """Return the poses of all tracks in all frames."""
        d, frames, count = self._world.dim, len(self._frames), self._count
        rotation_size = self._size - d if self._size else 0
        poses = np.zeros((frames, count, d + rotation_size))
        present = np.zeros((frames, count), np.bool_)
        touching = np.zeros((frames, count), np.bool_)
        for number, (tracks, stored, touched) in enumerate(self._frames):
            poses[number, tracks, : stored.shape[1]] = stored
            if rotation_size == 4 and stored.shape[1] == d:
                poses[number, tracks, d] = 1.0
            present[number, tracks] = True
            touching[number, touched] = True
        first = present.argmax(axis=0) if frames else np.zeros(count, np.int64)
        lifetimes = np.stack([first, first + present.sum(axis=0)], axis=1).astype(np.int64)
        positions = poses[..., :d][present]
        lower = positions.min(axis=0) if len(positions) else np.zeros(d)
        upper = positions.max(axis=0) if len(positions) else np.ones(d)
        numbers = np.zeros(poses.shape, np.int64)
        width = np.where(upper > lower, upper - lower, 1.0)
        numbers[..., :d] = np.rint((poses[..., :d] - lower) / width * STEPS)
        if rotation_size == 1:
            numbers[..., d:] = np.rint(poses[..., d:] * (65_536 / (2 * np.pi)))
        elif rotation_size == 4:
            length = np.linalg.norm(poses[..., d:], axis=-1, keepdims=True)
            numbers[..., d:] = np.rint((poses[..., d:] / np.where(length > 0, length, 1.0) + 1) / 2 * STEPS)
        # Outside its lifetime a track keeps its first or last pose: the differences are 0, and compress to nothing.
        for number in range(frames):
            early, late = number < lifetimes[:, 0], number >= lifetimes[:, 1]
            numbers[number, early] = numbers[lifetimes[early, 0], np.flatnonzero(early)]
            numbers[number, late] = numbers[lifetimes[late, 1] - 1, np.flatnonzero(late)]
        steps = np.diff(numbers, axis=0, prepend=0)
        differences = steps.copy()
        differences[2:] -= steps[1:-1]
        is_static = np.concatenate(self._is_static) if self._is_static else np.empty(0, np.bool_)
        kept = (differences & 0xFFFF).astype(np.uint16)
        return Poses(lower, upper, rotation_size, lifetimes, is_static, kept, touching)

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
        "form": _packed(pieces.form),
        "track": _packed(pieces.rows),
        "aligned": _packed(pieces.aligned.astype(np.uint8)),
        "transforms": _packed(transforms.astype(np.float32)),
    }


def _packed(array: NDArray[Any]) -> str:
    """Compress an array byte plane by byte plane: bytes of equal significance are alike."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(-1, array.itemsize).T if array.size else np.empty(0, np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
