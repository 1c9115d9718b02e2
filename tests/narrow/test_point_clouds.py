"""Point clouds against closed formulas for their points, and against single balls at these."""

import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase import scenes
from broadphase.plotting.pieces import PieceCollection
from reaches import matrix_of
from shape_cases import Numbers, quaternions, shape_of

CONVEX = [
    "Point", "Sphere", "Segment", "Capsule", "AABB", "Box", "Triangle", "Cylinder", "Cone", "Ellipsoid", "ConvexHull",
    "HalfSpace",
]  # fmt: skip
OTHERS = [*CONVEX, "Compound", "Mesh", "HeightField"]
FORMS = ["many", "one", "equal", "line", "far", "leaf"]


def points_of(rng, form):
    return {
        "many": lambda: rng.normal(size=(rng.integers(6, 60), 3)) * [2, 1, 0.5],
        "one": lambda: rng.normal(size=(1, 3)),
        "equal": lambda: np.repeat(rng.normal(size=(1, 3)), 7, axis=0),
        "line": lambda: np.linspace(-2, 2, 9)[:, np.newaxis] * rng.normal(size=3),
        "far": lambda: np.concatenate([rng.normal(size=(20, 3)), [[1e6, 0, 0]]]),
        "leaf": lambda: rng.normal(size=(rng.choice([3, 4, 5, 16, 17]), 3)),
    }[form]()


def cloud_of(rng, form="many", radius=None, **placing):
    return bp.PointCloud(points_of(rng, form), rng.choice([0.0, 0.1, 3.0]) if radius is None else radius, **placing)


def placed(shape, position=(0, 0, 0), rotation=None):
    return bp.Shapes(shape, [position], None if rotation is None else [rotation])


def places_of(cloud, position=(0, 0, 0), rotation=(1, 0, 0, 0)):
    """The points of a cloud in the world."""
    own = cloud.points @ matrix_of(cloud.rotation, 3).T + cloud.offset
    return own @ matrix_of(rotation, 3).T + position


def balls_of(cloud, position=(0, 0, 0), rotation=(1, 0, 0, 0)):
    return bp.Shapes(bp.Sphere(cloud.radius), places_of(cloud, position, rotation))


def to_each(balls, other):
    """The pairs of each ball with the only other shape."""
    return np.stack([np.arange(len(balls)), np.zeros(len(balls), int)], axis=1)


def meet(one, other):
    found = len(bp.overlaps(one, other)) == 1
    assert len(bp.overlaps(other, one)) == len(bp.overlaps(one, other, [[0, 0]])) == found
    return found


def from_box(points, half):
    """The signed distances of points from a box around the origin."""
    beyond = np.abs(points) - half
    return np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)


def from_segment(points, begin, end):
    along = end - begin
    share = np.clip((points - begin) @ along / (along @ along), 0, 1)
    return np.linalg.norm(points - begin - share[:, np.newaxis] * along, axis=1)


@pytest.mark.parametrize("form", FORMS)
def test_balls_boxes_capsules_half_spaces_and_clouds_are_as_far_as_from_the_nearest_point(form):
    rng = np.random.default_rng(FORMS.index(form))
    for _ in range(40):
        cloud = cloud_of(rng, form, offset=rng.normal(size=3), rotation=quaternions(rng))
        place, turn = rng.normal(size=3), quaternions(rng)
        a, points = placed(cloud, place, turn), places_of(cloud, place, turn)
        size = rng.choice([0.1, 1.0, 4.0])
        half, ends, normal = size * rng.random(3), rng.normal(size=(2, 3)), rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        other = cloud_of(rng, "many", size)
        gaps = {
            "ball": (bp.Sphere(size), np.linalg.norm(points, axis=1) - size),
            "box": (bp.Box(*(2 * half)), from_box(points, half)),
            "capsule": (bp.Capsule(*ends, size), from_segment(points, *ends) - size),
            "half space": (bp.HalfSpace(normal, size), points @ normal - size),
            "cloud": (other, np.linalg.norm(points[:, np.newaxis] - other.points, axis=2).min(axis=1) - size),
        }
        for shape, distances in gaps.values():
            b, wanted = placed(shape), distances.min() - cloud.radius
            assert bp.distance(a, b)[0] == bp.distance(b, a)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
            if abs(wanted) > 1e-8:
                assert meet(a, b) == (wanted < 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OTHERS)
