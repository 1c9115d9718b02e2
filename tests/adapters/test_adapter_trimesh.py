"""``broadphase.adapters.trimesh`` against trimesh with python-fcl: its own tests, and random scenes."""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

theirs = pytest.importorskip("trimesh.collision", reason="trimesh is not installed")
trimesh = pytest.importorskip("trimesh")

from broadphase.adapters import trimesh as ours  # noqa: E402 (the library is there)

needs_fcl = pytest.mark.skipif(theirs.fcl is None, reason="python-fcl is not installed")


def at(*position, turn=None):
    matrix = np.eye(4) if turn is None else trimesh.transformations.rotation_matrix(turn[0], turn[1:])
    matrix[:3, 3] = position
    return np.float32(matrix).astype(np.float64)  # as `add_object` of trimesh rounds it


def two_boxes():
    """Give a surface that is not convex: two unit boxes apart."""
    return trimesh.util.concatenate([trimesh.creation.box(), trimesh.creation.box().apply_transform(at(1.5, 0, 0))])


BOX = trimesh.creation.box()
TWO = two_boxes()
BALL = trimesh.creation.icosphere(1)
RING = trimesh.creation.torus(1.0, 0.3, major_sections=12, minor_sections=8)
MESHES = {"box": BOX, "two": TWO, "ball": BALL, "ring": RING}


def managers(objects):
    """Make both libraries' managers of (name, mesh, matrix)."""
    both = theirs.CollisionManager(), ours.CollisionManager()
    for manager in both:
        for name, mesh, matrix in objects:
            manager.add_object(name, mesh, matrix)
    return both


# The cases of trimesh's tests/test_collision.py


def test_collisions_of_cubes_are_those_of_the_tests_of_trimesh():
    # The order of vertices in models/unit_cube.STL: of corners that are equally deep, FCL gives the first it sees.
    order = [[-1, -1, 1], [-1, 1, 1], [-1, -1, -1], [-1, 1, -1], [1, -1, 1], [1, -1, -1], [1, 1, 1], [1, 1, -1]]
    cube = trimesh.convex.convex_hull(np.array(order) / 2)
    here, there = at(5, 0, 0), at(-5, 0, 0)
    manager = ours.CollisionManager()
    manager.add_object("cube0", cube)
    manager.add_object("cube1", cube, here)
    assert manager.in_collision_single(cube) is True
    is_hit, names, data = manager.in_collision_single(cube, here, return_names=True, return_data=True)
    assert is_hit is True
    assert names == {"cube1"}
    assert [contact.names for contact in data] == [{"cube1", "__external"}]
    assert np.allclose(data[0].point, [5.0, -0.5, 0.5])
    assert np.isclose(data[0].depth, 1.0)
    assert np.allclose(data[0].normal, [-1.0, 0.0, 0.0])
    assert data[0].index("cube1") == data[0].index("__external") == -1
    assert manager.in_collision_single(cube, there, return_names=True, return_data=True) == (False, set(), [])
    assert manager.in_collision_internal() is False
    manager.add_object("cube2", cube, here)
    assert manager.in_collision_internal(return_names=True) == (True, {("cube1", "cube2")})
    manager.set_transform("cube2", there)
    assert manager.in_collision_internal() is False
    manager.set_transform("cube2", here)
    assert manager.in_collision_internal() is True
    manager.remove_object("cube2")
    assert manager.in_collision_internal() is False

    other = ours.CollisionManager()
    other.add_object("cube0", cube, there)
    assert manager.in_collision_other(other) is False
    other.add_object("cube3", cube, here)
    assert manager.in_collision_other(other) is True
    assert manager.in_collision_other(other, return_names=True) == (True, {("cube1", "cube3")})
    assert other.in_collision_other(manager, return_names=True) == (True, {("cube3", "cube1")})


