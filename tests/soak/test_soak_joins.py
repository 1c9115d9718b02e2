"""Full numbers: random joins of all types, options and libraries of tables."""

import pytest

from random_joins import check_join
from seeds import seeds

pytestmark = pytest.mark.soak


def test_two_hundred_thousand_random_joins_equal_plain_loops():
    for seed in seeds(200_000, first=100_000):
        check_join(seed)
