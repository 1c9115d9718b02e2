"""Bouncing, wrapping and leaving: against steps in rational numbers, at any distance from the world."""

from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import broadphase as bp
from broadphase import _native
from broadphase.boxes.rounding import boxes_around

UNIT = np.array([[0.0, 0.0], [10.0, 10.0]])


def everybody(array):
    return np.ones(len(array), np.uint8)


def bounce(positions, velocities, boxes, relative_boxes, bounds, moves):
    """Bounce in place what sticks out, and give the rows whose position or velocity has changed."""
    rows = _native.sticking_out(boxes, bounds, moves)
    if not len(rows):
        return rows
    reflected = velocities[rows]
    which = _native.bounce(positions, reflected, rows, relative_boxes(rows), bounds)
    velocities[rows[which]] = reflected[which]
    return rows[which]


def bounce_one(position, velocity, below=0.0, above=0.0, lower=0.0, upper=10.0):
    """Bounce along the first axis; the second stays where it is."""
    positions, velocities = np.array([[position, 5.0]]), np.array([[velocity, 0.25]])
    around = np.array([[[-below, 0.0], [above, 0.0]]])
    bounds = np.array([[lower, 0.0], [upper, 10.0]])
    rows = bounce(positions, velocities, positions[:, None] + around, lambda rows: around[rows], bounds,
                  everybody(positions))  # fmt: skip
    changed = (positions[0, 0], velocities[0, 0]) != (position, velocity)
    assert (positions[0, 1], velocities[0, 1]) == (5.0, 0.25)
    assert len(rows) == changed
    return positions[0, 0], velocities[0, 0]


def wrap_one(x, lower=0.0, upper=10.0):
    positions = np.array([[x, lower]])
    rows = _native.wrap(positions, np.array([[lower] * 2, [upper] * 2]), everybody(positions))
    assert len(rows) == (not lower <= x < upper)
    assert positions[0, 1] == lower
    return positions[0, 0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((11.0, 3.0), (9.0, -3.0)),
        ((-1.0, -3.0), (1.0, 3.0)),
        ((10.0, 3.0), (10.0, 3.0)),  # only touches
        ((0.0, -3.0), (0.0, -3.0)),
        ((9.5, 3.0, 1.0, 1.0), (8.5, -3.0)),
        ((0.5, -3.0, 1.0, 1.0), (1.5, 3.0)),
        ((13.0, 3.0, 5.0, -2.0), (11.0, -3.0)),  # a shape beside its position
        ((21.0, 30.0), (1.0, 30.0)),  # to the other side and back
        ((31.0, 40.0), (9.0, -40.0)),
        ((-21.0, -30.0), (1.0, 30.0)),
        ((-11.0, -30.0), (9.0, -30.0)),
        ((20.0, 30.0), (0.0, 30.0)),  # just arrived, and turned
        ((30.0, 40.0), (10.0, -40.0)),
        ((12.0, -1.0), (10.0, -1.0)),  # put there, on its way in
        ((12.0, 0.0), (10.0, 0.0)),
        ((-7.0, 0.0), (0.0, 0.0)),
        ((7.0, 3.0, 6.0, 6.0), (5.0, 3.0)),  # too large
        ((7.0, 3.0, 5.0, 5.0), (5.0, 3.0)),  # as large as the world
        ((7.0, 3.0, 3.0, 9.0), (2.0, 3.0)),
    ],
)
def test_bounce_named_cases_end_where_they_should(given, expected):
    assert bounce_one(*given) == expected


@pytest.mark.parametrize(("lower", "upper"), [(0.0, inf), (-inf, 10.0)])
def test_bounce_one_border_only_reflects_there(lower, upper):
    sign, border = (-1.0, 0.0) if upper == inf else (1.0, 10.0)
    assert bounce_one(border + sign * 3, sign * 5, 1.0, 1.0, lower, upper) == (border - sign * 5, -sign * 5)
    assert bounce_one(border - sign * 1e300, sign * 5, 1.0, 1.0, lower, upper) == (border - sign * 1e300, sign * 5)
    assert bounce_one(border, 0.0, -inf, inf, -inf, inf) == (border, 0.0)