def test_distances_of_cubes_are_those_of_the_tests_of_trimesh():
    one, two, three, four = (at(x, 0, 0) for x in (5, -5, 2, -2))
    manager = ours.CollisionManager()
    manager.add_object("cube1", BOX, one)
    assert np.isclose(manager.min_distance_single(BOX), 4.0)
    assert np.isclose(manager.min_distance_single(BOX, at(5.75, 0, 0)), -0.25)
    assert manager.min_distance_single(BOX, return_name=True)[1] == "cube1"
    manager.add_object("cube2", BOX, two)
    assert manager.min_distance_single(BOX, three, return_name=True) == (pytest.approx(2.0), "cube1")
    assert manager.min_distance_single(BOX, four, return_name=True) == (pytest.approx(2.0), "cube2")
    assert manager.min_distance_internal(return_names=True) == (pytest.approx(9.0), ("cube1", "cube2"))
    manager.add_object("cube3", BOX, three)
    assert manager.min_distance_internal(return_names=True) == (pytest.approx(2.0), ("cube1", "cube3"))
    manager.set_transform("cube3", four)
    assert manager.min_distance_internal(return_names=True) == (pytest.approx(2.0), ("cube2", "cube3"))
    assert manager.min_distance_internal("cube1", return_names=True) == (pytest.approx(6.0), ("cube1", "cube3"))

    first, second = ours.CollisionManager(), ours.CollisionManager()
    first.add_object("cube0", BOX)
    first.add_object("cube1", BOX, one)
    second.add_object("cube4", BOX, two)
    for names, least in ((("cube0", "cube4"), 4.0), (("cube0", "cube5"), 1.0)):
        if least == 1.0:
            second.add_object("cube5", BOX, four)
        distance, found, data = first.min_distance_other(second, return_names=True, return_data=True)
        assert (distance, found) == (pytest.approx(least), names)
        assert np.isclose(np.linalg.norm(data.point(names[0]) - data.point(names[1])), distance)


def test_all_of_many_objects_are_named_that_collide_with_one():
    anvil = trimesh.creation.box(extents=[200, 200, 200])
    probe = trimesh.creation.revolve(
        np.array([[0, 3.0], [3, 3], [3, 75], [127, 75], [127, 580], [0, 580]]), sections=32
    )
    manager = ours.CollisionManager()
    for place in range(70):
        manager.add_object(place, probe, at((place / 70 - 0.5) * 30, 0, -50))
    assert manager.in_collision_single(anvil, return_names=True) == (True, set(range(70)))


def test_scene_becomes_a_manager_of_its_nodes():
    class Graph(dict):
        nodes_geometry = ("left", "right")

    graph = Graph(left=(at(0, 0, 0), "box"), right=(at(0.5, 0, 0), "box"))
    manager, objects = ours.scene_to_collision(SimpleNamespace(graph=graph, geometry={"box": BOX}))
    assert manager.in_collision_internal(return_names=True) == (True, {("left", "right")})
    assert set(objects) == {"left", "right"}


# Random scenes


def random_pose(rng, width):
    return at(*rng.random(3) * width, turn=[rng.random() * 6, *rng.standard_normal(3)])


def assert_same_contacts(found, expected):
    """Compare the faces in contact; and of two faces, the numbers, which FCL computes from matrices in float32."""
    by_faces = [{}, {}]
    for groups, contacts in zip(by_faces, (found, expected), strict=True):
        for one in contacts:
            groups.setdefault(frozenset(one._inds.items()), []).append([*one.point, one.depth])
    assert by_faces[0].keys() == by_faces[1].keys()
    for key, numbers in by_faces[0].items():
        assert len(numbers) == len(by_faces[1][key])
        if all(face >= 0 for _, face in key):
            assert np.allclose(numbers, by_faces[1][key], rtol=0, atol=1e-5)


def assert_nearest_is_the_same(found, expected):
    """Compare (distance, names, data); which of several that overlap is given is not said."""
    distance, names, data = expected
    if distance <= 0:
        assert found[0] <= 0
        return
    assert found[:2] == (pytest.approx(distance, abs=1e-6), names)
    apart = np.linalg.norm(np.subtract(*(found[2].point(name) for name in found[2].names)))
    assert apart == pytest.approx(distance, abs=1e-6)
    assert found[2].names == data.names
    assert {name: found[2].index(name) < 0 for name in data.names} == {
        name: data.index(name) < 0 for name in data.names
    }


