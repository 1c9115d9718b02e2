"""The index on a device: its kernels on Warp's CPU device, against the index of the CPU and the oracles."""

import re
import weakref

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle
from cases import DTYPES, FOR_CUDA, ON_DEVICE, SCENES_ON_DEVICE, lattice, run_script
from far_cases import KINDS, check_nearest, queries_of_scene, whole
from index_cases import FLOAT64_ONLY, QUESTIONS, SCENES as INDEX_SCENES, Asker, generator, scene as index_scene
from oracles import queries as plain
from oracles.queries import assert_same_answers

wp = pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")

from broadphase.gpu import index as index_module, searches  # noqa: E402
from broadphase.gpu.index import Index  # noqa: E402
from broadphase.gpu.index_kernels import index_kernels  # noqa: E402
from broadphase.gpu.pairs_kernels import row_kernels  # noqa: E402

ASKED = ("query", "query_points", "query_ball", "nearest", "raycast", "raycast_any")
LEAST, MOST = 1e-130, 1e150  # the sizes of numbers that an index on a device takes
KINDS_OF_NUMBERS = {"float32": wp.float32, "float64": wp.float64}


def on_cpu(boxes, **options):
    return Index(boxes, device="cpu", **options)


def parts(found):
    """Give the arrays of an answer, of either index."""
    if isinstance(found, bp.index.QueryResult):
        return found.rows, found.offsets
    return tuple(found) if isinstance(found, tuple) else found


def check(index, asked, expected, label="", **options):
    """Ask the index, and compare with what another one, or an oracle, answers."""
    for name, arguments in asked.items():
        found = parts(getattr(index, name)(*arguments, **options))
        answer = expected(name, *arguments)
        assert_same_answers(found, answer, f"{label} {name}")
        if isinstance(found, tuple):
            assert [part.dtype for part in found] == [np.asarray(part).dtype for part in answer], label


def of_index(index, **options):
    return lambda name, *arguments: parts(getattr(index, name)(*arguments, **options))


def of_oracle(boxes):
    return lambda name, *arguments: getattr(plain, name)(boxes, *arguments)


def in_range(values):
    """Replace what an index on a device does not take by the next number that it takes; infinities stay."""
    if values.dtype == np.float32:  # all of them are taken
        return values
    sizes = np.where((values != 0) & (np.abs(values) < LEAST / 2), 0.0, np.clip(np.abs(values), LEAST, MOST))
    return np.where(np.isinf(values) | (values == 0), values, np.copysign(sizes, values)).astype(values.dtype)


def make_asked(rng, boxes, count=12):
    """Make queries of every kind that touch a scene, of points and vectors in the range."""
    asker = Asker(rng, boxes)
    with np.errstate(all="ignore"):
        asked = {name: QUESTIONS[name][2](asker, count) for name in ASKED}
    return {
        name: tuple(in_range(part) if np.ndim(part) == 2 else part for part in given) for name, given in asked.items()
    }


