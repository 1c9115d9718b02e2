"""Full numbers: a million pairs of triangles that are hard to tell apart."""

import pytest

from seeds import seeds
from test_triangle_pairs import check_against_oracle
from triangle_scenes import KINDS

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_pairs_of_a_kind_equal_the_oracle(kind):
    for seed in seeds(40, 100):
        check_against_oracle(kind, seed, 50)
