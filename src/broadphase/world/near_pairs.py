"""Pairs of boxes that are near each other: found once, and all that can touch as long as boxes move little.

A search finds the pairs of boxes that are enlarged by a reach. As long as no box has grown beyond where it was then by
more than that, summed up over the steps, no other pair overlaps: each step tests these, and needs no search.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.world.boundary import seam_pairs
from broadphase.world.touching import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns

    Flags: TypeAlias = NDArray[np.uint8]
    Floats: TypeAlias = NDArray[np.float64]
    Pairs: TypeAlias = NDArray[np.int32]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["FEWEST_ROWS", "MOST_PAIRS", "NearPairs", "growth_of", "pairs_of_images", "reach_among", "reach_of"]

# The reach is at most this share of the extent of a usual box: up to three times as many pairs are near as overlap.
_REACH = 0.08
# Where few boxes move, among many that do not: finding the pairs of each takes as long as 50 tests.
_REACH_OF_FEW = 0.2
# Up to this share of the rows that move may begin to in one step, or all pairs are found again.
_MOST_NEW = 1 / 8
# It is to last for so many more steps, or is not worth the search.
_FEWEST_USES = 2
# Steps in a row in which boxes grow so little, before pairs are kept, and the most after these were of no use.
_PATIENCE, _MOST_PATIENCE = 2, 64
# Near pairs are kept where there are so many rows.
FEWEST_ROWS = 1000
# Near pairs for each body, beyond which testing them takes longer than another search.
MOST_PAIRS = 16
# More than rounding adds to a sum.
_MORE = 1 + 2.0**-40
# In a periodic world, no box is wider than this share of it.
_WIDEST = 0.25


class NearPairs(NamedTuple):
    """The near pairs of a world, if they are kept, and when to find them again.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32, or None
        First < second. In a periodic world, those of images, too. None: not kept.
    left : float
        By how much boxes may grow yet.
    token : object
        As long as it is that of the columns, the same bodies are in the world.
    uses : int
        Steps that searched for nothing else.
    calm, patience : int
        Steps in a row in which boxes grew little; how many there must be before pairs are kept.
    around : ndarray, shape (slots,), uint8, or None
        Rows of which these are all near pairs; None: of every row.
    hits : ndarray, shape (m,), uint8, or None
        Which of the pairs touched after the last step, where no others of their rows did. None: not known.
    """

    pairs: Pairs | None = None
    left: float = 0.0
    token: object = None
    uses: int = 0
    calm: int = 0
    patience: int = _PATIENCE
    around: Flags | None = None
    hits: Flags | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the pairs, without hits."""
        return sum(0 if array is None else array.nbytes for array in (self.pairs, self.around))

    def dropped(self) -> NearPairs:
        """Give up the pairs: something else than motion has changed."""
        if self.pairs is None:
            return self if not self.calm else self._replace(calm=0)
        patience = min(2 * self.patience, _MOST_PATIENCE) if self.uses < _FEWEST_USES else _PATIENCE
        return NearPairs(patience=patience)

    def after(self, growth: float, token: object) -> NearPairs:
        """Give what is left of these after a step in which boxes grew by no more than `growth`."""
        if self.pairs is None:
            return self._replace(calm=self.calm + 1)
        if self.token is token and growth <= self.left:
            return self._replace(left=(self.left - growth) / _MORE, uses=self.uses + 1)
        if self.token is not token or self.uses < _FEWEST_USES:
            return self.dropped()
        return NearPairs(calm=_MOST_PATIENCE)  # used up, and to be found again

    def for_all(self) -> NearPairs:
        """Give these if they are those of every row, or none."""
        return self if self.around is None else self.dropped()

    def for_few(self, rows: Rows, wrapped: Rows) -> NearPairs:
        """Give these if they are those around some rows, of which nearly all are given, or none.

        Rows that came in at the other side of a periodic world have others near them: those in place, without images.
        """
        if self.pairs is None:
            return self
        if self.around is None or len(self.pairs) > MOST_PAIRS * len(rows):
            return self.dropped()
        near = self
        if len(wrapped):
            around = self.around.copy()
            around[wrapped] = 0
            near = self._replace(around=around)
        return near if len(near.others(rows)) <= _MOST_NEW * len(rows) else self.dropped()

    def others(self, rows: Rows) -> Rows:
        """Give those of the rows around which nothing has been found."""
        around: Any = self.around
        unknown: Rows = rows[around[rows] == 0]
        return unknown

    def found(self, pairs: Pairs, reach: float, token: object, around: Flags | None = None) -> NearPairs:
        """Keep pairs that have been found with this reach."""
        return NearPairs(pairs, reach, token, 0, self.calm, self.patience, around)

    def with_others(self, pairs: Pairs, around: Flags) -> NearPairs:
        """Add the pairs of more rows; one of these and a row that was known may be there twice."""
        known: Any = self.pairs
        return self._replace(pairs=joined(known, pairs), around=around, hits=None)

    def tested(self, hits: Flags | None) -> NearPairs:
        """Note which of the pairs touch; None where that is not known."""
        return self if hits is self.hits is None else self._replace(hits=hits)

    def not_worth(self) -> NearPairs:
        """Note that for some time a search in each step takes less time."""
        return NearPairs(patience=min(2 * self.patience, _MOST_PATIENCE))


def reach_of(columns: Columns, boxes: Floats, growth: float) -> float:
    """Give the reach that near pairs are to be found with, where boxes grow by so much a step; 0 for none."""
    slots = columns.slots
    every = slots // 256 + 1
    some = boxes[:slots:every][columns.rows.alive[:slots:every]]
    # A longer reach saves searches, and adds pairs to every test.
    return _reach(some, growth, _REACH, 1.0)


def reach_among(boxes: Floats, growth: float) -> float:
    """Do the same where few boxes move, which are given."""
    return _reach(boxes[:: len(boxes) // 256 + 1], growth, _REACH_OF_FEW, 2.0)


def _reach(some: Floats, growth: float, most: float, by: float) -> float:
    if not len(some):
        return 0.0
    extent = float(np.median((some[:, 1] - some[:, 0]).max(axis=1)))
    reach = min(most * extent, max(by * sqrt(growth * extent), 0.01 * extent))
    return reach if reach >= _FEWEST_USES * growth and reach < inf else 0.0


def growth_of(columns: Columns, most: float, rows: Rows) -> float:
    """Give by how much boxes have grown: `most`, or more for some rows."""
    if not len(rows):
        return most
    before, after = columns.seen.boxes[rows], columns.spare.boxes[rows]
    grown = float(np.maximum(before[:, 0] - after[:, 0], after[:, 1] - before[:, 1]).max())
    return max(most, grown * _MORE) if grown < inf else inf


def pairs_of_images(columns: Columns, boxes: Floats, reach: float, wanted: Any, workers: int) -> Pairs | None:
    """Find the pairs of boxes that are near each other in other images of a periodic world.

    None where these might be more than one image for each pair.
    """
    bounds, slots = columns.period_bounds, columns.slots
    if bounds is None:
        return None
    enlarged, narrowest = columns.enlarged()[:slots], float((bounds[1] - bounds[0]).min())
    sizes: Any = _native.enlarge(boxes[:slots], reach, enlarged)
    widest, farthest = sizes
    if not (widest + 4 * reach <= _WIDEST * narrowest and farthest <= 2.0**20 * narrowest):
        return None
    return seam_pairs(enlarged, bounds, columns.living(), None, wanted, workers, columns.batches)[0]
