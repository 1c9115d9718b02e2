"""LinearTree: Morton numbers, levels, storage, traversals, depth and bounds."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase import morton
from broadphase.testing import assert_same_pairs, oracle
from broadphase.testing.recipes import Recipe
from cases import scene

TRAVERSALS = ("ancestors", "covered_leaves")
STORAGES = ("sparse", "flat")
HUNDRED = [[0, 0, 100, 100]]


# Morton numbers ------------------------------------------------------------------------------------------------------


def test_morton_point_27_74_of_a_world_of_100_is_cell_1_2_number_9():
    tree = bp.LinearTree(HUNDRED, depth=2)
    level, number = tree.cells_of([[27, 74, 27, 74]])
    assert (level.tolist(), number.tolist()) == ([2], [9])
    assert morton.number_of((1, 2)) == 9
    assert morton.cell_of(9, 2) == (1, 2)


def test_morton_9_carries_its_ancestors_0_2_1():
    assert morton.ancestors(9, 3, 2) == (0, 2, 1)
    assert morton.ancestors(9, 2, 2) == (2, 1)


def test_morton_4_and_7_differ_in_one_digit_and_meet_one_level_up_in_cell_1():
    assert 4 ^ 7 == 0b0011
    assert morton.common_ancestor(4, 7, 2, 2) == (1, 1)
    # As a box: from the centre of cell 4 to that of cell 7, in a world where level 2 has 16 cells.
    corners = [morton.cell_of(number, 2) for number in (4, 7)]
    box = np.ravel([[25 * x + 12 for x in corner] for corner in corners])
    level, number = bp.LinearTree(HUNDRED, depth=2).cells_of([box])
    assert (level.tolist(), number.tolist()) == ([1], [1])


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_morton_level_starts_behind_all_coarser_cells(dimension):
    for level in range(12 // dimension + 1):
        cells = sum(2 ** (dimension * coarser) for coarser in range(level))
        assert morton.level_start(level, dimension) == cells
        assert cells == (2 ** (dimension * level) - 1) // (2**dimension - 1)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_morton_numbers_go_there_and_back(dimension):
    rng = np.random.default_rng(3)
    for _ in range(200):
        cell = tuple(int(x) for x in rng.integers(0, 2 ** min(62, 64 // dimension), dimension))
        number = morton.number_of(cell)
        assert morton.cell_of(number, dimension) == cell
        bits = "".join(str(cell[k] >> bit & 1) for bit in range(63, -1, -1) for k in range(dimension - 1, -1, -1))
        assert number == int(bits, 2)


def test_morton_values_out_of_range_raise():
    for wrong in (
        lambda: morton.number_of(()),
        lambda: morton.number_of((1,) * 5),
        lambda: morton.number_of((-1, 0)),
        lambda: morton.number_of((2**32, 0)),
        lambda: morton.cell_of(-1, 2),
        lambda: morton.cell_of(0, 5),
        lambda: morton.common_ancestor(0, 16, 2, 2),
        lambda: morton.level_start(40, 2),
    ):
        with pytest.raises(ValueError, match=r"must be|axes|has no"):
            wrong()


# Cells ---------------------------------------------------------------------------------------------------------------


def smallest_cell(box, low, high, depth):
    """The smallest cell around a box, found by going down from the root."""
    dimension = len(low)
    level, cell = 0, (0,) * dimension
    while level < depth:
        below = []
        for k in range(dimension):
            width = (high[k] - low[k]) / 2 ** (level + 1)
            first, last = (min(max(math.floor((x - low[k]) / width), 0), 2 ** (level + 1) - 1) for x in box[:, k])
            below.append((first, last))
        if any(first != last for first, last in below):
            break
        level, cell = level + 1, tuple(first for first, _ in below)
    return level, morton.number_of(cell)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_cells_of_boxes_are_the_smallest_around_them(dimension):
    rng = np.random.default_rng(dimension)
    lower = rng.uniform(-10, 110, (300, dimension))  # some outside, some across the border
    boxes = np.stack([lower, lower + rng.exponential(5, lower.shape)], axis=1)
    tree = bp.LinearTree(boxes, bounds=([0] * dimension, [100] * dimension), depth=4)
    level, number = tree.cells_of(boxes)
    for row, box in enumerate(boxes):
        assert (level[row], number[row]) == smallest_cell(box, [0.0] * dimension, [100.0] * dimension, 4)
    occupied = set(zip(level.tolist(), number.tolist(), strict=True))
    stats = tree.stats()
    assert stats["cells"] == len(occupied)
    assert stats["cells_by_level"] == [sum(at == wanted for at, _ in occupied) for wanted in range(5)]


def test_outline_is_the_occupied_cells():
    tree = bp.LinearTree([[1, 1, 2, 2], [1, 1, 2, 2], [60, 10, 90, 40]], bounds=(0, 0, 100, 100), depth=3)
    lower, upper, level = tree.outline()
    cells = sorted(zip(lower.tolist(), upper.tolist(), level.tolist(), strict=True))
    assert cells == [([0, 0], [12.5, 12.5], 3), ([50, 0], [100, 50], 1)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_outline_cells_contain_the_boxes_inside_the_world(dimension):
    boxes = scene("uniform", 200, 5, "float64", dimension)
    tree = bp.LinearTree(boxes, depth=3)
    lower, upper, level = tree.outline()
    at = {(int(x), number): k for k, (x, number) in enumerate(zip(level, numbers_of(tree, lower, upper), strict=True))}
    for row, key in enumerate(zip(*(values.tolist() for values in tree.cells_of(boxes)), strict=True)):
        slack = 1e-9 * np.abs(boxes).max()
        assert (lower[at[key]] <= boxes[row, 0] + slack).all()
        assert (boxes[row, 1] <= upper[at[key]] + slack).all()


def numbers_of(tree, lower, upper):
    middle = (lower + upper) / 2
    depth = tree.stats()["depth"]
    low, high = tree.bounds
    level = np.rint(np.log2((high - low)[0] / (upper - lower)[:, 0])).astype(int)
    assert (level <= depth).all()
    cells = np.floor((middle - low) / (high - low) * 2.0 ** level[:, None]).astype(int)
    return [morton.number_of(tuple(cell.tolist())) for cell in cells]


# Storage -------------------------------------------------------------------------------------------------------------


def test_flat_storage_takes_a_table_of_all_cells_and_sparse_only_the_occupied_ones():
    boxes = scene("uniform", 1000, 2, "float32", 3)
    sparse, flat = (bp.LinearTree(boxes, storage=storage, depth=6).stats() for storage in STORAGES)
    assert sparse["cells_by_level"] == flat["cells_by_level"]
    assert sum(sparse["bytes_by_level"]) <= 20 * sparse["cells"]
    for level in range(7):
        assert flat["bytes_by_level"][level] - sparse["bytes_by_level"][level] == 4 * 8**level
    # The origin's table, in KB, at each depth of an octree: what a table of the cells and their lists took there.
    for depth, kilobytes in ((3, 64), (4, 552), (5, 4096), (6, 32768)):
        assert sum(flat["bytes_by_level"][: depth + 1]) < 1024 * kilobytes
        assert sum(sparse["bytes_by_level"]) < 1024 * kilobytes


def test_sparse_storage_pays_nothing_for_depth():
    boxes = scene("uniform", 500, 2, "float32", 2)
    deep = bp.LinearTree(boxes, depth=29)
    deep.validate()
    assert deep.memory_bytes < 2 * bp.LinearTree(boxes, depth=8).memory_bytes
    with pytest.raises(ValueError, match="depth must be from 0 to 14"):
        bp.LinearTree(boxes, depth=15, storage="flat")


@pytest.mark.parametrize(("dimension", "most"), [(1, 57), (2, 29), (3, 19), (4, 14)])
def test_depth_may_be_as_much_as_fits_the_key(dimension, most):
    boxes = scene("uniform", 300, 3, "float64", dimension)
    tree = bp.LinearTree(boxes, depth=most)
    tree.validate()
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes), "deepest")
    assert tree.stats()["depth"] == most
    with pytest.raises(ValueError, match="depth must be"):
        bp.LinearTree(boxes, depth=most + 1)


# Traversals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_traversals_find_each_pair_once(traversal, storage, dimension, dtype):
    for name in ("uniform", "clusters", "lognormal", "giant"):
        boxes = scene(name, 400, 11, dtype, dimension)
        expected = oracle.pairs(boxes)
        for depth in (0, 1, 3, 5, "auto"):
            tree = bp.LinearTree(boxes, traversal=traversal, storage=storage, depth=depth)
            for workers in (1, 2):
                assert_same_pairs(tree.pairs(workers=workers), expected, f"{name} depth {depth}")
            stats = tree.stats()
            assert stats["pairs"] == len(expected) <= stats["tests"]


@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_traversals_make_few_tests(traversal):
    boxes = scene("uniform_2d", 5000, 11)
    tree = bp.LinearTree(boxes, traversal=traversal)
    tree.pairs()
    stats = tree.stats()
    assert stats["tests"] < stats["brute_force_tests"] / 50
    assert stats["tests_saved"] == stats["brute_force_tests"] - stats["tests"]


def test_covered_leaves_visits_only_cells_that_the_box_covers():
    # A box across the middle of the world, and points in all quarters: only those in the same deepest cells are tested.
    points = [[x, y, x, y] for x in range(5, 100, 10) for y in range(5, 100, 10)]
    tree = bp.LinearTree([[45, 45, 55, 55], *points], bounds=(0, 0, 100, 100), depth=3, traversal="covered_leaves")
    assert len(tree.pairs()) == 4
    in_same_cells = sum(37.5 <= x < 62.5 and 37.5 <= y < 62.5 for x, y, _, _ in points)
    within_cells = sum(
        k * (k - 1) // 2
        for k in np.unique(tree.cells_of(points).number, return_counts=True)[1]  # all on level 3
    )
    assert tree.stats()["tests"] == in_same_cells + within_cells


def test_covered_leaves_outside_the_bounds_makes_no_more_tests_than_ancestors():
    boxes = scene("uniform_2d", 4000, 12)
    tests = {}
    for traversal in TRAVERSALS:
        tree = bp.LinearTree(boxes, bounds=(-9, -9, -8, -8), depth=8, traversal=traversal)
        assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
        tests[traversal] = tree.stats()["tests"]
    assert tests["covered_leaves"] <= tests["ancestors"] < 4000 * 3999 / 2 / 20


def test_boxes_inserted_one_by_one_are_filed_at_the_next_query():
    boxes = scene("uniform_2d", 300, 13)
    tree = bp.LinearTree(boxes[:100])
    for box in boxes[100:]:
        tree.insert(box[np.newaxis])
    assert tree._builds == 1
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
    assert tree._builds == 2
    tree.move([0], boxes[:1] + 0.25)
    tree.query(boxes[:1])
    assert tree._builds == 2


# Depth ---------------------------------------------------------------------------------------------------------------


def searched(tree, times):
    for _ in range(times):
        tree.pairs()


def points_at_random(count):
    return np.repeat(np.random.default_rng(1).random((count, 1, 2)), 2, axis=1)


def test_origin_tuning_goes_deeper_in_the_first_frame_and_every_60th_up_to_6():
    tree = bp.LinearTree(points_at_random(3000), tuning="origin")
    assert tree.depth == 3
    depths = []
    for _ in range(300):
        tree.pairs()
        depths.append(tree.depth)
    assert depths == [4] * 60 + [5] * 60 + [6] * 180
    stats = tree.stats()
    assert (stats["frames"], stats["tuned_deeper"], stats["tuned_shallower"]) == (300, 3, 0)
    assert stats["leaf_share"] >= 0.57
    tree.validate()


def test_origin_tuning_may_go_to_8():
    tree = bp.LinearTree(points_at_random(200), tuning="origin", most_depth=8)
    searched(tree, 480)
    assert tree.depth == 8


def test_origin_tuning_goes_shallower_where_leaves_are_few():
    lower = np.random.default_rng(1).random((300, 2))
    tree = bp.LinearTree(np.stack([lower, lower + 0.3], axis=1), tuning="origin")
    searched(tree, 100)
    assert (tree.depth, tree.stats()["tuned_shallower"]) == (1, 2)


def test_origin_tuning_counts_searches_whatever_changes_between_them():
    points = points_at_random(300)
    tree = bp.LinearTree(points, tuning="origin", tune_every=4)
    for number in range(12):
        tree.move([0], points[:1])
        tree.update(points)
        tree.remove(tree.insert(points[:2]))
        tree.query(points[:3])
        assert tree.depth == min(6, 3 + (number + 3) // 4)
        tree.count_pairs() if number % 2 else tree.pairs()
        tree.validate()


def test_origin_tuning_has_its_interval_shares_and_limits_as_settings():
    points = points_at_random(3000)
    boxes = points + np.array([[0.0], [0.02]])
    tree = bp.LinearTree(boxes, tuning="origin", tune_every=2, first_depth=5, least_depth=4, tune_shares=(0.99, 1))
    searched(tree, 7)
    assert (tree.depth, tree.stats()["tuned_shallower"]) == (4, 1)
    tree = bp.LinearTree(points, tuning="origin", tune_every=1, tune_shares=(0.0, 1e-9), most_depth=7)
    searched(tree, 9)
    assert tree.depth == 7


def test_origin_tuning_leaves_an_empty_tree_as_it_is():
    tree = bp.LinearTree(np.empty((0, 2, 2)), tuning="origin", tune_every=1)
    searched(tree, 3)
    assert tree.depth == 3


def test_origin_tuning_goes_on_where_it_was_after_pickling():
    tree = bp.LinearTree(points_at_random(3000), tuning="origin")
    searched(tree, 40)
    again = pickle.loads(pickle.dumps(tree))
    assert again.depth == 4
    searched(again, 21)
    assert again.depth == 5


def test_origin_tuning_never_disturbs_searches_in_other_threads():
    boxes = scene("uniform", 3000, 4, "float64", 2)
    expected = bp.pairs(boxes, sort=True)
    tree = bp.LinearTree(boxes, tuning="origin", tune_every=1, first_depth=1, most_depth=8, tune_shares=(0.45, 0.5))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tree.pairs(sort=True), range(24)):
            np.testing.assert_array_equal(found, expected)
    assert tree.stats()["frames"] == 24


def test_origin_tuning_works_in_a_world():
    world = bp.World(dim=2, method=bp.LinearTree.options(tuning="origin", tune_every=10))
    rng = np.random.default_rng(2)
    world.add_many(bp.Circle(0.01), rng.uniform(0, 100, (500, 2)), velocities=rng.normal(0, 1, (500, 2)))
    depths = []
    for _ in range(35):
        world.step(0.1)
        depths.append(world.index_stats()["depth"])
    assert depths == [4] * 10 + [5] * 10 + [6] * 15


def test_depth_can_be_set_at_run_time():
    boxes = scene("uniform", 500, 4, "float64", 2)
    expected = oracle.pairs(boxes)
    tree = bp.LinearTree(boxes, tuning="origin")
    for depth in (4, 0, 9):
        tree.depth = depth
        assert (tree.depth, tree.stats()["depth"]) == (depth, depth)
        assert_same_pairs(tree.pairs(), expected, f"{depth}")
        assert tree.depth == depth, "a depth that is given is not tuned"
    tree.depth = "auto"
    assert (tree.depth, tree.stats()["frames"]) == (3, 0)
    for wrong, message in ((30, "from 0 to 29"), ("deep", "unknown depth"), (-1, "depth must be"), (1.5, "whole")):
        with pytest.raises(ValueError, match=message):
            tree.depth = wrong
    assert tree.depth == 3


def test_measured_depth_follows_the_boxes():
    def depth(n, size):
        lower = np.random.default_rng(1).random((n, 2))
        return bp.LinearTree(np.stack([lower, lower + size], axis=1)).stats()["depth"]

    assert depth(300, 0.0) < depth(30000, 0.0)
    assert depth(30000, 0.3) <= 2  # half of the world's quarter: hardly any box sinks below


# Bounds --------------------------------------------------------------------------------------------------------------


def test_bounds_take_corners_in_any_order():
    boxes = scene("uniform", 50, 1, "float64", 2)
    for bounds in ([[0, 50], [100, -50]], [100, 50, 0, -50], ((0, -50), (100, 50))):
        tree = bp.LinearTree(boxes, bounds=bounds)
        np.testing.assert_array_equal(tree.bounds, [[0, -50], [100, 50]])


def test_bounds_infinite_or_unset_are_decided_by_the_boxes():
    boxes = [[1, 2, 3, 4], [-5, 6, 7, 8]]
    np.testing.assert_array_equal(bp.LinearTree(boxes).bounds, [[-5, 2], [7, 8]])
    tree = bp.LinearTree(boxes, bounds=([-np.inf, 0], [np.inf, 10]))
    np.testing.assert_array_equal(tree.bounds, [[-5, 0], [7, 10]])


def test_bounds_change_at_run_time():
    boxes = scene("uniform", 300, 1, "float64", 2)
    tree = bp.LinearTree(boxes, depth=4)
    expected = oracle.pairs(boxes)
    for bounds in ((0, 0, 1, 1), (5, 5, 4, 4), None, (-1e300, -1e300, 1e300, 1e300), (3, 3, 3, 3)):
        tree.bounds = bounds
        tree.validate()
        assert_same_pairs(tree.pairs(), expected, f"{bounds}")
    with pytest.raises(ValueError, match="NaN"):
        tree.bounds = (0, 0, np.nan, 1)
    with pytest.raises(ValueError, match="two corners"):
        tree.bounds = (0, 1)


@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_boxes_outside_are_filed_at_the_border_and_found(traversal):
    boxes = scene("uniform", 500, 4, "float64", 2)
    low, high = boxes.min(axis=(0, 1)), boxes.max(axis=(0, 1))
    middle = (low + high) / 2
    tree = bp.LinearTree(boxes, bounds=(middle, high), traversal=traversal, depth=4)
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes), "three quarters outside")
    # Wholly outside is not at the root, as long as the box is in one border cell.
    assert tree.cells_of([[*(low - 9), *(low - 8)]]).level.tolist() == [4]


def test_all_boxes_outside_take_about_as_many_tests_as_inside():
    boxes = scene("uniform", 20000, 4, "float32", 2)
    tests = []
    for bounds in (None, (1e6, 1e6, 2e6, 2e6)):
        tree = bp.LinearTree(boxes, bounds=bounds)
        tree.pairs()
        tests.append(tree.stats()["tests"])
    assert tests[1] < 4 * tests[0]


def test_infinite_corners_are_legal():
    boxes = np.array(
        [[[-np.inf, 0], [np.inf, 1]], [[0, -np.inf], [1, np.inf]], [[5, 5], [6, np.inf]], [[7, 7], [8, 8]]]
    )
    for traversal in TRAVERSALS:
        tree = bp.LinearTree(boxes, traversal=traversal, depth=3)
        tree.validate()
        assert_same_pairs(tree.pairs(), oracle.pairs(boxes), traversal)


# Changes and crowds --------------------------------------------------------------------------------------------------


def test_update_of_few_rows_files_only_those_and_answers_as_a_fresh_tree():
    rng = np.random.default_rng(8)
    boxes = np.array(scene("uniform", 2000, 4, "float64", 3))
    tree = bp.LinearTree(boxes, depth=5)
    for _ in range(20):
        rows = rng.choice(2000, 50, replace=False)
        boxes[rows] += rng.normal(0, 1, (50, 1, 3))
        tree.move(rows, boxes[rows])
        tree.validate()
        assert_same_pairs(tree.pairs(), bp.pairs(boxes), "updated")


def test_equal_points_are_counted_in_bounded_depth():
    points = np.ones((100_000, 2, 3), np.float32)
    tree = bp.LinearTree(points)
    tree.validate()
    assert tree.stats()["cells"] == 1
    assert len(tree.query([[1, 1, 1, 1, 1, 1]]).rows) == 100_000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [2, 3, 4])
def test_long_boxes_that_cross_have_the_pairs_of_brute_force(dim, dtype):
    boxes = Recipe(dim, 1, axis_spread=3.0, shuffled=True, overlaps=0.1).boxes(8000, 7, dtype)
    expected = bp.pairs(boxes, method="brute_force")
    for traversal in TRAVERSALS:
        assert_same_pairs(bp.LinearTree(boxes, traversal=traversal).pairs(), expected, traversal)
    some, others = boxes[::2], boxes[1::2]
    expected = bp.pairs(some, others, method="brute_force", margin=2.0**-10)
    assert_same_pairs(bp.pairs(some, others, method="linear_tree", margin=2.0**-10), expected)


def test_pickle_keeps_the_options():
    tree = bp.LinearTree(
        scene("uniform", 100, 1, "float64", 2), storage="flat", traversal="covered_leaves", depth=4, bounds=(0, 0, 9, 9)
    )
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.bounds, tree.bounds)
    assert again.stats()["bytes_by_level"] == tree.stats()["bytes_by_level"]
    assert_same_pairs(again.pairs(), tree.pairs(), "pickled")


def test_options_out_of_range_raise():
    for options in (
        {"storage": "dense"},
        {"traversal": "both"},
        {"tuning": "yours"},
        {"depth": "deep"},
        {"depth": -1},
        {"most_depth": 0},
        {"bounds": (1, 2, 3)},
        {"tune_shares": (0.5, 0.4), "tuning": "origin"},
        {"tune_every": 0, "tuning": "origin"},
    ):
        with pytest.raises(ValueError, match="must be"):
            bp.LinearTree(HUNDRED, **options)
    with pytest.raises(ValueError, match='tune_every is for tuning="origin"'):
        bp.LinearTree(HUNDRED, tune_every=5)
    with pytest.raises(ValueError, match=r"[23] dimensions"):
        bp.LinearTree(HUNDRED).cells_of([[0, 0, 0, 1, 1, 1]])


def test_rows_outside_the_bounds_are_told_found_and_can_be_left_out():
    boxes = np.array([[1, 1, 2, 2], [9, 9, 12, 12], [-3, 1, -2, 2], [11, 11, 13, 13], [0, 0, 10, 10]], np.float64)
    tree = bp.LinearTree(boxes, bounds=(0, 0, 10, 10))
    assert tree.outside_rows.tolist() == [1, 2, 3]
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
    tree.remove(tree.outside_rows)
    assert tree.pairs().tolist() == [[0, 4]]
    assert tree.outside_rows.tolist() == []
    tree.move([4], [[0, 0, 10, 10.5]])
    assert tree.outside_rows.tolist() == [4]
    assert bp.LinearTree(boxes, bounds=[[0, -np.inf], [np.inf, 10]]).outside_rows.tolist() == [1, 2, 3]
    assert bp.LinearTree(np.empty((0, 2, 2))).outside_rows.tolist() == []