def test_all_shapes_are_as_far_as_from_the_nearest_ball(form, name):
    rng = np.random.default_rng([FORMS.index(form), OTHERS.index(name)])
    met = 0
    for case in range(16):
        cloud = cloud_of(rng, form, offset=rng.normal(size=3), rotation=quaternions(rng))
        place, turn, other = rng.normal(size=3), quaternions(rng), shape_of(name, Numbers(rng, 3))
        a, balls = placed(cloud, place, turn), balls_of(cloud, place, turn)
        b = placed(other, rng.normal(size=3) * (1 if case % 2 else 4), quaternions(rng))
        each = bp.distance(balls, b, pairs=to_each(balls, b))
        nearest = each.min()
        scale = max(1.0, np.abs(places_of(cloud, place, turn)).max(), cloud.radius)
        if nearest > 0 or name not in ("Mesh", "HeightField"):  # whose depths are of motions that differ by rounding
            assert bp.distance(a, b)[0] == bp.distance(b, a)[0] == pytest.approx(nearest, abs=1e-9 * scale)
        if abs(nearest) < 1e-8 * scale:
            continue
        assert meet(a, b) == (nearest < 0) == bool(len(bp.overlaps(balls, b)))
        if nearest > 0:
            assert bp.distance(a, b, max_distance=nearest / 2)[0] == np.inf
            continue
        met += 1
        contact, back = bp.contacts(a, b, [[0, 0]]), bp.contacts(b, a, [[0, 0]])
        assert contact.depths[0] == back.depths[0]
        assert np.array_equal(contact.normals, -back.normals)
        deepest = each.argmin()
        single = bp.contacts(balls, b, [[deepest, 0]])
        if name not in ("Mesh", "HeightField"):
            assert contact.depths[0] == pytest.approx(-nearest, abs=1e-9 * scale)
            if np.sum(each < nearest + 1e-6 * scale) == 1:
                assert np.allclose(contact.normals, single.normals, atol=1e-6)
    assert met or form != "many" or name in ("Point", "Segment", "Triangle", "Mesh", "AABB")


def test_what_only_touches_overlaps():
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    for radius, shape in (
        (0.5, bp.Sphere(0.5, offset=(4, 1, 2))),
        (0.25, bp.Box(1.5, 1, 1, offset=(4, 1, 1))),
        (0.0, bp.Box(2, 1, 1, offset=(4, 1, 1))),
        (0.0, bp.Point(offset=(3, 3, 3))),
        (0.5, bp.HalfSpace((0, 0, 1), -0.5)),
        (0.5, bp.PointCloud(grid + 3, 0.5, offset=(1, 0, 0))),
    ):
        a, b = placed(bp.PointCloud(grid, radius)), placed(shape)
        assert meet(a, b)
        assert bp.distance(a, b)[0] == 0
        beside = placed(shape, (0, 0, -1e-9) if isinstance(shape, bp.HalfSpace) else (1e-9, 0, 0))
        assert not meet(a, beside)


def ray_times(points, radius, origin, way):
    """When a ray enters balls and leaves them, inf for those that it misses."""
    to = points - origin
    middle = to @ way
    inside = radius**2 - (to**2).sum(axis=1) + middle**2
    half = np.sqrt(np.where(inside >= 0, inside, np.inf))
    return np.where(inside >= 0, middle - half, np.inf), np.where(inside >= 0, middle + half, np.inf)


