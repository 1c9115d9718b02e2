"""Random joins in every library, of all types and options, against plain loops over numbers of Python."""

import pytest


@pytest.mark.parametrize("part", range(4))
def test_random_joins_equal_plain_loops_in_every_library(part):
    pytest.importorskip("pyarrow")
    from random_joins import check_join

    for seed in range(part * 150, part * 150 + 150):
        check_join(seed)
