"""The octree: where boxes are filed, when it is brought up to date, what becomes of cells, and of boxes that leave."""

import pickle
import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle
from broadphase.testing.recipes import Recipe
from cases import DIMENSIONS, DTYPES, lattice, living_pairs

CLASSIC = {"minimum": 1, "leaf_capacity": 1, "looseness": 1}
PICTURE = make_scene("eleven_boxes", 11)


def cells_of(tree: bp.Octree, rows) -> np.ndarray:
    """Cubes of the cells that rows are in, shape (k, 2, d)."""
    lower, upper, _ = tree.outline()
    cell = tree.cells_of_rows(np.asarray(rows, dtype=np.int32))[0]
    return np.stack([lower, upper], axis=1)[cell]


def settle(tree: bp.Octree) -> bp.index.IndexStats:
    return tree.stats()


def test_root_is_a_cube_of_a_power_of_two_that_encloses_the_world():
    tree = bp.Octree([[0, 0, 0, 200, 300, 400]], minimum=1)
    lower, upper = tree.bounds
    assert (upper - lower).tolist() == [512, 512, 512]
    assert (lower <= 0).all()
    assert (upper >= [200, 300, 400]).all()
    assert tree.stats()["root_edge"] == 512


@pytest.mark.parametrize("minimum", [0.5, 1, 3, "auto"])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_root_edge_is_the_smallest_times_a_power_of_two(dimension, minimum):
    rng = np.random.default_rng(dimension)
    lower = rng.uniform(-50, 100, (300, dimension))
    tree = bp.Octree((lower, lower + 1), minimum=minimum)
    stats = tree.stats()
    assert minimum in ("auto", stats["smallest_edge"])
    assert np.log2(stats["root_edge"] / stats["smallest_edge"]) % 1 == 0
    assert (tree.bounds[0] <= lower).all()
    assert (tree.bounds[1] >= lower + 1).all()
    tree.validate()


def test_leaf_is_split_when_it_has_more_than_its_capacity():
    boxes = [[k, 0, k + 0.5, 0.5] for k in range(8)]
    for capacity in (1, 2, 7, 8):
        tree = bp.Octree(boxes, minimum=1, leaf_capacity=capacity, looseness=1)
        tree.validate()
        assert (tree.stats()["cells"] == 1) == (capacity == 8)


def test_one_object_in_a_world_is_not_split_for():
    assert bp.Octree([[5, 5, 6, 6]], bounds=[0, 0, 64, 64], **CLASSIC).stats()["cells"] == 1


def test_empty_cells_are_never_created():
    tree = bp.Octree(make_scene("clusters", 3000), leaf_capacity=1)
    stats = tree.stats()
    lower, upper, level = tree.outline()
    cells = cells_of(tree, tree.rows)
    for at in np.random.default_rng(1).integers(0, len(level), 200):
        inside = (cells[:, 0] >= lower[at]).all(axis=1) & (cells[:, 1] <= upper[at]).all(axis=1)
        assert inside.any()
    assert stats["lives"] == []


def test_splitting_ends_at_the_smallest_cells():
    tree = bp.Octree([[3.25, 3.25, 3.5, 3.5]] * 40, bounds=[0, 0, 8, 8], **CLASSIC)
    stats = tree.stats()
    assert stats["cells_by_level"] == [1, 1, 1, 1]
    assert stats["rows_by_level"] == [0, 0, 0, 40]
    assert (cells_of(tree, [0]) == [[3, 3], [4, 4]]).all()


def test_straddling_boxes_stay_in_the_smallest_cell_that_contains_them():
    boxes = [[3.9, 1, 4.1, 1.5], [1.9, 1, 2.1, 1.5], [0.5, 0.5, 0.75, 0.75], [0.9, 0.25, 1.1, 0.75], [4, 4, 8, 8]]
    tree = bp.Octree(boxes, bounds=[0, 0, 8, 8], **CLASSIC)
    expected = [[[0, 0], [8, 8]], [[0, 0], [4, 4]], [[0, 0], [1, 1]], [[0, 0], [2, 2]], [[4, 4], [8, 8]]]
    assert cells_of(tree, range(5)).tolist() == expected


