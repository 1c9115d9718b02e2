"""Half spaces, against how far every other shape reaches along a direction, and against MuJoCo's planes."""

import numpy as np
import pytest

import broadphase as bp
from reaches import matrix_of, placed_reach
from shape_cases import CLASSES, Numbers, rotations, shape_of

EXACT = 1e-9  # of the size of the other shape
BOUNDED = [(d, name) for d in (2, 3) for name in CLASSES[d] if name != "HalfSpace"]
each_shape = pytest.mark.parametrize(("d", "name"), BOUNDED)


def placed(rng, d, name, apart=3.0):
    """A shape and where it is."""
    return bp.Shapes(shape_of(name, Numbers(rng, d)), apart * rng.normal(size=(1, d)), rotations(rng, d, 1))


def half_space(rng, d):
    """One that is placed, and its outward normal and height there."""
    shape = shape_of("HalfSpace", Numbers(rng, d))
    position, rotation = rng.normal(size=d), rotations(rng, d)
    turn, own = matrix_of(rotation, d), matrix_of(shape.rotation, d)
    normal = turn @ own @ shape.normal
    height = normal @ position + (turn @ shape.offset) @ normal + shape.height
    return bp.Shapes(shape, [position], [rotation]), normal, height


def lowest(shapes, normal):
    """The least of the products of a placed shape's points with a direction."""
    turn = matrix_of(shapes.rotations[0], shapes.dim)
    return -placed_reach(shapes[0], shapes.positions[0], turn, -normal[np.newaxis])[0]


def size_of(shapes):
    return np.ptp(shapes.boxes[0], axis=0).max()


@each_shape
def test_distances_are_how_low_a_shape_reaches(d, name):
    rng = np.random.default_rng(1)
    depths = 0
    for _ in range(60):
        shape = placed(rng, d, name)
        ground, normal, height = half_space(rng, d)
        true, spare = lowest(shape, normal) - height, EXACT * (1 + size_of(shape))
        for one, other, sign in ((shape, ground, -1), (ground, shape, 1)):
            assert bp.distance(one, other)[0] == pytest.approx(true, abs=spare)
            if abs(true) > spare:
                assert bp.overlaps(one, other).tolist() == ([[0, 0]] if true < 0 else [])
            contacts = bp.contacts(one, other)
            if true < -spare:
                depths += 1
                assert contacts.depths[0] == pytest.approx(-true, abs=spare)
                assert contacts.normals[0] == pytest.approx(sign * normal, abs=1e-12)
                points = contacts.points[0, : contacts.counts[0]]
                assert 1 <= len(points) <= (2 if d == 2 else 4)
                heights = points @ normal - height
                assert (heights <= spare).all()  # midway between the boundary and what is below it
                if name != "ConvexHull":
                    assert heights[0] == pytest.approx(true / 2, abs=spare)
    assert depths > 20


def test_boxes_and_discs_stand_on_all_of_their_corners():
    ground = bp.HalfSpace((0, 0, 1))
    box = bp.Shapes(bp.Box(2, 4, 6), [(1, 1, 2.5)])
    for other in (box, bp.Shapes(bp.ConvexHull(_corners()), [(1, 1, 2.5)])):
        contacts = bp.contacts(other, bp.Shapes(ground, [(0, 0, 0)]))
        points = contacts.points[0, : contacts.counts[0]]
        assert sorted(points.round(9).tolist()) == [[x, y, -0.25] for x in (0, 2) for y in (-1, 3)]
        assert contacts.depths.tolist() == [0.5]
    drum = bp.contacts(bp.Cylinder((0, 0, -0.5), (0, 0, 2), 1), ground)
    points = drum.points[0, : drum.counts[0]]
    assert len(points) == 4
    assert np.allclose(np.linalg.norm(points[:, :2], axis=1), 1)
    assert np.allclose(points[:, 2], -0.25)
    lying = bp.contacts(bp.Cylinder((0, 0, 0.5), (3, 0, 0.5), 1), ground)
    assert sorted(lying.points[0, : lying.counts[0], 0].round(6).tolist()) == [0, 3]
    floor = bp.HalfSpace((0, 1))
    for flat in (bp.Rectangle(4, 2, offset=(0, 0.5)), bp.ConvexPolygon([(-2, -0.5), (2, -0.5), (0, 3)])):
        contacts = bp.contacts(flat, floor)
        assert sorted(contacts.points[0, : contacts.counts[0]].tolist()) == [[-2, -0.25], [2, -0.25]]


