"""Full numbers: queries at every magnitude, oriented boxes, and periodic worlds, against whole numbers."""

import pytest

from broadphase.methods import METHODS
from cases import DTYPES
from far_cases import KINDS, check_far, check_pairs
from index_cases import CLASSES
from seeds import seeds
from test_oriented_box_queries import CONVEX, check_obb
from test_periodic_queries import WORLDS, check_periodic

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_million_comparisons_of_far_and_minute_boxes_are_those_of_whole_numbers(kind, dtype):
    for seed in seeds(40, 2):
        for name in CLASSES:
            for dimension in (1, 2, 3, 4):
                check_far(name, kind, seed, 1 + seed * 7 % 40, dimension, dtype)
        for name in (*CLASSES, *(method.name for method in METHODS)):
            for dimension in (1, 2, 3, 4):
                check_pairs(name, kind, seed, 1 + seed * 7 % 40, dimension, dtype)


@pytest.mark.parametrize("name", CONVEX)
def test_oriented_boxes_of_any_rotation_miss_nothing(name):
    for seed in seeds(300, 100):
        check_obb(name, seed, 12)


@pytest.mark.parametrize("number", WORLDS)
def test_queries_of_periodic_worlds_are_those_of_whole_numbers(number):
    for seed in seeds(500, 100):
        check_periodic(number, seed, 20)
