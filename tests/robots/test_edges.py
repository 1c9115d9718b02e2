"""Edges: closed forms, an oracle in NumPy that halves each way until its clearance decides, and fine samples."""

import numpy as np
import pytest

import broadphase as bp
from test_robots import on_the_way, random_links, random_obstacles

TOLERANCE = 1e-4


def rail(shape=None):
    return bp.Articulated([bp.Link("cart", shape or bp.Sphere(0.5), joint="prismatic", axis=(1, 0, 0))])


def lever(length=1.0, radius=0.05):
    return bp.Articulated([bp.Link("lever", bp.Capsule((0, 0, 0), (length, 0, 0), radius), joint="revolute")])


# ---- Closed forms ----


@pytest.mark.parametrize("thickness", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("kind", ["box", "hull", "mesh"])
def test_edges_of_a_slide_meet_a_wall_between_any_samples(thickness, kind):
    corners = np.array([[x, y, z] for x in (0, 1) for y in (-1, 1) for z in (-1, 1)]) * (thickness, 1, 1)
    faces = [(0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5), (2, 3, 7), (2, 7, 6), (0, 2, 6)]
    faces += [(0, 6, 4), (1, 5, 7), (1, 7, 3)]
    shape = {
        "box": lambda: bp.Box(thickness, 2, 2, offset=(thickness / 2, 0, 0)),
        "hull": lambda: bp.ConvexHull(corners),
        "mesh": lambda: bp.Mesh(corners, faces),
    }[kind]()
    wall = bp.Obstacles(bp.Shapes(shape, [0, 0, 0]))
    ends = np.array([[-9, 9], [-9, -0.6], [9, 1.6 + thickness], [9, -9], [-9, -0.4], [-3000, 4000.7], [2, 5]])
    found = rail().edges_collide(ends[:, :1], ends[:, 1:], wall)
    assert found.tolist() == [True, False, False, True, True, True, False]


def test_edges_of_a_slide_end_where_they_touch():
    wall = bp.Shapes(bp.Box(1, 1, 1), [5, 0, 0])
    robot = rail()
    assert robot.edges_collide([0], [4], wall)
    assert not robot.edges_collide([0], [4 - 2 * TOLERANCE], wall)
    assert not robot.edges_collide([0], [4 - 1e-8], wall, tolerance=1e-9)
    assert not robot.edges_collide([0], [3.7 - 1e-3], wall, padding=0.3)
    assert robot.edges_collide([0], [3.7], wall, padding=0.3)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, -1e-6])
def test_edges_that_graze_a_box_are_free_unless_they_touch(gap):
    # Straight motions along a plane stay apart by the very gap, however small.
    plate = bp.Obstacles(bp.Shapes(bp.Box(9, 9, 1), [0, 0, 1 + gap]))
    assert rail(bp.Box(1, 1, 1)).edges_collide([-2], [2], plate) == (gap <= 0)


@pytest.mark.parametrize("gap", [2e-3, 2e-4, 0.0, -1e-7])
def test_edges_of_a_turn_past_a_ball_that_the_tip_just_reaches(gap):
    ball = bp.Obstacles(bp.Shapes(bp.Sphere(0.1), [0, 1 + 0.05 + 0.1 + gap, 0]))
    robot = lever()
    assert robot.edges_collide([0], [3], ball) == (gap <= 0)
    assert not robot.edges_collide([-3], [1], ball)


def test_edges_of_a_turn_meet_balls_within_their_angle():
    random = np.random.default_rng(0)
    for _ in range(200):
        far, size, at = random.uniform(0.3, 1), random.uniform(1e-4, 0.05), random.uniform(-3, 3)
        ball = bp.Shapes(bp.Sphere(size), [far * np.cos(at), far * np.sin(at), 0])
        half = np.arcsin((size + 0.05) / far)  # the axis of the lever passes the middle of the ball by this angle
        begin, end = random.uniform(-3, 3, 2)
        low, high = min(begin, end), max(begin, end)
        room = max(low - (at + half), at - half - high) * far
        if abs(room) > 2 * TOLERANCE:
            assert lever().edges_collide([begin], [end], ball) == (room < 0)