def _corners():
    return [(x, y, z) for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)]


def test_what_touches_in_round_numbers_does_touch():
    for d in (2, 3):
        up = np.eye(d)[-1]
        for at in (0.0, 0.1, 1e6 + 0.3):
            ground = bp.HalfSpace(up, at)
            for shape in (bp.AABB(np.full(d, 2.0), offset=up * (1 + at)), bp.Point(offset=up * at)):
                assert bp.distance(shape, ground) == (1 + at - 1 - at if isinstance(shape, bp.AABB) else 0)
                assert bp.overlaps(shape, ground) is bool(bp.distance(shape, ground) <= 0)
            assert not bp.overlaps(bp.Point(offset=np.nextafter(up * at, np.inf)), ground)


@pytest.mark.parametrize("d", [2, 3])
def test_two_half_spaces_are_apart_only_if_their_normals_are_opposite(d):
    up = np.eye(d)[0]
    assert bp.distance(bp.HalfSpace(up, 1), bp.HalfSpace(-up, -3)) == 2
    assert bp.distance(bp.HalfSpace(up, 1), bp.HalfSpace(-up, 3)) == -4
    assert not bp.overlaps(bp.HalfSpace(up, 1), bp.HalfSpace(-up, -3))
    assert bp.overlaps(bp.HalfSpace(up, 1), bp.HalfSpace(-up, -1))
    contact = bp.contacts(bp.HalfSpace(up, 1), bp.HalfSpace(-up, 3))
    assert contact.depths.tolist() == [4]
    assert contact.points[0, 0] @ up == -1
    aside = up + 1e-9 * np.eye(d)[1]
    for other in (up, aside, -aside, np.ones(d)):
        one, two = bp.HalfSpace(up, -5), bp.HalfSpace(other, 2)
        assert bp.overlaps(one, two)
        assert bp.distance(one, two) == -np.inf
        contact = bp.contacts(one, two)
        assert contact.depths.tolist() == [np.inf]
        point = bp.Point(offset=contact.points[0, 0])
        assert max(bp.distance(point, one), bp.distance(point, two)) <= 1e-6 * (1 + np.nanmax(abs(contact.points)))
    motion = bp.time_of_impact(bp.HalfSpace(up, 1), bp.HalfSpace(-up, -3), motions=[4 * up])
    assert motion.times.tolist() == [0.5]


