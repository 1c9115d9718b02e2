"""Attached objects: pairs by other code, collisions against robots that have the objects as links."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from test_robots import arm, collides_by_overlaps, matrix_of, random_links, random_obstacles, random_shape

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def bases_of(robot):
    """Of each link by name, the topmost that it is fixed to, and whether that is the world."""
    links = {link.name: link for link in robot.links}

    def base(name):
        link = links[name]
        return base(link.parent) if link.joint == "fixed" and link.parent else name

    return {name: (base(name), links[base(name)].joint == "fixed") for name in links}


def pairs_of_attached(robot, before, touch_links):
    """The pairs of an object that was attached last: with all parts that move relative to it and may not be touched."""
    bases = bases_of(robot)
    names = [robot.links[k].name for k in robot.part_links]
    (own, is_still) = bases[robot.links[-1].name]
    return {
        (first, second)
        for second in range(before, len(names))
        for first in range(before)
        if bases[names[first]][0] != own
        and not (is_still and bases[names[first]][1])
        and names[first] not in touch_links
    }


@pytest.mark.parametrize("seed", range(25))
def test_attach_to_random_robots_equals_a_robot_with_a_fixed_link(seed):
    random = np.random.default_rng(seed)
    links = random_links(random, int(random.integers(1, 8)))
    robot = bp.Articulated(links, neighbors=bool(seed % 2))
    names = [link.name for link in links]
    host, touched = names[random.integers(len(names))], [names[random.integers(len(names))]]
    shapes = [random_shape(random) for _ in range(random.integers(1, 4))]
    where = {"position": random.uniform(-0.5, 0.5, 3), "rotation": random.normal(size=4)}
    held = robot.attach(host, shapes, *where.values(), name="held", touch_links=touched)
    known, before = {tuple(pair) for pair in robot.pairs.tolist()}, len(robot.part_links)
    wanted = known | pairs_of_attached(held, before, touched)
    assert {tuple(pair) for pair in held.pairs.tolist()} == wanted
    assert held.pairs[: len(known)].tolist() == robot.pairs.tolist()
    # Another robot, put together at once. Which pairs are compared is given to it.
    whole = bp.Articulated([*links, bp.Link("held", shapes, host, **where)], neighbors=False, pairs=held.pairs)
    assert whole.pairs.tolist() == held.pairs.tolist()
    scene, q = random_obstacles(random, 30), random.uniform(-3, 3, (30, len(robot.joint_names)))
    assert held.joint_names == robot.joint_names
    for ours, theirs in zip(held.poses(q), whole.poses(q), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(held.collides(q, scene), whole.collides(q, scene))
    assert np.array_equal(held.collides(q, scene), collides_by_overlaps(held, q, scene))
    assert np.array_equal(held.clearance(q, scene), whole.clearance(q, scene))
    assert np.array_equal(held.first_contact(q[:5], q[5:10], scene), whole.first_contact(q[:5], q[5:10], scene))


def test_attached_object_is_where_its_link_and_its_pose_say():
    random = np.random.default_rng(3)
    position, rotation = random.normal(size=3), random.normal(size=4)
    held = arm().attach("hand", bp.Sphere(0.1, offset=(0.2, 0, 0)), position, rotation)
    for q in random.uniform(-3, 3, (10, 6)):
        positions, rotations = held.poses(q)
        of_hand, turn = positions[5], matrix_of(rotations[5])
        middle = of_hand + turn @ (position + matrix_of(rotation) @ (0.2, 0, 0))
        np.testing.assert_allclose(held.placed(q).boxes[-1].mean(axis=0), middle, atol=1e-12)


def test_attached_object_meets_the_neighbors_of_its_link_but_not_touch_links():
    robot = arm()
    stick = bp.Capsule((0, 0, 0), (0, 0, -0.6), 0.02)  # back along the arm
    assert (4, 5) not in {tuple(pair) for pair in robot.pairs.tolist()}  # bend and hand are neighbors
    held = robot.attach("hand", stick, (0, 0, 0.1), name="stick")
    assert {tuple(pair) for pair in held.pairs.tolist()} >= {(part, 6) for part in range(5)}
    straight = np.zeros(6)
    assert not robot.collides(straight)
    assert held.collides(straight)
    others = [link.name for link in robot.links[:5]]
    assert not robot.attach("hand", stick, (0, 0, 0.1), touch_links=others).collides(straight)


def test_allowed_pairs_of_the_robot_are_kept_and_are_not_those_of_the_object():
    robot = arm(allowed=[("hand", None), ("hand", "upper")])
    held = robot.attach("hand", bp.Sphere(0.1), (0, 0, 0.3))
    assert held.pairs[: len(robot.pairs)].tolist() == robot.pairs.tolist()
    assert (1, 6) in {tuple(pair) for pair in held.pairs.tolist()}
    q = np.zeros(6)
    hand, ball = (held.placed(q).boxes[part].mean(axis=0) for part in (5, 6))
    at_hand, at_ball = (bp.Shapes(bp.Sphere(0.02), [place]) for place in (hand, ball))
    assert held.collides(q, at_hand) == robot.collides(q, at_hand) == False  # noqa: E712
    assert held.collides(q, at_ball)
    assert not robot.attach("hand", bp.Sphere(0.1), (0, 0, 0.3), touch_links=[None]).collides(q, at_ball)


def test_attach_changes_nothing_in_the_robot_and_detach_gives_it_back():
    robot, random = arm(), np.random.default_rng(0)
    q, scene = random.uniform(-3, 3, (300, 6)), random_obstacles(random, 40)
    wanted, repr_before = robot.collides(q, scene), repr(robot)
    hull = bp.ConvexHull(CUBE * 0.2)
    one = robot.attach("hand", hull, (0, 0, 0.3), name="one")
    two = one.attach("shoulder", bp.Mesh(CUBE * 0.3, [[0, 1, 3], [4, 6, 7]]), (0.3, 0, 0), name="two")
    assert (robot.attached, one.attached, two.attached) == ((), ("one",), ("one", "two"))
    assert [link.name for link in two.links[-2:]] == ["one", "two"]
    assert (6, 7) in {tuple(pair) for pair in two.pairs.tolist()}  # two objects, on different links
    assert repr(robot) == repr_before
    assert np.array_equal(robot.collides(q, scene), wanted)
    assert (two.collides(q, scene) >= one.collides(q, scene)).all()
    assert two.collides(q, scene).sum() > one.collides(q, scene).sum() > wanted.sum()
    assert one.detach() is robot
    assert two.detach() is robot
    assert two.detach("two").attached == ("one",)
    assert np.array_equal(two.detach("two").collides(q, scene), one.collides(q, scene))
    other = robot.attach("shoulder", bp.Mesh(CUBE * 0.3, [[0, 1, 3], [4, 6, 7]]), (0.3, 0, 0), name="two")
    assert np.array_equal(two.detach("one").collides(q, scene), other.collides(q, scene))
    assert robot.detach() is robot


def test_objects_on_objects_move_with_them_and_are_detached_first():
    robot = arm()
    tray = robot.attach("hand", bp.Box(0.4, 0.4, 0.02), (0, 0, 0.3), name="tray", touch_links=["hand"])
    laden = tray.attach("tray", bp.Sphere(0.1), (0.1, 0, 0.11), name="cup", touch_links=["tray", "bend"])
    assert laden.attached == ("tray", "cup")
    # Never moves relative to the hand and the tray.
    assert {tuple(pair) for pair in laden.pairs[len(tray.pairs) :].tolist()} == {(part, 7) for part in range(4)}
    with pytest.raises(ValueError, match="link 'cup' is attached to 'tray': detach it first"):
        laden.detach("tray")
    assert laden.detach("cup").attached == ("tray",)
    # What may touch an object may still be attached without it.
    beside = tray.attach("shoulder", bp.Sphere(0.1), (0.5, 0, 0), name="ball", touch_links=["tray", None])
    assert beside.detach("tray").attached == ("ball",)


def test_attached_objects_are_copies_of_what_was_given():
    position, rotation = np.array([0.0, 0, 0.3]), np.array([1.0, 2, 0, 0])
    one = arm().attach("hand", (bp.Box(size, 0.1, 0.2) for size in (0.1, 0.2)), position, rotation, name="one")
    two = one.attach("shoulder", bp.Sphere(0.1), (0.5, 0, 0), name="two")
    wanted = one.placed(np.zeros(6)).boxes
    position[:], rotation[:] = 7, 1
    for made in (one, two.detach("two"), pickle.loads(pickle.dumps(one))):
        assert np.array_equal(made.placed(np.zeros(6)).boxes, wanted)


@pytest.mark.parametrize("seed", range(5))
def test_attached_objects_collide_as_bodies_of_mujoco(seed):
    mujoco = pytest.importorskip("mujoco")
    random = np.random.default_rng(seed)
    text = """<mujoco><worldbody><geom type="box" size="0.3 0.3 0.05" pos="0.5 0 0.2"/>
      <body name="arm" pos="0 0 0.5"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.6 0 0" size="0.05"/>
      <body name="fore" pos="0.6 0 0"><joint axis="0 0 1"/><geom type="capsule" fromto="0.1 0 0 0.5 0 0" size="0.04"/>
      <body name="hand" pos="0.6 0 0"><joint axis="0 1 0"/><geom type="sphere" size="0.04" pos="0.1 0 0"/>{}</body>
      </body></body></worldbody></mujoco>"""
    half, place, turn = random.uniform(0.1, 0.2, 3), random.uniform(-0.2, 0.2, 3), random.normal(size=4)
    turn /= np.linalg.norm(turn)
    numbers = [" ".join(map(repr, values.tolist())) for values in (half, place, turn)]
    held = '<body name="box" pos="{1}" quat="{2}"><geom type="box" size="{0}"/></body>'.format(*numbers)
    model = mujoco.MjModel.from_xml_string(text.format(held))
    data = mujoco.MjData(model)
    robot = bp.Articulated.from_mjcf(mujoco.MjModel.from_xml_string(text.format("")))
    # MuJoCo compares no body with the parent of what it is fixed to.
    ours = robot.attach("hand", bp.Box(*(2 * half)), place, turn, name="box", touch_links=["fore"])
    q, hits = random.uniform(-2.5, 2.5, (200, 3)), []
    for row in q:
        data.qpos[:] = row
        mujoco.mj_forward(model, data)
        hits.append(data.ncon > 0)
    found = ours.collides(q)
    assert 5 < found.sum() < 195
    assert found.sum() > robot.collides(q).sum()
    apart = np.flatnonzero(found != hits)
    assert len(apart) <= 1  # within rounding of MuJoCo's iterations
    for row in apart:
        assert ours.clearance(q[row]) < 1e-5


def test_robots_with_objects_survive_pickle_and_copy():
    robot, random = arm(allowed=[("hand", None)]), np.random.default_rng(1)
    held = robot.attach("hand", bp.ConvexHull(CUBE * 0.2), (0, 0, 0.3), name="box", touch_links=["bend", None])
    held = held.attach("box", bp.Sphere(0.1), (0, 0, 0.2), name="ball")
    q, scene = random.uniform(-3, 3, (200, 6)), random_obstacles(random, 20)
    wanted = held.collides(q, scene)
    assert 0 < wanted.sum() < 200
    for made in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held), copy.copy(held)):
        assert made.attached == ("box", "ball")
        assert made.pairs.tolist() == held.pairs.tolist()
        assert np.array_equal(made.collides(q, scene), wanted)
        assert np.array_equal(made.detach().collides(q, scene), robot.collides(q, scene))


def test_attach_of_a_robot_whose_pairs_are_given_compares_the_object():
    ball = bp.Sphere(1)
    links = [bp.Link(name, ball, None, "prismatic", position=(5 * k, 0, 0)) for k, name in enumerate("abc")]
    held = bp.Articulated(links, pairs=[(0, 1)]).attach("a", [ball, ball], (0, 3, 0))
    assert held.pairs.tolist() == [[0, 1], [1, 3], [2, 3], [1, 4], [2, 4]]


def test_attach_in_many_threads_gives_each_its_robot():
    from concurrent.futures import ThreadPoolExecutor

    robot, q = arm(), np.zeros(6)
    floor = bp.Shapes(bp.ConvexHull(CUBE * 2), [0, 0, 3.5])

    def reaches(size):
        held = robot.attach("hand", bp.ConvexHull(CUBE * size), (0, 0, 0.1))
        return held.clearance(q, floor), held.placed(q).boxes[-1, 1, 2]

    sizes = np.linspace(0.1, 0.3, 40)
    wanted = [reaches(size) for size in sizes]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(reaches, sizes)) == wanted
    assert len({gap for gap, _ in wanted}) > 5


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"link": "claw"}, ValueError, "link 'box': there is no link 'claw', its parent"),
        ({"link": 3}, TypeError, "link 'box': parent must be a text, not 3"),
        ({"name": "hand"}, ValueError, "link 'hand': the robot has a link of this name; pass another name="),
        ({"name": 3}, TypeError, "the name of number 0 is 3, not a text"),
        ({"position": (0, 0)}, ValueError, r"link 'box': position must be \(3,\)"),
        ({"rotation": (0, 0, 0, 0)}, ValueError, "link 'box': rotation is a zero quaternion"),
        ({"shapes": bp.Circle(1)}, ValueError, "link 'box': shapes: a Circle of 2 dimensions, where 3 are needed"),
        ({"shapes": "box"}, TypeError, "link 'box': shapes: row 0 is not a shape but 'b'"),
        ({"touch_links": "hand"}, TypeError, "link 'box': touch_links must be a list of names, not 'hand'"),
        ({"touch_links": 1}, TypeError, "link 'box': touch_links must be a list of names, not 1"),
        ({"touch_links": ["hand", "clow"]}, ValueError, "link 'box': touch_links names 'clow', which is no link"),
    ],
)
def test_attach_of_what_is_wrong_names_the_link(given, error, message):
    with pytest.raises(error, match=message):
        arm().attach(**({"link": "hand", "shapes": bp.Sphere(0.1), "name": "box"} | given))


def test_detach_of_what_is_not_attached_names_it():
    held = arm().attach("hand", bp.Sphere(0.1), name="box")
    with pytest.raises(ValueError, match=r"link 'bux' is not attached: .*did you mean 'box'\?"):
        held.detach("bux")
    with pytest.raises(ValueError, match="link 'hand' is not attached"):
        held.detach("hand")
    with pytest.raises(ValueError, match="link 'box' is not attached"):
        arm().detach("box")
