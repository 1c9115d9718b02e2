"""The last seconds of a simulation, kept so that they can be saved as a replay page."""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from broadphase.recording import Replay

if TYPE_CHECKING:
    import broadphase as bp

__all__ = ["MOST_KEPT", "Reel"]

MOST_KEPT = 5000
"""With more bodies nothing is kept: the replay would cost more than the step."""
_SECONDS = 10.0


class Reel:
    """The last ten to twenty seconds of a world: replays begin every ten seconds, and the two latest are kept."""

    def __init__(self, world: bp.World, title: str) -> None:
        self._world, self._title = world, title
        self._replays: deque[tuple[float, Replay]] = deque(maxlen=2)

    def add(self, frame: bp.world.Frame, now: float) -> None:
        """Keep a frame, at a time in seconds."""
        if len(self._world) > MOST_KEPT:
            self._replays.clear()
            return
        if not self._replays or now - self._replays[-1][0] >= _SECONDS:
            self._replays.append((now, Replay(self._world, self._title)))
        for _, replay in self._replays:
            replay.add(frame)

    def page(self) -> bytes:
        """Return the replay page; ValueError if nothing was kept."""
        if not self._replays:
            raise ValueError(f"there is nothing to save yet, or the scene has more than {MOST_KEPT:,} bodies")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "replay.html"
            self._replays[0][1].save(path)
            return path.read_bytes()