def test_straddling_boxes_sink_by_their_size_where_cells_are_loose():
    options = {"bounds": [0, 0, 8, 8], "minimum": 1, "leaf_capacity": 1}
    boxes = [[3.9, 3.9, 4.2, 4.2], [1, 1, 1.25, 1.25], [6, 6, 6.25, 6.25]]
    assert cells_of(bp.Octree(boxes, looseness=1, **options), [0]).tolist() == [[[0, 0], [8, 8]]]
    assert cells_of(bp.Octree(boxes, looseness=2, **options), [0]).tolist() == [[[4, 4], [6, 6]]]


def test_thousand_inserts_cost_one_build():
    tree = bp.Octree(np.empty((0, 2, 3)))
    for box in make_scene("uniform", 1000):
        tree.insert([box])
    assert tree.pending == 1000
    stats = settle(tree)
    assert (stats["builds"], stats["updates"], stats["pending"]) == (1, 0, 0)
    tree.validate()


def test_changes_are_made_when_somebody_asks_and_not_before():
    boxes = make_scene("uniform", 500)
    tree = bp.Octree(boxes)
    settle(tree)
    for k in range(10):
        tree.move(k, boxes[k : k + 1] + 0.5)
        tree.move(k, boxes[k : k + 1])
    assert tree.pending == 10, "each row once"
    assert settle(tree)["updates"] == 1
    settle(tree)
    assert tree.stats()["updates"] == 1, "nothing is pending"


def test_rows_that_come_and_go_in_between_cost_nothing():
    tree = bp.Octree(make_scene("uniform", 500))
    created = settle(tree)["cells_created"]
    tree.remove(tree.insert(make_scene("uniform", 300, seed=9)))
    stats = settle(tree)
    assert stats["cells_created"] == created
    tree.validate()


def test_moved_box_climbs_to_the_first_cell_that_contains_it_and_sinks():
    tree = bp.Octree([[0.25, 0.25, 0.5, 0.5], [7, 7, 7.5, 7.5], [0, 7, 0.5, 7.5]], bounds=[0, 0, 8, 8], **CLASSIC)
    settle(tree)
    tree.move(0, [[3.75, 3.25, 4.25, 3.5]])
    assert cells_of(tree, [0]).tolist() == [[[0, 0], [8, 8]]]
    tree.move(0, [[7, 1, 7.5, 1.5]])
    assert cells_of(tree, [0])[0].tolist() == [[4, 0], [8, 4]]
    tree.validate()


def test_boxes_that_move_within_their_cells_change_no_cell():
    boxes = make_scene("uniform", 2000)
    tree = bp.Octree(boxes)
    before = settle(tree)
    tree.move(np.arange(0, 2000, 10), boxes[::10] + np.float32(1e-7))
    after = settle(tree)
    assert after["cells_by_level"] == before["cells_by_level"]
    tree.validate()


def test_removed_boxes_leave_on_the_next_update_from_the_moved_ones_too():
    boxes = make_scene("uniform", 300)
    tree = bp.Octree(boxes)
    settle(tree)
    tree.move(np.arange(20), boxes[:20] + 0.25)
    tree.remove(np.arange(10))
    assert tree.pending == 20
    stats = settle(tree)
    assert (stats["rows"], sum(stats["rows_by_level"])) == (290, 290)
    tree.validate()


def test_rows_near_0_in_a_lattice_that_begins_far_from_it_are_in_their_cells():
    rows = np.array([[[-7e6], [-7e6]], [[-5e-11], [-4e-11]], [[0], [0]], [[-8e-12], [-5e-12]]], "float32")
    tree = bp.Octree(rows[:1], looseness=1, leaf_capacity=1)
    tree.insert(rows[1:])
    tree.validate()
    assert_same_pairs(tree.pairs(), oracle.pairs(rows))


def visit(tree: bp.Octree, row: int, times: int = 1) -> bp.index.IndexStats:
    """Let a bullet fly through a far cell, and away: two updates each."""
    for _ in range(times):
        tree.move(row, [[60, 60, 60.5, 60.5]])
        settle(tree)
        tree.move(row, [[1, 1, 1.5, 1.5]])
        settle(tree)
    return tree.stats()