@pytest.mark.parametrize("d", [2, 3])
def test_boxes_end_where_a_boundary_is_across_an_axis(d):
    for axis in range(d):
        for sign in (1.0, -1.0):
            lower, upper = bp.Shapes(bp.HalfSpace(sign * 3 * np.eye(d)[axis], 2), np.ones((1, d))).boxes[0]
            ends = (upper if sign > 0 else lower)[axis]
            assert ends == pytest.approx(1 + 2 * sign, abs=1e-12)
            assert ends * sign >= (1 + 2 * sign) * sign
            assert np.isinf(lower).sum() + np.isinf(upper).sum() == 2 * d - 1
    assert np.isinf(bp.Shapes(bp.HalfSpace(np.ones(d)), np.ones((1, d))).boxes).all()
    quarter = np.pi / 2 if d == 2 else (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    turned = bp.Shapes(bp.HalfSpace(np.eye(d)[0]), np.zeros((1, d)), [quarter]).boxes[0]
    assert np.isfinite(turned[1, 1])


@pytest.mark.parametrize("d", [2, 3])
def test_rays_end_at_the_boundary(d):
    rng = np.random.default_rng(2)
    for _ in range(100):
        ground, normal, height = half_space(rng, d)
        origin, way = 3 * rng.normal(size=d), rng.normal(size=d)
        way /= np.linalg.norm(way)
        hits = bp.raycast(ground, origin, way)
        above, speed = origin @ normal - height, -way @ normal
        wanted = 0 if above <= 0 else above / speed if speed > 0 else np.inf
        assert hits.distances.item() == pytest.approx(wanted, rel=1e-9)
        if np.isfinite(wanted):
            assert hits.normals.reshape(d) == pytest.approx(normal if above > 0 else -way, abs=1e-9)


@each_shape
def test_what_moves_first_touches_at_its_time_of_impact(d, name):
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(60):
        shape = placed(rng, d, name)
        ground, normal, height = half_space(rng, d)
        motion = 5 * rng.normal(size=d) - 5 * normal
        gap, speed = lowest(shape, normal) - height, -motion @ normal
        found = bp.time_of_impact(shape, ground, motions=[motion])
        back = bp.time_of_impact(ground, shape, motions=[-motion])
        assert found.times[0] == pytest.approx(back.times[0], rel=1e-12)
        wanted = 0 if gap <= 0 else gap / speed if 0 < gap <= speed else np.inf
        assert found.times[0] == pytest.approx(wanted, abs=EXACT * (1 + size_of(shape)))
        hits += 0 < wanted < np.inf
    assert hits > 5


@each_shape
@pytest.mark.parametrize("turns_ground", [False, True], ids=["still", "turning"])
def test_what_turns_first_touches_at_its_time_of_impact(d, name, turns_ground):
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(20):
        shape = placed(rng, d, name)
        ground, normal, _ = half_space(rng, d)
        shape.move(shape.positions + 4 * normal)
        motion = -normal * rng.uniform(0, 8)
        turn = rng.uniform(-4, 4, (1, 1 if d == 2 else 3))
        other_turn = turns_ground * rng.uniform(-1, 1, (1, 1 if d == 2 else 3))
        turn, other_turn = (one[:, 0] if d == 2 else one for one in (turn, other_turn))
        result = bp.time_of_impact(
            shape, ground, motions=[motion], angular_motions=turn, other_angular_motions=other_turn
        )
        time = result.times[0]

        shares = np.append(np.linspace(0, min(time, 1.0), 60)[:-1], min(time, 1.0))
        turns = [after(shape.rotations[0], share * turn[0], d) for share in shares]
        moved = bp.Shapes(shape[0], shape.positions + shares[:, np.newaxis] * motion, turns)
        below = [after(ground.rotations[0], share * other_turn[0], d) for share in shares]
        gaps = bp.distance(moved, bp.Shapes(ground[0], np.repeat(ground.positions, 60, axis=0), below))
        spare = 1e-9 * (1 + size_of(shape) + np.linalg.norm(motion))
        if gaps[0] <= spare:
            assert time == 0 or gaps[0] > 0
            continue
        assert (gaps[:-1] > 0).all()
        if time <= 1:
            hits += 1
            assert gaps[-1] == pytest.approx(0, abs=spare)
    assert hits > 2


def after(rotation, turn, d):
    """A rotation after a turn."""
    if d == 2:
        return rotation + turn
    angle = np.linalg.norm(turn)
    if angle == 0:
        return rotation
    w, v = np.cos(angle / 2), np.sin(angle / 2) * turn / angle
    return [w * rotation[0] - v @ rotation[1:], *(w * rotation[1:] + rotation[0] * v + np.cross(v, rotation[1:]))]


def test_a_compound_with_a_half_space_answers_by_its_parts():
    rng = np.random.default_rng(5)
    for _ in range(40):
        ground, ball = shape_of("HalfSpace", Numbers(rng, 3)), bp.Sphere(1, offset=3 * rng.normal(size=3))
        both = bp.Compound([ground, ball])
        for name in ("Box", "Cylinder", "ConvexHull", "Mesh", "Compound"):
            other = bp.Shapes(shape_of(name, Numbers(rng, 3)), 5 * rng.normal(size=(1, 3)))
            wanted = min(bp.distance(bp.Shapes(part, [(0, 0, 0)]), other)[0] for part in (ground, ball))
            assert bp.distance(bp.Shapes(both, [(0, 0, 0)]), other)[0] == pytest.approx(wanted, abs=1e-9)
            assert len(bp.overlaps(bp.Shapes(both, [(0, 0, 0)]), other)) == (wanted <= 0)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0, 1e9, 1e30])