@needs_fcl
@pytest.mark.parametrize("seed", range(6))
def test_random_histories_give_the_answers_of_trimesh(seed):
    rng = np.random.default_rng(seed)
    meshes = list(MESHES.values())
    width = (3, 6, 12)[seed % 3]
    expected, found = managers([(str(k), meshes[rng.integers(4)], random_pose(rng, width)) for k in range(10)])
    other_expected, other = managers([(str(k), meshes[rng.integers(4)], random_pose(rng, width)) for k in range(3)])
    for step in range(8):
        assert found.in_collision_internal() == expected.in_collision_internal()
        a, b = (one.in_collision_internal(True, True) for one in (expected, found))
        assert b[:2] == a[:2]
        assert_same_contacts(b[2], a[2])
        mesh, matrix = meshes[rng.integers(4)], random_pose(rng, width)
        a, b = (one.in_collision_single(mesh, matrix, True, True) for one in (expected, found))
        assert b[:2] == a[:2]
        assert_same_contacts(b[2], a[2])
        assert found.in_collision_single(mesh, matrix) == a[0]
        a, b = (one.in_collision_other(two, True, True) for one, two in ((expected, other_expected), (found, other)))
        assert b[:2] == a[:2]
        a, b = (one.min_distance_single(mesh, matrix, True, True) for one in (expected, found))
        assert_nearest_is_the_same(b, a)
        a, b = (one.min_distance_internal(None, True, True) for one in (expected, found))
        assert_nearest_is_the_same(b, a)
        a, b = (one.min_distance_other(two, True, True) for one, two in ((expected, other_expected), (found, other)))
        assert_nearest_is_the_same(b, a)
        name = str(rng.choice(sorted(expected._objs)))
        if step % 4 == 1:
            for one in (expected, found):
                one.remove_object(name)
        elif step % 4 == 2:
            mesh, matrix = meshes[rng.integers(4)], random_pose(rng, width)
            for one in (expected, found):
                one.add_object(f"new {step}", mesh, matrix)
        else:
            matrix = random_pose(rng, width)
            for one in (expected, found):
                one.set_transform(name, matrix)
            a, b = (one.min_distance_internal(name, True, True) for one in (expected, found))
            assert_nearest_is_the_same(b, a)


def contacts_of(module, how, mesh, other, matrix):
    """Contacts of two meshes, by one of three ways to ask."""
    manager = module.CollisionManager()
    manager.add_object("a", mesh)
    if how == "single":
        return manager.in_collision_single(other, matrix, return_data=True)[1]
    if how == "internal":
        manager.add_object("b", other, matrix)
        return manager.in_collision_internal(return_data=True)[1]
    others = module.CollisionManager()
    others.add_object("b", other, matrix)
    return manager.in_collision_other(others, return_data=True)[1]


@needs_fcl
@pytest.mark.parametrize("how", ["single", "internal", "other"])
@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("other", MESHES)
def test_normals_of_contacts_have_the_direction_of_fcl(name, other, how):
    mesh, rng, checked = MESHES[name], np.random.default_rng(2), 0
    for axis in range(3):
        place = 0.02 * rng.random(3)
        place[axis] = mesh.bounds[0, axis] - MESHES[other].bounds[1, axis] + 0.02  # it reaches in by so much
        expected, found = (contacts_of(module, how, mesh, MESHES[other], at(*place)) for module in (theirs, ours))
        by_faces = {}
        for one in expected:
            by_faces.setdefault(tuple(one._inds.items()), []).append(one.normal)
        assert {tuple(one._inds.items()) for one in found} == set(by_faces)
        # Of a convex mesh and a face at its side, the direction of the least depth is not that of FCL.
        along = [one for one in found if abs(one.normal[axis]) > 0.9]
        for one in along if "box" in (name, other) or "ball" in (name, other) else found:
            assert max(one.normal @ normal for normal in by_faces[tuple(one._inds.items())]) > 0.9
        for one in along:
            away = {"a": -1, "b": 1, "__external": 1}[next(iter(one._inds))]  # from the first to the second
            assert away * one.normal[axis] > 0
        checked += len(along)
    assert checked > 0