def updates_until_freed(tree: bp.Octree) -> int:
    freed = tree.stats()["cells_freed"]
    for count in range(1, 200):
        tree.move(1, [[3, 3, 3.5, 3.5]])
        if settle(tree)["cells_freed"] > freed:
            return count
    raise AssertionError("never freed")


def test_empty_leaf_lives_for_eight_updates_and_twice_as_long_each_time_it_is_used_again():
    for visits, life in [(1, 8), (2, 16), (3, 32), (4, 64), (5, 64), (9, 64)]:
        tree = bp.Octree([[1, 1, 1.5, 1.5], [3, 3, 3.5, 3.5]], bounds=[0, 0, 64, 64], **CLASSIC)
        assert visit(tree, 0, visits)["lives"], "the cell that was left is kept"
        tree.validate()
        assert updates_until_freed(tree) == life - 1, "the update in which it was left is the first"
        tree.validate()


def test_freed_cells_are_pooled_and_used_again():
    tree = bp.Octree([[1, 1, 1.5, 1.5], [3, 3, 3.5, 3.5]], bounds=[0, 0, 64, 64], **CLASSIC)
    created = visit(tree, 0)["cells_created"]
    updates_until_freed(tree)
    pooled = tree.stats()["pool"]
    assert pooled >= 1
    stats = visit(tree, 0)
    assert (stats["cells_created"], stats["cells_reused"]) == (created, pooled)
    tree.validate()


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_mask_of_children_has_as_many_bits_as_a_cell_has_corners(dimension):
    corners = np.indices((2,) * dimension).reshape(dimension, -1).T * 7.0
    tree = bp.Octree((corners, corners + 1), **CLASSIC)
    assert tree.stats()["cells_by_level"] == [1, 2**dimension]
    tree.remove(np.arange(0, len(corners), 2))
    for _ in range(9):
        tree.move(1, [[corners[1], corners[1] + 1]])
        settle(tree)
    assert tree.stats()["cells_by_level"] == [1, 2 ** (dimension - 1)]
    tree.validate()


def test_root_grows_to_enclose_what_lies_outside():
    tree = bp.Octree([[1, 1, 2, 2], [5, 5, 6, 6]], bounds=[0, 0, 8, 8], **CLASSIC)
    settle(tree)
    tree.insert([[-30, 3, -29, 4]])
    assert tree.stats()["root_edge"] == 64
    tree.move(1, [[3, 1000, 4, 1001]])
    assert tree.stats()["root_edge"] == 1024
    assert tree.stats()["outside"] == 0
    assert tree.stats()["builds"] == 1, "growing is no building"
    assert (cells_of(tree, [0])[0] <= [[1, 1], [8, 8]]).all()
    tree.validate()


def test_boxes_that_leave_by_far_get_larger_cells():
    tree = bp.Octree([[k, 0, k + 1, 1] for k in range(64)], **CLASSIC)
    settle(tree)
    tree.insert([[1e14, 0, 1.1e14, 1], [-1e200, 0, -1e199, 5]])
    tree.validate()
    assert len(tree.pairs()) == 63


def test_box_with_an_infinite_corner_stays_outside_and_meets_what_it_overlaps():
    tree = bp.Octree(make_scene("uniform", 200, dtype="float64"))
    row = tree.insert([[-np.inf, 0, 0, np.inf, 0.5, 0.5]])[0]
    assert tree.stats()["outside"] == 1
    assert_same_pairs(tree.pairs(), living_pairs(tree))
    tree.remove(row)
    assert tree.stats()["outside"] == 0


def test_dropped_boxes_are_reported_and_gone():
    tree = bp.Octree([[1, 1, 2, 2], [5, 5, 6, 6]], bounds=[0, 0, 8, 8], outside="drop")
    handles = tree.handles()
    rows = tree.insert([[7, 7, 8, 8], [7, 7, 9, 9]])
    assert tree.dropped.tolist() == [rows[1]]
    tree.move([0, 1], [[1, 1, 3, 3], [-5, 5, 6, 6]])
    assert tree.dropped.tolist() == [1]
    assert tree.rows.tolist() == [0, 2]
    with pytest.raises(bp.errors.UnknownRowError):
        tree.rows_of(handles[1])
    tree.move([0], [[2, 2, 3, 3]])
    assert tree.dropped.tolist() == []
    assert bp.Octree([[1, 1, 2, 2], [9, 9, 10, 10]], bounds=[0, 0, 8, 8], outside="drop").dropped.tolist() == [1]


