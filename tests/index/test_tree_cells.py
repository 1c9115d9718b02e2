"""Cells of trees as arrays: numbers in Z order, masks of children and rows, against plain arithmetic."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import UnsupportedQueryError
from broadphase.testing import make_scene
from cases import DIMENSIONS, DTYPES


def lattice_of(number, level, dimension):
    """Coordinates of a cell in its level, bit by bit."""
    cell = [0] * dimension
    for bit in range(level):
        for axis in range(dimension):
            cell[axis] |= (number >> (bit * dimension + axis) & 1) << bit
    return cell


def check(cells, world, dimension, own_cell_of):
    """Compare masks, places and rows with what the numbers say."""
    lower, upper = np.asarray(world, float)
    listed = {(int(level), int(number)): at for at, (level, number) in enumerate(zip(cells.level, cells.number))}  # noqa: B905
    assert len(listed) == len(cells)
    assert list(listed) == sorted(listed)
    for (level, number), at in listed.items():
        children = {k for k in range(1 << dimension) if (level + 1, number << dimension | k) in listed}
        assert {k for k in range(16) if int(cells.children[at]) >> k & 1} == children
        assert level == 0 or (level - 1, number >> dimension) in listed
        assert cells.flat[at] == sum(1 << dimension * above for above in range(level)) + number
        rows = cells.rows[cells.offsets[at] : cells.offsets[at + 1]].tolist()
        assert rows == sorted(rows)
        for row in rows:
            place, edge = np.array(lattice_of(number, level, dimension)), (upper - lower) / (1 << level)
            assert own_cell_of(row, lower + place * edge, lower + (place + 1) * edge), (row, level, number)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("looseness", [1, 2])
def test_cells_of_an_octree(dimension, dtype, looseness):
    random = np.random.default_rng(dimension)
    lower = random.integers(0, 60, (150, dimension)).astype(dtype)
    boxes = np.stack([lower, lower + random.integers(0, 5, (150, dimension))], axis=1).astype(dtype)
    tree = bp.Octree(boxes, minimum=1, leaf_capacity=2, looseness=looseness)
    tree.remove([3, 70])
    cells = tree.cells()

    def holds(row, low, high):
        box, more = tree.boxes_of([row]).reshape(2, dimension), (looseness - 1) * (high - low) / 2
        return (box[0] >= low - more).all() and (box[1] <= high + more).all()

    check(cells, tree.bounds, dimension, holds)
    assert np.array_equal(np.sort(cells.rows), tree.rows)
    outline = tree.outline()
    assert sorted(outline.level.tolist()) == cells.level.tolist()
    levels = tree.cells_of_rows(tree.rows)[1]
    for row, level in zip(tree.rows, levels, strict=True):
        at = np.flatnonzero(cells.rows == row)[0]
        assert cells.level[np.searchsorted(cells.offsets, at, side="right") - 1] == level


@pytest.mark.parametrize("storage", ["sparse", "flat"])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_cells_of_a_linear_tree(dimension, storage):
    random = np.random.default_rng(dimension)
    lower = random.random((150, dimension)) * 100
    tree = bp.LinearTree(
        (lower, lower + random.random((150, dimension)) ** 4 * 20),
        bounds=([0] * dimension, [100] * dimension),
        depth=3,
        storage=storage,
    )
    tree.remove([3, 70])
    cells = tree.cells()
    found = tree.cells_of(tree.boxes_of(tree.rows))
    for row, level, number in zip(tree.rows, found.level, found.number, strict=True):
        at = np.searchsorted(cells.offsets, np.flatnonzero(cells.rows == row)[0], side="right") - 1
        assert (cells.level[at], cells.number[at]) == (level, number)

    def holds(row, low, high):
        box = tree.boxes_of([row]).reshape(2, dimension)
        return (box[0] >= low).all() and (box[1] <= np.where(high == 100, np.inf, high)).all()

    check(cells, tree.bounds, dimension, holds)
    assert np.array_equal(np.sort(cells.rows), tree.rows)
    # A walk that carries along the rows of the cells around the current one.
    tests = 0
    for one in range(len(tree)):
        for other in range(one):
            below, above = sorted([(found.level[k], int(found.number[k])) for k in (one, other)], reverse=True)
            tests += below[1] >> dimension * int(below[0] - above[0]) == above[1]
    assert cells.tests == tests


def test_trees_of_nothing_and_of_one_box():
    for make in (bp.Octree, bp.LinearTree):
        empty = make(np.empty((0, 2, 2))).cells()
        assert (len(empty.rows), empty.tests) == (0, 0)
        one = make([[1.0, 1, 2, 2]]).cells()
        assert one.rows.tolist() == [0]
        assert one.level[0] == 0


def test_rows_far_outside_the_root_are_listed_apart():
    boxes = np.concatenate([make_scene("uniform_2d", 500, dtype=np.float64), [[[1e9, 1e9], [1e9, 1e9]]]])
    cells = bp.Octree(boxes).cells()
    assert cells.outside.tolist() == [500]
    assert len(cells.rows) == 500


def test_cells_too_deep_for_a_number_are_an_error():
    places = np.arange(9)[:, np.newaxis] * [0.01, 0.01, 0.01]
    tree = bp.Octree((places, places), bounds=[[0, 0, 0], [1e6, 1e6, 1e6]], minimum=2.0**-10, leaf_capacity=1)
    assert tree.outline().level.max() > 21
    with pytest.raises(UnsupportedQueryError, match="have numbers of more than 63 bits"):
        tree.cells()