def test_contacts_of_many_pairs_are_those_of_each_pair():
    rng = np.random.default_rng(8)
    manager, truth = ours.CollisionManager(), {}
    for number in range(14):
        mesh = list(MESHES.values())[number % 4]
        truth[number] = mesh, random_pose(rng, 2.5)
        manager.add_object(number, *truth[number])
    found = {}
    for one in manager.in_collision_internal(return_data=True)[1]:
        found.setdefault(frozenset(one.names), []).append([*one._inds.values(), *one.point, *one.normal, one.depth])
    assert len(found) > 30
    for pair, numbers in found.items():
        alone = ours.CollisionManager()
        for number in sorted(pair):
            alone.add_object(number, *truth[number])
        contacts = alone.in_collision_internal(return_data=True)[1]
        expected = [[*one._inds.values(), *one.point, *one.normal, one.depth] for one in contacts]
        assert np.allclose(numbers, expected, rtol=0, atol=1e-12)


@needs_fcl
@pytest.mark.parametrize("width", [1.5, 3.0, 5.0, 8.0])
def test_distance_of_surfaces_that_meet_is_zero_and_names_two_that_do(width):
    rng = np.random.default_rng(int(width))
    expected, found = managers([(str(k), RING if k % 2 else TWO, random_pose(rng, width)) for k in range(10)])
    for _ in range(8):
        for name in map(str, range(10)):
            matrix = random_pose(rng, width)
            for one in (expected, found):
                one.set_transform(name, matrix)
        distance, names, data = found.min_distance_internal(return_names=True, return_data=True)
        a = expected.min_distance_internal(return_names=True, return_data=True)
        assert_nearest_is_the_same((distance, names, data), a)
        assert found.min_distance_internal() == distance
        assert found.min_distance_internal(return_names=True)[0] == distance
        if distance == 0:
            assert names in found.in_collision_internal(return_names=True)[1]
            assert data.names == set(names)
            assert np.allclose(*(data.point(name) for name in names), atol=1e-9)
            assert min(data.index(name) for name in names) >= 0
        matrix = random_pose(rng, width)
        a, b = (one.min_distance_single(RING, matrix, True, True) for one in (expected, found))
        assert_nearest_is_the_same(b, a)
        assert found.min_distance_single(RING, matrix, True) == (b[0], b[1])
        if b[0] == 0:
            assert b[1] in found.in_collision_single(RING, matrix, True)[1]
            assert np.allclose(*(b[2].point(name) for name in b[2].names), atol=1e-9)
            assert {b[2].index(name) >= 0 for name in b[2].names} == {True}


@needs_fcl
@pytest.mark.parametrize("name", MESHES)
def test_nearest_points_of_a_round_mesh_are_on_both_and_as_far_apart_as_they_say(name):
    rng, far = np.random.default_rng(4), 0
    round_one = trimesh.creation.icosphere(2)
    for _ in range(20):
        place, matrix = random_pose(rng, 3), random_pose(rng, 3)
        expected, found = managers([("it", MESHES[name], place)])
        a, b = (one.min_distance_single(round_one, matrix, True, True) for one in (expected, found))
        assert_nearest_is_the_same(b, a)
        if b[0] <= 0:
            continue
        far += 1
        for which, mesh, pose in (("it", MESHES[name], place), ("__external", round_one, matrix)):
            point = b[2].point(which)
            placed = mesh.copy().apply_transform(pose)
            assert trimesh.proximity.closest_point(placed, [point])[1][0] < 1e-6
            assert np.allclose(point, a[2].point(which), atol=1e-3)
    assert far > 5


