"""Full numbers: 100,000 random motions of bodies that move and turn, half of which just touch or just do not."""

import numpy as np
import pytest

from broadphase.narrow.results import Impacts
from seeds import seeds
from turning_cases import check_pairs, narrow_impacts, random_pairs, world_impacts

pytestmark = pytest.mark.soak

TOGETHER = 100


@pytest.mark.parametrize("dimension", [2, 3])
def test_fifty_thousand_motions_are_as_sampled(dimension):
    for seed in seeds(50_000 // TOGETHER):
        rng = np.random.default_rng([10, dimension, seed])
        made = random_pairs(rng, dimension, TOGETHER)
        label = f"seed={seed} d={dimension}"
        of_step, alone = world_impacts(rng, made, dimension), narrow_impacts(made)
        check_pairs(made, of_step, label)
        met, also = np.isfinite(of_step.times), np.isfinite(alone.times)
        # What touches by a rounding only may be met by one of them.
        for k in np.flatnonzero(met != also):
            one = slice(k, k + 1)
            check_pairs(made[one], Impacts(*(column[one] for column in alone)), f"{label} {k} alone")
        met &= also
        np.testing.assert_allclose(of_step.times[met], alone.times[met], atol=1e-6, err_msg=label)