# Against the oracles and the CPU --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", ON_DEVICE)
def test_gpu_queries_of_awkward_scenes_equal_the_oracle(dimension, dtype):
    for kind in INDEX_SCENES:
        if dtype == "float32" and kind in FLOAT64_ONLY:
            continue
        for n in (1, 2, 7, 60):
            rng = generator("gpu index", kind, n, dimension, dtype)
            boxes = in_range(index_scene(kind, rng, n, dimension, dtype))
            check(on_cpu(boxes), make_asked(rng, boxes, 24), of_oracle(boxes), f"{kind} n={n} d={dimension} {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCENES_ON_DEVICE)
def test_gpu_queries_of_every_scene_equal_those_of_the_core(name, dtype):
    boxes = in_range(make_scene(name, 500, dtype=dtype))
    rng = generator("gpu index", name, dtype)
    check(on_cpu(boxes), make_asked(rng, boxes, 60), of_index(bp.BVH(boxes)), f"{name} {dtype}")


@pytest.mark.parametrize("kind", KINDS)
def test_gpu_queries_of_far_and_minute_floats_are_those_of_whole_numbers(kind):
    for dimension in ON_DEVICE:
        for n in (7, 30):
            boxes, in_whole, asked = queries_of_scene(kind, 3, n, dimension, "float32", 12)
            label = f"{kind} n={n} d={dimension}"
            limits, (points, motions) = asked["limits"], map(in_range, (asked["points"], asked["motions"]))
            index, core = on_cpu(boxes), of_index(bp.BVH(boxes))
            check(index, {"query": (asked["boxes"],), "query_points": (points,)}, core, label)
            check(index, {"query_ball": (points, asked["radii"])}, core, label)
            for k, most in ((1, limits), (3, np.full(12, np.inf))):
                check(index, {"nearest": (points, k, most)}, core, label)
                check_nearest(index.nearest(points, k, most), whole(points), k, most, in_whole, label)
                rays = points, motions, most
                check(index, {"raycast": rays, "raycast_any": rays}, core, label)


@pytest.mark.parametrize("powers", [(-431, -431), (495, 495), (-431, 495), (-431, -379, 0, 50, 440, 495)])
def test_gpu_queries_at_the_ends_of_the_range_equal_those_of_the_core_and_the_oracle(powers):
    rng = generator("gpu range", powers)
    for dimension in ON_DEVICE:
        boxes = lattice(rng, 90, dimension, "float64", 5) * 2.0 ** rng.choice(powers, (90, 1, 1))
        points, motions = (rng.integers(-6, 7, (60, dimension)) * 2.0 ** rng.choice(powers, (60, 1)) for _ in range(2))
        places = boxes[rng.integers(0, 90, 60), rng.integers(0, 2, 60)]
        points[::2], motions[::3] = places[::2], (places - points)[::3]
        motions = in_range(motions)
        reached = np.hypot(*(rng.choice([3.0, 5.0], (60, 1)) * [1.0, 4 / 3]).T) * 2.0 ** rng.choice(powers, 60)
        index, core, judge = on_cpu(boxes), of_index(bp.BVH(boxes)), of_oracle(boxes)
        for expected in (core, judge):
            check(index, {"query": (boxes[:30],), "query_points": (points,)}, expected, f"d={dimension}")
            check(index, {"query_ball": (points, reached)}, expected, f"d={dimension}")
            for most in (np.inf, reached, 0.0, 1e-200, 1e300):
                asked = {"nearest": (points, 4, most), "raycast": (points, motions, most)}
                check(index, asked | {"raycast_any": (points, motions, most)}, expected, f"d={dimension}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_rays_of_any_length_of_direction_equal_those_of_the_core(dtype):
    rng = np.random.default_rng(1)
    for dimension in ON_DEVICE:
        boxes = lattice(rng, 60, dimension, dtype, 6)
        index, core = on_cpu(boxes), of_index(bp.BVH(boxes))
        origins = rng.integers(-9, 10, (60, dimension)).astype(float)
        motions = rng.integers(-2, 3, (60, dimension)).astype(float)
        motions[rng.random(motions.shape) < 0.2] *= 1e-20  # so slow that an axis says nothing
        for power in (-350, -100, 0, 100, 450):
            for most in (np.inf, 4.0, 0.0):
                rays = origins, np.ldexp(motions, power), most
                check(index, {"raycast": rays, "raycast_any": rays}, core, f"d={dimension} 2^{power} {most}")


@pytest.mark.parametrize("turned", [1, -1])
def test_gpu_rays_reach_boxes_beyond_all_floats_of_nodes(turned):
    # Ways are measured in units of half the size of where most boxes are, 7/8 here: no float of them reaches the far
    # box, and the longest ones reach where the rays begin.
    near = np.array([[[i / 32, 0], [i / 32 + 0.1, 1]] for i in range(64)])
    boxes = np.sort(np.concatenate([near, [[[3.41e38 * 0.875, 0], [3.5e38, 1]]]]) * turned, axis=1)
    index, core = on_cpu(boxes), of_index(bp.BVH(boxes))
    origins, ways = np.array([[3.40e38 * 0.875, 0.5]] * 3) * turned, np.array([[1.0, 0]] * 3) * turned
    most = np.array([1e36, 8e35, np.inf])
    check(index, {"raycast": (origins, ways, most), "raycast_any": (origins, ways, most)}, core)
    assert index.raycast(origins, ways, most).rows.tolist() == [64, -1, 64]


@pytest.mark.parametrize("power", [60, 90, 97, 100, 110, 300])
def test_gpu_rays_that_hardly_move_along_an_axis_meet_minute_boxes(power):
    # In units of the large boxes, floats have the way to the minute ones along one axis, but not along the other.
    rng = np.random.default_rng(17)
    for dimension in ON_DEVICE:
        minute = lattice(rng, 60, dimension, "float64", 3)
        minute[:, :, 1] = minute[:, :1, 1] * 2.0**-53
        boxes = np.concatenate([minute, lattice(rng, 90, dimension, "float64", 9) * 2.0**power])
        index, core = on_cpu(boxes), of_index(bp.BVH(boxes))
        origins, ways = np.zeros((2, 200, dimension))
        origins[:, 0] = rng.choice([-1, 1], 200) * 2.0**15
        ways[:, 0] = np.sign(-origins[:, 0]) * 2.0**35
        ways[:, 1] = rng.integers(-4, 5, 200) * 2.0**-33
        check(index, {"raycast": (origins, ways), "raycast_any": (origins, ways, 2.0**15)}, core, f"d={dimension}")
        check(index, {"nearest": (origins, 3), "query_ball": (origins, 2.0**15)}, core, f"d={dimension}")


def test_gpu_boxes_and_queries_of_two_dtypes_are_compared_exactly():
    rng = np.random.default_rng(2)
    for dimension in ON_DEVICE:
        boxes = rng.random((200, 1, dimension)) + np.array([[[0.0], [0.2]]])
        for dtype in DTYPES:
            index, core = on_cpu(boxes.astype(dtype)), bp.BVH(boxes.astype(dtype))
            corners = boxes.astype("float32").astype(float)
            beside = np.nextafter(corners, rng.choice([-9.0, 9.0], corners.shape))
            for asked in (corners, beside, np.nextafter(beside[::-1], 0)):
                asked = np.sort(asked, axis=1)
                for values in (asked, asked.astype("float32")):
                    arguments = {"query": (values,), "query_points": (values[:, 0],)}
                    check(index, arguments, of_index(core), f"d={dimension} {dtype}")
            thin = np.stack([np.nextafter(corners[:, 1], 9), np.nextafter(corners[:, 1], 9)], axis=1)
            check(index, {"query": (thin,), "query_ball": (thin[:, 0], 0.0)}, of_index(core))


def test_gpu_rows_at_one_distance_come_in_order():
    boxes = lattice(np.random.default_rng(3), 150, 2, "float32", 3)
    points = np.array([[0.0, 0.0], [0.5, 0.5], [-20.0, 1.0], [3.0, -3.0]])
    asked = {"nearest": (points, 40), "raycast": (points, np.tile([1.0, 0.0], (4, 1)))}
    check(on_cpu(boxes), asked, of_oracle(boxes))
    same = np.zeros((70, 2, 3))
    assert on_cpu(same).nearest([[1.0, 0, 0]], k=5).rows.tolist() == [[0, 1, 2, 3, 4]]
    assert on_cpu(same).raycast([[-1.0, 0, 0]], [1, 0, 0]).rows.tolist() == [0]
    assert on_cpu(same[:3]).nearest([[1.0, 0, 0]], k=5).rows.tolist() == [[0, 1, 2, -1, -1]]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_gpu_queries_of_few_boxes_and_few_queries_have_the_shapes_of_the_core(n):
    boxes = np.array([[[i, i], [i + 2.0, i + 2.0]] for i in range(n)]).reshape(n, 2, 2)
    index, core = on_cpu(boxes), of_index(bp.BVH(boxes))
    assert len(index) == n
    assert index.dim == 2
    assert_same_pairs(index.pairs(), bp.pairs(boxes), "")
    for count in (0, 1, 3):
        points = np.arange(count * 2.0).reshape(count, 2)
        asked = {"query_points": (points,), "query_ball": (points, 0.5), "query": (np.stack([points, points + 1], 1),)}
        asked |= {"nearest": (points, 2), "raycast": (points, [1.0, 1.0]), "raycast_any": (points, points + 1)}
        check(index, asked, core, f"n={n} q={count}")
        found = index.nearest(points, 9)
        assert found.rows.shape == found.distances.shape == (count, 9)
    index.update(boxes + 1)
    check(index, {"query_points": (boxes[:, 0],)}, of_index(bp.BVH(boxes + 1)))


# Batches and ignored rows ---------------------------------------------------------------------------------------------


def by_query(asked, query):
    """Take one query of each kind."""
    count = len(asked["query"][0])
    return {
        name: tuple(part[query : query + 1] if len(np.shape(part)) and len(part) == count else part for part in given)
        for name, given in asked.items()
    }


def check_each(index, asked, own_rows, boxes, label, **options):
    """Compare each query with what an oracle says of the rows that it looks at."""
    boxes = boxes.reshape(-1, *boxes.shape[-2:])
    every = {name: parts(getattr(index, name)(*given, **options)) for name, given in asked.items()}
    for query, rows in enumerate(own_rows):
        for name, given in by_query(asked, query).items():
            expected = getattr(plain, name)(boxes[rows], *given, rows=rows) if name != "nearest" else None
            found = every[name]
            if name.startswith("query"):
                assert np.array_equal(found[0][found[1][query] : found[1][query + 1]], expected[0]), f"{label} {name}"
            elif name == "nearest":
                near, away = plain.nearest(boxes[rows], *given, rows=rows)
                some = near[0] >= 0
                assert np.array_equal(found[0][query][: some.sum()], near[0][some]), f"{label} {name}"
                assert np.array_equal(found[1][query][: some.sum()], away[0][some]), f"{label} {name}"
                assert (found[0][query][some.sum() :] == -1).all(), f"{label} {name}"
            elif name == "raycast":
                assert (found[0][query], found[1][query]) == (expected[0][0], expected[1][0]), f"{label} {name}"
            else:
                assert found[query] == expected[0], f"{label} {name}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", ON_DEVICE)
def test_gpu_queries_with_keys_find_rows_of_the_key(dimension, dtype):
    rng = generator("gpu keys", dimension, dtype)
    huge = np.array([-(2**63), -7, 0, 1, 2**40, 2**63 - 1])
    for keys in (rng.choice(huge, 60, p=[0.4, 0.3, 0.02, 0.2, 0.04, 0.04]), np.arange(60)[::-1].copy()):
        boxes = lattice(rng, 60, dimension, dtype, 5)
        index, asked = on_cpu(boxes, batch=keys), make_asked(rng, boxes, 10)
        wanted = rng.choice(np.append(keys, [5, 2**62]), 10)
        check_each(index, asked, [np.flatnonzero(keys == key) for key in wanted], boxes, "keys", batch=wanted)
        one = int(keys[0])
        check_each(index, asked, [np.flatnonzero(keys == one)] * 10, boxes, "one key", batch=one)
        check(index, asked, of_oracle(boxes), "no key")
        core = bp.BVH(boxes, batch=keys)
        assert_same_pairs(index.pairs(), core.pairs(), "pairs")
        moved = np.roll(boxes, 7, axis=0)
        index.update(moved)
        core.update(moved)
        check(index, asked, of_index(core, batch=wanted), "moved", batch=wanted)
        assert_same_pairs(index.pairs(), core.pairs(), "pairs")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 13])