@pytest.mark.parametrize("form", FORMS)
def test_rays_hit_the_first_ball_and_cross_each(form):
    rng = np.random.default_rng(FORMS.index(form))
    hits = 0
    for _ in range(20):
        cloud = cloud_of(rng, form, rng.choice([0.05, 0.4, 3.0]), offset=rng.normal(size=3))
        turn = quaternions(rng)
        shape, points = placed(cloud, (1, 2, 3), turn), places_of(cloud, (1, 2, 3), turn)
        origins = rng.normal(size=(20, 3)) * 6
        ways = points[rng.integers(0, len(points), 20)] + rng.normal(size=(20, 3)) * 0.5 - origins
        found, crossings = bp.raycast(shape, origins, ways), bp.raycast(shape, origins, ways, every=True)
        for k, (origin, way) in enumerate(
            zip(origins, ways / np.linalg.norm(ways, axis=1, keepdims=True), strict=True)
        ):
            enter, leave = ray_times(points, cloud.radius, origin, way)
            ahead = leave >= 0
            first = np.maximum(enter[ahead], 0).min(initial=np.inf)
            scale = 1e-9 * max(1.0, np.abs(points).max())
            assert found.distances[k] == pytest.approx(first, abs=scale)
            times = np.sort(np.concatenate([enter[ahead & (enter > 0)], leave[ahead]]))
            times = times[times < np.inf]
            mine = slice(crossings.offsets[k], crossings.offsets[k + 1])
            assert np.allclose(crossings.distances[mine], times, rtol=0, atol=1e3 * scale)
            assert (crossings.faces[mine] == -1).all()
            if 0 < first < np.inf:
                normal = origin + first * way - points[np.where(ahead, enter, np.inf).argmin()]
                assert np.allclose(found.normals[k] * cloud.radius, normal, atol=1e3 * scale)
                hits += 1
            elif first == 0:
                assert np.allclose(found.normals[k], -way)
    assert hits > 20


def test_points_without_a_radius_are_hit_as_balls_without_one():
    cloud, ball = bp.PointCloud([[0, 0, 0], [2, 0, 0]]), bp.Compound([bp.Sphere(0), bp.Sphere(0, offset=(2, 0, 0))])
    for origin, way in (
        ((-4, 0, 0), (1, 0, 0)),
        ((-4, 1, 0), (1, 0, 0)),
        ((2, 0, 0), (0, 1, 0)),
        ((0, 0, 0), (0, 0, 0)),
    ):
        for every in (False, True):
            one, other = bp.raycast(cloud, origin, way, every=every), bp.raycast(ball, origin, way, every=every)
            assert np.array_equal(one.distances, other.distances)
            assert np.array_equal(one.normals, other.normals, equal_nan=True)


@pytest.mark.parametrize("name", OTHERS)
def test_casts_end_where_the_first_ball_touches(name):
    rng = np.random.default_rng([7, OTHERS.index(name)])
    touched = 0
    for _ in range(12):
        cloud, other = cloud_of(rng, "many"), shape_of(name, Numbers(rng, 3))
        place, turn = rng.normal(size=3) * 6, quaternions(rng)
        a, balls, b = placed(cloud, place, turn), balls_of(cloud, place, turn), placed(other, rotation=quaternions(rng))
        motion = -1.5 * place + rng.normal(size=3) * 0.3
        pairs = to_each(balls, b)
        found = bp.time_of_impact(a, b, pairs=[[0, 0]], motions=[motion])
        back = bp.time_of_impact(b, a, pairs=[[0, 0]], motions=[-motion])
        times = bp.time_of_impact(balls, b, pairs=pairs, motions=motion).times
        assert found.times[0] == pytest.approx(times.min(), abs=1e-9)
        assert found.times[0] == pytest.approx(back.times[0], abs=1e-9)
        touched += 0 < times.min() < np.inf
        if times.min() == 0:
            assert np.allclose(found.normals[0], bp.contacts(a, b, [[0, 0]]).normals[0])
    assert touched >= 3


