"""Where things are from frame to frame, in as few bits as do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.plotting.pieces import PieceCollection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import broadphase as bp
    from broadphase.plotting.pieces import Pieces

    Floats = NDArray[np.float64]

__all__ = ["Poses", "Tracks"]

STEPS = 65_535  # places that are told apart along an axis, over the whole run: less than a pixel
MOST_NUMBERS = 150_000_000  # a page that holds more of them does not open
STATIC = 1  # in World.kinds


class Poses(NamedTuple):
    """Where everything is, in all frames.

    A track is a thing from when it came, or was given another shape, to when it went.

    Attributes
    ----------
    lower, upper : ndarray, shape (d,)
        Places 0 and 65535.
    turns : int
        How many of the channels are of rotations: 0; 1, an angle, a whole turn being 65536; or 4, of a quaternion, from
        -1 to 1.
    lives : ndarray, shape (t, 2), int64
        The first frame of each track, and the one after its last.
    still : ndarray, shape (t,), bool
        Static things.
    numbers : ndarray, shape (frames, t, d + turns), uint16
        The places of the first frame; after it, by how much the step is longer than the one before. All modulo 65536.
    touching : ndarray, shape (frames, t), bool
    """

    lower: Floats
    upper: Floats
    turns: int
    lives: NDArray[np.int64]
    still: NDArray[np.bool_]
    numbers: NDArray[np.uint16]
    touching: NDArray[np.bool_]


class Tracks:
    """What is where in each frame of a world, as it is stepped.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: bp.World) -> None:
        self._world = world
        self._collection = PieceCollection(world.dimension)
        self._track_of: dict[int, int] = {}  # by handle
        self._shape_of: dict[int, bytes] = {}  # by track
        self._last_records: tuple[bytes, ...] = ()
        self._last_handles = np.empty(0, np.int64)
        self._last_tracks = np.empty(0, np.int32)
        self._count = self._size = 0
        self._frames: list[tuple[NDArray[np.int32], Floats, NDArray[np.int32]]] = []
        self._still: list[NDArray[np.bool_]] = []

    def add(self, frame: bp.Frame) -> None:
        """Note where everything is, and what touches in a frame."""
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
        self._size = max(self._size, poses[0].shape[1] + (poses[1].shape[1] if len(poses) > 1 else 0))
        if len(self._frames) * self._count * self._size > MOST_NUMBERS:
            raise ValueError(f"{len(self._frames)} frames of {self._count} things are too many for a page")

    def pieces(self) -> Pieces:
        """Give what the tracks look like."""
        return self._collection.pieces()

    def poses(self) -> Poses:
        """Give where they are."""
        d, frames, count = self._world.dimension, len(self._frames), self._count
        turns = self._size - d if self._size else 0
        places = np.zeros((frames, count, d + turns))
        there = np.zeros((frames, count), np.bool_)
        touching = np.zeros((frames, count), np.bool_)
        for number, (tracks, poses, touched) in enumerate(self._frames):
            places[number, tracks, : poses.shape[1]] = poses
            if turns == 4 and poses.shape[1] == d:
                places[number, tracks, d] = 1.0
            there[number, tracks] = True
            touching[number, touched] = True
        first = there.argmax(axis=0) if frames else np.zeros(count, np.int64)
        lives = np.stack([first, first + there.sum(axis=0)], axis=1).astype(np.int64)
        positions = places[..., :d][there]
        lower = positions.min(axis=0) if len(positions) else np.zeros(d)
        upper = positions.max(axis=0) if len(positions) else np.ones(d)
        numbers = np.zeros(places.shape, np.int64)
        width = np.where(upper > lower, upper - lower, 1.0)
        numbers[..., :d] = np.rint((places[..., :d] - lower) / width * STEPS)
        if turns == 1:
            numbers[..., d:] = np.rint(places[..., d:] * (65_536 / (2 * np.pi)))
        elif turns == 4:
            length = np.linalg.norm(places[..., d:], axis=-1, keepdims=True)
            numbers[..., d:] = np.rint((places[..., d:] / np.where(length > 0, length, 1.0) + 1) / 2 * STEPS)
        # Where there is nothing, it stays where it will be, or was last, which costs no bits.
        for number in range(frames):
            early, late = number < lives[:, 0], number >= lives[:, 1]
            numbers[number, early] = numbers[lives[early, 0], np.flatnonzero(early)]
            numbers[number, late] = numbers[lives[late, 1] - 1, np.flatnonzero(late)]
        steps = np.diff(numbers, axis=0, prepend=0)
        bends = steps.copy()
        bends[2:] -= steps[1:-1]
        still = np.concatenate(self._still) if self._still else np.empty(0, np.bool_)
        return Poses(lower, upper, turns, lives, still, (bends & 0xFFFF).astype(np.uint16), touching)

    def _tracks_of(self, shapes: bp.Shapes, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the track of each living row; begin others for what is there for the first time, or looks otherwise."""
        handles, records = self._world.handles(rows), shapes.records(rows)
        kept = tuple(part.tobytes() for part in records)
        if kept == self._last_records and np.array_equal(handles, self._last_handles):
            return self._last_tracks
        tracks = np.empty(len(rows), np.int32)
        begun = []
        ends = np.cumsum(records.sizes, dtype=np.int64)
        for place, handle in enumerate(handles.tolist()):
            looks = records.numbers[ends[place] - records.sizes[place] : ends[place]].tobytes()
            looks += bytes([int(records.kinds[place])])
            track = self._track_of.get(handle, -1)
            if track < 0 or self._shape_of[track] != looks:
                track = self._track_of[handle] = self._count
                self._shape_of[track] = looks
                self._count += 1
                begun.append(place)
            tracks[place] = track
        self._collection.add(shapes, rows[begun], tracks[begun])
        self._still.append(self._world.kinds[rows[begun]] == STATIC)
        self._last_records, self._last_handles, self._last_tracks = kept, handles, tracks
        return tracks