def test_gpu_scenes_of_one_size_answer_queries_of_their_own(size, dtype):
    rng = np.random.default_rng(size)
    for dimension in ON_DEVICE:
        boxes = lattice(rng, 7 * size, dimension, dtype, 4).reshape(7, size, 2, dimension)
        index = on_cpu(boxes)
        assert_same_pairs(index.pairs(), bp.pairs(boxes), "")
        asked = make_asked(rng, boxes.reshape(-1, 2, dimension), 21)
        scenes = np.repeat(np.arange(7), 3)
        own = [np.arange(scene * size, (scene + 1) * size) for scene in scenes]
        check_each(index, asked, own, boxes, "keys", batch=scenes)
        check(index, asked, of_oracle(boxes.reshape(-1, 2, dimension)), "all")
        for name, given in asked.items():
            whole_shape = [
                part.reshape(7, 3, *part.shape[1:]) if np.ndim(part) and len(part) == 21 else part for part in given
            ]
            found = getattr(index, name)(*whole_shape)
            flat = parts(getattr(index, name)(*given, batch=scenes))
            if name.startswith("query"):
                assert_same_answers(parts(found), flat, name)
            elif name == "raycast_any":
                assert np.array_equal(found, flat.reshape(7, 3))
            else:
                assert all(np.array_equal(a.reshape(b.shape), b) for a, b in zip(found, flat, strict=True)), name
                assert found.rows.shape[:2] == (7, 3)
        for absent in (-1, 7, 2**62, -(2**63)):
            assert index.raycast([boxes[0, 0, 0]], np.zeros(dimension), batch=absent).rows.tolist() == [-1]


def test_gpu_boxes_of_one_key_are_found_with_that_key():
    boxes, points = [[0, 0, 1, 1], [0, 0, 2, 2]], [[0.5, 0.5]]
    for batch, key in ((None, 0), (5, 5), (-(2**63), -(2**63))):
        index = on_cpu(boxes, batch=batch)
        core = bp.BVH(boxes, batch=batch)
        for asked in (key, key + 1, 2**63 - 1):
            assert (
                index.query_points(points, batch=asked).rows.tolist()
                == core.query_points(points, batch=asked)[0].tolist()
            )
        assert index.query_points(points).rows.tolist() == [0, 1]


