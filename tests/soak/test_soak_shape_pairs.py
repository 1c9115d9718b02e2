"""Full numbers: all ordered pairs of types of shapes, in hard positions."""

import pytest
from scale import times

from shape_pairs import FORMS, ORDERED, check_pairs

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("form", FORMS)
def test_half_a_million_pairs_of_any_two_types_agree(form):
    pytest.importorskip("coal", reason="the extra `coal`")
    for seed in range(1, 1 + times(14)):
        for d, first, second in ORDERED:
            check_pairs(d, first, second, form, seed, 50, 4)
