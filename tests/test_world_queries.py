"""Questions to a world against trying every row with the narrow phase: all shapes, layers and turns."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase.contacts.narrow import impacts, overlap_mask, ray_hits, separations

SHAPES = {
    2: lambda rng, n: [
        bp.Circle(rng.uniform(0, 1, n)),
        bp.Rectangle(rng.uniform(0, 2, n), rng.uniform(0, 2, n)),
        bp.OrientedBox(rng.uniform(0.1, 2, (n, 2)), rotation=rng.uniform(0, 6, n)),
        bp.Capsule(rng.normal(0, 1, (n, 2)), rng.normal(0, 1, (n, 2)), rng.uniform(0, 0.5, n)),
        bp.Triangle(rng.normal(0, 1, (n, 3, 2))),
        bp.ConvexPolygon([[0, 0], [1, 0], [1.5, 1], [0, 1.2]], offset=rng.normal(0, 1, (n, 2))),
        bp.Compound([bp.Circle(0.4, offset=(-1, 0)), bp.Rectangle(0.3, 2)]),
        bp.Point(),
    ],
    3: lambda rng, n: [
        bp.Sphere(rng.uniform(0, 1, n)),
        bp.Box(rng.uniform(0, 2, n), rng.uniform(0, 2, n), 1.0),
        bp.OrientedBox(rng.uniform(0.1, 2, (n, 3)), rotation=rng.normal(0, 1, (n, 4))),
        bp.Capsule(rng.normal(0, 1, (n, 3)), rng.normal(0, 1, (n, 3)), rng.uniform(0, 0.5, n)),
        bp.Segment(rng.normal(0, 1, (n, 3)), rng.normal(0, 1, (n, 3))),
        bp.Point(),
    ],
}
CASES = [(d, seed) for d in (2, 3) for seed in range(4)]
EXTENT = {2: 9.0, 3: 5.0}


def make_world(d, seed, **options):
    """Give a random world with holes in its rows, and what made it."""
    rng = np.random.default_rng([d, seed])
    world = bp.World(dim=d, **options)
    for shapes in SHAPES[d](rng, 12):
        turns = rng.uniform(0, 6, 12) if d == 2 else rng.normal(0, 1, (12, 4))
        layer = [("ball", "wall", "mud")[number] for number in rng.integers(0, 3, 12)]
        world.add_many(shapes, rng.uniform(0, EXTENT[d], (12, d)), rotations=turns, layer=layer)
    world.remove(rng.choice(world.rows, 11, replace=False))
    return world, rng


def every_pair(world, count):
    """Give each question with each living row: questions, rows."""
    rows = world.rows
    return np.repeat(np.arange(count, dtype=np.int32), len(rows)), np.tile(rows, count)


def check_overlaps(world, answers, placed):
    questions, rows = every_pair(world, len(placed))
    hit = overlap_mask(world.shapes, placed, rows, questions)
    assert answers.questions.tolist() == questions[hit].tolist()
    assert answers.rows.tolist() == rows[hit].tolist()
    return hit.sum()


def circle_or_sphere(d, radius):
    return (bp.Circle if d == 2 else bp.Sphere)(radius)


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_query_boxes_finds_the_shapes_not_their_boxes(d, seed):
    world, rng = make_world(d, seed)
    corner, size = rng.uniform(-1, EXTENT[d], (40, d)), rng.uniform(0, 2, (40, d))
    box = bp.Rectangle(*size.T) if d == 2 else bp.Box(*size.T)
    placed = bp.Shapes(box, corner + size / 2)
    answers = world.query(np.stack([corner, corner + size], axis=1))
    assert check_overlaps(world, answers, placed)
    assert len(answers.rows) < len(world.index.query(placed.boxes).rows)


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
def test_query_points_balls_shapes_and_turned_boxes(d, seed):
    world, rng = make_world(d, seed)
    points, radii = rng.uniform(0, EXTENT[d], (60, d)), rng.uniform(0, 2, 60)
    turns = rng.uniform(0, 6, 60) if d == 2 else rng.normal(0, 1, (60, 4))
    check_overlaps(world, world.query_points(points), bp.Shapes(bp.Point(), points))
    assert check_overlaps(world, world.query_ball(points, radii), bp.Shapes(circle_or_sphere(d, radii), points))
    half = rng.uniform(0, 1, (60, d))
    boxes = bp.Shapes(bp.OrientedBox(2 * half), points, turns)
    assert check_overlaps(world, world.query_obb(points, half, turns), boxes)
    stick = bp.Capsule([0] * d, [2] * d, 0.2)
    assert check_overlaps(world, world.query_shape(stick, points, turns), bp.Shapes(stick, points, turns))
    alone = world.query_shape(stick, points[0], turns[0]).rows
    assert alone.tolist() == world.query_shape(stick, points, turns).of(0).tolist()


@pytest.mark.parametrize(("d", "seed"), CASES)
@pytest.mark.parametrize("k", [1, 3, 200])
def test_nearest_is_by_the_distance_to_the_shape(d, seed, k):
    world, rng = make_world(d, seed)
    points = rng.uniform(-3, EXTENT[d] + 3, (30, d))
    limit = np.where(rng.random(30) < 0.3, rng.uniform(0, 2, 30), np.inf)
    check_nearest(world, points, k, limit, {}, world.rows)


@pytest.mark.parametrize("k", [1, 4, 60])
@pytest.mark.parametrize("bits", [{"mask": "mud"}, {"mask": {"mud", "wall"}}, {"layer": "ball"}, {"mask": 1 << 40}])
def test_nearest_with_layers(k, bits):
    world, rng = make_world(2, 5)
    rows = world.rows
    if "mask" in bits:
        rows = rows[(world.layers[rows] & np.uint64(world._layers.bits(bits["mask"]))) != 0]
    check_nearest(world, rng.uniform(-3, EXTENT[2] + 3, (30, 2)), k, np.full(30, np.inf), bits, rows)


def check_nearest(world, points, k, limit, bits, rows):
    count = len(points)
    balls = bp.Shapes(circle_or_sphere(world.dimension, 0.0), points)
    questions = np.repeat(np.arange(count, dtype=np.int32), len(rows))
    gaps = np.maximum(separations(world.shapes, balls, np.tile(rows, count), questions)[0], 0).reshape(count, len(rows))
    found = world.nearest(points, k, limit, **bits)
    for j in range(count):
        order = np.lexsort((rows, gaps[j]))
        order = order[gaps[j][order] <= limit[j]][:k]
        wanted = rows[order].tolist() + [-1] * (k - len(order))
        assert found.index[j].tolist() == wanted
        assert found.distance[j].tolist() == gaps[j][order].tolist() + [np.inf] * (k - len(order))


def test_nearest_prefers_the_least_row_among_equals():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[3, 0], [-3, 0], [0, 3], [0, -3], [0, 0.5]])
    found = world.nearest([[0, 0]], k=5)
    assert found.index.tolist() == [[4, 0, 1, 2, 3]]
    assert found.distance.tolist() == [[0, 2, 2, 2, 2]]


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_periodic_world_is_asked_across_its_borders(d, seed):
    bounds = np.stack([np.full(d, 1.0), np.full(d, EXTENT[d] - 1.0)])
    world, rng = make_world(d, seed, border="wrap", bounds=bounds)
    world.positions[:] = 1 + (world.positions - 1) % (EXTENT[d] - 2)
    world.refresh()
    period = EXTENT[d] - 2
    points, radii = rng.uniform(-period, EXTENT[d] + period, (40, d)), rng.uniform(0, 2, 40)
    radii[0] = 5 * period / 2  # meets everything, many times
    balls = bp.Shapes(circle_or_sphere(d, radii), points)
    dots = bp.Shapes(circle_or_sphere(d, 0.0), points)
    questions, rows = every_pair(world, 40)
    hit, gap = np.zeros(len(rows), bool), np.full(len(rows), np.inf)
    for step in np.ndindex(*[9] * d):
        offsets = np.broadcast_to((np.array(step) - 4.0) * period, (len(rows), d)).copy()
        hit |= overlap_mask(world.shapes, balls, rows, questions, offsets)
        gap = np.minimum(gap, separations(world.shapes, dots, rows, questions, offsets)[0])
    found = world.query_ball(points, radii)
    assert found.questions.tolist() == questions[hit].tolist()
    assert found.rows.tolist() == rows[hit].tolist()
    assert len(found.rows) > world.query_ball(points[1:], radii[1:]).counts.sum()
    nearest = world.nearest(points, 5)
    gap = np.sort(np.maximum(gap, 0).reshape(40, -1), axis=1)[:, :5]
    np.testing.assert_allclose(nearest.distance, gap, rtol=1e-9, atol=1e-12)
    assert all(len(set(some)) == 5 for some in nearest.index.tolist())
    assert world.query(np.tile([[-np.inf], [np.inf]], (1, 1, d))).rows.tolist() == world.rows.tolist()


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_rays_hit_the_shapes(d, seed):
    world, rng = make_world(d, seed)
    origins = rng.uniform(-2, EXTENT[d] + 2, (50, d))
    directions = (rng.uniform(0, EXTENT[d], (50, d)) - origins) * rng.uniform(0.1, 9, (50, 1))
    directions[0] = 0
    limit = np.where(rng.random(50) < 0.3, rng.uniform(0, 5, 50), np.inf)
    questions, rows = every_pair(world, 50)
    times = ray_hits(world.shapes, rows, origins[questions], directions[questions])[0].reshape(50, -1)
    away = np.where(
        times < np.inf, np.where(times < np.inf, times, 0) * np.linalg.norm(directions, axis=1)[:, None], np.inf
    )
    away[away > limit[:, None]] = np.inf
    rows = world.rows
    first, every = world.raycast(origins, directions, limit), world.raycast_all(origins, directions, limit)
    hits = 0
    for j in range(50):
        order = np.lexsort((rows, away[j]))
        order = order[np.isfinite(away[j][order])]
        assert every.of(j)[0].tolist() == rows[order].tolist()
        np.testing.assert_allclose(every.of(j)[1], away[j][order], rtol=1e-12)
        assert first.index[j] == (rows[order[0]] if len(order) else -1)
        hits += len(order)
    assert hits > 20
    assert world.raycast_any(origins, directions, limit).tolist() == (first.index >= 0).tolist()


def test_rays_of_any_length_measure_in_the_unit_of_the_world():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(5, 0))
    for length in (1e-300, 1e-9, 1.0, 1e9, 1e300):
        assert world.raycast([[0, 0]], [length, 0]).distance.tolist() == pytest.approx([4])
        assert not world.raycast_any([[0, 0]], [length, 0], max_distance=3.9)


@pytest.mark.parametrize(("d", "seed"), CASES)
def test_shapecast_finds_the_first_on_the_way(d, seed):
    world, rng = make_world(d, seed)
    begin = rng.uniform(-4, EXTENT[d] + 4, (30, d))
    motion = rng.uniform(0, EXTENT[d], (30, d)) - begin
    motion[:2] = 0
    shape = circle_or_sphere(d, rng.uniform(0, 0.5, 30))
    questions, rows = every_pair(world, 30)
    times = impacts(bp.Shapes(shape, begin), world.shapes, questions, rows, motion[questions])[0].reshape(30, -1)
    found = world.shapecast(shape, begin, motion)
    for j in range(30):
        best = np.lexsort((world.rows, times[j]))[0]
        if times[j][best] == np.inf:
            assert (found.index[j], found.time[j]) == (-1, np.inf)
        else:
            assert (found.index[j], found.time[j]) == (world.rows[best], times[j][best])
    assert (found.index >= 0).sum() > 5


@pytest.mark.parametrize("question", ["query", "query_ball", "raycast_all", "shapecast"])
def test_layers_filter_every_question(question):
    world, rng = make_world(2, 3)
    points = rng.uniform(0, EXTENT[2], (40, 2))
    ask = {
        "query": lambda **bits: world.query(np.stack([points, points + 2], axis=1), **bits),
        "query_ball": lambda **bits: world.query_ball(points, 1.5, **bits),
        "raycast_all": lambda **bits: world.raycast_all(points, [1, 0.3], **bits),
        "shapecast": lambda **bits: world.shapecast(bp.Circle(0.5), points, [4, 1], **bits),
    }[question]
    if question == "shapecast":
        parts = [ask(mask=name) for name in ("ball", "wall", "mud")]
        best = np.min([part.time for part in parts], axis=0)
        np.testing.assert_array_equal(ask().time, best)
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
    world.add(bp.Circle(1), position=(0, 0), mask="ball")
    world.add(bp.Circle(1), position=(0, 0), mask="wall")
    assert world.query_points([[0, 0]], layer="ball").rows.tolist() == [0]
    assert world.query_points([[0, 0]]).rows.tolist() == [0, 1]


def test_questions_answer_for_the_last_look():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    world.positions[0] = 50, 50
    assert len(world.at((0, 0))) == 1
    world.refresh()
    assert len(world.at((0, 0))) == 0
    assert len(world.at((50, 50))) == 1


def test_questions_to_an_empty_world():
    for world in (bp.World(dim=2), make_world(2, 0)[0]):
        world.remove(world.rows)
        assert world.query([[0, 0, 1, 1]]).offsets.tolist() == [0, 0]
        assert world.query_ball([[0, 0]], 1).rows.tolist() == []
        assert world.nearest([[0, 0]], 2).index.tolist() == [[-1, -1]]
        assert world.raycast([[0, 0]], [1, 0]).index.tolist() == [-1]
        assert world.raycast_all([[0, 0]], [1, 0]).offsets.tolist() == [0, 0]
        assert world.shapecast(bp.Circle(1), [0, 0], [1, 0]).index.tolist() == [-1]
        assert world.pick((0, 0), (1, 0)) is None
        assert world.at((0, 0)) == []


def test_questions_may_be_none():
    world, _ = make_world(2, 0)
    none = np.empty((0, 2))
    assert world.query(np.empty((0, 4))).offsets.tolist() == [0]
    assert world.query_points(none).offsets.tolist() == [0]
    assert world.nearest(none, 2).index.shape == (0, 2)
    assert world.raycast(none, none).index.shape == (0,)
    assert world.shapecast(bp.Circle(1), none, none).index.shape == (0,)


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
        lambda w: w.pick((0, 0, 0)),
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
    world, rng = make_world(2, 1, method=method)
    other, _ = make_world(2, 1)
    points = rng.uniform(0, EXTENT[2], (20, 2))
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
    with pytest.raises(bp.UnsupportedQueryError, match="BVH"):
        world.nearest([[0, 0]])
    with pytest.raises(bp.UnsupportedQueryError, match="BVH"):
        world.pick((0, 0), (1, 0))


def test_questions_heed_what_was_moved_at_once():
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    world.move([0], positions=[[1e5, 0]])
    assert world.query([[9e4, -np.inf, np.inf, np.inf]]).rows.tolist() == [0]
    world.move([0], positions=[[0, 0]])
    assert world.nearest([[3, 0]]).distance.tolist() == [[2]]


def test_any_number_of_threads_may_ask():
    world, rng = make_world(2, 2)
    points = rng.uniform(0, EXTENT[2], (400, 2))
    asks = [
        lambda: world.query_ball(points, 1.0).rows,
        lambda: world.nearest(points, 3).distance,
        lambda: world.raycast(points, [1, 0.5]).distance,
        lambda: world.shapecast(bp.Circle(0.3), points, [3, 1]).time,
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
    hits = world.hits((0, 0.6), (2, 0))
    assert [hit.actor for hit in hits] == [near, far]
    hit = hits[0]
    assert hit.distance == pytest.approx(3.2)
    np.testing.assert_allclose(hit.position, [3.2, 0.6])
    np.testing.assert_allclose(hit.normal, [-0.8, 0.6])
    np.testing.assert_allclose([hit.origin, hit.direction], [[0, 0.6], [2, 0]])
    assert isinstance(hit.cell, tuple)
    assert hit == world.hits([[0, 0.6], [2, 0]])[0] != hits[1]
    assert len({hit, world.hits((0, 0.6), (2, 0))[0]}) == 1
    assert world.hits((0, 5), (1, 0)) == []


def test_pick_takes_the_nearest_of_a_layer():
    world = bp.World(dim=3)
    glass = world.add(bp.Box(4, 4, 0.1), position=(0, 0, -2), layer="glass")
    cup = world.add(bp.Sphere(1), position=(0, 0, -5), layer="things")
    assert world.pick((0, 0, 0), (0, 0, -1)) == glass
    assert world.pick((0, 0, 0), (0, 0, -1), mask="things") == cup
    assert world.pick((0, 0, 0), (0, 0, -1), mask="things", max_distance=3) is None


def test_frustum_looks_at_boxes():
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(1), [[0, 0, -5], [0, 0, 5], [50, 0, -5]], layer=["a", "a", "b"])
    camera = bp.perspective(1.0, 1.0, 0.1, 100) @ bp.look_at([0, 0, 0], [0, 0, -1])
    assert world.frustum(camera).rows.tolist() == [0]
    assert world.frustum(np.stack([camera, np.eye(4) / 100 * [1, 1, 1, 100]]), mask="b").of(1).tolist() == [2]


def test_visible_counts_and_chooses_detail_by_distance():
    rng = np.random.default_rng(3)
    world = bp.World(dim=3)
    world.add_many(bp.Sphere(rng.uniform(0.1, 3, 400)), rng.uniform(-300, 300, (400, 3)))
    eye = np.array([10.0, 20.0, 30.0])
    camera = bp.perspective(0.9, 1.5, 0.1, 1000) @ bp.look_at(eye, [200, 0, -50])
    seen = world.visible(camera, lod=(50, 200))
    assert seen.rows.tolist() == world.frustum(camera).rows.tolist()
    assert (seen.drawn, seen.drawn + seen.culled) == (len(seen.rows), 400)
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