def test_gpu_ignored_rows_are_not_found():
    rng = np.random.default_rng(4)
    for dimension in (2, 3):
        boxes = lattice(rng, 40, dimension, "float32", 4)
        index, asked = on_cpu(boxes), make_asked(rng, boxes, 12)
        ignored = np.append(rng.integers(0, 40, 10), [-1, 40])
        others = [np.flatnonzero(np.arange(40) != row) for row in ignored]
        for dtype in (np.int32, np.int64, np.int8):
            check_each(index, asked, others, boxes, "ignored", ignore=ignored.astype(dtype))
        check_each(index, asked, [np.flatnonzero(np.arange(40) != 3)] * 12, boxes, "one", ignore=3)
        check(index, asked, of_oracle(boxes), "none", ignore=-1)
        keys = np.arange(40) % 3
        index = on_cpu(boxes, batch=keys)
        others = [np.setdiff1d(np.flatnonzero(keys == 1), [row]) for row in ignored]
        check_each(index, asked, others, boxes, "in a batch", batch=1, ignore=ignored)


def test_a_lidar_does_not_see_its_own_body():
    bodies = np.array([[[[0.0, 0], [1, 1]], [[3, 0], [4, 1]]], [[[0, 0], [1, 1]], [[7, 0], [8, 1]]]])
    origins = np.tile([[0.5, 0.5]], (2, 3, 1))
    seen = on_cpu(bodies).raycast(origins, [1.0, 0], ignore=np.repeat([[0], [2]], 3, axis=1))
    assert seen.rows.tolist() == [[1] * 3, [3] * 3]
    assert seen.distances.tolist() == [[2.5] * 3, [6.5] * 3]


# Memory of a fixed size, and walks that are divided -------------------------------------------------------------------


def test_gpu_rows_in_memory_of_a_fixed_size_are_all_rows_where_there_is_room():
    rng = np.random.default_rng(5)
    boxes = lattice(rng, 80, 2, "float32")
    index, asked = on_cpu(boxes), make_asked(rng, boxes, 9)
    for name in ASKED[:3]:
        rows, offsets = getattr(index, name)(*asked[name])
        for capacity in (len(rows), len(rows) + 5):
            found = getattr(index, name)(*asked[name], capacity=capacity)
            assert found.rows.tolist() == rows.tolist() + [-1] * (capacity - len(rows))
            assert np.array_equal(found.offsets, offsets)
            assert int(found.count) == len(rows)
        for capacity in (0, 1, len(rows) - 1):
            found = getattr(index, name)(*asked[name], capacity=capacity)
            assert int(found.count) == len(rows) > capacity
            assert found.rows.shape == (capacity,)
            assert found.offsets[-1] == capacity
            for query, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
                kept = found.rows[begin:end].tolist()
                assert kept == sorted(set(kept) & set(rows[offsets[query] : offsets[query + 1]].tolist()))
    found = index.query_points(np.zeros((0, 2)), capacity=2)
    assert (found.rows.tolist(), found.offsets.tolist(), int(found.count)) == ([-1, -1], [0], 0)


def test_gpu_pairs_of_an_index_have_the_options_of_pairs(monkeypatch):
    rng = np.random.default_rng(6)
    boxes = lattice(rng, 90, 3, "float32")
    options = {
        "touching": False,
        "layer": rng.integers(0, 8, 90),
        "mask": rng.integers(0, 8, 90),
        "group": rng.integers(-2, 3, 90),
        "static": rng.random(90) < 0.5,
        "ignore_shared": rng.integers(0, 20, (90, 2)),
    }
    for small in (256, 0):
        monkeypatch.setattr(searches, "SMALL_SCENE", small)
        monkeypatch.setattr(searches, "FEW_TESTS", 0)
        index = on_cpu(boxes)
        for names in ([], *([name] for name in options), list(options)):
            chosen = {name: options[name] for name in names}
            expected = oracle.pairs(boxes, **chosen)
            assert_same_pairs(index.pairs(**chosen), expected, str(names))
            assert np.array_equal(index.pairs(sort=True, **chosen), expected)
            assert index.count_pairs(**chosen) == len(expected)
        full = index.pairs(sort=True)
        found = index.pairs(sort=True, capacity=len(full) + 3)
        assert np.array_equal(found.pairs[:-3], full)
        assert (found.pairs[-3:] == -1).all()
        assert int(index.pairs(capacity=5).count) == len(full)
        with pytest.raises(bp.errors.TooManyPairsError):
            index.pairs(max_pairs=len(full) - 1)
        assert len(index.pairs(max_pairs=len(full))) == len(full)


@pytest.mark.parametrize(("budget", "pieces", "room", "threads"), [(1, 3, 4, 5), (2, 2, 0, 1), (7, 32, 1 << 16, 64)])
def test_walks_that_are_left_to_others_find_the_same_rows(budget, pieces, room, threads, monkeypatch):
    for name, value in (("BUDGET", budget), ("PIECES", pieces), ("_MOST_LEFT", room), ("_THREADS", threads)):
        monkeypatch.setattr(index_module, name, value)
    rng = np.random.default_rng(budget)
    for dtype in DTYPES:
        boxes = make_scene("uniform", 400, dtype=dtype)
        everything = np.array([[[-np.inf] * 3, [np.inf] * 3]] * 2)[:, :, : boxes.shape[2]]
        core = bp.BVH(boxes)
        check(on_cpu(boxes), {"query": (np.concatenate([everything, boxes[:30]]),)}, of_index(core))
        keys = rng.integers(0, 5, 400)
        index, core = on_cpu(boxes, batch=keys), bp.BVH(boxes, batch=keys)
        check(index, make_asked(rng, boxes, 20), of_index(core, batch=3), batch=3)