def test_sizes_of_any_order_have_their_distances(scale):
    ground = bp.HalfSpace((1, 2, 2), scale)
    for shape, reaches in ((bp.Sphere(scale), scale), (bp.Box(*[2 * scale] * 3), 5 / 3 * scale)):
        at = bp.Shapes(shape, [np.array([1, 2, 2]) / 3 * 5 * scale])
        assert bp.distance(at, bp.Shapes(ground, [(0, 0, 0)]))[0] == pytest.approx(4 * scale - reaches, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bp.HalfSpace((0, 0, 0)), "normal is 0, which is no direction"),
        (lambda: bp.HalfSpace([(1, 0), (0, 0)]), "normal: row 1 is 0, which is no direction"),
        (lambda: bp.HalfSpace((1, np.nan)), "normal has nan"),
        (lambda: bp.HalfSpace((1, 0), [1, np.inf]), "height: row 1 has inf"),
        (lambda: bp.HalfSpace(np.eye(3), [1, 2]), "normal has 3 rows and height has 2"),
        (lambda: bp.HalfSpace((1, 0, 0, 0)), "normal must have 2 or 3 numbers"),
        (lambda: bp.HalfSpace((1, 0), [[1]]), "height must be one number"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_normals_are_made_unit_however_long():
    for length in (1e-300, 1e-40, 1e-3, 1.0, 7.0, 1e39):
        normals = length * np.array([(0, 0, -1), (1, 2, 2)])
        assert np.allclose(bp.HalfSpace(normals).normal, [(0, 0, -1), (1 / 3, 2 / 3, 2 / 3)], rtol=0, atol=1e-15)


def test_distances_are_those_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(6)
    for _ in range(20):
        geoms = {
            f'type="sphere" size="{rng.uniform(0.1, 1)}"': lambda size: bp.Sphere(size[0]),
            f'type="capsule" size="{rng.uniform(0.1, 1)} {rng.uniform(0.1, 1)}"': lambda size: bp.Capsule(
                (0, 0, -size[1]), (0, 0, size[1]), size[0]
            ),
            'type="box" size="{} {} {}"'.format(*rng.uniform(0.1, 1, 3)): lambda size: bp.Box(*2 * size),
        }
        for text, make in geoms.items():
            at, turn = rng.normal(size=3) * 2, rotations(rng, 3)
            normal_turn, height = rotations(rng, 3), rng.normal(size=3)
            turn, normal_turn = turn / np.linalg.norm(turn), normal_turn / np.linalg.norm(normal_turn)
            model = mujoco.MjModel.from_xml_string(
                f"""<mujoco><worldbody>
                <geom type="plane" size="1 1 1" pos="{_text(height)}" quat="{_text(normal_turn)}"/>
                <body pos="{_text(at)}" quat="{_text(turn)}"><freejoint/><geom {text}/></body>
                </worldbody></mujoco>"""
            )
            data = mujoco.MjData(model)
            mujoco.mj_kinematics(model, data)
            theirs = mujoco.mj_geomDistance(model, data, 0, 1, 100.0, None)
            ground = bp.Shapes(bp.HalfSpace((0, 0, 1)), [height], [normal_turn])
            ours = bp.distance(ground, bp.Shapes(make(model.geom_size[1]), [at], [turn]))[0]
            if theirs > 0:
                assert ours == pytest.approx(theirs, abs=1e-9)
            else:
                assert ours < 1e-9


def _text(numbers):
    return " ".join(map(repr, map(float, numbers)))