def test_nearest_points_follow_objects_that_move():
    manager = ours.CollisionManager()
    for name, place in enumerate([at(0, 0, 0), at(0, 1.5, 0), at(0, 9, 0)]):
        manager.add_object(name, (TWO, BALL, BOX)[name], place)
    first = manager.min_distance_internal(return_data=True)[1]
    first.point(0)[:] = 7.0  # of the caller
    manager.set_transform(2, at(0, 8, 0))
    again = manager.min_distance_internal(return_data=True)[1]
    assert again.point(0)[1] == pytest.approx(0.5)
    manager.set_transform(1, at(0.25, 1.75, 0))
    moved = manager.min_distance_internal(return_data=True)[1]
    assert np.linalg.norm(moved.point(0) - moved.point(1)) == pytest.approx(moved.distance)
    manager.add_object(1, BOX, at(0.25, 1.75, 0))
    assert manager.min_distance_internal(return_data=True)[1].distance == pytest.approx(0.75)


@needs_fcl
def test_convex_meshes_that_share_a_part_of_a_face_collide_in_fcl_alone():
    places = {"opposite": (0, 1, 0), "shifted": (0.25, 1, 0), "at an edge": (0.25, 1, 1)}
    for where, place in places.items():
        answers = []
        for module in (theirs, ours):
            manager = module.CollisionManager()
            manager.add_object("it", BOX)
            answers.append(manager.in_collision_single(BOX, at(*place)))
            assert manager.in_collision_single(TWO, at(*place)) is True
        assert answers == [where != "opposite", False], where


def test_histories_give_the_answers_of_a_new_manager():
    rng = np.random.default_rng(3)
    meshes = list(MESHES.values())
    manager, truth = ours.CollisionManager(), {}
    for step in range(60):
        name = int(rng.integers(12))
        kind = rng.integers(5)
        if kind == 0 and name in truth:
            manager.remove_object(name)
            del truth[name]
        elif kind < 3 or name not in truth:
            truth[name] = meshes[rng.integers(4)], random_pose(rng, 5)
            manager.add_object(name, *truth[name])  # also replaces
        else:
            matrix = random_pose(rng, 5)
            matrix[:3, :3] *= 1.5 if kind == 4 else 1.0
            truth[name] = truth[name][0], matrix
            manager.set_transform(name, matrix)
        if step % 3:
            new = ours.CollisionManager()
            for one, (mesh, matrix) in truth.items():
                new.add_object(one, mesh, matrix)
            if step % 2:
                assert manager.in_collision_internal() == new.in_collision_internal()
            assert manager.in_collision_internal(True) == new.in_collision_internal(True)
            distances = manager.min_distance_internal(), new.min_distance_internal()
            assert distances[0] == pytest.approx(distances[1]) or max(distances) <= 0