def test_walks_deeper_than_what_they_keep_find_the_same_rows():
    script = """
import numpy as np
import broadphase as bp
import broadphase.gpu.index_kernels as kernels
kernels.STACK = 2
from broadphase.gpu.index import Index
rng = np.random.default_rng(0)
boxes = (rng.random((300, 1, 2)) + np.array([[[0, 0], [0.05, 0.05]]])).astype(np.float32)
points, ways = rng.random((200, 2)) * 1.4 - 0.2, rng.normal(size=(200, 2))
index, core = Index(boxes, device="cpu"), bp.BVH(boxes)
for k in (1, 5):
    for found, expected in zip(index.nearest(points, k), core.nearest(points, k)):
        assert np.array_equal(found, expected)
for found, expected in zip(index.raycast(points, ways), core.raycast(points, ways)):
    assert np.array_equal(found, expected)
assert np.array_equal(index.raycast_any(points, ways, 0.1), core.raycast_any(points, ways, 0.1))
"""
    run_script(script, timeout=300)


def test_calls_keep_no_arrays_of_the_caller():
    points = np.random.default_rng(3).random((300, 2))
    boxes = wp.array(np.stack([points, points + 0.1], axis=1), dtype=wp.float64, device="cpu")
    given, keys = (wp.array(one, device="cpu") for one in (points, np.arange(300) % 7))
    index = Index(boxes, batch=keys)
    bp.gpu.pairs(boxes, mask=keys)
    bp.gpu.neighbors(given, 0.1, batch=keys)
    index.query_points(given, batch=keys)
    index.nearest(given)
    index.raycast(given, given, ignore=keys)
    index.update(boxes)
    arrays = [weakref.ref(one) for one in (boxes, given, keys)]
    del boxes, given, keys
    assert [one() for one in arrays] == [None] * 3


# Changes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", ON_DEVICE)
def test_an_index_equals_a_new_one_after_each_update(dimension, dtype):
    rng = generator("gpu updates", dimension, dtype)
    for n in (1, 2, 50):
        boxes = lattice(rng, n, dimension, dtype, 5)
        index = on_cpu(boxes)
        for step in range(8):
            kind = step % 4
            if kind == 0:
                boxes = boxes + rng.integers(-1, 2, (n, 1, dimension)).astype(dtype)
            elif kind == 1:
                boxes = lattice(rng, n, dimension, dtype, 5)
            elif kind == 2:
                boxes = boxes * np.ldexp(1.0, rng.integers(-30, 30)).astype(dtype)
            else:
                boxes = (boxes + np.ldexp(1.0, rng.integers(-3, 40))).astype(dtype)
            index.update(boxes, rebuild=[None, True, False, None][rng.integers(4)])
            label = f"n={n} d={dimension} {dtype} step {step}"
            core = bp.BVH(boxes)
            check(index, make_asked(rng, boxes, 6), of_index(core), label)
            assert_same_pairs(index.pairs(), core.pairs(), label)
            assert index.count_pairs() == len(core.pairs())


def test_a_tree_is_built_again_where_boxes_have_moved_far():
    rng = np.random.default_rng(7)
    boxes = rng.random((2000, 1, 3)) + np.array([[[0.0] * 3, [0.02] * 3]])
    index = on_cpu(boxes)
    for _ in range(5):
        index.update(boxes + rng.normal(size=(2000, 1, 3)) * 0.002)
    assert index.build_count == 1
    assert 0 < index.growth < index_module.WORN
    index.update(boxes[rng.permutation(2000)], rebuild=False)
    assert index.build_count == 1
    assert index.growth > 2
    index.update(boxes)
    assert (index.build_count, index.growth) == (2, 0.0)
    index.update(boxes, rebuild=True)
    assert index.build_count == 3
    index.update(boxes)
    index.update(boxes[rng.permutation(2000)])
    assert index.build_count == 4


def test_boxes_that_leap_each_time_are_seldom_refitted(monkeypatch):
    rng = np.random.default_rng(8)
    boxes = rng.random((500, 1, 2)) + np.array([[[0.0] * 2, [0.02] * 2]])
    refits = []
    monkeypatch.setattr(index_module, "refit", lambda *given: refits.append(given) or REFIT(*given))
    index = on_cpu(boxes)
    for _ in range(60):
        index.update(boxes[rng.permutation(500)])
    assert index.build_count == 61
    assert len(refits) < 10
    for _ in range(20):  # they come to rest
        index.update(boxes)
    assert len(refits) > 5
    assert index.build_count < 77


REFIT = index_module.refit


@pytest.mark.parametrize("move", ["away", "together", "one far"])
def test_doubles_that_floats_would_not_tell_apart_keep_their_tree(move):
    rng = np.random.default_rng(9)
    boxes = rng.random((1000, 1, 2)) + np.array([[[0.0] * 2, [0.01] * 2]])
    index = on_cpu(boxes)
    moved = {"away": boxes + 1e9, "together": boxes * 1e-9 + 1, "one far": boxes.copy()}[move]
    if move == "one far":
        moved[3] += 1e9
    for _ in range(4):
        index.update(moved)
        assert index.build_count == 1
    check(index, make_asked(rng, moved, 20), of_index(bp.BVH(moved)))


# Arrays on a device, and what is wrong --------------------------------------------------------------------------------


def wp_array(values, dtype=None):
    plain = np.ascontiguousarray(values)
    return wp.array(plain, dtype=dtype or wp.dtype_from_numpy(plain.dtype), device="cpu")


