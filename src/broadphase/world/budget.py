"""How much a step may do, and what waits for the next step when that is used up."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.arguments import as_real, as_whole
from broadphase.world.touching import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Pairs = NDArray[np.int32]

__all__ = ["Budget", "in_turn", "spend"]

# Pairs between two looks at the clock: some 20 to 200 us of work.
_PORTION = 2048


class Budget(NamedTuple):
    """What a step may spend on testing pairs of shapes; whichever is used up first.

    Attributes
    ----------
    seconds : float
        From the beginning of the step. At least one portion of 2048 pairs is tested all the same, so that every pair
        is tested at some time.
    tests : int, optional
        Pairs of shapes. Default: None, no limit.

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

    seconds: float = np.inf
    tests: int | None = None

    @classmethod
    def of(cls, budget: Budget | float | None) -> Budget | None:
        """Take a budget as callers give it: a `Budget`, seconds, or None for no limit."""
        if budget is None:
            return None
        given = budget if isinstance(budget, cls) else cls(budget)  # type: ignore[arg-type]
        seconds, tests = as_real(given.seconds, "budget: seconds"), given.tests
        if not seconds > 0:
            raise ValueError(f"a budget must have more than {seconds} seconds")
        return cls(seconds, None if tests is None else as_whole(tests, "budget: tests", 1))


def in_turn(candidates: Pairs, priorities: NDArray[np.int64] | None) -> Pairs:
    """Put pairs in the order in which they are tested: high priorities first, then by rows.

    Not in the order in which they were found: which pairs a budget defers does not depend on the method.

    Parameters
    ----------
    candidates : ndarray, shape (m, 2), int32
        Each once.
    priorities : ndarray, shape (slots,), int64, or None
        Of each row; a pair has the higher one. None: all are equal.
    """
    keys = keys_of(candidates)
    if priorities is None:
        return candidates[np.argsort(keys)]
    of_pairs = np.maximum(priorities[candidates[:, 0]], priorities[candidates[:, 1]])
    return candidates[np.lexsort((keys, ~of_pairs))]


def spend(budget: Budget, began: float, queue: Pairs, test: Callable[[Pairs], Pairs]) -> tuple[list[Pairs], Pairs]:
    """Test pairs in the order of the queue until the budget is used up.

    Returns
    -------
    found : list of ndarray
        What `test` returned.
    rest : ndarray, shape (k, 2), int32
        The end of the queue, which was not tested.
    """
    most = len(queue) if budget.tests is None else min(budget.tests, len(queue))
    until = began + budget.seconds
    found: list[Pairs] = []
    done = 0
    while done < most:
        portion = queue[done : min(done + _PORTION, most)]
        found.append(test(portion))
        done += len(portion)
        if perf_counter() >= until:
            break
    return found, queue[done:]
