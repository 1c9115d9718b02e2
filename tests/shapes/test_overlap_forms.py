"""Whether shapes that just touch overlap does not depend on how the query is written, to the last place."""

import pytest

from overlap_forms import BEYOND, WITHIN, check_forms


@pytest.mark.parametrize(("scales", "seeds"), [(WITHIN, 2), (BEYOND, 1)], ids=["within limits", "too small"])
@pytest.mark.parametrize("d", [2, 3])
def test_overlaps_of_shapes_that_just_touch_are_equal_in_every_form(d, scales, seeds):
    for seed in range(seeds):
        touch, apart = check_forms(d, seed, scales=scales, without=["ConvexHull"])
        assert min(touch, apart) > 100