def test_arrays_of_warp_give_arrays_of_warp():
    rng = np.random.default_rng(10)
    for dtype in DTYPES:
        boxes = lattice(rng, 70, 3, dtype)
        points = (rng.random((20, 3)) * 8 - 4).astype(dtype)
        ways = rng.normal(size=(20, 3)).astype(dtype)
        index, core = Index(wp_array(boxes)), bp.BVH(boxes)
        for given in (wp_array(points), wp_array(np.stack([points, points], 1))[:, 0]):
            near = index.nearest(given, 3, wp_array(np.full(20, 2.0, dtype)), ignore=wp_array(np.arange(20)))
            assert all(isinstance(part, wp.array) for part in near)
            assert near.rows.shape == near.distances.shape == (20, 3)
            found = index.raycast(given, wp_array(ways))
            assert_same_answers(tuple(part.numpy() for part in found), tuple(core.raycast(points, ways)))
            assert np.array_equal(index.raycast_any(given, wp_array(ways)).numpy(), core.raycast_any(points, ways))
            rows, offsets = index.query_points(given)
            assert_same_answers((rows.numpy(), offsets.numpy()), parts(core.query_points(points)))
            padded = index.query_ball(given, wp_array(np.full(20, 0.5, dtype)), capacity=1000)
            assert padded.count.numpy().tolist() == [len(core.query_ball(points, 0.5).rows)]
        vector = wp.vec3 if dtype == "float32" else wp.vec3d
        found = index.raycast(wp_array(points, vector), wp_array([ways[0]], vector))
        assert_same_answers(tuple(part.numpy() for part in found), tuple(core.raycast(points, ways[0])))
        assert_same_pairs(index.pairs().numpy(), core.pairs(), dtype)
        # Arrays of NumPy's index: the library of the queries.
        assert isinstance(on_cpu(boxes).nearest(wp_array(points)).rows, wp.array)


def test_tensors_of_torch_give_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(11)
    boxes = lattice(rng, 70, 3, "float32")
    points, ways = rng.random((2, 20, 3)) * 8 - 4
    index, core = Index(torch.from_numpy(boxes)), bp.BVH(boxes)
    found = index.raycast(torch.from_numpy(points), torch.from_numpy(ways), ignore=torch.arange(20) - 1)
    assert all(isinstance(part, torch.Tensor) for part in found)
    hits = index.raycast_any(torch.from_numpy(points), torch.from_numpy(ways))
    assert hits.dtype == torch.bool
    assert np.array_equal(hits.numpy(), core.raycast_any(points, ways))
    padded = index.query_points(torch.from_numpy(points), capacity=50)
    assert padded.count.shape == ()
    assert padded.offsets.dtype == torch.int64
    index.update(torch.from_numpy(boxes) + 1)
    assert_same_pairs(index.pairs().numpy(), core.pairs(), "")
    scenes = torch.from_numpy(points.reshape(4, 5, 3)).transpose(0, 1)  # of strides that do not follow each other
    with pytest.raises(ValueError, match="queries for 5 batches, and the index has none"):
        index.nearest(scenes)
    index = Index(torch.from_numpy(boxes[:50].reshape(5, 10, 2, 3)))
    near = index.nearest(scenes, 2)
    assert near.rows.shape == (5, 4, 2)
    flat = points.reshape(4, 5, 3).transpose(1, 0, 2).reshape(20, 3)
    expected = bp.BVH(boxes[:50], batch=np.repeat(np.arange(5), 10)).nearest(flat, 2, batch=np.repeat(np.arange(5), 4))
    assert np.array_equal(near.rows.numpy().reshape(20, 2), expected.rows)


def test_invalid_boxes_in_host_memory_change_nothing():
    boxes = lattice(np.random.default_rng(12), 30, 2, "float64")
    bad = boxes.copy()
    bad[7, 0, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=r"boxes: row 7: lower\[1\] is NaN"):
        on_cpu(bad)
    index = on_cpu(boxes)
    with pytest.raises(bp.errors.InvalidBoxError, match=r"boxes: row 7: lower\[1\] is NaN"):
        index.update(bad)
    index.validate()
    assert_same_pairs(index.pairs(), bp.pairs(boxes), "")
    for name in ("query", "query_points", "query_ball", "nearest", "raycast", "raycast_any"):
        given = {"query": (bad,), "query_ball": (bad[:, 0], 1.0)}.get(name, (bad[:, 0],))
        given += (bad[:, 1],) if name.startswith("ray") else ()
        with pytest.raises(bp.errors.InvalidBoxError, match="row 7"):
            getattr(index, name)(*given)
    for bad_length, match in ((-1.0, "row 0 has -1.0"), (np.nan, "row 0 has nan"), ([1, -2] * 15, "row 1 has -2.0")):
        with pytest.raises(bp.errors.InvalidBoxError, match=match):
            index.nearest(boxes[:, 0], 1, bad_length)
        with pytest.raises(bp.errors.InvalidBoxError, match=match):
            index.query_ball(boxes[:, 0], bad_length)
        with pytest.raises(bp.errors.InvalidBoxError, match=match):
            index.raycast_any(boxes[:, 0], [1, 0], bad_length)


@pytest.mark.parametrize("number", [LEAST / 2, -5e-324, 2 * MOST, -1e308])
def test_numbers_out_of_the_range_are_refused_with_their_row(number):
    boxes = lattice(np.random.default_rng(18), 30, 2, "float64")
    points = boxes[:, 0].copy()
    bad_boxes, bad_points = boxes.copy(), points.copy()
    bad_points[7, 1] = number
    bad_boxes[7, :, 1] = number
    index = on_cpu(boxes)
    for name, call in (
        ("boxes", lambda: on_cpu(bad_boxes)),
        ("boxes", lambda: index.update(bad_boxes)),
        ("centers", lambda: index.query_ball(bad_points, 1.0)),
        ("points", lambda: index.nearest(bad_points)),
        ("origins", lambda: index.raycast(bad_points, points)),
        ("directions", lambda: index.raycast_any(points, bad_points)),
    ):
        with pytest.raises(
            bp.errors.InvalidBoxError, match=re.escape(f"{name}: row 7 has {number}, axis 1; an")
        ) as error:
            call()
        assert error.value.row == 7
    # Comparisons alone need no range; and what is refused in host memory changes nothing.
    core = bp.BVH(boxes)
    check(index, {"query": (bad_boxes,), "query_points": (bad_points,)}, of_index(core))
    assert_same_pairs(index.pairs(), core.pairs(), "")
    assert_same_pairs(bp.gpu.pairs(bad_boxes, device="cpu"), bp.pairs(bad_boxes), "")
    # On a device.
    index = Index(wp_array(boxes))
    with pytest.raises(bp.errors.InvalidBoxError, match="centers: row 7 has"):
        index.query_ball(wp_array(bad_points), 1.0)
    assert index.query_ball(wp_array(bad_points), 1.0, capacity=9).count.numpy().tolist() == [-8]
    for found in (index.nearest(wp_array(bad_points)), index.raycast(wp_array(points), wp_array(bad_points))):
        assert np.flatnonzero(found.rows.numpy() == -2).tolist() == [7]
        assert np.flatnonzero(np.isnan(found.distances.numpy())).tolist() == [7]
    index.raycast_any(wp_array(bad_points), wp_array(points))
    with pytest.raises(bp.errors.InvalidBoxError, match="an earlier call had an invalid ray: row 7"):
        index.pairs()
    index.update(wp_array(bad_boxes))
    with pytest.raises(bp.errors.InvalidBoxError, match="boxes of the index: row 7 has") as error:
        index.pairs()
    assert error.value.row == 7
    with pytest.raises(bp.errors.InvalidBoxError, match="boxes of the index: row 7 has"):
        Index(wp_array(bad_boxes))


