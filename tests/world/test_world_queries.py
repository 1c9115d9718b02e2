"""Questions to a world against trying every row with the narrow phase: all shapes, layers and turns."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.narrow.row_pairs import overlap_mask, separations
from oracles.exact import rotation_of
from world_query_cases import (
    CASES,
    EXTENT,
    ball,
    check_casts,
    check_everything,
    check_nearest,
    check_rays,
    check_regions,
    every_pair,
    make_world,
)


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_regions_meet_the_shapes_not_their_boxes(d, seed):
    world, draws = make_world(d, seed)
    assert min(check_regions(world, draws, 60)[1:]) > 0  # points are seldom in anything
    boxes = np.stack([draws.places(40), draws.places(40)], axis=1)
    boxes.sort(axis=1)
    assert len(world.query(boxes).rows) < len(bp.BVH(world.boxes).query(boxes).rows)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_question_on_a_lattice_where_much_touches_and_ties(d, seed):
    assert min(check_everything(*make_world(d, seed, lattice=True), 40)) > 0


def test_one_shape_may_be_asked_about_in_one_place():
    world, draws = make_world(2, 0)
    stick = bp.Capsule([0, 0], [2, 2], 0.2)
    points, turns = draws.places(9), draws.turns(9)
    every = world.query_shape(stick, points, turns)
    assert world.query_shape(stick, points[4], turns[4]).tolist() == every[4].tolist()
    sizes = world.query_shape(bp.Circle([0.5, 1, 2]), points[0]).counts
    assert len(sizes) == 3
    assert (np.diff(sizes) >= 0).all()


def test_query_boxes_compares_the_very_numbers():
    world = bp.World(dim=2)
    world.add_many(bp.Point(), [[0.3, 0.1], [np.nextafter(0.3, 1), 0.1], [0.1, np.nextafter(0.7, 0)]])
    assert world.query([[0.1, 0.1, 0.3, 0.7]]).rows.tolist() == [0, 2]


def test_query_boxes_may_be_endless():
    world, _ = make_world(2, 0)
    everything = [[-np.inf, -np.inf, np.inf, np.inf]]
    assert world.query(everything).rows.tolist() == world.rows.tolist()
    half = world.query([[-np.inf, -np.inf, 4, np.inf]]).rows
    assert half.tolist() == world.query([[-1e6, -1e6, 4, 1e6]]).rows.tolist()
    assert 0 < len(half) < len(world)


@pytest.mark.parametrize(("d", "seed"), CASES)
@pytest.mark.parametrize("k", [1, 3, 200])
def test_nearest_is_by_the_distance_to_the_shape(d, seed, k):
    world, draws = make_world(d, seed)
    points = draws.places(30, 3)
    limit = np.where(draws.rng.random(30) < 0.3, draws.numbers(0, 2, 30), np.inf)
    check_nearest(world, points, k, limit, {}, world.rows)


def bits_of(world, mask):
    """Give the bits of a mask: a layer, several, or the bits themselves."""
    if isinstance(mask, set):
        return sum(world.layer(name) for name in mask)
    return world.layer(mask) if isinstance(mask, str) else mask


@pytest.mark.parametrize("k", [1, 4, 60])
@pytest.mark.parametrize("bits", [{"mask": "mud"}, {"mask": {"mud", "wall"}}, {"layer": "ball"}, {"mask": 1 << 40}])
def test_nearest_with_layers(k, bits):
    world, draws = make_world(2, 5)
    rows = world.rows
    if "mask" in bits:
        rows = rows[(world.layers[rows] & np.uint64(bits_of(world, bits["mask"]))) != 0]
    check_nearest(world, draws.places(30, 3), k, np.full(30, np.inf), bits, rows)


def test_nearest_prefers_the_least_row_among_equals():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[3, 0], [-3, 0], [0, 3], [0, -3], [0, 0.5]])
    found = world.nearest([[0, 0]], k=5)
    assert found.rows.tolist() == [[4, 0, 1, 2, 3]]
    assert found.distances.tolist() == [[0, 2, 2, 2, 2]]


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_periodic_world_is_asked_across_its_borders(d, seed):
    bounds = np.stack([np.full(d, 1.0), np.full(d, EXTENT[d] - 1.0)])
    world, draws = make_world(d, seed, boundary="wrap", bounds=bounds)
    world.positions[:] = 1 + (world.positions - 1) % (EXTENT[d] - 2)
    world.refresh()
    period = EXTENT[d] - 2
    points, radii = draws.places(40, period), draws.numbers(0, 2, 40)
    radii[0] = 5 * period / 2  # meets everything, many times
    balls = bp.Shapes(ball(d, radii), points)
    dots = bp.Shapes(ball(d, 0.0), points)
    questions, rows = every_pair(world, 40)
    hit, gap = np.zeros(len(rows), bool), np.full(len(rows), np.inf)
    for step in np.ndindex(*[9] * d):
        offsets = np.broadcast_to((np.array(step) - 4.0) * period, (len(rows), d)).copy()
        hit |= overlap_mask(world.shapes, balls, rows, questions, offsets)
        gap = np.minimum(gap, separations(world.shapes, dots, rows, questions, offsets)[0])
    found = world.query_ball(points, radii)
    assert found.query_rows.tolist() == questions[hit].tolist()
    assert found.rows.tolist() == rows[hit].tolist()
    assert len(found.rows) > world.query_ball(points[1:], radii[1:]).counts.sum()
    nearest = world.nearest(points, 5)
    gap = np.sort(np.maximum(gap, 0).reshape(40, -1), axis=1)[:, :5]
    np.testing.assert_allclose(nearest.distances, gap, rtol=1e-9, atol=1e-12)
    assert all(len(set(some)) == 5 for some in nearest.rows.tolist())
    assert world.query(np.tile([[-np.inf], [np.inf]], (1, 1, d))).rows.tolist() == world.rows.tolist()


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_rays_hit_the_shapes(d, seed):
    world, draws = make_world(d, seed)
    origins = draws.places(50, 2)
    directions = (draws.places(50) - origins) * draws.numbers(0.1, 9, 50, 1)
    directions[0] = 0
    limit = np.where(draws.rng.random(50) < 0.3, draws.numbers(0, 5, 50), np.inf)
    assert check_rays(world, origins, directions, limit) > 20


def test_rays_of_any_length_measure_in_the_unit_of_the_world():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(5, 0))
    for length in (1e-300, 1e-9, 1.0, 1e9, 1e300):
        assert world.raycast([[0, 0]], [length, 0]).distances.tolist() == pytest.approx([4])
        assert not world.raycast_any([[0, 0]], [length, 0], max_distance=3.9)


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_shapecast_finds_the_first_on_the_way(d, seed):
    world, draws = make_world(d, seed)
    begin = draws.places(30, 4)
    motion = draws.places(30) - begin
    motion[:2] = 0
    assert check_casts(world, ball(d, draws.numbers(0, 0.5, 30)), begin, motion) > 5


def turned_questions(world, d, draws):
    """Questions by rotations, about shapes that look otherwise in each of them."""
    points, ways, sizes = draws.places(20, 2), draws.rng.uniform(-3, 3, (20, d)), draws.rng.uniform(0, 2, (20, d))
    shape = bp.Capsule([0] * d, [3, *[0.5] * (d - 1)], 0.2)
    return {
        "query_obb": lambda turns: world.query_obb(points, sizes, turns).query_rows.tolist(),
        "query_shape": lambda turns: world.query_shape(shape, points, turns).rows.tolist(),
        "shapecast": lambda turns: world.shapecast(shape, points, ways, turns).rows.tolist(),
        "index": lambda turns: bp.BVH(world.boxes).query_obb(points, sizes, turns).rows.tolist(),
    }


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["query_obb", "query_shape", "shapecast", "index"])
def test_rotations_as_matrices_find_what_angles_and_quaternions_find(d, name):
    world, draws = make_world(d, 3)
    question = turned_questions(world, d, draws)[name]
    turns = draws.rng.uniform(-4, 4, 20) if d == 2 else draws.rng.normal(size=(20, 4))
    if d == 2:
        matrices = np.array([[[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]] for turn in turns])
    else:
        exact = [rotation_of(turn) for turn in turns]
        matrices = np.array([np.array(matrix) / factor for matrix, factor in exact], float)
    found = question(turns)
    assert len(set(found)) > 3
    assert question(matrices) == found == question(matrices.astype(np.float32).astype(float))
    assert question(matrices[4]) == question(turns[4]) != found
    refused = [matrices[:7], np.eye(4), matrices * 1.1, np.where(matrices > 0.5, np.nan, matrices)]
    if name in ("query_shape", "shapecast"):
        refused.append(matrices * ([-1.0] + [1.0] * (d - 1)))
    else:
        assert question(matrices * ([-1.0] + [1.0] * (d - 1))) == found  # a box is its own mirror image
    for wrong in refused:
        with pytest.raises(ValueError, match="rotations"):
            question(wrong)


@pytest.mark.parametrize("question", ["query", "query_ball", "raycast_all", "shapecast"])
def test_layers_filter_every_question(question):
    world, draws = make_world(2, 3)
    points = draws.places(40)
    ask = {
        "query": lambda **bits: world.query(np.stack([points, points + 2], axis=1), **bits),
        "query_ball": lambda **bits: world.query_ball(points, 1.5, **bits),
        "raycast_all": lambda **bits: world.raycast_all(points, [1, 0.3], **bits),
        "shapecast": lambda **bits: world.shapecast(bp.Circle(0.5), points, [4, 1], **bits),
    }[question]
    if question == "shapecast":
        parts = [ask(mask=name) for name in ("ball", "wall", "mud")]
        best = np.min([part.times for part in parts], axis=0)
        np.testing.assert_array_equal(ask().times, best)
        return
    everything = ask()
    parts = [ask(mask=name) for name in ("ball", "wall", "mud")]
    assert sorted(everything.rows.tolist()) == sorted(np.concatenate([part.rows for part in parts]).tolist())
    assert all(len(part.rows) for part in parts)
    each = ask(mask=np.where(np.arange(40) % 2 == 0, world.layer("ball"), world.layer("wall")))
    for j in range(40):
        one = parts[j % 2]
        begin, end = one.offsets[j : j + 2]
        assert each.rows[each.offsets[j] : each.offsets[j + 1]].tolist() == one.rows[begin:end].tolist()


def test_questions_heed_the_masks_of_rows():
    world = bp.World(dim=2)
    world.layer("ball"), world.layer("wall")
    world.add(bp.Circle(1), position=(0, 0), mask="ball")
    world.add(bp.Circle(1), position=(0, 0), mask="wall")
    assert world.query_points([[0, 0]], layer="ball").rows.tolist() == [0]
    assert world.query_points([[0, 0]]).rows.tolist() == [0, 1]


def test_questions_answer_for_the_last_look():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    world.positions[0] = 50, 50
    assert len(world.query_points([(0, 0)]).rows) == 1
    world.refresh()
    assert len(world.query_points([(0, 0)]).rows) == 0
    assert len(world.query_points([(50, 50)]).rows) == 1


def test_questions_to_an_empty_world():
    for world in (bp.World(dim=2), make_world(2, 0)[0]):
        world.remove(world.rows)
        assert world.query([[0, 0, 1, 1]]).offsets.tolist() == [0, 0]
        assert world.query_ball([[0, 0]], 1).rows.tolist() == []
        assert world.nearest([[0, 0]], 2).rows.tolist() == [[-1, -1]]
        assert world.raycast([[0, 0]], [1, 0]).rows.tolist() == [-1]
        assert world.raycast_all([[0, 0]], [1, 0]).offsets.tolist() == [0, 0]
        assert world.shapecast(bp.Circle(1), [0, 0], [1, 0]) == (-1, np.inf)
        assert world.raycast((0, 0), (1, 0)) is None
        assert world.query_points([(0, 0)]).rows.tolist() == []


def test_questions_may_be_none():
    world, _ = make_world(2, 0)
    none = np.empty((0, 2))
    assert world.query(np.empty((0, 4))).offsets.tolist() == [0]
    assert world.query_points(none).offsets.tolist() == [0]
    assert world.nearest(none, 2).rows.shape == (0, 2)
    assert world.raycast(none, none).rows.shape == (0,)
    assert world.shapecast(bp.Circle(1), none, none).rows.shape == (0,)


@pytest.mark.parametrize(
    "ask",
    [
        lambda w: w.query([[0, np.nan, 1, 1]]),
        lambda w: w.query_points([[np.inf, 0]]),
        lambda w: w.query_ball([[0, 0]], -1),
        lambda w: w.nearest([[0, 0]], 0),
        lambda w: w.nearest([[0, 0, 0]]),
        lambda w: w.raycast([[0, 0]], [np.nan, 0]),
        lambda w: w.shapecast(bp.Circle(1), [[0, 0]], [[np.inf, 0]]),
        lambda w: w.query_shape(bp.Sphere(1), [[0, 0]]),
        lambda w: w.raycast((0, 0, 0)),
        lambda w: w.visible(),
        lambda w: w.visible(np.eye(3), lod=(5, 1)),
    ],
)
def test_questions_refuse(ask):
    world, _ = make_world(2, 0)
    with pytest.raises((ValueError, TypeError)):
        ask(world)


@pytest.mark.parametrize("method", ["auto", "bvh", "octree", "linear_tree", "brute_force"])
def test_questions_are_answered_alike_whatever_the_method(method):
    world, draws = make_world(2, 1, method=method)
    other, _ = make_world(2, 1)
    points = draws.places(20)
    for ask in (
        lambda w: w.query_ball(points, 1.0),
        lambda w: w.nearest(points, 3),
        lambda w: w.raycast_all(points, [1, 0.5]),
        lambda w: w.shapecast(bp.Circle(0.3), points, [3, 1]),
    ):
        for one, same in zip(ask(world), ask(other), strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("method", ["grid", "sweep_and_prune"])
def test_questions_that_a_method_lacks_say_who_has_them(method):
    world, _ = make_world(2, 1, method=method)
    other, _ = make_world(2, 1)
    assert world.query_ball([[4, 4]], 3).rows.tolist() == other.query_ball([[4, 4]], 3).rows.tolist()
    with pytest.raises(bp.errors.UnsupportedQueryError, match="BVH"):
        world.nearest([[0, 0]])
    with pytest.raises(bp.errors.UnsupportedQueryError, match="BVH"):
        world.raycast((0, 0), (1, 0))


def test_questions_heed_what_was_moved_at_once():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    world.move([0], positions=[[1e5, 0]])
    assert world.query([[9e4, -np.inf, np.inf, np.inf]]).rows.tolist() == [0]
    world.move([0], positions=[[0, 0]])
    assert world.nearest([[3, 0]]).distances.tolist() == [[2]]


def test_hulls_are_asked_as_what_they_are():
    rng = np.random.default_rng(9)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-0.5, 0.5) for z in (-2, 2)], float)
    places = rng.uniform(0, 12, (15, 3))
    hulls, boxes = bp.World(dim=3), bp.World(dim=3)
    hulls.add_many(bp.ConvexHull(corners), places)
    boxes.add_many(bp.Box(2, 1, 4), places)
    points, aims = rng.uniform(0, 12, (40, 3)), rng.uniform(0, 12, (40, 3))
    for ask in (
        lambda world: world.query_points(points).rows,
        lambda world: world.query_ball(points, 1.5).rows,
        lambda world: world.query_shape(bp.Capsule((0, 0, 0), (3, 0, 0), 0.3), points).rows,
        lambda world: world.nearest(points, 3).distances,
        lambda world: world.raycast(points, aims - points).distances,
        lambda world: world.shapecast(bp.Sphere(0.3), points, aims - points).times,
        lambda world: world.step().enter,
    ):
        np.testing.assert_allclose(ask(hulls), ask(boxes), atol=1e-6)


def test_any_number_of_threads_may_ask():
    world, draws = make_world(2, 2)
    points = draws.places(400)
    asks = [
        lambda: world.query_ball(points, 1.0).rows,
        lambda: world.nearest(points, 3).distances,
        lambda: world.raycast(points, [1, 0.5]).distances,
        lambda: world.shapecast(bp.Circle(0.3), points, [3, 1]).times,
        lambda: world.visible(np.diag([0.2, 0.2, 1])).rows,
    ]
    wanted = [ask() for ask in asks]
    for _ in range(5):
        world.move(world.rows, positions=world.positions[world.rows])  # the first to ask has something to do
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda ask: ask(), asks * 8))
        for number, answer in enumerate(found):
            np.testing.assert_array_equal(answer, wanted[number % len(asks)])


def test_hits_describe_where_a_ray_meets_what():
    world = bp.World(dim=2, method="octree")
    near, far = (world.add(bp.Circle(1), position=(x, 0)) for x in (4, 8))
    hits = world.raycast_all((0, 0.6), (2, 0))
    assert [hit.actor for hit in hits] == [near, far]
    hit = hits[0]
    assert hit.distance == pytest.approx(3.2)
    np.testing.assert_allclose(hit.position, [3.2, 0.6])
    np.testing.assert_allclose(hit.normal, [-0.8, 0.6])
    np.testing.assert_allclose([hit.origin, hit.direction], [[0, 0.6], [2, 0]])
    assert isinstance(hit.cell, tuple)
    assert hit == world.raycast_all([[0, 0.6], [2, 0]])[0] != hits[1]
    assert len({hit, world.raycast_all((0, 0.6), (2, 0))[0]}) == 1
    assert world.raycast_all((0, 5), (1, 0)) == []


def test_raycast_of_one_ray_gives_the_nearest_of_a_layer():
    world = bp.World(dim=3)
    glass = world.add(bp.Box(4, 4, 0.1), position=(0, 0, -2), layer="glass")
    cup = world.add(bp.Sphere(1), position=(0, 0, -5), layer="bodies")
    assert world.raycast((0, 0, 0), (0, 0, -1)).actor == glass
    assert world.raycast((0, 0, 0), (0, 0, -1), mask="bodies").actor == cup
    assert world.raycast((0, 0, 0), (0, 0, -1), mask="bodies", max_distance=3) is None


def test_frustum_looks_at_boxes():
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(1), [[0, 0, -5], [0, 0, 5], [50, 0, -5]], layer=["a", "a", "b"])
    camera = bp.cameras.perspective(1.0, 1.0, 0.1, 100) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
    assert world.frustum(camera).tolist() == [0]
    assert world.frustum(np.stack([camera, np.eye(4) / 100 * [1, 1, 1, 100]]), mask="b")[1].tolist() == [2]


@pytest.mark.parametrize("margin", [None, 0.0, 3.0])
def test_frustum_looks_at_the_boxes_of_the_shapes_not_at_fatter_ones(margin):
    world, draws = make_world(3, 6, margin=margin)
    world.move(world.rows, positions=draws.places(len(world)))
    for _ in range(20):
        eye, target = draws.places(2, 4)
        camera = bp.cameras.perspective(0.8, 1.3, 0.1, 50) @ bp.cameras.look_at(eye, target)
        seen = world.frustum(camera)
        tight = bp.BruteForce(world.shapes.boxes[world.rows])
        assert seen.tolist() == world.rows[tight.frustum(camera)].tolist()


def test_visible_counts_and_chooses_detail_by_distance():
    rng = np.random.default_rng(3)
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(rng.uniform(0.1, 3, 400)), rng.uniform(-300, 300, (400, 3)))
    eye = np.array([10.0, 20.0, 30.0])
    camera = bp.cameras.perspective(0.9, 1.5, 0.1, 1000) @ bp.cameras.look_at(eye, [200, 0, -50])
    seen = world.visible(camera, lod=(50, 200))
    assert seen.rows.tolist() == world.frustum(camera).tolist()
    assert len(seen.rows) + seen.culled == 400
    assert 0 < seen.culled < 400
    boxes = world.shapes.boxes[seen.rows]
    away = np.linalg.norm(np.maximum(np.maximum(boxes[:, 0] - eye, eye - boxes[:, 1]), 0), axis=1)
    np.testing.assert_allclose(seen.distances, away, rtol=1e-9)
    assert seen.levels.tolist() == ((away >= 50).astype(int) + (away >= 200)).tolist()
    assert sorted(np.concatenate([seen.of_level(level) for level in range(3)]).tolist()) == seen.rows.tolist()


def test_visible_by_planes_and_flat_cameras_takes_the_eye_given():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [60, 0], [-9, 0]])
    right = [[1, 0, 2]]  # x >= -2
    assert world.visible(planes=right).levels.tolist() == [0, 0]
    assert world.visible(planes=right, eye=(0, 0)).levels.tolist() == [0, 1]
    flat = np.diag([0.01, 0.01, 1])
    assert np.isinf(world.visible(flat).distances).all()
    with pytest.raises(ValueError, match="eye"):
        world.visible(flat, eye=(0, 0, 0))
