"""What may move, and what may not."""

import numpy as np
import pytest

import broadphase as bp


@pytest.mark.parametrize("corner", [0, 1])
def test_moving_box_without_end_is_refused_by_row(corner: int) -> None:
    index = bp.BVH([[0, 0, 1, 1]])
    boxes = np.array([[[0, 0], [1, 1]], [[2, 2], [3, 3]]], float)
    boxes[1, corner, 0] = np.inf * (2 * corner - 1)
    with pytest.raises(ValueError, match="row 1"):
        index.shapecast(boxes, [1.0, 0.0])


def test_row_without_end_is_met_where_it_begins() -> None:
    index = bp.BVH([[5, -np.inf, np.inf, np.inf]])
    hit = index.shapecast([[0, 0, 1, 1]], [[8, 1]])
    assert hit.rows[0] == 0
    assert hit.times[0] == 0.5