def test_raising_names_the_box_that_leaves_and_changes_nothing():
    tree = bp.Octree([[1, 1, 2, 2], [5, 5, 6, 6]], bounds=[0, 0, 8, 8], outside="raise")
    before = tree.boxes_of()
    for change in (
        lambda: tree.insert([[1, 1, 2, 2], [7, 7, 9, 9]]),
        lambda: tree.update([[1, 1, 2, 2], [-1, 5, 6, 6]]),
    ):
        with pytest.raises(ValueError, match="row 1 is not inside the world"):
            change()
        assert (tree.boxes_of() == before).all()
    with pytest.raises(ValueError, match="row 0 is not inside the world"):
        bp.Octree([[1, 1, 2, 9]], bounds=[0, 0, 8, 8], outside="raise")


def test_world_is_that_of_the_first_boxes_unless_it_is_given():
    tree = bp.Octree([[0, 0, 8, 8]], minimum=1, outside="raise")
    tree.insert([[0, 0, 1, 1]])
    with pytest.raises(ValueError, match="is not inside the world"):
        tree.insert([[0, 0, 9, 9]])


def test_eleven_boxes_take_the_29_tests_of_the_article_for_121_and_fewer_in_a_search():
    tree = bp.Octree(PICTURE, bounds=[0, 0, 64, 64], **CLASSIC)
    assert_same_pairs(tree.pairs(), oracle.pairs(PICTURE))
    stats = tree.stats()
    assert (tree.cells().tests, stats["pairs"], len(tree) ** 2) == (29, 4, 121)
    assert (stats["tests"], stats["brute_force_tests"], stats["tests_saved"]) == (7, 55, 48)
    assert (stats["root_edge"], stats["cells_by_level"]) == (64, [1, 4, 5])


@pytest.mark.parametrize("looseness", [1, 2])
def test_static_boxes_are_never_tested_against_each_other(looseness):
    boxes = make_scene("uniform", 3000)
    tree = bp.Octree(boxes, looseness=looseness)
    static = np.ones(3000, np.bool_)
    assert len(tree.pairs(static=static)) == 0
    assert (tree.stats()["tests"], tree.stats()["cell_tests"]) == (0, 0)
    static[5] = False
    assert_same_pairs(tree.pairs(static=static), oracle.pairs(boxes, static=static))
    assert tree.stats()["tests"] < 3000


def test_queries_take_only_the_types_that_are_asked_for():
    boxes = make_scene("uniform", 2000, dtype="float64")
    kinds = np.uint64(1) << np.random.default_rng(2).integers(0, 3, 2000).astype(np.uint64)
    tree, other = bp.Octree(boxes, layer=kinds), bp.BVH(boxes, layer=kinds)
    camera = bp.cameras.perspective(1.0, 1.0, 0.1, 10.0) @ bp.cameras.look_at([0.5, 0.5, -1], [0.5, 0.5, 1])
    for ask in (
        lambda index: index.query([[0.2, 0.2, 0.2, 0.6, 0.6, 0.6]], mask=2).rows,
        lambda index: index.query_ball([[0.5, 0.5, 0.5]], [0.2], mask=2).rows,
        lambda index: index.raycast([[0, 0.5, 0.5]], [[1, 0, 0]], mask=2).rows,
        lambda index: index.raycast_all([[0, 0.5, 0.5]], [[1, 0, 0]], mask=2).rows,
        lambda index: index.frustum(camera, mask=2),
    ):
        found = ask(tree)
        assert len(found) > 0
        assert (kinds[found] == 2).all()
        assert found.tolist() == ask(other).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_random_history_stays_right(dimension, dtype):
    rng = np.random.default_rng(dimension)
    for history in range(6):
        tree = bp.Octree(
            np.empty((0, 2, dimension), dtype),
            minimum=["auto", 1.0][history % 2],
            leaf_capacity=int(rng.choice([1, 3, 32])),
            looseness=float(rng.choice([1, 1.5, 2])),
        )
        for _ in range(30):
            reach = int(rng.choice([3, 20, 3000]))
            if rng.random() < 0.4 or not len(tree):
                tree.insert(lattice(rng, int(rng.integers(0, 40)), dimension, dtype, reach))
            else:
                rows = rng.choice(tree.rows, rng.integers(1, len(tree) + 1), replace=False)
                if rng.random() < 0.4:
                    tree.remove(rows)
                else:
                    tree.move(rows, lattice(rng, len(rows), dimension, dtype, reach))
            tree.validate()
            assert_same_pairs(tree.pairs(), living_pairs(tree))


