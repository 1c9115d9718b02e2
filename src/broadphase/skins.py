"""How much longer than the cutoff a search pays that is kept for the steps that follow: see `NeighborList`."""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

__all__ = ["SkinChoice"]


class _Costs(NamedTuple):
    """Nanoseconds of one thread for each point, and for each entry of the result or of what is kept."""

    search: tuple[float, float]  # points, entries
    build: tuple[float, float]  # points, kept
    look: tuple[float, float, float]  # points, entries, kept


# Of 10^5 points with 12 and 40 neighbors, with distances and vectors, on one thread of an EPYC; only ratios matter.
_HALF = _Costs((170.0, 8.0), (120.0, 12.5), (50.0, 2.5, 2.5))
_BOTH = _Costs((170.0, 20.0), (100.0, 7.0), (110.0, 3.5, 2.8))

_SKINS = tuple(0.05 * 1.2**k for k in range(15))  # of the cutoff: up to 0.64
_MOST_STEPS = 200.0  # as which a longer time counts: what stands still may start to move
_WORTH_IT = 0.9  # of the cost of searches, so that a guess that is a little off costs nothing
_MOST_PATIENCE, _MOST_REST = 64, 16  # searches


class SkinChoice:
    """The skin of a list, from the motion of its points and from how many pairs there are.

    A search that is kept for k steps costs one build and k - 1 looks, of which a longer skin makes each dearer, and k
    larger. Points move straight on, as in free flight, or back and forth, as in a fluid: k grows as the skin to a power
    from 1 to 2, which is measured. Where no skin is worth its cost, each step is a search. After a skin that was not
    worth it, so many steps have to be small before another one is tried, twice as many each time; and as long as steps
    are large, only each second, fourth and so on is looked at.
    """

    def __init__(self, cutoff: float, *, full: bool, sort: bool) -> None:
        self._cutoff, self._costs = cutoff, _BOTH if full or sort else _HALF
        self._entries = 0.0
        self._more_kept = 1.0  # than points that are spread evenly would have
        self._step = inf  # how far a point moves in a step at most
        self._power = 1.0
        self._skin = 0.0  # of those that are kept
        self._steps, self._first, self._last = 0, 0.0, 0.0  # of looks at them: how many, and the motion
        self._small_steps, self._patience = 0, 1
        self._rest, self._next_rest = 0, 0
        self._dimension = 3

    def watches(self) -> bool:
        """Return whether the points of this search are compared with those before or behind it."""
        return self._rest <= 1

    def moved(self, farthest: float) -> None:
        """Take note of a step between two searches that kept nothing."""
        self._step = farthest

    def looked(self, farthest: float) -> None:
        """Take note of a look at what is kept, and of how far points are by now from where they were."""
        self._steps += 1
        self._first = farthest if self._steps == 1 else self._first
        self._last = farthest

    def searched(self, entries: int) -> None:
        """Take note of a search that kept nothing."""
        self._entries, self._skin = float(entries), 0.0

    def kept(self, skin: float, kept: int, entries: int) -> None:
        """Take note of a search whose pairs are kept."""
        self._entries, self._skin, self._steps = float(max(entries, 1)), skin, 0
        self._small_steps = 0
        self._more_kept *= kept / max(self._kept(skin), 1.0)

    def skin(self, points: int, dimension: int) -> float:
        """Return the skin of the search to come, or 0: keep nothing."""
        self._dimension = dimension
        if self._rest > 0:
            self._rest -= 1
            return 0.0
        if self._skin > 0:
            self._judge(points)
        if not 0 < self._cutoff < inf or self._entries == 0 or self._step == inf:
            return 0.0
        plain = self._search(points)
        best, least = 0.0, _WORTH_IT * plain
        for part in _SKINS:
            skin = part * self._cutoff
            steps = self._expected_steps(skin)
            cost = self._mean(points, skin, steps)
            if steps >= 2 and cost < least:
                best, least = skin, cost
        self._small_steps = self._small_steps + 1 if best > 0 else 0
        self._next_rest = 0 if best > 0 else min(max(2 * self._next_rest, 1), _MOST_REST)
        self._rest = self._next_rest
        return best if self._small_steps >= self._patience else 0.0

    def _judge(self, points: int) -> None:
        """Learn from the skin that has just ended."""
        if self._steps > 0:
            if self._steps > 3 and self._last > self._first > 0:
                self._power = min(max(log(self._last / self._first) / log(self._steps), 0.5), 1.0)
            self._step = max(self._first, self._last / self._steps**self._power)
        if self._mean(points, self._skin, 1.0 + self._steps) > self._search(points):
            self._patience = min(2 * self._patience, _MOST_PATIENCE)
            if self._steps == 0:
                self._step = inf
        else:
            self._patience = 1
        self._small_steps = self._patience - 1 if self._patience == 1 else 0

    def _expected_steps(self, skin: float) -> float:
        ways = skin / 2 / self._step if self._step > 0 else inf
        return 1.0 + min(ways ** (1 / self._power) if ways >= 1 else 0.0, _MOST_STEPS)

    def _kept(self, skin: float) -> float:
        return self._entries * self._more_kept * (1 + skin / self._cutoff) ** self._dimension

    def _search(self, points: int) -> float:
        each, entry = self._costs.search
        return each * points + entry * self._entries

    def _mean(self, points: int, skin: float, steps: float) -> float:
        kept = self._kept(skin)
        each, entry, of_kept = self._costs.look
        look = each * points + entry * self._entries + of_kept * kept
        each, of_kept = self._costs.build
        return look + (each * points + of_kept * kept) / steps
