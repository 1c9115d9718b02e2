"""How much a step may do, and what waits for the next when that is used up."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Pairs = NDArray[np.int32]

__all__ = ["Budget", "spend"]

# Pairs between two looks at the clock: some 20 to 200 us of work.
_PORTION = 2048


class Budget(NamedTuple):
    """What a step may spend on testing pairs of shapes; whichever is used up first.

    Attributes
    ----------
    milliseconds : float
        From the beginning of the step. At least one portion of 2048 pairs is tested all the same, so that every pair
        has its turn.
    tests : int, optional
        Pairs of shapes.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]])
    >>> frame = world.step(budget=bp.Budget(tests=2))
    >>> frame.touching, frame.deferred
    (array([[0, 1],
           [0, 2]], dtype=int32), array([[1, 2]], dtype=int32))
    >>> world.step().enter
    array([[1, 2]], dtype=int32)
    """

    milliseconds: float = np.inf
    tests: int | None = None

    @classmethod
    def of(cls, budget: Any) -> Budget | None:
        """Take what the caller means by a budget: this, milliseconds, or None for no limit."""
        if budget is None:
            return None
        made = budget if isinstance(budget, cls) else cls(milliseconds=float(budget))
        if not made.milliseconds > 0:
            raise ValueError(f"a budget needs more than {made.milliseconds} milliseconds")
        if made.tests is not None and made.tests < 1:
            raise ValueError(f"a budget needs at least one test, not {made.tests}")
        return made


def spend(budget: Budget, began: float, queue: Pairs, test: Callable[[Pairs], Pairs]) -> tuple[list[Pairs], Pairs]:
    """Test pairs in the order of the queue until the budget is used up.

    Returns
    -------
    found : list of ndarray
        What `test` gave.
    rest : ndarray, shape (k, 2), int32
        The end of the queue that had no turn.
    """
    most = len(queue) if budget.tests is None else min(budget.tests, len(queue))
    until = began + budget.milliseconds / 1000.0
    found: list[Pairs] = []
    done = 0
    while done < most:
        portion = queue[done : min(done + _PORTION, most)]
        found.append(test(portion))
        done += len(portion)
        if perf_counter() >= until:
            break
    return found, queue[done:]