@pytest.mark.parametrize("dimension", [1, 3])
def test_equal_points_are_one_cell(dimension):
    tree = bp.Octree(np.full((20_000, 2, dimension), 0.5))
    assert tree.stats()["cells"] <= 41
    assert tree.count_pairs() == 20_000 * 19_999 // 2
    tree.move(7, np.full((1, 2, dimension), 0.75))
    assert tree.count_pairs() == 19_999 * 19_998 // 2
    tree.validate()


def test_first_question_may_come_from_many_threads_at_once():
    boxes = make_scene("uniform", 20_000)
    tree, answers = bp.Octree(boxes), []
    threads = [threading.Thread(target=lambda: answers.append(tree.count_pairs())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) == {bp.count_pairs(boxes)}
    assert len(answers) == 8
    assert tree.stats()["builds"] == 1


def test_pickle_keeps_boxes_and_options():
    tree = bp.Octree(PICTURE, bounds=[0, 0, 64, 64], outside="raise", **CLASSIC)
    copied = pickle.loads(pickle.dumps(tree))
    assert copied.pairs(sort=True).tolist() == tree.pairs(sort=True).tolist()
    assert copied.stats()["cells_by_level"] == tree.stats()["cells_by_level"]
    with pytest.raises(ValueError, match="is not inside the world"):
        copied.insert([[60, 60, 65, 65]])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("minimum", 0),
        ("minimum", np.nan),
        ("leaf_capacity", 0),
        ("looseness", 0.5),
        ("looseness", np.inf),
        ("outside", "wrap"),
        ("bounds", [0, 0, np.inf, 1]),
        ("bounds", [0, 0, np.nan, 1]),
        ("bounds", [0, 0, 1]),
        ("bounds", [0, 0, 0, 1, 1, 1]),
    ],
)
def test_option_out_of_its_range_is_refused(option, value):
    with pytest.raises(ValueError, match=option):
        bp.Octree(PICTURE, **{option: value})


def test_bounds_may_name_any_two_opposite_corners():
    trees = [bp.Octree(PICTURE, bounds=corners, minimum=1) for corners in ([0, 0, 60, 64], [[60, 0], [0, 64]])]
    assert np.array_equal(trees[0].bounds, trees[1].bounds)
    with pytest.raises(ValueError, match="row 0 is not inside the world"):
        bp.Octree([[1, 1, 2, 9]], bounds=[8, 8, 0, 0], outside="raise")


@pytest.mark.parametrize("dimension", [2, 3])
def test_crowds_that_meet_each_other_have_the_pairs_of_the_oracle(dimension):
    rng = np.random.default_rng(dimension)
    # Long boxes across the middle, more than one chunk of them, among short ones in cells below.
    middles = rng.uniform(-4, 4, (2300, dimension))
    half = np.where(np.arange(2300)[:, np.newaxis] < 1300, [[*[0.0625] * (dimension - 1), 6.0]], 0.0625)
    boxes = np.stack([middles - half, middles + half], axis=1)
    boxes = boxes[rng.permutation(len(boxes))]
    tree = bp.Octree(boxes, looseness=1)
    assert max(tree.stats()["rows_by_level"]) > 1300
    expected = oracle.pairs(boxes)
    assert_same_pairs(tree.pairs(), expected)
    static = rng.random(len(boxes)) < 0.5
    assert_same_pairs(tree.pairs(static=static), oracle.pairs(boxes, static=static))
    tree.validate()


