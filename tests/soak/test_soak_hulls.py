"""Full numbers: hulls against their Minkowski differences, in round numbers and in any."""

import pytest

from seeds import seeds
from test_hull_contacts import check_minkowski

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("lattice", [True, False])
def test_fifty_thousand_pairs_of_hulls_equal_their_minkowski_differences(lattice):
    for seed in seeds(250):
        check_minkowski(seed, lattice, seed % 200 - 100, 200)
