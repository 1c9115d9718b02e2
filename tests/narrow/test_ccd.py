"""What fast things touch on their way: against closed forms, at any speed, straight, reflected and come in again."""

import numpy as np
import pytest

import broadphase as bp

NEVER = np.inf


def step(shapes, ends, motions, fast, *, begin=None, border="none", bounds=None, ignored=(), workers=1):
    """Let bodies move, from where they began or so that they arrive at `ends`, and follow the fast ones: the frame."""
    world = bp.World(dim=ends.shape[1], bounds=bounds, boundary=border, workers=workers)
    world.add_many(shapes, ends - motions if begin is None else begin, velocities=motions, ccd=fast)
    world.ignore(np.reshape(ignored, (-1, 2)))
    frame = world.step(1.0)
    np.testing.assert_allclose(world.positions, ends, rtol=1e-9, atol=1e-6)
    return frame


def meet(bodies, motions, fast, **given):
    return step(*bodies, motions, fast, **given).impacts


def balls(centers, radii):
    centers = np.asarray(centers, float)
    return (bp.Circle if centers.shape[1] == 2 else bp.Sphere)(np.asarray(radii, float)), centers


def first_touch_of_balls(apart, motion, reach):
    """Say when balls that begin `apart` touch, the first moving against the second; and how clearly they do or not."""
    speed2 = motion @ motion
    if apart @ apart <= reach**2:
        return 0.0, NEVER
    if speed2 == 0:
        return NEVER, np.sqrt(apart @ apart) - reach

    def gap_at(time):
        apart_then = apart - time * motion
        return np.sqrt(apart_then @ apart_then)

    nearest = apart @ motion / speed2
    if (gap := gap_at(np.clip(nearest, 0, 1))) > reach:
        return NEVER, gap - reach
    return nearest - np.sqrt(max(0.0, reach**2 - gap_at(nearest) ** 2) / speed2), reach - gap


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("speed", [0.1, 3.0, 1e3, 1e6, 1e9])
def test_meetings_of_balls_equal_the_closed_form_at_any_speed(dimension, speed):
    assert meetings_of_balls(dimension, speed, range(30)) > 50