def test_edges_of_links_that_pass_each_other():
    sides = [bp.Link(name, bp.Sphere(0.5), joint="prismatic", axis=(1, 0, 0)) for name in "ab"]
    robot = bp.Articulated(sides, neighbors=False)
    assert robot.edges_collide([0, 10], [10, 0])
    assert not robot.edges_collide([0, 10], [50, 60])
    assert not bp.Articulated(sides, allowed=[("a", "b")]).edges_collide([0, 10], [10, 0])
    assert not bp.Articulated(sides, allowed=[("a", None)]).edges_collide(
        [0, 20], [10, 21], bp.Shapes(bp.Sphere(1), [5, 0, 0])
    )


# ---- An oracle of its own ----


class Balls:
    """A chain of joints with balls, in NumPy."""

    def __init__(self, random, count):
        self.count = count
        self.axes = random.normal(size=(count, 3))
        self.axes /= np.linalg.norm(self.axes, axis=1)[:, np.newaxis]
        self.offsets = random.uniform(-0.4, 0.4, (count, 3))
        self.slides = random.random(count) < 0.25
        self.balls = [(random.uniform(-0.3, 0.3, 3), random.uniform(0.01, 0.1)) for _ in range(count)]

    def robot(self):
        links, parent = [], None
        for k in range(self.count):
            joint = "prismatic" if self.slides[k] else "revolute"
            center, radius = self.balls[k]
            links.append(
                bp.Link(f"{k}", bp.Sphere(radius, offset=center), parent, joint, self.axes[k], self.offsets[k])
            )
            parent = f"{k}"
        return bp.Articulated(links, allowed=[(f"{i}", f"{j}") for i in range(self.count) for j in range(i)])

    def clearance(self, q, obstacles):
        position, turn, least = np.zeros(3), np.eye(3), np.inf
        for k in range(self.count):
            position = position + turn @ self.offsets[k]
            x, y, z = self.axes[k]
            if self.slides[k]:
                position = position + turn @ self.axes[k] * q[k]
            else:
                cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
                turn = turn @ (np.eye(3) + np.sin(q[k]) * cross + (1 - np.cos(q[k])) * cross @ cross)
            center, radius = self.balls[k]
            least = min(least, obstacles(position + turn @ center) - radius)
        return least

    def speed(self, begin, end):
        reach = sum(np.linalg.norm(o) for o in self.offsets) + 0.6
        reach += sum(max(abs(a), abs(b)) for a, b, slides in zip(begin, end, self.slides, strict=True) if slides)
        change = np.abs(end - begin)
        return float(np.where(self.slides, change, change * reach).sum())


def collides_by_halving(balls, begin, end, obstacles):
    """Whether the clearance is below 0 anywhere; None where that is less than the tolerance."""
    speed, stack, least = balls.speed(begin, end), [(0.5, 0.5)], np.inf
    while stack:
        middle, half = stack.pop()
        clear = balls.clearance(begin + middle * (end - begin), obstacles)
        if clear <= 0:
            return True
        least = min(least, clear)
        if clear > speed * half:
            continue
        if speed * half < TOLERANCE / 4:
            return None
        stack += [(middle - half / 2, half / 2), (middle + half / 2, half / 2)]
    return False


@pytest.mark.parametrize("seed", range(6))
def test_edges_equal_an_oracle_of_halved_ways(seed):
    random = np.random.default_rng(seed)
    balls = Balls(random, 2 + seed % 3)
    centers, sizes = random.uniform(-1.2, 1.2, (30, 3)), random.choice([1e-3, 0.02, 0.2], 30)
    halves, places = random.uniform(0.001, 0.2, (20, 3)), random.uniform(-1.2, 1.2, (20, 3))

    def obstacles(point):
        near_balls = np.linalg.norm(point - centers, axis=1) - sizes
        near_boxes = np.linalg.norm(np.maximum(np.abs(point - places) - halves, 0), axis=1)
        return min(near_balls.min(), near_boxes.min())

    scene = bp.Obstacles([bp.Shapes(bp.Sphere(sizes), centers), bp.Shapes(bp.Box(2 * halves), places)])
    robot = balls.robot()
    begin, end = random.uniform(-1.5, 1.5, (2, 60, balls.count))
    end[::2] = begin[::2] + random.uniform(-0.1, 0.1, end[::2].shape)
    found = robot.edges_collide(begin, end, scene)
    wanted = [collides_by_halving(balls, *ends, obstacles) for ends in zip(begin, end, strict=True)]
    known = [k for k, answer in enumerate(wanted) if answer is not None]
    assert [found[k] for k in known] == [wanted[k] for k in known]
    assert len(known) > 45
    assert len({wanted[k] for k in known}) == 2


