"""Where a question has to be asked in a periodic world, so that it meets what reaches across a border."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["images_of"]


def images_of(lower: Floats, upper: Floats, around: Floats, bounds: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Find the images of boxes that may meet what is in a world whose bounds wrap.

    Parameters
    ----------
    lower, upper : ndarray, shape (q, d)
        The boxes; where one is endless, everything is met without images.
    around : ndarray, shape (2, d)
        A box around everything in the world.
    bounds : ndarray, shape (2, d)
        Those of the world.

    Returns
    -------
    origin : ndarray, shape (m,), intp
        The box that each is an image of, ascending.
    shifts : ndarray, shape (m, d), float64
        What is to be added to it: whole periods.

    Examples
    --------
    >>> corner = np.array([[9.5, 4.0]])
    >>> world = np.array([[0.0, 0.0], [10.0, 10.0]])
    >>> images_of(corner - 1, corner + 1, world, world)
    (array([0, 0]), array([[-10.,   0.],
           [  0.,   0.]]))
    """
    period = bounds[1] - bounds[0]
    with np.errstate(invalid="ignore"):
        first, last = np.ceil((around[0] - upper) / period), np.floor((around[1] - lower) / period)
    endless = ~(np.isfinite(first) & np.isfinite(last))
    first[endless] = last[endless] = 0
    counts = np.maximum(last - first + 1, 0).astype(np.int64)  # of images along each axis
    origin = np.repeat(np.arange(len(lower)), counts.prod(axis=1))
    place = np.arange(len(origin)) - np.searchsorted(origin, origin)
    shifts = np.empty((len(origin), lower.shape[1]))
    for axis in reversed(range(lower.shape[1])):
        of_axis = counts[origin, axis]
        shifts[:, axis] = (first[origin, axis] + place % of_axis) * period[axis]
        place //= of_axis
    return origin, shifts