def meetings_of_balls(dimension, speed, seeds):
    """Compare some scenes with the closed form; gives the number of pairs that met."""
    met = 0
    for trial in seeds:
        rng = np.random.default_rng([dimension, int(speed * 10), trial])
        n = 24
        radii = rng.uniform(0.05, 1, n)
        begin = rng.uniform(-6, 6, (n, dimension))
        motions = rng.normal(0, 1, (n, dimension))
        fast = np.arange(n) < 8
        motions[fast] *= speed
        if trial % 2:
            # Aimed at others, from far away, to fly through them.
            aim = begin[rng.integers(8, n, 8)] - rng.normal(0, 0.3, (8, dimension))
            begin[fast] = aim - motions[fast] * rng.uniform(0.1, 0.9, (8, 1))
        motions[n // 2 :] = 0
        ends = begin + motions
        motions = ends - begin
        found = meet(balls(ends, radii), motions, fast)
        told = {tuple(pair): time for pair, time in zip(found.pairs.tolist(), found.times, strict=True)}
        for i in range(n):
            for j in range(i + 1, n):
                if not (fast[i] or fast[j]):
                    assert (i, j) not in told
                    continue
                time, margin = first_touch_of_balls(begin[j] - begin[i], motions[i] - motions[j], radii[i] + radii[j])
                # As far as rounding of positions goes, at such a speed.
                if margin < 1e-14 * max(1.0, speed) * 100:
                    continue
                assert ((i, j) in told) == (time <= 1), (trial, i, j, time, told.get((i, j)))
                if time <= 1:
                    assert abs(told[i, j] - time) <= 1e-12 + 1e-6 / speed, (trial, i, j)
                    met += 1
    return met


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("speed", [1.0, 1e3, 1e9])
def test_meetings_of_balls_with_boxes_equal_the_closed_form_at_any_speed(dimension, speed):
    rng = np.random.default_rng(dimension)
    box = bp.Rectangle if dimension == 2 else bp.Box
    met = missed = 0
    for trial in range(400):
        # Along one axis: the ball meets the face, if it is aside by less than the half of it; edges are left out.
        axis, sign = int(rng.integers(dimension)), rng.choice([-1.0, 1.0])
        half, radius = rng.uniform(0.01, 1, dimension), rng.uniform(0.01, 1)
        aside = rng.uniform(-1.5, 1.5, dimension) * (half + radius)
        aside[axis] = 0
        if ((np.abs(aside) > half) & (np.abs(aside) < half + radius)).any():
            continue
        motion = np.zeros(dimension)
        motion[axis] = sign * speed * rng.uniform(4, 10)
        share = rng.uniform(0.05, 0.95)
        begin = aside - motion * share
        ball = bp.Circle(radius) if dimension == 2 else bp.Sphere(radius)
        ends = np.array([begin + motion, np.zeros(dimension)])
        found = meet(([ball, box(*(2 * half))], ends), np.array([motion, np.zeros(dimension)]), [True, False])
        reach = half[axis] + radius
        if (np.abs(aside) > half).any():
            missed += 1
            assert len(found.pairs) == 0, trial
            continue
        met += 1
        assert found.pairs.tolist() == [[0, 1]], trial
        expected = max(0.0, share - reach / abs(motion[axis]))
        assert abs(found.times[0] - expected) <= 1e-12, trial
        if expected > 0:
            np.testing.assert_allclose(found.normals[0], np.eye(dimension)[axis] * sign, atol=1e-6)
    assert met > 40
    assert missed > 40


@pytest.mark.parametrize("speed", [10.0, 1e6, 1e9])
def test_meetings_nothing_flies_through_a_thin_wall(speed):
    rng = np.random.default_rng(3)
    n = 300
    motions = np.column_stack([np.full(n, speed), rng.uniform(-0.3, 0.3, n) * speed])
    across = rng.uniform(-40, 40, n)  # where they come through the wall
    share = rng.uniform(0.01, 0.99, n)[:, None]
    ends = np.column_stack([np.zeros(n), across]) + motions * (1 - share)
    bullets = bp.Point()
    # The wall is as high as the way is oblique and rounded.
    shapes = [bullets] * n + [bp.Segment((0, -1e3 - speed), (0, 1e3 + speed))]
    motions = np.vstack([motions, [[0, 0]]])
    found = meet((shapes, np.vstack([ends, [[0, 0]]])), motions, np.arange(n + 1) < n)
    assert found.pairs.tolist() == [[i, n] for i in range(n)]
    np.testing.assert_allclose(found.times, share[:, 0], atol=1e-12)
    np.testing.assert_allclose(found.normals, [[1, 0]] * n, atol=1e-9)


def test_meetings_of_two_that_fly_past_each_other_and_of_one_that_is_chased():
    shapes = balls([[5, 0], [-5, 0], [30, 0], [26, 0]], [1, 1, 1, 1])
    motions = np.array([[10.0, 0], [-10, 0], [20, 0], [4, 0]])
    found = meet(shapes, motions, [True, False, True, False])
    # 0 and 1 begin 10 apart; 2 begins at 10 and overtakes 3, which begins at 22, as well as all the others' ways.
    told = dict(zip(map(tuple, found.pairs.tolist()), found.times.tolist(), strict=True))
    assert told[0, 1] == pytest.approx(0.4)
    assert told[2, 3] == pytest.approx(10 / 16)
    assert found.normals[found.pairs.tolist().index([2, 3])].tolist() == [1, 0]


def test_meetings_of_what_goes_along_together_are_none():
    shapes = balls([[100, 0], [100, 3]], [1, 1])
    assert len(meet(shapes, np.full((2, 2), 1e9), [True, True]).pairs) == 0
    # The swept boxes overlap, but they are never there at one time.
    shapes = balls([[100, 0], [100, 0]], [1, 1])
    late = meet(balls([[100, 0], [200, 0]], [1, 1]), np.array([[100.0, 0], [100, 0]]), [True, True])
    assert len(late.pairs) == 0


def test_meetings_what_touches_at_the_begin_and_at_the_end_has_these_times():
    shapes = balls([[10, 0], [2, 0], [12, 0]], [1, 1, 1])
    found = meet(shapes, np.array([[10.0, 0], [0, 0], [0, 0]]), [True, False, False])
    assert found.pairs.tolist() == [[0, 1], [0, 2]]
    assert found.times.tolist() == [0.0, 1.0]


def test_meetings_filters_hold():
    shapes = balls([[10, 0], [5, 0], [6, 0]], [1, 1, 1])
    found = meet(shapes, np.array([[10.0, 0], [0, 0], [0, 0]]), [True, False, False], ignored=[[0, 1]])
    assert found.pairs.tolist() == [[0, 2]]


@pytest.mark.parametrize("n", [0, 1])
def test_meetings_of_one_or_none_are_none(n):
    found = meet(balls(np.zeros((n, 2)), np.ones(n)), np.ones((n, 2)), np.ones(n, bool))
    assert found.pairs.shape == (0, 2)
    assert found.normals.shape == (0, 2)


def folded(places, origin, period):
    inward = (places - origin) % (2 * period)
    return origin + np.where(inward > period, 2 * period - inward, inward)


def bounced_gaps(places, room, size):
    places = folded(places, room, size - 2 * room)
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def wrapped_gaps(places, _, size):
    apart = places[:, None] - places[None]
    return np.linalg.norm(apart - np.rint(apart / size) * size, axis=2)


def sampled_touches(begin, motion, radii, fast, gaps_between, room, size):
    """Pairs of a fast ball that come nearer than they must at one of many times; and those that never come near."""
    times = np.linspace(0, 1, 4001)
    least = np.full((len(begin), len(begin)), np.inf)
    for time in times:
        apart = gaps_between(begin + motion * time, room, size)
        gaps = apart - (radii[:, None] + radii[None])
        least = np.minimum(least, gaps)
    step = 2 * np.abs(motion).sum(axis=1).max() / 4000
    either = np.triu(fast[:, None] | fast[None], 1)
    surely = {tuple(p) for p in np.argwhere(either & (least < -1e-9)).tolist()}
    perhaps = {tuple(p) for p in np.argwhere(either & (least < step)).tolist()}
    return surely, perhaps


@pytest.mark.parametrize("border", ["bounce", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_meetings_on_bent_ways_equal_many_small_steps(border, dimension):
    rng = np.random.default_rng(dimension)
    size, met = 8.0, 0
    bounds = np.array([[0.0] * dimension, [size] * dimension])
    for trial in range(4):
        n = 10
        radii = rng.uniform(0.2, 0.5, n)
        begin = rng.uniform(0.5, size - 0.5, (n, dimension))
        motion = rng.normal(0, 2.0, (n, dimension))
        fast = np.arange(n) < 4
        motion[fast] *= 5
        room = np.tile(radii[:, None] if border == "bounce" else np.zeros((n, 1)), dimension)
        place = {"bounce": bounced_gaps, "wrap": wrapped_gaps}[border]
        ends = folded(begin + motion, room, size - 2 * room) if border == "bounce" else (begin + motion) % size
        found = meet(balls(ends, radii), motion, fast, begin=begin, border=border, bounds=bounds)
        told = {tuple(pair) for pair in found.pairs.tolist()}
        surely, perhaps = sampled_touches(begin, motion, radii, fast, place, room, size)
        assert surely <= told <= perhaps, trial
        met += len(surely)
        for (i, j), time in zip(found.pairs.tolist(), found.times, strict=True):
            if time > 0:
                gap = place(begin + motion * time, room, size)[i, j] - radii[i] - radii[j]
                assert abs(gap) < 1e-9, (trial, i, j, time)
    assert met > (5 if dimension == 3 else 30)


def test_meetings_of_straight_and_bent_ways_together():
    begin, motions = np.array([[1.0, 5.0], [5.0, 2.0]]), np.array([[8.0, 0.0], [0.0, -8.0]])
    for radius, expected in [(0.5, []), (1.5, [[0, 1]])]:
        # The second is reflected where its center is at y = 0. The first is at x = 5 at the time 0.5, and the second
        # comes back to y = 5 at 0.875: the smaller ones miss by far.
        bounds = np.array([[-radius] * 2, [10.0 + radius] * 2])
        shapes = balls([[9, 5], [5, 6]], [radius, radius])
        found = meet(shapes, motions, [True, False], begin=begin, border="bounce", bounds=bounds)
        assert found.pairs.tolist() == expected


def test_meetings_candidates_are_few_where_all_move_a_little():
    rng = np.random.default_rng(6)
    n = 2000
    ends = rng.uniform(0, 100, (n, 2))
    motions = rng.normal(0, 0.1, (n, 2))
    motions[0] = (60, 0)
    found = meet(balls(ends, np.full(n, 0.2)), motions, np.arange(n) == 0)
    begin = ends - motions
    expected = []
    for j in range(1, n):
        time, _ = first_touch_of_balls(begin[j] - begin[0], motions[0] - motions[j], 0.4)
        if time <= 1:
            expected.append([0, j])
    assert found.pairs.tolist() == expected


def first_touch_of_images(begin, motion, target, reach, size, border):
    """Say when a ball first touches a still one of which there are images, or mirror images, in every world."""
    times = [NEVER]
    signs = (1,) if border == "wrap" else (1, -1)
    period = size if border == "wrap" else 2 * size
    for mirrored in np.array(np.meshgrid(*[signs] * len(begin))).reshape(len(begin), -1).T:
        place = np.where(mirrored > 0, target, 2 * size - target)
        # Of all images along the first axis, those beside the way along the others.
        along = np.arange(-2, abs(motion[0]) / period + 3) * np.sign(motion[0])
        at = (along * period + place[0] - begin[0]) / motion[0]
        rest = begin[1:] + np.outer(at, motion[1:])
        nearest = np.rint((rest - place[1:]) / period)
        for aside in np.array(np.meshgrid(*[(-1, 0, 1)] * (len(begin) - 1))).reshape(len(begin) - 1, -1).T:
            images = np.column_stack([along * period + place[0], (nearest + aside) * period + place[1:]])
            times += [first_touch_of_balls(image - begin, motion, reach)[0] for image in images]
    return min(times)


def cross(targets, begin, motion, border, size, radius):
    """Let the first of some balls fly through a world in which centers are from 0 to `size`; others are still."""
    n, dimension = targets.shape
    motions, begins, room = np.zeros((n, dimension)), targets.copy(), radius if border == "bounce" else 0.0
    motions[0], begins[0] = motion, begin
    bounds = np.array([[-room] * dimension, [size + room] * dimension])
    return step(
        *balls(targets, np.full(n, radius)), motions, np.arange(n) == 0, begin=begins, border=border, bounds=bounds
    )


@pytest.mark.parametrize("border", ["bounce", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_meetings_of_what_crosses_the_world_often_equal_the_closed_form(border, dimension):
    rng = np.random.default_rng([dimension, len(border)])
    size, n, reach = 10.0, 12, 0.5
    targets = rng.uniform(0.3, size - 0.3, (n, dimension))
    begin, motion = targets[0].copy(), np.array([1.0, 0.7123, 0.4567][:dimension]) * size * 70
    targets[0] = folded(begin + motion, 0.0, size) if border == "bounce" else (begin + motion) % size
    found = cross(targets, begin, motion, border, size, reach / 2).impacts
    told = dict(zip(map(tuple, found.pairs.tolist()), found.times, strict=True))
    expected = [first_touch_of_images(begin, motion, targets[j], reach, size, border) for j in range(1, n)]
    for j, time in enumerate(expected, 1):
        assert ((0, j) in told) == (time <= 1), j
        assert time > 1 or abs(told[0, j] - time) < 1e-9, j
    assert np.sum(np.array(expected) <= 1) > (3 if dimension == 3 else 9)


def test_meetings_one_that_is_far_faster_than_the_others_makes_candidates_of_its_own_only():
    rng, n = np.random.default_rng(8), 1000
    ends, motions = rng.uniform(0, 100, (n, 3)), rng.normal(0, 0.1, (n, 3))
    motions[:50] *= 50
    fast, shapes = np.arange(n) < 50, balls(ends, np.full(n, 0.3))
    before = step(*shapes, motions, fast).stats["route_pairs"]
    motions[999] = (1e7, 2e7, -3e6)
    after = step(*shapes, motions, fast).stats["route_pairs"]
    assert 0 < after <= before + 50


@pytest.mark.parametrize("border", ["bounce", "wrap"])
def test_meetings_candidates_of_one_that_crosses_the_world_often_are_those_beside_its_way(border):
    rng, n, size, crossings = np.random.default_rng(9), 300, 100.0, 2000
    targets, motion = rng.uniform(0, size, (n, 2)), np.array([1.0, 0.7123]) * size * crossings
    begin = targets[0].copy()
    targets[0] = folded(begin + motion, 0.0, size) if border == "bounce" else (begin + motion) % size
    count = cross(targets, begin, motion, border, size, 0.1).stats["route_pairs"]
    # Every part would meet about a tenth of the others by its box, and every other part at its corners.
    assert 0 < count < 0.1 * 1.7 * crossings * n * 0.1


@pytest.mark.parametrize("border", ["bounce", "wrap"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_meetings_with_all_followed_hold_those_with_a_few_at_the_same_times(border, dimension):
    rng, size, n = np.random.default_rng(dimension), 8.0, 30
    begin, motion = rng.uniform(0.5, size - 0.5, (n, dimension)), rng.normal(0, 5.0, (n, dimension))
    radii, bounds = rng.uniform(0.2, 0.5, n), np.array([[0.0] * dimension, [size] * dimension])
    room = np.tile(radii[:, None], dimension)
    ends = folded(begin + motion, room, size - 2 * room) if border == "bounce" else (begin + motion) % size
    told = []
    for fast in (np.ones(n, bool), np.arange(n) < 5, np.zeros(n, bool)):
        for workers in (1, 3):
            given = {"begin": begin, "border": border, "bounds": bounds, "workers": workers}
            found = meet(balls(ends, radii), motion, fast, **given)
            told.append({tuple(pair): time for pair, time in zip(found.pairs.tolist(), found.times, strict=True)})
    every, again, few, few_again, none, none_again = told
    assert (every, few, none) == (again, few_again, none_again)
    assert none == {}
    assert few.keys() == {pair for pair in every if min(pair) < 5}
    assert len(few) > 4
    for pair, time in few.items():
        assert abs(time - every[pair]) < 1e-12


def test_meetings_of_hulls_are_found_beside_those_of_the_core():
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    ends = np.array([[10.0, 5, 0], [7, 5, 0], [4, 5, 0]])
    found = meet(([bp.Sphere(1), bp.ConvexHull(corners), bp.Sphere(1)], ends),
                 np.array([[10.0, 0, 0], [0, 0, 0], [0, 0, 0]]), [True, False, False])  # fmt: skip
    assert found.pairs.tolist() == [[0, 1], [0, 2]]
    np.testing.assert_allclose(found.times, [0.5, 0.2], atol=1e-9)
    np.testing.assert_allclose(found.normals, [[1, 0, 0]] * 2, atol=1e-6)