def test_invalid_boxes_on_a_device_are_told_by_the_next_call():
    boxes = lattice(np.random.default_rng(13), 30, 2, "float32")
    bad = boxes.copy()
    bad[9] = [[0, 3], [1, 2]]
    with pytest.raises(
        bp.errors.InvalidBoxError, match=r"boxes of the index: row 9: lower\[1\] > upper\[1\] \(3.0 > 2.0\)"
    ):
        Index(wp_array(bad))
    index, points = Index(wp_array(boxes)), wp_array(boxes[:, 0])
    index.update(wp_array(bad))
    calls = (
        index.pairs,
        index.count_pairs,
        index.validate,
        lambda: index.pairs(capacity=10),
        lambda: index.query(wp_array(boxes)),
        lambda: index.query_points(points, capacity=10),
        lambda: index.nearest(points),
        lambda: index.raycast(points, points),
        lambda: index.raycast_any(points, points),
    )
    for call in calls:
        with pytest.raises(bp.errors.InvalidBoxError, match="row 9") as error:
            call()
        assert error.value.row == 9
    index.update(wp_array(boxes))
    index.validate()
    assert_same_pairs(index.pairs().numpy(), bp.pairs(boxes), "")
    check_far = bp.BVH(boxes).nearest(boxes[:, 0], 3)
    assert np.array_equal(index.nearest(points, 3).rows.numpy(), check_far.rows)


class Events:
    """In place of a stream of a CUDA device: the state comes to the host when the test says so."""

    def __init__(self, index, monkeypatch):
        self.made, self.is_complete = 0, False
        monkeypatch.setattr(index, "_comes_later", True)
        monkeypatch.setattr(index, "_stream", self)
        monkeypatch.setattr(wp, "synchronize_event", lambda event: None)

    def record_event(self, event):
        self.made += 1
        return self


