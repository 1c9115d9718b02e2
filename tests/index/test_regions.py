"""Convex regions as slabs: against linear programs, polygons, and boxes that a region is equal to."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.regions import MOST_PLANES, regions_of_boxes, regions_of_planes, regions_of_views
from cases import lattice
from index_cases import CLASSES
from oracles import exact, queries as query_oracle
from oracles.queries import assert_same_answers

INF = np.inf
MARGIN = 1e-9  # relative to the scene: closer to touching than this, nothing is asked


def met(boxes, regions):
    rows, offsets = query_oracle.convex(boxes, regions)
    hit = np.zeros((len(offsets) - 1, len(boxes)), bool)
    for j in range(len(hit)):
        hit[j, rows[offsets[j] : offsets[j + 1]]] = True
    return hit


def depth_within(planes, box):
    """How far the point of the box that is deepest inside all planes lies within them; negative outside."""
    scipy = pytest.importorskip("scipy.optimize")
    dimension = planes.shape[1] - 1
    lengths = np.linalg.norm(planes[:, :-1], axis=1, keepdims=True)
    planes = planes[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    sides = np.hstack([-planes[:, :-1], np.ones((len(planes), 1))])
    goal = np.append(np.zeros(dimension), -1.0)
    found = scipy.linprog(goal, sides, planes[:, -1], bounds=[*zip(*box, strict=True), (None, 1.0)], method="highs")
    assert found.status == 0, found.message
    return -found.fun


def check_planes(planes, boxes, label):
    hit = met(boxes, regions_of_planes(planes))[0]
    for row, box in enumerate(boxes):
        depth = depth_within(planes, box)
        if abs(depth) > MARGIN:
            assert hit[row] == (depth > 0), f"{label} row {row}: depth {depth}"
    return hit


def random_boxes(rng, n, dimension, *, size=1.0):
    lower = rng.normal(0, 2, (n, dimension))
    extent = rng.exponential(size, (n, dimension)) * (rng.random((n, dimension)) < 0.8)  # some without width
    return np.stack([lower, lower + extent], axis=1)


def random_turn(rng, dimension):
    return np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]


def planes_of_box(center, half, turn):
    normals = np.concatenate([turn.T, -turn.T])
    return np.column_stack([normals, np.tile(half, 2) - normals @ center])


@pytest.mark.parametrize("dimension", [2, 3])
def test_planes_at_random_meet_the_boxes_that_a_linear_program_says(dimension):
    some = 0
    for seed in range(25):
        rng = np.random.default_rng([dimension, seed])
        normals = rng.normal(size=(int(rng.integers(1, 9)), dimension))
        planes = np.column_stack(
            [normals * rng.choice([1e-3, 1.0, 50.0], (len(normals), 1)), rng.normal(0.7, 1, len(normals))]
        )
        hit = check_planes(planes, random_boxes(rng, 12, dimension), f"seed={seed}")
        some += 0 < hit.sum() < 12
    assert some > 5


@pytest.mark.parametrize("dimension", [2, 3])
def test_planes_that_are_parallel_doubled_or_flat_meet_the_boxes_that_a_linear_program_says(dimension):
    for seed in range(40):
        rng = np.random.default_rng([dimension, 1, seed])
        planes = rng.integers(-1, 2, (int(rng.integers(0, 8)), dimension + 1)).astype(float)
        planes = np.concatenate([planes, planes[:2], -planes[:1]]) + 0.0
        boxes = lattice(rng, 12, dimension, "float64", 2) * 1.5 + rng.choice([0.0, 0.25])
        flat = ~planes[:, :-1].any(axis=1)
        if (planes[flat, -1] < 0).any():
            assert not met(boxes, regions_of_planes(planes)).any()
        elif flat.all():
            assert met(boxes, regions_of_planes(planes)).all()
        else:
            hit = met(boxes, regions_of_planes(planes))[0]
            for row, box in enumerate(boxes):
                depth = depth_within(planes[~flat], box)
                # What touches is met: closed, like boxes.
                assert hit[row] or depth < -MARGIN, (seed, row, depth)
                assert not hit[row] or depth > -MARGIN, (seed, row, depth)


@pytest.mark.parametrize("dimension", [2, 3])
def test_oriented_boxes_meet_the_boxes_that_a_linear_program_says(dimension):
    for seed in range(25):
        rng = np.random.default_rng([dimension, 2, seed])
        center, turn = rng.normal(0, 1.5, dimension), random_turn(rng, dimension)
        half = rng.exponential(1, dimension) * (rng.random(dimension) < 0.7)
        boxes = random_boxes(rng, 12, dimension)
        hit = met(boxes, regions_of_boxes([center], half, turn))[0]
        planes = planes_of_box(center, half, turn)
        assert np.array_equal(hit, check_planes(planes, boxes, f"seed={seed}"))


def test_oriented_boxes_in_two_dimensions_meet_what_polygons_do():
    shapely = pytest.importorskip("shapely")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        boxes = random_boxes(rng, 200, 2)
        boxes[:, 1] = np.maximum(boxes[:, 1], boxes[:, 0] + 1e-3)
        centers, half, angles = rng.normal(0, 2, (10, 2)), rng.exponential(1, (10, 2)), rng.uniform(-9, 9, 10)
        hit = met(boxes, regions_of_boxes(centers, half, angles))
        rectangles = shapely.box(*boxes[:, 0].T, *boxes[:, 1].T)
        for j in range(10):
            turn = np.array([[np.cos(angles[j]), -np.sin(angles[j])], [np.sin(angles[j]), np.cos(angles[j])]])
            corners = centers[j] + (half[j] * [[1, 1], [-1, 1], [-1, -1], [1, -1]]) @ turn.T
            away = shapely.distance(rectangles, shapely.Polygon(corners))
            assert np.array_equal(hit[j], away == 0), seed


@pytest.mark.parametrize("dimension", [2, 3])
def test_oriented_boxes_without_rotation_are_boxes_to_the_last_bit(dimension):
    for seed in range(20):
        rng = np.random.default_rng([dimension, 3, seed])
        boxes = lattice(rng, 100, dimension, "float64") / 3
        asked = lattice(rng, 20, dimension, "float64")
        turns = np.stack([np.eye(dimension)[:, rng.permutation(dimension)] * rng.choice([-1, 1]) for _ in asked])
        half = np.einsum("qjk,qj->qk", np.abs(turns), (asked[:, 1] - asked[:, 0]) / 2)
        regions = regions_of_boxes((asked[:, 0] + asked[:, 1]) / 2, half, turns)
        assert_same_answers(query_oracle.convex(boxes, regions), query_oracle.query(boxes, asked), f"seed={seed}")
        assert len(regions.axes) == 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_planes_along_the_axes_are_boxes_to_the_last_bit(dimension):
    for seed in range(20):
        rng = np.random.default_rng([dimension, 4, seed])
        boxes = rng.integers(-9, 10, (200, 2, dimension)) / 3
        boxes.sort(axis=1)
        asked = boxes[:1].copy()
        sides = np.concatenate([np.eye(dimension), -np.eye(dimension)])
        planes = np.column_stack([sides, np.concatenate([-asked[0, 0], asked[0, 1]])]) * rng.choice([0.5, 1, 4])
        regions = regions_of_planes(rng.permutation(planes))
        assert_same_answers(query_oracle.convex(boxes, regions), query_oracle.query(boxes, asked), f"seed={seed}")


def test_boxes_that_touch_a_turned_box_in_a_corner_are_met():
    angle = np.pi / 4
    for shift in (0.0, 1.0, 1e6, -1e12):
        center = np.array([shift, 0.0])
        regions = regions_of_boxes([center], [1.0, 1.0], angle)
        touching = np.array([shift + np.sqrt(0.5), np.sqrt(0.5)])
        away = touching + 1e-11 * max(1.0, abs(shift))
        boxes = np.stack([np.stack([start, start + 5]) for start in (touching, away)])
        assert met(boxes, regions).tolist() == [[True, False]]


def test_quaternions_and_angles_are_the_matrices_they_stand_for():
    rng = np.random.default_rng(0)
    boxes, centers, half = random_boxes(rng, 300, 3), rng.normal(0, 2, (30, 3)), rng.exponential(1, 3)
    quaternions = rng.normal(size=(30, 4)) * rng.choice([1e-200, 1.0, 1e200], (30, 1))
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    unit = quaternions / np.abs(quaternions).max(axis=1, keepdims=True)
    matrices = rotation.from_quat(np.roll(unit, -1, axis=1)).as_matrix()  # SciPy has w last
    by_matrix = regions_of_boxes(centers, half, matrices)
    by_quaternion = regions_of_boxes(centers, half, quaternions)
    assert_same_answers(query_oracle.convex(boxes, by_quaternion), query_oracle.convex(boxes, by_matrix))
    turned = regions_of_boxes([[0, 0]], [2, 1], np.pi / 2)
    np.testing.assert_allclose(turned.around_upper, [[1, 2]])
    quarter_turn = regions_of_boxes([[0, 0, 0]], [3, 2, 1], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(quarter_turn.around_upper, [[2, 3, 1]])


def test_a_turned_box_turns_counterclockwise():
    regions = regions_of_boxes([[0, 0]], [10, 0.1], np.pi / 4)
    boxes = [[4, 4, 5, 5], [4, -5, 5, -4], [-5, -5, -4, -4]]
    assert met(boxes, regions).tolist() == [[True, False, True]]


def camera(rng):
    view = bp.cameras.look_at(rng.normal(0, 3, 3), rng.normal(0, 1, 3), rng.normal(size=3))
    if rng.random() < 0.3:
        return bp.cameras.orthographic(-1, 2, -1.5, 1, *np.sort(rng.normal(2, 2, 2))) @ view
    far = rng.choice([5.0, 1e4, INF])
    return bp.cameras.perspective(rng.uniform(0.05, 2.8), rng.uniform(0.3, 3), rng.choice([1e-3, 0.1, 1.0]), far) @ view


def planes_of_view(matrix):
    return np.concatenate([matrix[3] + matrix[:3], matrix[3] - matrix[:3]])


def test_views_meet_the_boxes_that_a_linear_program_says():
    seen = 0
    for seed in range(30):
        rng = np.random.default_rng([5, seed])
        matrix = camera(rng)
        boxes = random_boxes(rng, 12, 3, size=rng.choice([0.3, 3.0]))
        hit = met(boxes, regions_of_views(matrix))[0]
        assert np.array_equal(hit, check_planes(planes_of_view(matrix), boxes, f"seed={seed}"))
        seen += hit.sum()
    assert 60 < seen < 300


def test_views_see_the_points_that_the_matrix_puts_inside():
    for seed in range(30):
        rng = np.random.default_rng([6, seed])
        matrix, points = camera(rng), rng.normal(0, 5, (300, 3))
        x, y, z, w = matrix @ np.column_stack([points, np.ones(300)]).T
        border = np.min([w + x, w - x, w + y, w - y, w + z, w - z], axis=0)
        for depth, inside in (
            ("minus_one_to_one", border),
            ("zero_to_one", np.min([w + x, w - x, w + y, w - y, z, w - z], axis=0)),
        ):
            hit = met(np.stack([points, points], axis=1), regions_of_views(matrix, depth=depth))[0]
            clear = np.abs(inside) > 1e-9
            assert np.array_equal(hit[clear], inside[clear] > 0), (seed, depth)


def test_a_view_with_reversed_depth_sees_the_same():
    rng = np.random.default_rng(7)
    boxes = random_boxes(rng, 500, 3)
    view = bp.cameras.look_at([3, 2, 4], [0, 0, 0])
    matrix = bp.cameras.perspective(1.0, 1.3, 0.5, 9.0)
    half, shift = np.diag([1, 1, 0.5, 1.0]), np.eye(4)
    shift[2, 3] = 0.5
    usual = shift @ half @ matrix
    reverse = usual.copy()
    reverse[2] = usual[3] - usual[2]
    expected = query_oracle.convex(boxes, regions_of_views(matrix @ view))
    assert 20 < len(expected[0]) < 400
    for turned in (usual, reverse):
        regions = regions_of_views(turned @ view, depth="zero_to_one")
        assert_same_answers(query_oracle.convex(boxes, regions), expected)


def test_an_orthographic_view_along_an_axis_is_a_box():
    matrix = bp.cameras.orthographic(-4, 4, -2, 2, 1, 9)
    regions = regions_of_views(matrix)
    assert len(regions.axes) == 0
    assert regions.around_lower.tolist() == [[-4, -2, -9]]
    assert regions.around_upper.tolist() == [[4, 2, -1]]


def test_a_view_with_its_far_plane_at_infinity_sees_the_horizon():
    regions = regions_of_views(bp.cameras.perspective(np.pi / 2, 1, 1))
    boxes = np.array([[[0, 0, -1e300]] * 2, [[9e9, 0, -1e10]] * 2, [[2e10, 0, -1e10]] * 2, [[0, 0, -0.5]] * 2])
    assert met(boxes, regions).tolist() == [[True, True, False, False]]
    assert np.isinf(regions.around_lower[0, 2])


def test_views_in_two_dimensions_are_those_of_three_by_three_matrices():
    turn = np.pi / 6
    matrix = np.array([[np.cos(turn), np.sin(turn), 0], [-np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    rng = np.random.default_rng(8)
    boxes = random_boxes(rng, 300, 2)
    expected = query_oracle.convex(boxes, regions_of_boxes([[0, 0]], [1, 1], turn))
    assert_same_answers(query_oracle.convex(boxes, regions_of_views(matrix)), expected)


def test_many_regions_are_each_what_they_are_alone():
    rng = np.random.default_rng(9)
    matrices = np.stack([camera(rng) for _ in range(8)])
    boxes = random_boxes(rng, 50, 3)
    together = met(boxes, regions_of_views(matrices))
    assert np.array_equal(together, [met(boxes, regions_of_views(matrix))[0] for matrix in matrices])
    regions = regions_of_boxes(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3, 3)))
    assert regions.offsets.tolist() == [0]
    assert regions_of_planes(np.empty((0, 6, 4))).around_lower.shape == (0, 3)


def test_unbounded_regions_let_through_what_their_planes_do():
    half_space = regions_of_planes([[1.0, 1.0, 0.0, -2.0]])
    boxes = [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0.9, 1, 0], [-INF, 5, 5, INF, 6, 6], [5, 5, -INF, 6, 6, -INF]]
    assert met(boxes, half_space).tolist() == [[True, False, True, True]]
    wedge = regions_of_planes([[1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, -1.0]])
    assert met([[-2, -9, 0, 0.5, 1.4, 0], [-2, 0, 0, 0, 1, 0], [1, 0, 0, 2, 1.5, 0]], wedge).tolist() == [
        [True, True, False]
    ]


def test_empty_regions_meet_nothing_and_no_planes_everything():
    everything = np.array([[[-INF] * 3, [INF] * 3], [[0.0] * 3, [1.0] * 3], [[INF] * 3, [INF] * 3]])
    for planes in (
        [[1, 0, 0, -1], [-1, 0, 0, 0]],
        [[1, 1, 0, -2], [-1, 0, 0, 0], [0, -1, 0, 1]],
        [[0, 0, 0, -1]],
    ):
        assert not met(everything[1:2] * 9, regions_of_planes(np.array(planes, float))).any(), planes
    assert not met(everything, regions_of_planes([[0.0, 0, 0, -1]])).any()
    assert met(everything, regions_of_planes(np.empty((0, 4)))).all()


def test_regions_of_any_scale_meet_the_same_boxes():
    rng = np.random.default_rng(10)
    boxes = random_boxes(rng, 300, 3)
    center, turn, half = rng.normal(size=3), random_turn(rng, 3), np.array([1.0, 0.5, 2.0])
    matrix = camera(rng)
    expected = met(boxes, regions_of_boxes([center], half, turn)), met(boxes, regions_of_views(matrix))
    for exponent in (-900, -300, 300, 900):
        scaled = np.ldexp(boxes, exponent)
        grown = np.ldexp(matrix, [[-exponent] * 3 + [0]])
        found = met(scaled, regions_of_boxes(np.ldexp([center], exponent), np.ldexp(half, exponent), turn))
        assert np.array_equal(found, expected[0])
        assert np.array_equal(met(scaled, regions_of_views(grown)), expected[1])


@cache
def scene_of_planes(dimension, seed):
    """Boxes and planes of regions at any scale, which boxes each region meets exactly, and which nearly."""
    rng = np.random.default_rng([dimension, 11, seed])
    exponent = int(rng.choice([0, 300, -300, 900, 1008, -900, -1060]))
    shift = rng.choice([0, 0, 10**6]) * rng.integers(-1, 2, dimension) * (exponent <= 900)
    boxes = lattice(rng, 8, dimension, "float64").astype(int) + shift
    normals = rng.integers(-2, 3, (4, dimension, dimension)) + 8 * np.eye(dimension, dtype=int)
    normals = np.concatenate([normals, -normals], axis=1)[:, rng.permutation(2 * dimension)]
    corners = boxes[rng.integers(8, size=4), rng.integers(2, size=4)]
    offsets = rng.choice([0, 0, 8, 40], (4, 2 * dimension)) - np.einsum("qpk,qk->qp", normals, corners)
    tolerance = Fraction(int(np.abs(offsets).max()) + 1, 10**12) + Fraction(2) ** (-1066 - exponent)
    meets, nearly = np.zeros((2, 4, 8), bool)
    for k, row in np.ndindex(4, 8):
        sides = exact.sides(boxes[row].tolist())
        planes = [[*(-normal).tolist(), offset] for normal, offset in zip(normals[k], offsets[k].tolist(), strict=True)]
        meets[k, row] = exact.feasible([*planes, *sides])
        nearly[k, row] = exact.feasible([*([*normal, offset + tolerance] for *normal, offset in planes), *sides])
    planes = np.concatenate([normals, np.ldexp(offsets[:, :, None].astype(float), exponent)], axis=2)
    return np.ldexp(boxes.astype(float), exponent), planes, meets, nearly


def check_frustum(name, dimension, seed):
    """Compare regions between planes of any scale with whole numbers; give how many boxes were compared."""
    boxes, planes, meets, nearly = scene_of_planes(dimension, seed)
    found = getattr(bp, name)(boxes).frustum(planes=planes)
    hit = np.zeros(meets.shape, bool)
    hit[found.query_rows, found.rows] = True
    assert not (meets & ~hit).any(), f"{name} seed={seed}: missed {np.argwhere(meets & ~hit).tolist()}"
    assert not (hit & ~nearly).any(), f"{name} seed={seed}: found across a gap {np.argwhere(hit & ~nearly).tolist()}"
    return hit.size


@pytest.mark.parametrize("dimension", [2, 3])
def test_regions_between_planes_of_any_scale_meet_the_boxes_that_whole_numbers_say(dimension):
    for seed in range(10 if dimension == 2 else 2):
        for name in CLASSES:
            check_frustum(name, dimension, seed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 0, 0]], 1, np.eye(2)), "rotations of shape"),
        (([[0, 0, 0]], 1, [0, 0, 0, 0]), "row 0 is a zero quaternion"),
        (([[0, 0]], 1, [[[2, 0], [0, 1]]]), "row 0 has columns that are not perpendicular"),
        (([[0, 0], [np.nan, 0]], 1, 0), "centers: row 1: nan is not finite"),
        (([[0, 0]], [-1, 1], 0), "half_sizes: axis 0 has -1.0, which is not finite"),
        (([[0, 0]], [1, 1, 1], 0), r"half_sizes of shape \(3,\)"),
        (([[0, 0]], 1, np.inf), "rotations: inf is not finite"),
        (([[0]], 1, 0), "centers must have shape"),
    ],
)
def test_oriented_boxes_that_are_none_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        regions_of_boxes(*arguments)


def test_views_and_planes_that_are_none_are_refused():
    with pytest.raises(ValueError, match="number 1 is singular"):
        regions_of_views([np.eye(4), np.diag([1.0, 1, 0, 1])])
    with pytest.raises(ValueError, match="row 0: nan is not finite"):
        regions_of_views(np.full((4, 4), np.nan))
    with pytest.raises(ValueError, match="shape"):
        regions_of_views(np.eye(5))
    with pytest.raises(ValueError, match="unknown depth 'reversed': must be 'minus_one_to_one' or 'zero_to_one'"):
        regions_of_views(np.eye(4), depth="reversed")
    with pytest.raises(ValueError, match="unknown depth 'zero_one' \\(did you mean 'zero_to_one'"):
        regions_of_views(np.eye(4), depth="zero_one")
    with pytest.raises(ValueError, match="planes must have shape"):
        regions_of_planes(np.eye(5))
    with pytest.raises(ValueError, match="at most 64 planes, not 65"):
        regions_of_planes(np.ones((MOST_PLANES + 1, 4)))


def scene_of_depth(seed):
    """Enough boxes for a tree of some levels: a cloud, a few that are large, endless or far away."""
    rng = np.random.default_rng([13, seed])
    boxes = random_boxes(rng, 3000, 3, size=0.1)
    boxes[::97, 1] += 3.0
    boxes[5, 0, 0], boxes[6, 1, 1], boxes[7, :, 2] = -INF, INF, [-INF, INF]
    boxes[8:10] += [[[1e9]], [[-1e30]]]
    boxes[20] = boxes[20].astype(np.float32)
    return boxes


def view_of(depth, orthographic):
    """A camera that stands so far in front of the scene, and what it sees ends behind the scene."""
    lens = bp.cameras.orthographic(-2, 2, -1, 1, 1, 90) if orthographic else bp.cameras.perspective(0.8, 1.3, 0.01, 90)
    return planes_of_view(lens @ bp.cameras.look_at([0, 0, depth], [0.3, 0.1, 0]))


@pytest.mark.parametrize("name", ["BVH", "Octree", "LinearTree"])
def test_regions_that_hold_whole_nodes_give_what_the_slabs_say(name):
    boxes = scene_of_depth(0)
    rng = np.random.default_rng(14)
    box = np.concatenate([np.eye(3), -np.eye(3)])
    corner = boxes[20, 1]
    touching = np.column_stack([np.eye(3) + 0.25, -(np.eye(3) + 0.25) @ corner])
    barrel = rng.normal(size=(MOST_PLANES, 3))
    barrel /= np.linalg.norm(barrel, axis=1, keepdims=True)
    cases = {
        "inside": view_of(1.0, False),
        "outside": view_of(9.0, False),
        "parallel": view_of(9.0, True),
        "all": np.column_stack([box, np.full(6, 1e31)]),
        "most": np.column_stack([box, np.full(6, 12.0)]),
        "none": np.column_stack([box, [-50.0, -50, -50, 51, 51, 51]]),
        "point": np.column_stack([box, np.concatenate([-corner, corner])]),
        "corner": touching,
        "half space": np.array([[1.0, 2.0, -1.0, 0.5]]),
        "many slabs": np.column_stack([barrel, np.full(MOST_PLANES, 2.5)]),
    }
    for dtype in ("float32", "float64"):
        given = boxes.astype(dtype)
        index = getattr(bp, name)(given)
        counts = {}
        for label, planes in cases.items():
            regions = regions_of_planes(planes)
            wanted = query_oracle.convex(given, regions)
            assert_same_answers(index.frustum(planes=planes[np.newaxis]), wanted, f"{name} {dtype} {label}")
            counts[label] = len(wanted[0])
        assert counts["all"] == len(boxes)
        assert min(counts["point"], counts["corner"]) >= 1
        assert len(regions.least) > 31
        assert min(counts["most"] - 2400, counts["many slabs"]) > 500
        assert all(100 < counts[label] < 2900 for label in ("inside", "outside", "parallel", "half space"))


def test_many_rows_of_a_view_are_ascending_whether_dense_or_scattered():
    rng = np.random.default_rng(15)
    place = rng.permutation(200_000)[:3000]
    lower = np.full((200_000, 2), 50.0)
    lower[place] = rng.random((3000, 2))
    boxes = np.stack([lower, lower + 0.01], axis=1)
    planes = [[1.0, 0.5, 0.0], [-1.0, -0.5, 9.0]]
    assert np.array_equal(bp.BVH(boxes).frustum(planes=planes), np.sort(place))
    assert np.array_equal(bp.BVH(boxes[np.sort(place)]).frustum(planes=planes), np.arange(3000))
