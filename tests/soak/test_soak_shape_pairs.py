"""Full numbers: all ordered pairs of types of shapes, in hard positions."""

import pytest

from overlap_forms import BEYOND, WITHIN, check_forms
from seeds import seeds
from shape_pairs import FORMS, ORDERED, check_pairs

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("form", FORMS)
def test_half_a_million_pairs_of_any_two_types_agree(form):
    for seed in seeds(14, 1):
        for d, first, second in ORDERED:
            check_pairs(d, first, second, form, seed, 50, 4)


@pytest.mark.parametrize("scales", [WITHIN, BEYOND], ids=["within limits", "too small"])
@pytest.mark.parametrize("d", [2, 3])
def test_overlaps_in_every_form_are_equal_in_half_a_million_places(d, scales):
    for seed in seeds(220, 2):
        check_forms(d, seed, scales=scales, without=["ConvexHull"])


def test_overlaps_of_hulls_in_every_form_are_equal():
    for seed in seeds(10):
        check_forms(3, seed, without=["Mesh", "Compound", "Triangle", "Capsule"])
