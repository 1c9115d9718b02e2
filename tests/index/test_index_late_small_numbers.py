"""Trees that were exact when they were built, and are then given numbers that their floats do not hold."""

from typing import Any

import numpy as np
import pytest

import broadphase as bp
from broadphase.methods import METHODS

TREES = [m for m in METHODS if "nearest" in m.capabilities]


@pytest.mark.parametrize("method", TREES, ids=lambda m: m.name)
@pytest.mark.parametrize("by", ["update", "insert"])
def test_number_that_floats_round_is_still_answered_exactly(method: Any, by: str) -> None:
    # 1 beside 2^100, then a box that ends 2^-40 short of where the question begins.
    big = np.float32(2.0**100)
    boxes = np.array([[[1, 1], [2, 2]], [[big, big], [big, big]], [[3, 3], [4, 4]]], np.float32)
    index = getattr(bp, method.index_class)(boxes)
    index.query_points([[0, 0]])  # built by now
    small = np.array([[[2.0**-140, 2.0**-140], [2.0**-139, 2.0**-139]]], np.float32)
    row = 2
    if by == "update":
        index.move([2], small)
    else:
        (row,) = index.insert(small)
    assert index.query_points([[2.0**-139, 2.0**-139]]).rows.tolist() == [row]
    assert index.query_points(np.array([[2.0**-138, 2.0**-138]])).rows.tolist() == []
    away = index.nearest([[0.0, 0.0]])
    assert away.rows[0, 0] == row
    assert away.distances[0, 0] == np.hypot(2.0**-140, 2.0**-140)
    assert index.raycast([[0.0, 0.0]], [[1.0, 1.0]]).distances[0] == away.distances[0, 0]
    index.validate()
