"""A sweep kept for more questions: which boxes interfere with one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from broadphase import _native
from broadphase.boxes.forms import as_corners, find_invalid
from broadphase.errors import InvalidBoxError
from broadphase.workers import worker_count

__all__ = ["SweepAndPrune"]


class SweepAndPrune:
    """Closed boxes sorted along an axis or a direction, to be asked by row or by box.

    The boxes are copied: the source may be edited afterwards. Everything but the construction only reads, and may be
    called from many threads at once.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        As in `pairs`.
    axis : {"auto", "principal"}, int or array_like of float, shape (d,)
        The axis to sort along: by number; "auto", the one where the fewest boxes overlap; "principal", the direction
        along which the centres vary most; or any direction, of any length.

    Raises
    ------
    ValueError, TypeError
        As `pairs`; an axis that the boxes do not have; a direction that is not finite, or zero.

    Notes
    -----
    O(n log n) time to build, about 60 bytes a box. A query takes O(log n + candidates).

    References
    ----------
    .. [1] D. Baraff, "Dynamic Simulation of Non-Penetrating Rigid Bodies", PhD thesis, Cornell University, 1992.
       https://hdl.handle.net/1813/7115

    Examples
    --------
    >>> import broadphase as bp
    >>> sweep = bp.SweepAndPrune([[0, 0, 2, 2], [1, 1, 3, 3], [8, 0, 9, 1]], axis=0)
    >>> rows, offsets = sweep.query_rows([0, 2])
    >>> rows, offsets
    (array([1], dtype=int32), array([0, 1, 1], dtype=int64))
    >>> sweep.void_borders
    array([[3., 8.]])
    """

    def __init__(self, boxes: Any, *, axis: str | int | ArrayLike = "auto") -> None:
        lower, upper = as_corners(boxes)
        if not (lower <= upper).all():
            raise _invalid("boxes", lower, upper)
        self._dimension = lower.shape[1]
        self._dtype = lower.dtype
        self._index: Any = _native.SweepIndex(self._dimension, *self._axis_arguments(axis))
        self._lower, self._upper = lower.copy(), upper.copy()
        self._count = len(lower)
        self._index.build(self._lower, self._upper, np.arange(self._count, dtype=np.int32))
        self._index.arrange(self._lower, self._upper)

    def _axis_arguments(self, axis: str | int | ArrayLike) -> tuple[str, int, list[float]]:
        if isinstance(axis, str):
            if axis not in ("auto", "principal"):
                raise ValueError(f'axis must be "auto", "principal", a number or a direction, not {axis!r}')
            return ("automatic" if axis == "auto" else axis), 0, []
        if isinstance(axis, int | np.integer):
            if not 0 <= axis < self._dimension:
                raise ValueError(f"axis must be 0 to {self._dimension - 1}, not {axis}")
            return "given", int(axis), []
        weight = np.asarray(axis, dtype=np.float64)
        if weight.shape != (self._dimension,) or not np.isfinite(weight).all() or not weight.any():
            raise ValueError(f"a direction must be {self._dimension} finite numbers, not all zero, not {axis!r}")
        return "given", 0, (weight / np.abs(weight).max()).tolist()

    def __len__(self) -> int:
        return self._count

    @property
    def axis(self) -> int | None:
        """The axis in use; None for a direction."""
        axis: int = self._index.direction()[0]
        return axis if axis >= 0 else None

    @property
    def direction(self) -> NDArray[np.float64]:
        """The direction in use, shape (d,), of length 1; a unit vector for an axis."""
        weight: NDArray[np.float64] = np.array(self._index.direction()[1])
        length: float = np.linalg.norm(weight).item()
        return weight / length

    @property
    def void_borders(self) -> NDArray[Any]:
        """Places along the direction that no box covers, shape (k, 2), ascending.

        Each lies between boxes: from the end of one to the begin of the next. A search stops there.
        """
        borders: NDArray[Any] = self._index.void_borders(self._lower, self._upper)
        return borders

    def pairs(self, *, workers: int = 1) -> NDArray[np.int32]:
        """Find every pair of overlapping boxes, without sorting anew.

        Parameters
        ----------
        workers : int
            As in `broadphase.pairs`.

        Returns
        -------
        ndarray, shape (m, 2), int32
            Row numbers, first < second, each pair once.
        """
        found: NDArray[np.int32] = self._index.pairs(
            self._lower, self._upper, True, None, worker_count(workers), False, 2**64 - 1
        )
        return found

    def query_rows(self, rows: ArrayLike, *, workers: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the boxes that interfere with some of these boxes.

        Parameters
        ----------
        rows : array_like of int, shape (k,)
            The rows to ask about.
        workers : int
            As in `broadphase.pairs`.

        Returns
        -------
        rows : ndarray, int32
            The answers one after the other, each ascending and without the row asked about.
        offsets : ndarray, shape (k + 1,), int64
            Answer j is ``rows[offsets[j]:offsets[j + 1]]``.

        Raises
        ------
        IndexError
            A row that does not exist, by number.
        """
        asked = np.atleast_1d(np.asarray(rows))
        if asked.ndim != 1 or (asked.size and asked.dtype.kind not in "iu"):
            raise ValueError(f"rows must be integers of shape (k,), not {asked.dtype} of shape {asked.shape}")
        bad = (asked < 0) | (asked >= self._count)
        if bad.any():
            raise IndexError(f"row {asked[bad.argmax()]} of {self._count} boxes")
        answer: tuple[NDArray[np.int32], NDArray[np.int64]] = self._index.query_rows(
            self._lower, self._upper, np.ascontiguousarray(asked, dtype=np.int32), worker_count(workers)
        )
        return answer

    def query(self, boxes: Any, *, workers: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the boxes that overlap others.

        Parameters
        ----------
        boxes : array_like, shape (k, 2, d) or (k, 2*d), or tuple of two (k, d)
            What to ask about. Of another dtype than the sorted boxes: converted to float64 first, and refused if these
            are float32 and would not hold it.
        workers : int
            As in `broadphase.pairs`.

        Returns
        -------
        rows, offsets
            As `query_rows`.

        Raises
        ------
        ValueError, TypeError
            As `broadphase.pairs`.
        """
        lower, upper = as_corners(boxes, empty_dimension=self._dimension)
        if lower.shape[1] != self._dimension:
            raise ValueError(f"boxes have {lower.shape[1]} dimensions, those asked have {self._dimension}")
        if lower.dtype != self._dtype:
            narrow = lower.astype(self._dtype), upper.astype(self._dtype)
            if not (np.array_equal(narrow[0], lower) and np.array_equal(narrow[1], upper)):
                raise ValueError("float64 boxes that float32 does not hold: sort float64 boxes, or convert these first")
            lower, upper = narrow
        if not (lower <= upper).all():
            raise _invalid("boxes", lower, upper)
        answer: tuple[NDArray[np.int32], NDArray[np.int64]] = self._index.query(
            self._lower, self._upper, lower, upper, worker_count(workers)
        )
        return answer


def _invalid(name: str, lower: NDArray[Any], upper: NDArray[Any]) -> InvalidBoxError:
    rows, reasons = find_invalid((lower, upper), limit=1)
    return InvalidBoxError(f"{name}: {reasons[0]}", row=int(rows[0]))
