"""Full numbers: clearances of meshes in exact arithmetic, and against coal."""

import pytest

from scale import times
from test_clearances import check_coal, check_exact

pytestmark = pytest.mark.soak


def test_clearances_of_five_thousand_hard_meshes_are_what_exact_arithmetic_says():
    for seed in range(100, 100 + times(1_700)):
        check_exact(seed)


def test_distances_of_twenty_thousand_pairs_of_meshes_are_those_of_coal():
    for seed in range(100, 100 + times(300)):
        check_coal(seed)