eighths = st.integers(-4000, 4000).map(lambda k: k / 8)


@given(start=st.integers(0, 64), speed=eighths, size=st.integers(0, 16))
def test_bounce_many_borders_equals_walking_there(start, speed, size):
    room = 10 - size / 8
    start = min(start / 8, room)
    place, going = Fraction(start) + Fraction(speed), speed
    while not 0 <= place <= room:
        place = 2 * Fraction(room) - place if place > room else -place
        going = -going
    x, v = bounce_one(start + size / 16 + speed, speed, size / 16, size / 16)
    assert x - size / 16 == place
    # Where it has just arrived at a border, it may have turned already.
    assert v == going or (place in (0, room) and v == -going)


@given(
    position=st.floats(-1e300, 1e300), velocity=st.floats(-1e300, 1e300),
    below=st.floats(0, 4), above=st.floats(0, 4), lower=st.floats(-1e6, 1e6),
)  # fmt: skip
@example(position=1e300, velocity=1e300, below=0.1, above=0.3, lower=0.1)
@example(position=1.7e308, velocity=1.0, below=0.1, above=0.3, lower=-1e6)
def test_bounce_anything_ends_within_the_exact_bounds(position, velocity, below, above, lower):
    upper = lower + 10.0
    positions, velocities = np.array([[position] * 3]), np.array([[velocity] * 3])
    around = np.array([[[-below] * 3, [above] * 3]])
    bounds = np.array([[lower] * 3, [upper] * 3])

    def step():
        boxes = boxes_around(positions, -around[:, 0])
        boxes[:, 1] = boxes_around(positions, around[:, 1])[:, 1]
        return bounce(positions, velocities, boxes, lambda rows: around[rows], bounds, everybody(positions))

    step()
    for x in positions[0]:
        assert Fraction(x) - Fraction(below) >= Fraction(lower)
        assert Fraction(x) + Fraction(above) <= Fraction(upper)
    assert np.abs(velocities).tolist() == [[abs(velocity)] * 3]
    assert len(step()) == 0  # and stays


def test_bounce_that_comes_loose_is_not_held_by_the_border():
    positions, velocities = np.array([[9.0, 5.0]]), np.array([[-1e-3, 0.0]])
    around = np.array([[[-0.5, -0.5], [0.5, 0.5]]])
    for growth in np.linspace(0.5, 1.5, 50):  # it turns: a corner comes out faster than it goes
        around[:, 1, 0] = growth
        positions += velocities
        bounce(
            positions, velocities, positions[:, None] + around, lambda rows: around[rows], UNIT, everybody(positions)
        )
    assert velocities[0, 0] == -1e-3
    assert positions[0, 0] <= 8.5


def test_bounce_rows_without_a_flag_are_left():
    positions, velocities = np.array([[12.0, 5.0]] * 3), np.array([[2.0, 0.0]] * 3)
    boxes = np.repeat(positions[:, None], 2, axis=1)
    rows = bounce(positions, velocities, boxes, lambda rows: np.zeros((len(rows), 2, 2)), UNIT,
                  np.array([0, 1, 0], np.uint8))  # fmt: skip
    assert rows.tolist() == [1]
    assert positions[:, 0].tolist() == [12, 8, 12]
    assert velocities[:, 0].tolist() == [2, -2, 2]


