"""Questions to every kind of index against the oracle, on living rows, with filters, in both dtypes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.queries import QUERIES
from broadphase.testing import make_scene
from cases import EACH_INDEX, capabilities_of, each_index_with
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers

N, Q = 400, 60
ALL = 2**64 - 1


def questions(dimension, seed=11):
    rng = np.random.default_rng(seed)
    scene = make_scene("clusters", N)
    low, high = scene[:, 0, :2].min(), scene[:, 1, :2].max()
    points = rng.uniform(low, high, (Q, dimension))
    return rng, points, (high - low) / 20


@EACH_INDEX
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float32", "float64"), ("float64", "float32")], ids=str)
@pytest.mark.parametrize("bits", [False, True], ids=["no layers", "layers"])
def test_every_question_equals_the_oracle(kind, dtypes, bits):
    boxes = make_scene("clusters", N, dtype=dtypes[0])
    dimension = boxes.shape[2]
    rng, points, size = questions(dimension)
    points = points.astype(dtypes[1])
    layer, mask, asked_layer, asked_mask = (rng.integers(0, 8, n) for n in (N, N, Q, Q))
    options = {"layer": layer, "mask": mask} if bits else {}
    index = kind(boxes, **options)
    gone = np.arange(3, N, 7)
    index.remove(gone)
    rows = index.rows
    asked = {"layer": asked_layer, "mask": asked_mask} if bits else {}
    plain = {"rows": rows}
    if bits:
        plain["layers"] = (layer[rows], mask[rows], asked_layer, asked_mask)
    living = index.boxes_of()
    ends = np.stack([points, points + rng.uniform(0, size, points.shape)], axis=1).astype(dtypes[1])
    motion = rng.normal(size=points.shape) * size
    reach = rng.uniform(0, 3 * size, Q)
    forms = {
        "query": [(ends,)],
        "query_ball": [(points, reach)],
        "nearest": [(points, 3), (points, 2, reach)],
        "shapecast": [(ends, motion)],
    }
    rays, able_words = [(points, motion), (points, motion, reach)], capabilities_of(kind)
    for row in QUERIES:
        for arguments in forms.get(row.name, rays if row.capability == "raycast" else [(points,)]):
            if row.capability == "convex" or row.capability not in able_words:
                continue
            for workers in (1, 3):
                actual = getattr(index, row.name)(*arguments, workers=workers, **asked)
                expected = getattr(query_oracle, row.name)(living, *arguments, **plain)
                if row.result is np.ndarray:
                    assert np.array_equal(actual, expected), row.name
                else:
                    assert_same_answers(actual, expected, row.name)


@each_index_with("query")
@pytest.mark.parametrize("count", [0, 1, 63, 64, 250, 2000])
@pytest.mark.parametrize("warm", [False, True])
def test_query_of_few_or_many_boxes_is_the_same(kind, count, warm):
    index = kind(make_scene("rects", 500), layer=np.arange(500) % 3)
    index.remove([1, 2, 499])
    asked = make_scene("rects", count, seed=3, dtype=np.float64)
    if warm:
        index.query(asked[:1])
    bits = np.arange(count) % 4
    every = -np.ones(1, np.int64)
    layers = ((np.arange(500) % 3)[index.rows], every, every, bits)
    expected = query_oracle.query(index.boxes_of(), asked, rows=index.rows, layers=layers)
    found = index.query(asked, mask=bits)
    assert_same_answers(found, expected)
    assert found.rows.dtype == np.int32
    assert found.offsets.dtype == np.int64
    assert np.array_equal(found.counts, np.diff(expected[1]))
    assert np.array_equal(found.query_rows, np.repeat(np.arange(count), found.counts))


def test_result_is_a_sequence_of_the_rows_of_each_query():
    index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3]])
    found = index.query_points([[9, 9], [1.5, 1.5], [0, 0]])
    assert len(found) == 3
    assert [found[query].tolist() for query in range(3)] == [[], [0, 1], [0]]
    assert [rows.tolist() for rows in found] == [[], [0, 1], [0]]
    assert found[-1].tolist() == [0]
    for query in (-4, 3):
        with pytest.raises(IndexError, match=f"query {query} is out of range: there are 3"):
            found[query]
    hits = index.raycast_all([[0.5, 0.5], [9, 9]], [1, 1])
    assert len(hits) == 2
    assert [len(rows) for rows, _ in hits] == [2, 0]
    assert hits.query_rows.tolist() == [0, 0]
    rows, distances = hits[0]
    assert (rows.tolist(), distances.tolist()) == ([0, 1], [0.0, np.sqrt(0.5)])


@pytest.mark.parametrize("scale", [2.0**power for power in (-1074, -1000, -500, 0, 500, 1000, 1023)])
def test_length_of_a_direction_does_not_matter(scale):
    index = bp.BVH([[2, 0, 3, 1], [5, 0, 6, 1]])
    origins = [[0, 0.5]] * 2 + [[0.0, 2.0]]
    directions = np.array([[scale, 0], [-scale, 0], [0, 0]])
    assert index.raycast(origins, directions).distances.tolist() == [2, np.inf, np.inf]
    assert index.raycast_all(origins, directions, max_distance=5).distances.tolist() == [2, 5]
    assert index.raycast_any(origins, directions, max_distance=1.999).tolist() == [False] * 3


def test_nearest_of_more_than_are_near_enough_is_filled_up():
    index = bp.BVH([[0, 0, 1, 1], [9, 0, 10, 1], [20, 0, 21, 1]])
    found = index.nearest([[3, 0.5]], k=3, max_distance=5)
    assert found.rows.tolist() == [[0, -1, -1]]
    assert found.distances.tolist() == [[2, np.inf, np.inf]]


def test_frustum_of_planes_and_matrix_agree_with_a_turned_box():
    rng = np.random.default_rng(5)
    lower = rng.uniform(-10, 10, (500, 2))
    index = bp.BVH((lower, lower + rng.uniform(0, 1, (500, 2))))
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    by_box = index.query_obb([[1, 2]], [4, 2], angle).rows
    # The same rectangle, seen as the part of the plane that a matrix maps to -1 ... 1.
    matrix = np.eye(3)
    matrix[:2, :2] = turn.T / [[4], [2]]
    matrix[:2, 2] = -matrix[:2, :2] @ [1, 2]
    normals = np.concatenate([turn.T, -turn.T])
    planes = np.column_stack([normals, [4, 2, 4, 2] - normals @ [1, 2]])
    assert len(by_box) > 10
    assert index.frustum(matrix).tolist() == by_box.tolist()
    assert index.frustum(planes=planes).tolist() == by_box.tolist()


def test_results_outlive_the_index():
    index = bp.BVH(make_scene("rects", 1000))
    found, pairs, near = index.query(index.boxes_of()), index.pairs(sort=True), index.nearest([[0, 0]], k=5)
    expected = [part.copy() for part in (found.rows, found.offsets, pairs, *near)]
    del index
    bp.BVH(make_scene("rects", 3000)).pairs()
    assert all(np.array_equal(a, b) for a, b in zip((found.rows, found.offsets, pairs, *near), expected, strict=True))


@EACH_INDEX
def test_stats_say_what_all_kinds_say(kind):
    boxes = make_scene("rects", 800)
    index = kind(boxes)
    index.query(boxes[:3]) if "query" in capabilities_of(kind) else None
    found = index.pairs()
    index.move([0], boxes[:1])
    index.pairs()
    stats = index.stats()
    assert stats["method"] == kind.method
    assert stats["rows"] == 800
    assert stats["bytes"] == index.memory_bytes > boxes.nbytes
    assert stats["seconds_of_query"] > 0
    assert stats["seconds_of_update"] > 0
    if "tests" in stats and kind is not bp.Index:
        assert stats["pairs"] == len(found)
        assert stats["brute_force_tests"] == 800 * 799 // 2
        assert stats["tests_saved"] == stats["brute_force_tests"] - stats["tests"]
    lines = str(stats).splitlines()
    assert lines[0] == kind.method
    assert len(lines) == len(stats)
    assert dict(stats) == {name: stats[name] for name in stats}