@pytest.mark.parametrize("seed", range(4))
def test_few_objects_give_the_answers_of_the_same_among_many(seed):
    rng = np.random.default_rng(seed)
    meshes, width = list(MESHES.values()), (2, 4, 6, 9)[seed]
    few, many = ours.CollisionManager(), ours.CollisionManager()
    for k in range(100):
        many.add_object(f"far {k}", BOX, at(1000 + 5 * k, 1000, 1000))
    hits = []
    for step in range(80):
        name, matrix, mesh = str(rng.integers(2 + step // 8)), random_pose(rng, width), meshes[rng.integers(4)]
        kind = rng.integers(6)
        if kind == 5:
            matrix[:3, :3] *= rng.choice([-1.0, 0.5])
        for one in (few, many):
            if name not in one._objs or kind == 0:
                one.add_object(name, mesh, matrix)
            elif kind == 1:
                one.remove_object(name)
            else:
                one.set_transform(name, matrix)
        if step % 3:
            assert few.in_collision_internal() == many.in_collision_internal()
        if step % 2:
            assert few.in_collision_internal(True) == many.in_collision_internal(True)
            assert few.in_collision_internal(True, True)[:2] == few.in_collision_internal(True)
        place = random_pose(rng, width)
        hits.append(few.in_collision_single(mesh, place, True))
        assert hits[-1] == many.in_collision_single(mesh, place, True)
        assert few.in_collision_single(mesh, place) == hits[-1][0]
        if few._objs:
            a, b = (one.min_distance_single(mesh, place, True) for one in (few, many))
            assert a == b or max(a[0], b[0]) <= 0
    assert len({hit for hit, _ in hits}) == 2


# Rules at edges


def test_convex_meshes_that_only_touch_do_not_collide_but_surfaces_do():
    for mesh, other, is_hit in ((BOX, BOX, False), (TWO, BOX, True), (BOX, TWO, True), (TWO, TWO, True)):
        for turn in (None, [np.pi / 2, 0, 0, 1]):
            manager = ours.CollisionManager()
            manager.add_object("it", mesh)
            assert manager.in_collision_single(other, at(0, 1, 0, turn=turn)) is is_hit, (mesh, other)
            assert manager.in_collision_single(other, at(0, 1 + 1e-6, 0, turn=turn)) is False
            assert manager.in_collision_single(other, at(0, 1 - 1e-6, 0, turn=turn)) is True
            manager.add_object("other", other, at(0, 1, 0, turn=turn))
            assert manager.in_collision_internal() is is_hit


def test_stack_of_cubes_that_are_tenths_wide_does_not_collide():
    cube = trimesh.creation.box(extents=[0.1] * 3)
    manager = ours.CollisionManager()
    for place in range(20):
        matrix = np.eye(4)
        matrix[2, 3] = 0.1 * place
        manager.add_object(place, cube, matrix)
    assert manager.in_collision_internal(True) == (False, set())


def test_surface_inside_another_does_not_collide_and_convex_meshes_are_solid():
    small = TWO.copy().apply_scale(0.01)
    manager = ours.CollisionManager()
    manager.add_object("two", TWO)
    assert manager.in_collision_single(small) is False
    assert manager.min_distance_single(small) == pytest.approx(0.48)
    manager.add_object("box", BOX, at(0, 9, 0))
    assert manager.in_collision_single(small, at(0, 9, 0), True) == (True, {"box"})
    assert manager.min_distance_single(small, at(0, 9, 0)) < 0


def test_managers_with_too_few_objects_have_no_collision_and_no_distance():
    manager, other = ours.CollisionManager(), ours.CollisionManager()
    for _ in range(2):
        assert manager.in_collision_internal(True, True) == (False, set(), [])
        assert manager.in_collision_other(other, True, True) == (False, set(), [])
        assert other.in_collision_other(manager, True) == (False, set())
        assert manager.min_distance_internal(return_names=True) == (sys.float_info.max, (None, None))
        assert manager.min_distance_other(other, return_names=True) == (sys.float_info.max, (None, None))
        assert other.min_distance_single(BOX, return_name=True) == (sys.float_info.max, None)
        manager.add_object("alone", BOX)
    distance, data = other.min_distance_single(BOX, return_data=True)
    assert (distance, data.distance, data.index("__external")) == (sys.float_info.max, sys.float_info.max, -1)
    assert manager.min_distance_internal("alone") == sys.float_info.max


def test_names_that_are_not_known_raise_and_matrices_are_checked():
    manager = ours.CollisionManager()
    for call in (
        manager.remove_object,
        manager.min_distance_internal,
        lambda name: manager.set_transform(name, at(0, 0, 0)),
    ):
        with pytest.raises(ValueError, match="x not in collision manager!"):
            call("x")
    manager.add_object("box", BOX)
    for matrix in (np.eye(3), np.full((4, 4), np.nan), at(np.inf, 0, 0)):
        for call in (manager.set_transform, lambda name, matrix: manager.add_object("new", BOX, matrix)):
            with pytest.raises(ValueError, match="transform must be"):
                call("box", matrix)
    with pytest.raises(ValueError, match="no faces"):
        manager.add_object("empty", trimesh.Trimesh())
    assert list(manager._objs) == ["box"]
    assert manager.in_collision_single(BOX, at(0.5, 0, 0).tolist(), True) == (True, {"box"})


def test_scaled_and_mirrored_objects_are_as_their_meshes_would_be():
    scaled = np.diag([2.0, 3.0, 1.0, 1.0])
    mirrored = np.diag([-1.0, 1.0, 1.0, 1.0]) @ trimesh.transformations.rotation_matrix(0.3, [1, 2, 3])
    for matrix in (scaled, mirrored):
        for mesh in MESHES.values():
            manager, plain = ours.CollisionManager(), ours.CollisionManager()
            manager.add_object("it", mesh, matrix)
            plain.add_object("it", mesh.copy().apply_transform(matrix))
            for place in (at(1.2, 0.3, 0.1), at(4.5, 0, 0)):
                a, b = (one.in_collision_single(BOX, place, True, True) for one in (plain, manager))
                assert a[:2] == b[:2]
                assert [contact.index("it") for contact in a[2]] == [contact.index("it") for contact in b[2]]
                assert plain.min_distance_single(BOX, place) == pytest.approx(manager.min_distance_single(BOX, place))
            manager.set_transform("it", np.eye(4))
            assert manager.in_collision_single(BOX) is True


def test_mesh_that_changes_counts_as_it_was_when_it_was_given():
    mesh = trimesh.creation.box()
    manager = ours.CollisionManager()
    manager.add_object("before", mesh)
    mesh.apply_transform(at(9, 0, 0))
    assert manager.in_collision_single(mesh) is False
    assert manager.in_collision_single(BOX, return_names=True) == (True, {"before"})
    manager.add_object("after", mesh)
    assert manager.in_collision_single(mesh, return_names=True) == (True, {"after"})


def test_flat_mesh_that_counts_as_convex_is_a_surface():
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]], process=False)
    manager = ours.CollisionManager()
    manager.add_object("flat", flat)
    assert manager.in_collision_single(BOX, at(0, 0, 0.5)) is True
    assert manager.min_distance_single(BOX, at(0, 0, 1.5)) == pytest.approx(1.0)


