"""Thousands of cycles in which bodies come and go, and thousands of small worlds that they leave; extreme numbers."""

import numpy as np
import pytest

from extreme_worlds import step_extreme_world
from forged_snapshots import forged_arrays, forged_headers
from removal_histories import play
from seeds import seeds
from shape_cycles import check_cycles
from test_world_snapshot_damage import FULL, check_forged

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("dimension", [2, 3])
def test_thousands_of_cycles_of_shapes_leave_an_empty_world_as_small_as_a_few(dimension):
    check_cycles(dimension, 50, 3000)


def test_forty_thousand_small_worlds_that_bodies_leave_have_events_that_balance():
    for seed in seeds(40_000):
        play(1000 + seed)


def test_forty_thousand_steps_of_extreme_numbers_work_or_name_a_row_and_never_warn():
    for seed in seeds(40_000):
        step_extreme_world(1000 + seed)


def test_every_forged_header_is_refused_by_name_or_makes_a_world_that_works():
    for path, value, data in forged_headers(FULL):
        check_forged((path, value), data)


def test_every_forged_array_is_refused_by_name_or_makes_a_world_that_works():
    for seed in seeds(20):
        for name, data in forged_arrays(FULL, np.random.default_rng(seed)):
            check_forged(name, data)
