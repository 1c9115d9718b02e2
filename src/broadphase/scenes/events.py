"""What happens in a run, as the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import broadphase as bp
    from broadphase.scenes.running import Run

__all__ = ["EventLog"]


class EventLog:
    """Turns frames of a run into columns for `broadphase.io.write_events`.

    It must see every frame of the run, from the first one on, before the next step.

    Parameters
    ----------
    run : Run
        The run, before its first step.
    stay : bool
        Whether pairs that go on touching are events, too.

    Examples
    --------
    >>> from broadphase import scenes
    >>> run = scenes.load("bouncing_spheres").start()
    >>> log = EventLog(run)
    >>> columns = log.columns(run.step())
    >>> sorted(set(columns["event"])), set(columns["first_layer"])
    (['enter'], {'spheres'})
    """

    def __init__(self, run: Run, *, stay: bool = False) -> None:
        self._world = run.world
        kinds = ("enter", "stay", "exit") if stay else ("enter", "exit")
        self._kinds = kinds
        self._layers = {bit: name for name, bit in run.layer_bits.items()}
        self._before: NDArray[np.uint64] = self._world.layers.copy()

    def columns(self, frame: bp.Frame) -> dict[str, NDArray[Any]]:
        """Give the events of a frame: enters, then stays if asked for, then exits; each kind in the order of its rows.

        Parameters
        ----------
        frame : Frame
            Of the last step.

        Returns
        -------
        dict of str to ndarray
            See `broadphase.io.EVENT_COLUMNS`. Those that left in an exit may be gone, and their rows in use again:
            handles and layers are those that they had.
        """
        now = self._world.layers
        parts = []
        for kind in self._kinds:
            pairs: NDArray[np.int32] = getattr(frame, kind)
            if kind == "exit":
                handles, layers = frame.exit_handles, self._before[pairs]
            else:
                handles, layers = self._world.handles(pairs.ravel()).reshape(-1, 2), now[pairs]
            parts.append((kind, pairs, handles, self._layer_names(layers)))
        self._before = now.copy()
        count = sum(len(pairs) for _, pairs, _, _ in parts)
        pairs, handles, names = (np.concatenate([part[column] for part in parts]) for column in (1, 2, 3))
        return {
            "frame": np.full(count, frame.number, np.int64),
            "time": np.full(count, frame.time),
            "event": np.repeat(np.array(self._kinds, object), [len(pairs) for _, pairs, _, _ in parts]),
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "first_handle": handles[:, 0],
            "second_handle": handles[:, 1],
            "first_layer": names[:, 0],
            "second_layer": names[:, 1],
        }

    def _layer_names(self, bits: NDArray[np.uint64]) -> NDArray[np.object_]:
        """Name layers; what is in none of the scene's, or in several, has no name."""
        names = np.full(bits.shape, None, object)
        for bit, name in self._layers.items():
            names[bits == np.uint64(bit)] = name
        return names