def test_contacts_of_one_pair_are_not_more_than_trimesh_takes(monkeypatch):
    manager = ours.CollisionManager()
    manager.add_object("ring", RING)
    count = len(manager.in_collision_single(RING, return_data=True)[1])
    assert count > 100
    monkeypatch.setattr(theirs, "COLLISION_PER_PAIR_CAP", 100)
    assert len(manager.in_collision_single(RING, return_data=True)[1]) == 100


def test_only_what_has_moved_is_tested_again():
    manager = ours.CollisionManager()
    for place in range(100):
        manager.add_object(place, BOX, at(0.8 * place, 0, 0))
    scene = manager._placed.scene
    assert len(manager.in_collision_internal(True)[1]) == 99
    tested = scene.tested
    assert tested == 99
    assert len(manager.in_collision_internal(True)[1]) == 99
    manager.set_transform(50, at(0.8 * 50, 0.1, 0))
    assert manager.in_collision_internal() is True
    assert scene.tested == tested
    assert len(manager.in_collision_internal(True)[1]) == 99
    assert scene.tested == tested + 2


def test_one_pair_of_many_that_collide_is_found_without_testing_all():
    manager = ours.CollisionManager()
    for place in range(100):
        manager.add_object(place, BOX, at(0.001 * place, 0, 0))
    assert manager.in_collision_internal() is True
    assert manager.in_collision_single(BOX) is True
    assert manager._placed.scene.tested < 10
    assert len(manager.in_collision_internal(True)[1]) == 4950


def test_nearest_pair_is_followed_as_others_and_then_it_itself_move():
    rng = np.random.default_rng(5)
    meshes, manager, truth = [BOX, BALL, TWO], ours.CollisionManager(), {}
    for name in range(90):
        truth[name] = meshes[name % 3], random_pose(rng, 30)
        manager.add_object(name, *truth[name])
    for step in range(40):
        nearest = manager.min_distance_internal(return_names=True)
        new = ours.CollisionManager()
        for name, (mesh, matrix) in truth.items():
            new.add_object(name, mesh, matrix)
        expected = new.min_distance_internal(return_names=True)
        assert nearest == (pytest.approx(expected[0], abs=1e-12), expected[1]) or max(nearest[0], expected[0]) <= 0
        moved = nearest[1][step % 2] if step % 3 == 0 else int(rng.integers(90))
        if step % 7 == 6 and moved in truth:
            manager.remove_object(moved)
            del truth[moved]
        elif moved in truth:
            truth[moved] = truth[moved][0], random_pose(rng, 30)
            manager.set_transform(moved, truth[moved][1])