def test_many_rows_on_all_ways_down_are_packed_for_queries_and_changed_with_the_rows():
    boxes = Recipe(2, 1, far=0.1).boxes(4000, 7, "float64")  # 400 are outside the root
    tree, other = bp.Octree(boxes), bp.BVH(boxes)
    assert tree.count_pairs() == other.count_pairs()
    assert tree._arrangement.needs_packing
    everything, few = np.arange(len(boxes)), np.arange(100)
    for rows in (few, everything, few):
        boxes[rows] += 2.0**-10
        for index in (tree, other):
            index.move(rows, boxes[rows])
        found, expected = tree.query(boxes[::9]), other.query(boxes[::9])
        assert np.array_equal(found.rows, expected.rows)
        assert np.array_equal(found.offsets, expected.offsets)
        assert not tree._arrangement.needs_packing
        tree.validate()
    for index in (tree, other):
        index.remove(few)
        index.insert(boxes[few])
    tree.count_pairs()  # settles
    assert not tree._arrangement.needs_packing
    assert np.array_equal(tree.query(boxes[::9]).rows, other.query(boxes[::9]).rows)
    tree.validate()


def test_crowds_are_packed_for_queries_and_not_for_pairs():
    boxes = make_scene("uniform", 1500, dtype="float64")
    boxes[::3] = boxes[::3] * 2.0**-30 + 3
    tree = bp.Octree(boxes)
    points = boxes[::7].mean(axis=1)
    for shift, is_packed in ((0.0, False), (2.0**-28, True)):
        boxes[3:900] += shift
        tree.update(boxes)
        assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
        assert tree.count_pairs() == len(oracle.pairs(boxes))  # by the tree itself
        core = tree._arrangement
        assert core.is_crowded
        assert core.needs_packing != is_packed
        found = tree.query_points(points)
        assert not core.needs_packing
        touching = ((boxes[:, 0] <= points[:, None]) & (points[:, None] <= boxes[:, 1])).all(axis=2)
        assert [rows.tolist() for rows in found] == [np.flatnonzero(row).tolist() for row in touching]
        assert tree.count_pairs() == len(oracle.pairs(boxes))
        assert not core.needs_packing


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scene", ["woven", "frames"])
def test_crowds_that_would_be_tested_in_vain_are_packed_for_pairs(scene, dtype):
    boxes = make_scene(scene, 9000, dtype=dtype)
    tree = bp.Octree(boxes)
    static = np.random.default_rng(1).random(len(boxes)) < 0.5
    for options in ({}, {"static": static}, {"touching": False}):
        expected = bp.pairs(boxes, method="brute_force", **options)
        assert_same_pairs(tree.pairs(**options), expected)
        assert_same_pairs(bp.pairs(boxes, method="octree", **options), expected)
    assert tree.stats()["pairs"] == len(expected)
    assert not tree._arrangement.needs_packing
    some, others = boxes[::2], boxes[1::2] + boxes.dtype.type(0.001)
    expected = bp.pairs(some, others, method="brute_force", margin=0.001)
    assert_same_pairs(bp.pairs(some, others, method="octree", margin=0.001), expected)
    rows = np.arange(0, len(boxes), 40)
    boxes[rows] += boxes.dtype.type(0.25)
    tree.move(rows, boxes[rows])
    assert_same_pairs(tree.pairs(), oracle.pairs(boxes))
    tree.validate()


def test_many_equal_boxes_are_not_tested_in_vain():
    boxes = make_scene("half_identical", 3000, dtype="float64")
    tree = bp.Octree(boxes)
    assert tree.count_pairs() == len(oracle.pairs(boxes))
    assert tree._arrangement.needs_packing


@pytest.mark.parametrize("scene", ["uniform", "clusters", "giant"])
def test_octree_that_threads_build_is_the_same(scene):
    boxes = make_scene(scene, 20_000)
    one, several = (bp.Octree(boxes, workers=workers) for workers in (1, 3))
    np.testing.assert_array_equal(one.pairs(), several.pairs())
    found, expected = several.query(boxes[::7]), one.query(boxes[::7])
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    several.validate()
    several.remove(np.arange(0, 20_000, 3))
    several.query(boxes[:10])
    several.validate()
