"""How much a step may do."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase.arguments import as_real, as_whole
from broadphase.errors import unknown_name

__all__ = ["Budget"]

OnLimit: TypeAlias = Literal["defer", "drop"]
_ON_LIMIT = ("defer", "drop")


class Budget(NamedTuple):
    """What a step may spend on testing pairs of shapes; whichever is used up first.

    Attributes
    ----------
    seconds : float
        From the beginning of the step to its end. Only tests can be cut short, and only those that take longer than
        putting them off: two balls or parallel boxes are always tested. A few are made in any case, so that every pair
        is tested at some time; `Frame.stats` says how much was uncut. Default: no limit.
    tests : int, optional
        Pairs of shapes. Default: None, no limit.
    on_limit : {"defer", "drop"}
        What becomes of pairs without a turn. Until they are tested they count as what they were.

        - "defer": they wait, and have their turn in a later step (`Frame.deferred`);
        - "drop": they are tested when one of the two bodies has changed, or by a step without a budget
          (`Frame.dropped`).

    Notes
    -----
    Pairs are tested strictly by priority (`World.layer`), and within a priority those first that have waited longest.
    So that nothing starves: pairs that have waited for more than 16 steps share an eighth of the tests, or of the time
    for them, whatever their priority, and all others have the rest.

    Examples
    --------
    >>> import broadphase as bp
    >>> world = bp.World(dim=2)
    >>> rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [2, 0]])
    >>> frame = world.step(budget=bp.Budget(tests=2))
    >>> frame.pairs, frame.deferred
    (array([[0, 1], [0, 2]], dtype=int32), array([[1, 2]], dtype=int32))
    >>> world.step().enter
    array([[1, 2]], dtype=int32)
    """

    seconds: float = np.inf
    tests: int | None = None
    on_limit: OnLimit = "defer"

    @classmethod
    def of(cls, budget: Budget | float | None) -> Budget | None:
        """Take a budget as callers give it: a `Budget`, seconds, or None for no limit."""
        if budget is None:
            return None
        given = budget if isinstance(budget, cls) else cls(budget)  # type: ignore[arg-type]
        seconds, tests = as_real(given.seconds, "budget: seconds"), given.tests
        if not seconds > 0:
            raise ValueError(f"a budget must have more than {seconds} seconds")
        if given.on_limit not in _ON_LIMIT:
            raise ValueError(f"budget: {unknown_name('on_limit', given.on_limit, _ON_LIMIT)}")
        return cls(seconds, None if tests is None else as_whole(tests, "budget: tests", 1), given.on_limit)