@pytest.mark.parametrize("width", [16, 90])
def test_many_objects_give_the_answers_of_a_new_manager_after_many_questions(width):
    rng = np.random.default_rng(width)
    meshes, manager, truth = list(MESHES.values()), ours.CollisionManager(), {}
    other = ours.CollisionManager()
    for name in range(30):
        other.add_object(name, meshes[name % 4], random_pose(rng, width))
    for name in range(300):  # more than 256, where a tree is made after 32 questions
        truth[name] = meshes[name % 4], random_pose(rng, width)
        manager.add_object(name, *truth[name])
    for step in range(24):
        for _ in range((0, 1, 25, 0, 2, 150)[step % 6]):
            name, kind = int(rng.integers(310)), rng.integers(6)
            if kind == 0 and name in truth and len(truth) > 270:
                manager.remove_object(name)
                del truth[name]
            elif kind == 1 or name not in truth:
                truth[name] = meshes[rng.integers(4)], random_pose(rng, width)
                manager.add_object(name, *truth[name])
            else:
                truth[name] = truth[name][0], random_pose(rng, width)
                manager.set_transform(name, truth[name][1])
        new = ours.CollisionManager()
        for name, (mesh, matrix) in truth.items():
            new.add_object(name, mesh, matrix)
        for _ in range(10):
            mesh, matrix = meshes[rng.integers(4)], random_pose(rng, width)
            hits = new.in_collision_single(mesh, matrix, True)
            assert manager.in_collision_single(mesh, matrix, True) == hits
            assert manager.in_collision_single(mesh, matrix) == hits[0]
            found, expected = (one.min_distance_single(mesh, matrix, True) for one in (manager, new))
            assert found == (pytest.approx(expected[0], abs=1e-12), expected[1]) or max(found[0], expected[0]) <= 0
        assert manager.in_collision_internal(True) == new.in_collision_internal(True)
        assert manager.in_collision_other(other, True) == new.in_collision_other(other, True)
        assert other.in_collision_other(manager) == other.in_collision_other(new)
        found, expected = (one.min_distance_other(other) for one in (manager, new))
        assert found == pytest.approx(expected, abs=1e-12) or max(found, expected) <= 0
    assert len(manager._objs) > 256


def test_query_that_is_cut_off_is_made_good_by_the_next_one():
    manager = ours.CollisionManager()
    for place in range(400):
        manager.add_object(place, BALL, at(0.001 * place, 0, 0))

    def cut_off(*_):
        with pytest.raises(RuntimeError, match="interrupted by this call"):
            manager.in_collision_internal(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, cut_off)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        with pytest.raises(KeyboardInterrupt):
            manager.in_collision_internal(True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(manager.in_collision_internal(True)[1]) == 400 * 399 // 2


def test_threads_that_share_a_manager_wait_for_each_other():
    rng = np.random.default_rng(6)
    places = [random_pose(rng, 8) for _ in range(200)]
    manager, other = ours.CollisionManager(), ours.CollisionManager()
    for name, place in enumerate(places):
        manager.add_object(name, BALL, place)
        other.add_object(name, BOX, place)
    expected = manager.in_collision_other(other, True), other.in_collision_other(manager, True)

    def ask(number):
        for name in range(number, 200, 4):
            manager.set_transform(name, places[name])
            other.set_transform(name, places[name])
        one, two = (manager, other) if number % 2 else (other, manager)
        return one.in_collision_other(two, True) == expected[(number + 1) % 2]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(ask, range(16)))
