"""A run of a world as one page of HTML, which plays without Python and without a network."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase import scenes
from broadphase.files import replacing
from broadphase.recording.tracks import Tracks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.plotting.pieces import Pieces

__all__ = ["Replay", "save_replay"]

FOLDER = Path(__file__).with_name("page")
SCRIPTS = ("data.js", "plane.js", "space.js", "player.js")
# Of each frame, what is written in the corner.
STATS = ("things", "tests", "brute_force_tests", "seconds_of_broad_phase", "seconds_of_narrow_phase")


class Replay:
    """What happens in a world, to be played back.

    Parameters
    ----------
    world : World
        In the plane or in space.
    title : str
        What it is called on the page.

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
        """Keep where everything is after a step, and what touched in it.

        Raises
        ------
        ValueError
            The page would not fit into the memory of a browser.
        """
        self._tracks.add(frame)
        events = [len(frame.touching), len(frame.enter), len(frame.exit)]
        self._stats.append([*events, *(float(frame.stats[name]) for name in STATS), frame.time])

    def save(self, path: str | Path) -> None:
        """Write the page.

        Parameters
        ----------
        path : str or Path
            Of an .html file.
        """
        text = (FOLDER / "page.html").read_text("utf-8")
        scripts = "\n".join((FOLDER / name).read_text("utf-8") for name in SCRIPTS)
        data = json.dumps(self._data(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        parts = {"TITLE": escape(self._title), "SCRIPT": scripts, "DATA": data}
        page = re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], text)
        with replacing(path) as unfinished:
            unfinished.write_text(page, "utf-8")

    def _data(self) -> dict[str, Any]:
        tracks = self._tracks
        pieces, poses = tracks.pieces(), tracks.poses()
        bounds = self._world.bounds
        stats = np.array(self._stats).reshape(self.frame_count, 3 + len(STATS) + 1)
        return {
            "title": self._title,
            "dimension": self._world.dimension,
            "method": self._world.method,
            "frames": self.frame_count,
            "bounds": None if bounds is None else np.asarray(bounds).tolist(),
            "lower": poses.lower.tolist(),
            "upper": poses.upper.tolist(),
            "turns": poses.turns,
            "lives": _packed(poses.lives.astype(np.int32)),
            "still": _packed(poses.still.astype(np.uint8)),
            "poses": _packed(poses.numbers),
            "touching": _packed(np.packbits(poses.touching, axis=1, bitorder="little")),
            "stats": {name: stats[:, place].tolist() for place, name in enumerate(_stat_names())},
            **_pieces_as_json(pieces),
        }


def save_replay(
    what: bp.World | scenes.Scene | str,
    path: str | Path,
    *,
    steps: int | None = None,
    dt: float = 1 / 60,
    title: str | None = None,
) -> None:
    """Step through a world or a scene, and write what happens as a page that plays in any browser.

    Parameters
    ----------
    what : World, Scene or str
        A world, which has gone on when this returns; or a scene, or the name of one, with its rules.
    path : str or Path
        Of an .html file, of some hundred kilobytes. It needs neither Python nor a network to play.
    steps : int, optional
        How many; unset 300, or those of the scene.
    dt : float
        From step to step of a world; a scene has its own.
    title : str, optional
        Unset: that of the scene.

    Raises
    ------
    ValueError
        The page would not fit into the memory of a browser.

    Examples
    --------
    >>> from broadphase.recording.replay import save_replay
    >>> save_replay("bouncing_rectangles", "run.html", steps=200)  # doctest: +SKIP
    """
    if isinstance(what, bp.World):
        replay = Replay(what, "A world" if title is None else title)
        for _ in range(300 if steps is None else steps):
            replay.add(what.step(dt))
    else:
        scene = scenes.load(what) if isinstance(what, str) else what
        run = scene.start()
        replay = Replay(run.world, scene.title if title is None else title)
        for _ in range(scene.steps if steps is None else steps):
            replay.add(run.step())
    replay.save(path)


def _stat_names() -> list[str]:
    return ["pairs", "enter", "exit", *STATS, "time"]


def _pieces_as_json(pieces: Pieces) -> dict[str, Any]:
    count, d = pieces.anchors.shape
    numbers = np.concatenate([pieces.anchors, pieces.matrices.reshape(count, d * d)], axis=1)
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
        "placing": _packed(numbers.astype(np.float32)),
    }


def _packed(array: NDArray[Any]) -> str:
    """Compress an array, byte by byte of its numbers: neighbours are alike then."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(-1, array.itemsize).T if array.size else np.empty(0, np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
