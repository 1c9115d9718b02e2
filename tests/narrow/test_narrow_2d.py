"""The narrow phase of the plane against Shapely, and against what depth, contact and impact mean."""

import itertools

import pytest

pytest.importorskip("shapely")

import narrow_2d_checks as checks
from narrow_2d_cases import KINDS, STYLES

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
each_pair = pytest.mark.parametrize(("first", "second"), PAIRS)


@each_pair
def test_shapes_have_the_distances_and_contacts_of_their_definition(first, second):
    for style in STYLES:
        checks.check_pairs(checks.generator(first, second), first, second, 110, style)


@each_pair
def test_shapes_that_move_touch_when_their_differences_say_so(first, second):
    for style in STYLES:
        checks.check_impacts(checks.generator(first, second), first, second, 15, style)


@pytest.mark.parametrize("kind", KINDS)
def test_rays_enter_shapes_where_these_begin(kind):
    for style in STYLES:
        checks.check_rays(checks.generator(kind), kind, 60, style)
