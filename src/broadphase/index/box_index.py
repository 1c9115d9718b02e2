"""What every index of boxes is: the public face of the family."""

from __future__ import annotations

from typing import Any

from broadphase.index.answers import Outline
from broadphase.index.pair_questions import PairQuestions
from broadphase.index.ray_questions import RayQuestions
from broadphase.index.stats import IndexStats

__all__ = ["BoxIndex"]


class BoxIndex(PairQuestions, RayQuestions):
    """Boxes that are kept to be asked, changed and asked again; the base of all classes of indexes.

    The boxes are copied. Each has a row: the row of the array that it came in, or what `insert` returned. Rows of
    removed boxes are used again; `handles` are not.

    Any number of threads may ask at once. A change while a question runs, or a question during a change, raises
    RuntimeError. Every change is checked whole before anything is done: one that raises has changed nothing.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d) or (n, 2*d), or tuple of two (n, d)
        As in `broadphase.pairs`. They decide `dimension` and `dtype`; for none to begin with, give
        ``np.empty((0, 2, d), dtype)``.
    layer, mask : array_like of uint64, shape (n,), or int, optional
        Bits that questions and pairs are filtered by, unless told otherwise. Unset: all.

    Raises
    ------
    ValueError, TypeError
        As `broadphase.pairs`.

    See Also
    --------
    Index : Chooses by itself.
    """

    # A subclass names its row of the registry (`method`) and makes its core (`_make_core`) from options that it stores
    # before it calls this class's `__init__`, which builds. Everything it stores is pickled, except the core.
    #
    #     class Octree(BoxIndex):
    #         method = "octree"
    #
    #         def __init__(self, boxes, *, layer=None, mask=None, leaf_capacity=1):
    #             self._leaf_capacity = leaf_capacity
    #             super().__init__(boxes, layer=layer, mask=mask)
    #
    #         def _make_core(self):
    #             return _native.Octree(self.dimension, leaf_capacity=self._leaf_capacity)
    #
    # A core has build, insert, update, remove, pairs, count, stats, outline, validate and memory_bytes. One that has no
    # insert, update and remove sets `_incremental = False`: a change then only marks it, and the next question builds
    # it again; `_keeps_up(changed)` decides the same from case to case. `_core_options` is what build, insert and
    # update take by name, such as workers. A core that is a BlockIndex answers everything.
    # One that is not answers what the registry says it can, and its class overrides what the answer begins with:
    # `_query_boxes`, `_query_balls`, `_query_convex`; `_pairs` and `_count_pairs` if need be.
    #
    # Inside questions and changes, `_arranged()` gives the core, built if need be, `_rows.views` the corners by slot,
    # and `_rows.numbers` the living rows. An extra question goes into `with self._guard.reading:`, and an extra change
    # into `with self._guard.changing:`.

    def stats(self) -> IndexStats:
        """Say how the index is made up, and what the last questions took.

        Returns
        -------
        IndexStats
            A mapping; ``print`` it. See there for what all methods have.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]]).stats()["rows"]
        2
        """
        with self._guard.reading:
            values = self._core_stats()
            tests, most = values.get("tests"), values.get("brute_force_tests")
            if tests is not None and most is not None:
                values["tests_saved"] = most - tests
            values["bytes"] = self._weight()
            values.update({f"seconds_of_{name}": seconds for name, seconds in self._seconds.items()})
        return IndexStats({"method": self.method, **{name: values[name] for name in values if name != "method"}})

    def outline(self) -> Outline:
        """Get the cells or nodes of the index, to be drawn.

        Returns
        -------
        Outline
            ``lower`` and ``upper``, of shape (c, d), and ``level``, of shape (c,).

        Raises
        ------
        UnsupportedQueryError
            An index of a kind that has no cells.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]]).outline().level
        array([0], dtype=int32)
        """
        self._require("outline")
        with self._guard.reading:
            return Outline(*self._arranged().outline())

    def validate(self) -> None:
        """Check that everything is where it must be. For tests: it takes time.

        Raises
        ------
        AssertionError
            Something is wrong, and that is a fault of this library. Says what.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.BVH([[0, 0, 1, 1], [1, 1, 2, 2]]).validate()
        """
        with self._guard.reading:
            fault: Any = self._rows.fault() or self._arranged().validate(*self._rows.views, self._rows.numbers)
        if fault:
            raise AssertionError(f"{self!r}: {fault}")

    @property
    def memory_bytes(self) -> int:
        """Bytes that the index takes: its boxes, and their arrangement."""
        with self._guard.reading:
            return self._weight()

    def _weight(self) -> int:
        arrangement: int = 0 if self._arrangement is None else self._arrangement.memory_bytes
        return self._rows.nbytes + arrangement