def test_a_tree_is_built_again_when_the_growth_has_come_to_the_host(monkeypatch):
    rng = np.random.default_rng(16)
    boxes = lattice(rng, 500, 2, "float32", 20)
    index = on_cpu(boxes)
    events = Events(index, monkeypatch)
    for _ in range(4):  # the host is ahead of the device all the time
        index.update(boxes[rng.permutation(500)])
    assert (index.build_count, events.made) == (1, 1)
    events.is_complete = True
    index.update(boxes)
    assert index.build_count == 2
    events.is_complete = False
    index.update(boxes[rng.permutation(500)])
    index.update(boxes, rebuild=True)
    assert index.build_count == 3
    events.is_complete = True  # what comes is of the tree before
    index.update(boxes)
    assert (index.build_count, index.growth) == (3, 0.0)
    check(index, make_asked(rng, boxes, 10), of_index(bp.BVH(boxes)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_answers_of_invalid_boxes_that_the_host_does_not_know_of_are_none(dtype, monkeypatch):
    boxes = lattice(np.random.default_rng(14), 30, 2, dtype)
    bad = boxes.copy()
    bad[4, 1] = np.nan
    index, points = Index(wp_array(boxes)), wp_array(boxes[:, 0])
    events = Events(index, monkeypatch)
    for asked in (boxes, bad):
        index.update(wp_array(asked))
    near = index.nearest(points, 2)
    assert (near.rows.numpy() == -2).all()
    assert np.isnan(near.distances.numpy()).all()
    first = index.raycast(points, points)
    assert (first.rows.numpy() == -2).all()
    assert np.isnan(first.distances.numpy()).all()
    assert index.query_points(points, capacity=9).count.numpy().tolist() == [-5]
    assert index.pairs(capacity=9).count.numpy().tolist() == [-5]
    assert not index.raycast_any(points, points).numpy().any()
    for call in (index.pairs, index.count_pairs, lambda: index.query_points(points), index.validate):
        with pytest.raises(bp.errors.InvalidBoxError, match=r"row 4.*upper\[0\] is NaN"):
            call()
    # The next boxes make it whole again, in the same tree.
    index.update(wp_array(boxes), rebuild=False)
    assert np.array_equal(index.nearest(points, 2).rows.numpy(), bp.BVH(boxes).nearest(boxes[:, 0], 2).rows)
    assert_same_pairs(index.pairs().numpy(), bp.pairs(boxes), "")
    # The state of the first boxes comes, then that of the second.
    index.validate()
    for asked in (boxes, bad):
        index.update(wp_array(asked))
    events.is_complete = True
    assert (index.nearest(points).rows.numpy() == -2).all()
    with pytest.raises(bp.errors.InvalidBoxError, match="row 4"):
        index.nearest(points)


def test_invalid_queries_on_a_device_have_answers_that_say_so():
    boxes = lattice(np.random.default_rng(15), 40, 3, "float32")
    points = np.zeros((6, 3), np.float32)
    points[2, 1], points[4, 0] = np.nan, np.inf
    index, core = Index(wp_array(boxes)), bp.BVH(boxes)
    good = [0, 1, 3, 5]
    near = index.nearest(wp_array(points), 2)
    assert near.rows.numpy()[[2, 4]].tolist() == [[-2, -2]] * 2
    assert np.array_equal(near.rows.numpy()[good], core.nearest(points[good], 2).rows)
    first = index.raycast(
        wp_array(np.zeros((6, 3))), wp_array(points + 1), wp_array(np.array([1, 1, 1, -1, 1, np.nan]))
    )
    assert (first.rows.numpy() == -2).tolist() == [False, False, True, True, True, True]
    assert np.isnan(first.distances.numpy()).tolist() == [False, False, True, True, True, True]
    assert index.query_points(wp_array(points), capacity=9).count.numpy().tolist() == [-3]
    with pytest.raises(bp.errors.InvalidBoxError, match="points: row 2 has NaN, axis 1"):
        index.query_points(wp_array(points))
    with pytest.raises(bp.errors.InvalidBoxError, match="centers: row 4 is infinite, axis 0"):
        index.query_ball(wp_array(np.nan_to_num(points, posinf=np.inf)), 1.0)
    with pytest.raises(bp.errors.InvalidBoxError, match="radii: row 3"):
        index.query_ball(wp_array(np.zeros((6, 3))), wp_array(np.array([0, 1, 2, -1.0, 1, 1])))
    with pytest.raises(bp.errors.InvalidBoxError, match=r"boxes: row 1: lower\[0\] > upper\[0\]"):
        index.query(wp_array([[0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 1, 1.0]]))
    # No Boolean says so: a later call does, once.
    index.raycast_any(wp_array(points), wp_array(points + 1))
    with pytest.raises(bp.errors.InvalidBoxError, match="raycast_any: an earlier call had an invalid ray: row 2"):
        index.pairs()
    index.validate()
    assert_same_pairs(index.pairs().numpy(), core.pairs(), "")


def test_what_does_not_fit_is_refused():
    boxes = np.zeros((6, 2, 3))
    index, points = on_cpu(boxes), np.zeros((4, 3))
    for call, kind, match in (
        (lambda: index.update(boxes[:5]), ValueError, "boxes: 5, and the index has 6"),
        (lambda: index.update(boxes[:, :, :2]), ValueError, "boxes have 2 dimensions; 3 are needed"),
        (lambda: index.update(boxes.astype("float32")), TypeError, "boxes are float32, and those of the index are"),
        (lambda: index.update(boxes.reshape(3, 2, 2, 3)), ValueError, "boxes: batches of 2, and the index has none"),
        (lambda: index.update(boxes, rebuild="yes"), TypeError, "rebuild"),
        (lambda: index.query(boxes[:, :, :2]), ValueError, "boxes have 2 dimensions; 3 are needed"),
        (lambda: index.query_points(points[:, :2]), ValueError, "points have 2 dimensions; 3 are needed"),
        (lambda: index.query_points(wp_array(points[:, :2])), ValueError, r"points must have shape \(q, 3\)"),
        (lambda: index.query_points(wp_array(points.astype(int))), TypeError, "points has dtype int64"),
        (lambda: index.query_points(points, capacity=-1), ValueError, "capacity"),
        (lambda: index.query_points(points, batch=[1, 2]), ValueError, r"batch has shape \(2,\)"),
        (lambda: index.query_points(points, batch=[0.5] * 4), TypeError, "batch must be integer"),
        (lambda: index.query_points(points, ignore=[1.5] * 4), TypeError, "ignore must be integer"),
        (lambda: index.query_points(points, ignore=-2), ValueError, "ignore"),
        (lambda: index.query_points(points, batch=2**63), ValueError, "batch"),
        (
            lambda: index.query_points(points.reshape(2, 2, 3)),
            ValueError,
            "queries for 2 batches, and the index has none",
        ),
        (lambda: index.nearest(points, 0), ValueError, "k must be from 1 to"),
        (lambda: index.raycast(points, points[:3]), ValueError, "directions: 3 vectors for 4 queries"),
        (lambda: index.raycast(points, points, [1, 2]), ValueError, "max_distance"),
        (lambda: index.raycast(wp_array(points), points), TypeError, "directions is in host memory"),
        (lambda: index.nearest(wp_array(points), 1, [1.0] * 4), TypeError, "max_distance is in host memory"),
        (lambda: Index(wp_array(boxes)).nearest(points), TypeError, "points is in host memory, and the boxes"),
        (lambda: Index(wp_array(boxes)).query(boxes), TypeError, "boxes is in host memory, and the boxes"),
        (lambda: on_cpu(boxes.reshape(3, 2, 2, 3), batch=np.zeros(6, int)), ValueError, "batch"),
        (lambda: on_cpu(boxes, batch=[1, 2]), ValueError, "batch"),
        (lambda: Index(boxes, device="cuda:99"), ValueError, "cuda:99"),
    ):
        with pytest.raises(kind, match=match):
            call()
    scenes = on_cpu(boxes.reshape(3, 2, 2, 3))
    with pytest.raises(ValueError, match="queries for 2 batches, and the index has 3"):
        scenes.nearest(points.reshape(2, 2, 3))
    with pytest.raises(ValueError, match="are E batches of q already"):
        scenes.nearest(np.zeros((3, 2, 3)), batch=1)
    assert repr(scenes) == "<gpu.Index of 6 boxes in 3 dimensions, float64, on cpu>"


# Compilation for cards ------------------------------------------------------------------------------------------------


def test_all_kernels_of_an_index_compile_for_cuda(tmp_path):
    modules = [index_kernels(dimension, KINDS_OF_NUMBERS[dtype]).module for dimension, dtype in FOR_CUDA]
    for module in (*modules, row_kernels().module):
        wp.compile_aot_module(module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    assert len(list(tmp_path.glob("*.ptx"))) == len(modules) + 1