@pytest.mark.parametrize("name", ["Sphere", "Box", "Capsule", "ConvexHull", "Mesh", "HeightField", "HalfSpace"])
def test_what_turns_touches_when_the_first_ball_does(name):
    rng = np.random.default_rng([8, OTHERS.index(name)])
    for _ in range(6):
        cloud, other = cloud_of(rng, "leaf", rng.choice([0.0, 0.2, 1.0])), shape_of(name, Numbers(rng, 3))
        place, angular = rng.normal(size=3) * 5, rng.normal(size=3)
        a, b, motion = placed(cloud), placed(other, place), place * 1.2
        found = bp.time_of_impact(a, b, pairs=[[0, 0]], motions=[motion], angular_motions=[angular]).times[0]
        times = [
            bp.time_of_impact(
                placed(bp.Sphere(cloud.radius, offset=point)), b, pairs=[[0, 0]], motions=[motion],
                angular_motions=[angular],
            ).times[0]
            for point in cloud.points
        ]  # fmt: skip
        assert found == pytest.approx(min(times), abs=1e-5)


def test_faces_of_meshes_that_meet_a_cloud_are_each_given_once():
    rng = np.random.default_rng(1)
    vertices = rng.normal(size=(60, 3)) * 2
    faces = rng.integers(0, 60, (40, 3))
    mesh, cloud = placed(bp.Mesh(vertices, faces)), placed(cloud_of(rng, "many", 0.4))
    for a, b, column in ((mesh, cloud, 1), (cloud, mesh, 2)):
        found = bp.overlapping_faces(a, b, pairs=[[0, 0]])
        wanted = [
            face for face, corners in enumerate(faces)
            if len(bp.overlaps(placed(bp.Triangle(vertices[corners])), balls_of(cloud[0])))
        ]  # fmt: skip
        assert found[:, column].tolist() == wanted
        assert (found[:, 3 - column] == -1).all()


CUBE = np.array([[x, y, z] for x in (-3, 3) for y in (-3, 3) for z in (-3, 3)], float)
CUBE_FACES = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip


def test_balls_in_a_closed_mesh_are_inside_it():
    rng = np.random.default_rng(2)
    turn = quaternions(rng)
    box = bp.Mesh(CUBE, CUBE_FACES, offset=(1, 2, 3), rotation=turn)
    assert box.is_watertight
    within, beyond = rng.uniform(-2.5, 2.5, (300, 3)), rng.uniform(3.5, 9, (300, 3)) * rng.choice([-1, 1], (300, 3))
    place = lambda points: points @ matrix_of(turn, 3).T + (1, 2, 3)  # noqa: E731
    for points, gap, inside in (
        (within, 0, 1),
        (beyond, np.linalg.norm(np.maximum(np.abs(beyond) - 3, 0), axis=1).min() - 0.25, 0),
        (np.concatenate([beyond, within[:1]]), 0, 0),
        (np.concatenate([within, beyond[:1]]), 0, 0),
        (within[:1], 0, 1),
    ):
        cloud = bp.PointCloud(place(points), 0.25)
        found = bp.clearances([box, cloud], max_distance=100.0)
        assert found.gaps[0] == pytest.approx(gap, abs=1e-9)
        assert found.inside[0] == inside
        depth = np.abs(np.abs(within[: len(points)]).max(axis=1) - 3).min() - 0.25
        if inside:
            assert bp.distance(box, cloud, solid=True) == pytest.approx(-depth, abs=1e-9)


