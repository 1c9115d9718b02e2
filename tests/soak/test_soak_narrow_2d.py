"""The narrow phase of the plane with full numbers: 100 000 pairs and more for every two kinds of shapes."""

import itertools

import pytest

from seeds import seeds

pytest.importorskip("shapely")

import narrow_2d_checks as checks
from narrow_2d_cases import KINDS, STYLES

pytestmark = pytest.mark.soak
each_pair = pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
ROUND = 2000  # pairs of each style at a time


@each_pair
def test_a_hundred_thousand_pairs_have_the_distances_and_contacts_of_their_definition(first, second):
    for seed in seeds(8):
        for style in STYLES:
            checks.check_pairs(checks.generator("soak", seed, first, second), first, second, ROUND, style)


@each_pair
def test_a_hundred_thousand_motions_end_where_the_differences_say_so(first, second):
    for seed in seeds(8):
        for style in STYLES:
            checks.check_impacts(checks.generator("soak", seed, first, second), first, second, ROUND, style)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_rays_enter_shapes_where_these_begin(kind):
    for seed in seeds(8):
        for style in STYLES:
            checks.check_rays(checks.generator("soak", seed, kind), kind, ROUND, style)