# ---- Any robots ----


@pytest.mark.parametrize("seed", range(12))
def test_edges_of_random_robots_equal_first_contacts_and_hold_no_samples_that_collide(seed):
    random = np.random.default_rng(seed)
    kinds = ("fixed", "revolute", "continuous", "prismatic", "ball", "floating")[: 4 if seed % 2 else 6]
    robot = bp.Articulated(random_links(random, 4, kinds), neighbors=bool(seed % 3))
    known, count = bp.Obstacles(random_obstacles(random, 20, 3.0)), len(robot.joint_names)
    begin, end = random.uniform(-2, 2, (2, 40, count))
    end[::2] = begin[::2] + random.uniform(-0.2, 0.2, end[::2].shape)
    padding = 0.05 if seed % 4 == 3 else 0.0
    found = robot.edges_collide(begin, end, known, padding=padding)
    assert np.array_equal(robot.edges_collide(begin, end, known, padding=padding, workers=2), found)
    assert [
        robot.edges_collide(*ends, known, padding=padding) for ends in zip(begin, end, strict=True)
    ] == found.tolist()
    shares = robot.first_contact(begin, end, known, padding=padding)
    times = np.linspace(0, 1, 200)
    for row in range(len(begin)):
        at = on_the_way(robot, begin[row], end[row], times)
        samples = robot.collides(at, known, padding=padding)
        if not found[row]:
            assert not samples.any()
            assert shares[row] == np.inf
        elif shares[row] == np.inf:  # within the tolerance
            assert (robot.clearance(at, known, max_distance=1) - padding).min() < 0.1
    assert (found == (shares <= 1)).mean() > 0.97


def test_edges_of_no_motion_are_configurations():
    random = np.random.default_rng(3)
    robot = bp.Articulated(random_links(random, 5), neighbors=False)
    known, q = bp.Obstacles(random_obstacles(random, 20)), random.uniform(-2, 2, (200, len(robot.joint_names)))
    collides, near = robot.collides(q, known), robot.clearance(q, known) < 2 * TOLERANCE
    found = robot.edges_collide(q, q, known)
    assert np.array_equal(found[~near | collides], collides[~near | collides])


def test_edges_of_boxes_that_never_turn_on_links_that_do():
    random = np.random.default_rng(5)
    stay, compound = bp.AABB((0.6, 0.1, 0.1)), bp.Compound([bp.AABB((0.1, 0.5, 0.1)), bp.Sphere(0.1)])
    for shape in (stay, compound):
        links = [bp.Link("a", bp.Sphere(0.1), joint="revolute"),
                 bp.Link("b", shape, "a", "revolute", (0, 1, 1), (0.8, 0, 0))]  # fmt: skip
        robot = bp.Articulated(links, neighbors=False)
        known = bp.Obstacles(bp.Shapes(bp.Sphere(0.05), random.uniform(-1, 1, (12, 3))))
        begin, end = random.uniform(-3, 3, (2, 100, 2))
        found = robot.edges_collide(begin, end, known)
        assert 0 < found.sum() < 100
        for row in np.flatnonzero(~found):
            at = on_the_way(robot, begin[row], end[row], np.linspace(0, 1, 300))
            assert not robot.collides(at, known).any()


# ---- Off the road ----


def test_edges_of_nothing_and_bad_edges():
    robot, wall = rail(), bp.Obstacles(bp.Shapes(bp.Box(1, 1, 1), [5, 0, 0]))
    assert robot.edges_collide(np.empty((0, 1)), np.empty((0, 1)), wall).shape == (0,)
    assert robot.edges_collide([[0]], [[9]]).tolist() == [False]
    assert robot.edges_collide([[0]], [[9]], bp.Obstacles()).tolist() == [False]
    assert isinstance(robot.edges_collide([0], [9], wall), np.bool_)
    assert robot.edges_collide([[-1e40]], [[1e40]], wall).tolist() == [True]
    with pytest.raises(ValueError, match="starts and ends must have the same shape"):
        robot.edges_collide([[0]], [0], wall)
    with pytest.raises(ValueError, match="ends: row 1, joint 'cart' is nan"):
        robot.edges_collide([[0], [1]], [[0], [np.nan]], wall)
    with pytest.raises(ValueError, match="tolerance must be above 0"):
        robot.edges_collide([0], [1], wall, tolerance=0)