def test_bounce_for_a_long_time_is_a_billiard_that_ends_where_it_began():
    rng = np.random.default_rng(1)
    n = 300
    around = np.repeat([[[-0.5, -0.25], [0.5, 0.25]]], n, axis=0)
    positions = rng.integers(4, 36, (n, 2)) / 4
    velocities = rng.integers(-64, 64, (n, 2)) / 4
    begin = positions.copy(), velocities.copy()
    for _ in range(4 * 18 * 19):  # velocities in quarters, ways of 18 and 19 there and back: all have come round
        positions += velocities
        bounce(
            positions, velocities, positions[:, None] + around, lambda rows: around[rows], UNIT, everybody(positions)
        )
    assert (np.abs(velocities) == np.abs(begin[1])).all()
    at_border = (positions + around[:, 0] == 0) | (positions + around[:, 1] == 10)
    assert ((positions == begin[0]) | at_border).all()


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.0, 0.0), (10.0, 0.0), (-0.0, 0.0), (12.5, 2.5), (-2.5, 7.5), (-10.0, 0.0), (-20.0, 0.0), (1e18 + 128, 8.0),
     (-1e-300, 0.0), (-5e-324, 0.0), (nextafter(10, 0), nextafter(10, 0)), (nextafter(0, -1), 0.0),
     (-1e-15, 10 - 1e-15), (nextafter(10, 11), nextafter(10, 11) - 10)],
)  # fmt: skip
def test_wrap_named_cases_end_where_they_should(given, expected):
    assert wrap_one(given) == expected


@given(x=st.floats(-1e300, 1e300), lower=st.floats(-1e6, 1e6), size=st.floats(1e-3, 1e6))
def test_wrap_anything_is_inside_and_moved_by_whole_worlds(x, lower, size):
    upper = lower + size
    period = Fraction(upper - lower)  # as it is rounded
    there = wrap_one(x, lower, upper)
    assert lower <= there < upper
    assert wrap_one(there, lower, upper) == there
    off = (Fraction(x) - Fraction(there)) % period
    off = min(off, period - off)
    # Rounded: the distance to the border that was crossed, the result, and the size of the world once.
    ulps = abs(x - upper) + abs(x - lower) + abs(lower) + abs(upper)
    assert off <= 2**-52 * Fraction(ulps)


@given(x=st.integers(-(2**40), 2**40), lower=st.integers(-100, 100), size=st.integers(1, 100))
def test_wrap_whole_numbers_is_the_remainder(x, lower, size):
    assert wrap_one(float(x), float(lower), float(lower + size)) == lower + (x - lower) % size


def test_wrap_rows_without_a_flag_and_rows_inside_stay_to_the_bit():
    positions = np.array([[12.0, -0.0], [12.0, -0.0], [3.0, -0.0]])
    rows = _native.wrap(positions, UNIT, np.array([0, 1, 1], np.uint8))
    assert rows.tolist() == [1]
    assert positions[:, 0].tolist() == [12, 2, 3]
    assert np.signbit(positions[:, 1]).all()


def test_wrap_what_is_not_finite_is_left_to_be_noticed():
    positions = np.array([[np.inf, 12.0], [12.0, np.nan], [-np.inf, 3.0]])
    _native.wrap(positions, UNIT, everybody(positions))
    np.testing.assert_array_equal(positions, [[np.inf, 2], [2, np.nan], [-np.inf, 3]])


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("dimension", [2, 3])
def test_gone_and_sticking_out_any_number_of_rows_equals_the_definition(n, dimension):
    rng = np.random.default_rng(n)
    lower = rng.integers(-4, 14, (n, dimension)).astype(float)
    boxes = np.stack([lower, lower + rng.integers(0, 3, (n, dimension))], axis=1)
    bounds = np.array([[0.0] * dimension, [10.0] * dimension])
    moves = (rng.random(n) < 0.7).astype(np.uint8)
    is_outside = ((boxes[:, 1] < 0) | (boxes[:, 0] > 10)).any(axis=1)
    world = bp.World(dim=dimension, bounds=bounds)
    world.add_many(
        bp.AABB(boxes[:, 1] - boxes[:, 0]),
        boxes.mean(axis=1),
        boundary=["remove" if flag else "none" for flag in moves],
    )
    assert world.step(0.0).removed.tolist() == np.flatnonzero(is_outside & (moves > 0)).tolist()
    inside = ((boxes[:, 0] >= 0) & (boxes[:, 1] <= 10)).all(axis=1)
    asked = []
    bounce(boxes[:, 0].copy(), np.zeros((n, dimension)), boxes,
           lambda rows: asked.extend(rows.tolist()) or np.zeros((len(rows), 2, dimension)), bounds, moves)  # fmt: skip
    assert asked == np.flatnonzero(~inside & (moves > 0)).tolist()