def test_a_world_finds_the_pairs_that_its_balls_have():
    rng = np.random.default_rng(3)
    world = bp.World(3)
    clouds = [cloud_of(rng, "many", 0.4) for _ in range(4)]
    for cloud in clouds:
        world.add(
            cloud, position=rng.normal(size=3) * 2, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    world.add_many(bp.Sphere(0.3), rng.normal(size=(30, 3)) * 2, velocities=rng.normal(size=(30, 3)))
    radii = [0.4] * 4 + [0.3] * 30
    seen = set()
    for _ in range(10):
        frame = world.step(0.1)
        places = [places_of(cloud, world.positions[k], world.rotations[k]) for k, cloud in enumerate(clouds)]
        places += list(world.positions[4:, np.newaxis])
        wanted = {
            (i, j)
            for i in range(34)
            for j in range(i + 1, 34)
            if np.linalg.norm(places[i][:, np.newaxis] - places[j], axis=2).min() <= radii[i] + radii[j]
        }
        assert {tuple(pair) for pair in frame.pairs.tolist()} == wanted
        seen |= wanted
    assert len(seen) > 10
    origins = rng.normal(size=(40, 3)) * 9
    hits = world.raycast(origins, -origins)
    for origin, distance, way in zip(origins, hits.distances, -origins, strict=True):
        unit = way / np.linalg.norm(way)
        first = min(
            np.where(leave >= 0, np.maximum(enter, 0), np.inf).min()
            for enter, leave in (ray_times(at, radius, origin, unit) for at, radius in zip(places, radii, strict=True))
        )
        assert distance == pytest.approx(first, abs=1e-9)
    # A fast ball does not tunnel.
    wall = bp.World(3)
    wall.add(bp.PointCloud([[x, y, 0] for x in range(9) for y in range(9)], 0.8), position=(-4, -4, 0))
    wall.add(bp.Sphere(0.1), position=(0, 0, 50), velocity=(0, 0, -1000), ccd=True)
    assert wall.step(1.0).enter.tolist() == [[0, 1]]


def test_clouds_are_drawn_by_their_points(tmp_path):
    rng = np.random.default_rng(9)
    world = bp.World(3)
    for count, radius in ((20, 0.1), (20, 0.0), (1500, 0.1)):
        cloud = bp.PointCloud(rng.normal(size=(count, 3)), radius, offset=(1, 2, 3), rotation=quaternions(rng))
        world.add(cloud, position=(4, 5, 6), rotation=quaternions(rng))
        collection = PieceCollection(3)
        collection.add(placed(cloud), *np.zeros((2, 1), np.int32))  # relative to its body
        pieces = collection.pieces()
        corners = np.concatenate([pieces.vertices(form, which).reshape(-1, 3) for form, which in pieces.by_form()])
        gaps = np.linalg.norm(corners[:, np.newaxis] - places_of(cloud), axis=2)
        assert (gaps.min(axis=0) <= radius + 1e-9).all()  # each point is there
        assert (gaps.min(axis=1) <= radius + 1e-9).all()
        assert (len(corners) > count) == (radius > 0 and count < 1000)
    bp.save_replay(world, tmp_path / "scan.html", steps=2)
    assert (tmp_path / "scan.html").stat().st_size > 10_000


def test_snapshots_pickles_and_scene_files_keep_clouds():
    rng = np.random.default_rng(4)
    cloud = cloud_of(rng, "many", 0.25, offset=[0, 0, 1])
    world = bp.World(3)
    world.add(cloud, position=[1, 2, 3])
    world.add(cloud, position=[4, 2, 3])
    again = bp.World.from_bytes(world.to_bytes())
    assert again.shapes[0] == again.shapes[1] == cloud
    assert np.array_equal(world.boxes, again.boxes)
    back = pickle.loads(pickle.dumps(cloud))
    assert back == cloud
    assert hash(back) == hash(cloud)
    assert bp.distance(back, bp.Sphere(1)) == bp.distance(cloud, bp.Sphere(1))
    assert cloud != bp.PointCloud(cloud.points, 0.5, offset=[0, 0, 1], rotation=cloud.rotation)
    with pytest.raises(ValueError, match="read-only"):
        cloud.points[0] = 1
    assert repr(bp.PointCloud([[0, 0, 0]], 1)) == "PointCloud(<1 points>, radius=1.0)"
    scene = scenes.parse(
        {
            "world": {"dim": 3},
            "group": [{"shape": {"type": "point_cloud", "points": [[0, 0, 0], [1, 0, 0]], "radius": 0.5}, "place": {
                "how": "list", "at": [[0, 0, 0], [1, 1, 1]]}}],
        },
        "scan.toml",
    )  # fmt: skip
    assert scene.build().shapes[1] == bp.PointCloud([[0, 0, 0], [1, 0, 0]], 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"points must have shape \(n, 3\), n at least 1, not \(0,\)"),
        ((np.empty((0, 3)),), r"n at least 1, not \(0, 3\)"),
        (([[0, 0]],), r"not \(1, 2\)"),
        (([[0, 0, 0], [0, np.nan, 0]],), "points: row 1 has nan, which is not finite"),
        (([[0, 0, 0], [0, 0, 0], [0, 0, 1e41]],), "points: row 2 has 1e.41, which is beyond"),
        (([[0, 0, 0]], -1), "radius is -1.0, which is negative"),
        (([[0, 0, 0]], np.inf), "radius has inf, which is not finite"),
        (([[0, 0, 0]], [1, 2]), r"radius must be one number, not an array of shape \(2,\)"),
    ],
)
def test_what_is_no_cloud_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bp.PointCloud(*arguments)


