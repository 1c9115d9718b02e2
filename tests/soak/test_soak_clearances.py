"""Full numbers: clearances of meshes in exact arithmetic, and against coal."""

import pytest

from seeds import seeds
from test_clearances import check_coal, check_exact

pytestmark = pytest.mark.soak


def test_clearances_of_five_thousand_hard_meshes_are_what_exact_arithmetic_says():
    for seed in seeds(1_700, 100):
        check_exact(seed)


def test_distances_of_twenty_thousand_pairs_of_meshes_are_those_of_coal():
    for seed in seeds(300, 100):
        check_coal(seed)
