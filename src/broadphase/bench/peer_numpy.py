"""What one writes with NumPy alone: every pair in blocks of rows, or a sort along one axis and a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 22  # candidate pairs at a time; keeps the working arrays at some tens of megabytes


def brute_force(boxes: NDArray[Any]) -> NDArray[Any]:
    """Test every box against all those after it, a row at a time."""
    lower, upper = np.ascontiguousarray(boxes[:, 0].T), np.ascontiguousarray(boxes[:, 1].T)
    found = []
    for row in range(len(boxes) - 1):
        meets = np.ones(len(boxes) - row - 1, bool)
        for low, high in zip(lower, upper, strict=True):
            meets &= (low[row + 1 :] <= high[row]) & (high[row + 1 :] >= low[row])
        after = np.nonzero(meets)[0] + row + 1
        found.append(np.stack([np.full(len(after), row), after], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def sort_and_sweep(boxes: NDArray[Any]) -> NDArray[Any]:
    """Sort along the axis of greatest spread; each box then meets a run of those that follow it."""
    middles = boxes[:, 0] / 2 + boxes[:, 1] / 2
    axis = int(np.argmax(np.ptp(middles, axis=0))) if len(boxes) else 0
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    lower, upper = boxes[order, 0], boxes[order, 1]
    ends = np.searchsorted(lower[:, axis], upper[:, axis], side="right")
    runs = ends - np.arange(len(boxes)) - 1
    found, start = [], 0
    while start < len(boxes):
        stop = start + max(1, int(np.searchsorted(np.cumsum(runs[start:]), BLOCK)))
        i = np.repeat(np.arange(start, min(stop, len(boxes))), runs[start:stop])
        offsets = np.cumsum(runs[start:stop]) - runs[start:stop]
        j = np.arange(len(i)) - np.repeat(offsets, runs[start:stop]) + i + 1
        for other in (k for k in range(boxes.shape[2]) if k != axis):
            meets = (lower[i, other] <= upper[j, other]) & (lower[j, other] <= upper[i, other])
            i, j = i[meets], j[meets]
        found.append(np.sort(np.stack([order[i], order[j]], axis=1), axis=1))
        start = stop
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)