def test_a_scan_of_a_hundred_thousand_points():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(100_000, 3)) * [20, 20, 2]
    scan = bp.PointCloud(points, 0.05)
    assert scan.prepared.memory_bytes <= 20 * len(points)
    queries = bp.Shapes(bp.Sphere(0.5), rng.normal(size=(50, 3)) * [20, 20, 2])
    gaps = bp.distance(queries, scan)
    wanted = [np.linalg.norm(points - place, axis=1).min() - 0.55 for place in queries.positions]
    assert np.allclose(gaps, wanted, rtol=0, atol=1e-12)
    huge = bp.PointCloud(points, 500)
    assert np.allclose(bp.distance(queries, huge), np.array(wanted) - 499.95, rtol=0, atol=1e-9)
    same = bp.PointCloud(np.zeros((100_000, 3)), 1)
    assert bp.distance(same, bp.Sphere(1, offset=(0, 0, 3))) == 1
    assert bp.overlaps(same, same)


def test_a_robot_meets_the_points_of_a_cloud():
    rng = np.random.default_rng(6)
    points, turn = rng.uniform(-2, 2, (400, 3)), quaternions(rng)
    cloud = bp.Shapes(bp.PointCloud(points, 0.03), [[0.1, 0.2, 0.3]], [turn])
    places = points @ matrix_of(turn, 3).T + [0.1, 0.2, 0.3]
    arm = [
        bp.Link("base", bp.Sphere(0.1)),
        bp.Link("upper", bp.Capsule((0, 0, 0), (1, 0, 0), 0.1), parent="base", joint="revolute", axis=(0, 0, 1)),
        bp.Link(
            "scanner", bp.PointCloud(rng.normal(size=(20, 3)) * 0.1, 0.02), parent="upper", joint="revolute",
            axis=(0, 1, 0), position=(1, 0, 0),
        ),
    ]  # fmt: skip
    robot = bp.Articulated(arm)
    values = rng.uniform(-3, 3, (200, 2))
    for obstacles in (cloud, bp.Obstacles(cloud)):
        assert np.array_equal(
            robot.collides(values, obstacles), robot.collides(values, bp.Obstacles(points=places, radius=0.03))
        )
        assert np.allclose(
            robot.clearance(values, obstacles), robot.clearance(values, bp.Obstacles(points=places, radius=0.03))
        )
    found = robot.collides(values, cloud)
    assert 0 < found.sum() < 200
    for k in range(0, 200, 10):
        links = robot.placed(values[k])
        assert found[k] == bool(len(bp.overlaps(links, cloud)))
